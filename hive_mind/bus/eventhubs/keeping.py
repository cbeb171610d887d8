"""State kept between two lives: positions, written now and then, and dead letters, written at once."""

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from typing import Any

from hive_mind.bus import codec
from hive_mind.bus.base import DeadLetter, Envelope
from hive_mind.bus.eventhubs.inbox import Box
from hive_mind.bus.eventhubs.partitions import Position
from hive_mind.bus.eventhubs.state import ConsumerName, Dead, Keeper, Stop
from hive_mind.errors import BackendError, WireError

_log = logging.getLogger(__name__)

_EVERY_S, _EVERY = 1.0, 100


class Chores:
    """Work to do behind a caller that can't wait."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def add(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(self._do(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def finish(self) -> None:
        """Return when what is to be done by now is done."""
        if tasks := set(self._tasks):
            await asyncio.wait(tasks)

    async def _do(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except BackendError as error:
            _log.warning("this was not saved, so some messages will be delivered again: %s", error)


class Positions:
    """How far each name is. The file is asked each time: another process may have read under a name before this one does."""

    def __init__(self, keeper: Keeper, chores: Chores) -> None:
        self._keeper, self._chores = keeper, chores
        self._moved: dict[ConsumerName, tuple[int, Box]] = {}
        self._settled, self._is_writing = 0, False
        self._timer: asyncio.TimerHandle | None = None

    async def of(self, place: ConsumerName, partition: int) -> Position | None:
        """Where a name stopped; None if it never read, or if it read another partition, when the hub had fewer."""
        stop = (await self.all(place.hive)).get(place.name)
        return stop.at if stop is not None and stop.partition == partition else None

    async def all(self, hive: str) -> dict[str, Stop]:
        """The last positions of all names that ever read in a hive."""
        return await self._keeper.do(lambda state: state.positions(hive))

    def moved(self, box: Box, partition: int, *, settled: int = 0) -> None:
        """It has another position, to be written within a second or after a hundred that were settled."""
        self._moved[box.place] = partition, box
        self._settled += settled
        if self._settled >= _EVERY and not self._is_writing:
            self.write()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_EVERY_S, self.write)

    def write(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._settled = None, 0
        stops = {place: Stop(partition, box.position) for place, (partition, box) in self._moved.items()}
        self._moved.clear()
        if stops:
            self._is_writing = True
            self._chores.add(self._save(stops))

    async def _save(self, stops: dict[ConsumerName, Stop]) -> None:
        try:
            await self._keeper.write(list(stops.items()))
        finally:
            self._is_writing = False


class Letters:
    """Dead letters."""

    def __init__(self, keeper: Keeper, chores: Chores) -> None:
        self.kept = 0
        self._keeper, self._chores = keeper, chores

    def keep(self, box: Box, letter: Dead) -> None:
        """Keep it; once that is done, its event need not be read again."""
        self.kept += 1
        self._chores.add(self._keep(box, letter))

    async def counts(self, hive: str) -> dict[str, int]:
        """How many there are, by name."""
        return await self._keeper.do(lambda state: state.dead_counts(hive))

    async def all(self, hive: str, limit: int) -> list[DeadLetter]:
        """The oldest of a hive."""
        return [_letter(dead) for dead in await self._keeper.do(lambda state: state.dead(hive, limit))]

    async def find(self, hive: str, ids: Sequence[str]) -> list[DeadLetter]:
        numbers = _numbers(ids)
        return [_letter(dead) for dead in await self._keeper.do(lambda state: state.find(hive, numbers))]

    async def forget(self, hive: str, ids: Sequence[str]) -> int:
        numbers = _numbers(ids)
        return await self._keeper.do(lambda state: state.forget(hive, numbers))

    async def _keep(self, box: Box, letter: Dead) -> None:
        await self._keeper.do(lambda state: state.keep_dead(box.place, letter))
        box.finish(letter.number)


def _numbers(ids: Sequence[str]) -> list[int]:
    return [int(id) for id in dict.fromkeys(ids) if id.isdecimal()]


def _letter(dead: Dead) -> DeadLetter:
    envelope: Envelope | None
    try:
        envelope = codec.decode(dead.data)
    except WireError:
        envelope = None
    return DeadLetter(
        dead.name, envelope, dead.attempts, dead.reason, str(dead.id), dead.at_ms, dead.data if envelope is None else b""
    )

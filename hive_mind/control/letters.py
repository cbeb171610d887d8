"""Messages on the bus of a fleet, found from the fleet's state: its address, its hive and the names that read there.

Most brokers show the same to every process; of one that keeps no dead letters each process of an earlier version kept its own. So
all are looked at, and an id says whose it is where that makes a difference. What nodes refuse themselves lies beside their
journals and needs no bus.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from hive_mind.bus import DEAD_LETTERS_SHOWN, DeadLetter, Envelope, EventBus, QueueState, Watch, added, admin_of
from hive_mind.control.state import FleetFolder
from hive_mind.errors import InvalidInput
from hive_mind.runtime.buses import BUS, SEARCHES, open_to_look
from hive_mind.runtime.workers.config import WorkerConfig

_CLOSE_S = 2.0


class FleetBus:
    """As the bus of one hive: see `bus.EventBus`. `parts` by the beginning of ids there; "" is the first of several."""

    def __init__(self, hive: str, parts: Mapping[str, EventBus]) -> None:
        self.hive, self._parts = hive, parts

    async def dead_letters(self, hive: str, *, limit: int = DEAD_LETTERS_SHOWN) -> Sequence[DeadLetter]:
        letters = [
            replace(letter, id=f"{part}/{letter.id}" if part else letter.id)
            for part, bus in self._parts.items()
            for letter in await admin_of(bus).dead_letters(hive, limit=limit)
        ]
        return sorted(letters, key=lambda letter: letter.at_ms)[:limit]

    async def drop(self, hive: str, ids: Sequence[str]) -> int:
        return sum([await admin_of(bus).drop(hive, _of(part, ids)) for part, bus in self._parts.items()])

    async def queues(self, hive: str) -> Sequence[QueueState]:
        """As the first process sees them, with the dead letters of all."""
        first, *other_queues = [await admin_of(bus).queues(hive) for bus in self._parts.values()]
        dead_elsewhere = added(*({queue.name: queue.dead or 0} for queues in other_queues for queue in queues))
        return [
            replace(queue, dead=(queue.dead or 0) + dead_elsewhere[queue.name]) if dead_elsewhere[queue.name] else queue
            for queue in first
        ]

    async def watch(self, hive: str, on_envelope: Callable[[Envelope], None]) -> Watch:
        return await next(iter(self._parts.values())).watch(hive, on_envelope)


def hive_of_fleet(home: Path, fleet: str) -> str:
    """Its newest hive. Raises `InvalidInput` where it has none."""
    last_hive = FleetFolder(home, fleet).state().last_hive
    if last_hive is None:
        raise InvalidInput(f"fleet {fleet!r} has no hive, so it has no messages: apply a manifest whose topology is shared")
    return last_hive.id


@asynccontextmanager
async def bus_of_fleet(home: Path, fleet: str) -> AsyncIterator[FleetBus]:
    """Open inside the block, also while the fleet is stopped. Raises `InvalidInput`, `ConfigError` or `BackendError`."""
    folder = FleetFolder(home, fleet)
    state, hive = folder.state(), hive_of_fleet(home, fleet)
    configs = folder.configs()
    if not configs or configs[0].bus.url == "memory:":
        raise InvalidInput(f"the bus of fleet {fleet!r} is in its one process: ask that for dead_letters, over /v1")
    parts = dict[str, EventBus]()
    try:
        for name, kind, config, keeps in _looked_at(configs, folder.hive(hive)):
            kept_path = folder.hive(hive) / f"{config.process}.{kind}" if keeps else None
            parts[name] = await open_to_look(config.bus, kind, home, state.nodes, kept_path)
        yield FleetBus(hive, parts)
    finally:
        for bus in parts.values():
            await bus.close(drain_s=_CLOSE_S)


def _looked_at(configs: Sequence[WorkerConfig], folder: Path) -> Iterator[tuple[str, str, WorkerConfig, bool]]:
    """Each bus once, or once for each process that keeps its own dead letters: its name here, kind, and whether it keeps them."""
    for kind in (BUS, SEARCHES) if configs[0].bus.searches else (BUS,):
        begins = "" if kind == BUS else kind
        keeping = [config for config in configs if (folder / f"{config.process}.{kind}").is_dir()]
        for config in keeping:
            yield f"{begins}{':' if begins else ''}{config.process}", kind, config, True
        if not keeping:
            yield begins, kind, configs[0], False


def _of(part: str, ids: Sequence[str]) -> list[str]:
    return [id.removeprefix(f"{part}/") for id in ids if not part or id.startswith(f"{part}/")]

"""What begins runs by itself: intervals, cron lines and hooks. A trigger that is due begins one run, also after a restart.

A run is called after its trigger and the time it was due, so what is due twice, or in two processes, begins once. Times that
passed while nobody was there are not made up for: only the next one counts.
"""

import asyncio
import logging
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from cronsim import CronSim, CronSimError

from hive_mind.errors import HiveError, InvalidInput
from hive_mind.runtime.run_keeper import RunKeeper
from hive_mind.runtime.worker_config import TriggerConfig

_log = logging.getLogger(__name__)
_LOOK_S = 30.0


class Triggers:
    """Of one agent, from `begin` to `close`."""

    def __init__(self, triggers: Sequence[TriggerConfig], keeper: RunKeeper, clock: Callable[[], float] = time.time) -> None:
        self._triggers, self._keeper, self._clock = triggers, keeper, clock
        self._tasks: list[asyncio.Task[None]] = []
        self.trouble = ""
        """Why the last one did not begin a run."""

    def begin(self) -> None:
        """Wait for each that has a time."""
        self._tasks = [
            asyncio.create_task(self._watch(one), name=f"trigger {_name(one)}") for one in self._triggers if not one.hook
        ]

    async def close(self) -> None:
        """Begin nothing more."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def called(self, hook: str, inputs: Mapping[str, Any], id: str) -> str | None:
        """The run that a call of a hook begins; None where there is no such hook. The same id begins one run."""
        found = next((one for one in self._triggers if one.hook == hook), None)
        if found is None:
            return None
        return await self._start(found, id or str(time.time_ns()), inputs)

    async def _watch(self, trigger: TriggerConfig) -> None:
        while True:
            due = next_due(trigger, self._clock())
            await self._until(due)
            try:
                await self._start(trigger, f"{due:.3f}", {})
                self.trouble = ""
            except HiveError as error:
                self.trouble = f"trigger {_name(trigger)}: {error}"
                _log.error("%s: %s", self._keeper.parts.agent, self.trouble)

    async def _until(self, due: float) -> None:
        """In pieces: a clock that is set meanwhile is noticed."""
        for _ in range(sys.maxsize):
            if (left := due - self._clock()) <= 0:
                return
            await asyncio.sleep(min(left, _LOOK_S))

    async def _start(self, trigger: TriggerConfig, id: str, inputs: Mapping[str, Any]) -> str:
        run = f"t-{sha256(f'{_name(trigger)}/{id}'.encode()).hexdigest()[:12]}"
        try:
            return await self._keeper.start(None, {**trigger.inputs, **inputs}, run, _name(trigger))
        except InvalidInput:
            if await self._keeper.parts.ledger.read(f"run/{run}"):
                return run
            raise


def next_due(trigger: TriggerConfig, now: float) -> float:
    """When it is due next, in seconds since 1970-01-01 UTC. Raises `InvalidInput` for a cron line that is none."""
    return (now // trigger.every_s + 1) * trigger.every_s if trigger.every_s else cron_due(trigger.cron, now)


def cron_due(line: str, after: float) -> float:
    """The next time of a cron line, in UTC. Raises `InvalidInput` for a line that is none, or that no day ever fits."""
    try:
        return float(next(CronSim(line, datetime.fromtimestamp(after, UTC))).timestamp())
    except (CronSimError, StopIteration):
        raise InvalidInput(f"{line!r} is no cron line: minute hour day month weekday, such as 0 7 * * *") from None


def _name(trigger: TriggerConfig) -> str:
    return trigger.hook or trigger.cron or f"every {trigger.every_s:g} s"

"""Triggers that begin runs by themselves: intervals, cron lines, hooks, and events of another server.

A trigger that is due begins one run, also after a restart. Times that passed while nobody was there are not made up for: only the
next one counts. Events are: the last one that began a run is kept, and a server that numbers them is asked for those behind it.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

from hive_mind.agents.runs.event_streams import ServerEvent, StreamEnded, events_from
from hive_mind.agents.runs.run_journal import is_known
from hive_mind.agents.runs.run_keeper import RunKeeper
from hive_mind.agents.runs.tasks import stopped
from hive_mind.errors import HiveError, InvalidInput
from hive_mind.model.entry import Entry
from hive_mind.runs.triggers import TriggerConfig, inputs_of

_log = logging.getLogger(__name__)
_LOOK_S = 30.0
_AGAIN_S = (1.0, 60.0)

Listen = Callable[[str, str, str], AsyncIterator[ServerEvent]]
"""The events of an address, with a token, behind an id. Raises `BackendError`."""


class Triggers:
    """Of one agent, from `begin` to `close`."""

    def __init__(
        self,
        triggers: Sequence[TriggerConfig],
        keeper: RunKeeper,
        clock: Callable[[], float] = time.time,
        listen: Listen = events_from,
    ) -> None:
        self._triggers, self._keeper, self._clock, self._listen = triggers, keeper, clock, listen
        self._tasks: list[asyncio.Task[None]] = []
        self.trouble = ""
        """Why the last one did not begin a run."""

    def begin(self) -> None:
        """Wait for each that has a time, and listen to each that has a server."""
        self._tasks = [
            asyncio.create_task(self._follow(config) if config.events else self._watch(config), name=f"trigger {config.name}")
            for config in self._triggers
            if not config.hook
        ]

    async def close(self) -> None:
        await stopped(self._tasks)

    async def called(self, hook: str, inputs: Mapping[str, Any], id: str) -> str | None:
        """The run that a call of a hook begins; None where there is no such hook. The same id begins one run."""
        config = next((trigger for trigger in self._triggers if trigger.hook == hook), None)
        return await self._start(config, id or str(time.time_ns()), inputs) if config else None

    async def _watch(self, trigger: TriggerConfig) -> None:
        while True:
            due = trigger.next_due(self._clock())
            while (left := due - self._clock()) > 0:  # noqa: ASYNC110 - in pieces: a clock that is set meanwhile is noticed
                await asyncio.sleep(min(left, _LOOK_S))
            try:
                await self._start(trigger, f"{due:.3f}", {})
                self.trouble = ""
            except HiveError as error:
                self._log_trouble(trigger, error)

    async def _follow(self, trigger: TriggerConfig) -> None:
        """Listen, and again after each break, later and later while nothing comes."""
        pause, longest = _AGAIN_S
        ledger = self._keeper.parts.ledger
        while True:
            try:
                entries = await ledger.read(trigger.stream)
                async for event in self._listen(trigger.events, trigger.token, entries[-1].body.decode() if entries else ""):
                    pause = _AGAIN_S[0]
                    await self._begin_for(trigger, event)
            except StreamEnded as error:
                self._log_trouble(trigger, error)
                return
            except HiveError as error:
                self._log_trouble(trigger, error)
            await asyncio.sleep(pause)
            pause = min(longest, pause * 2)

    async def _begin_for(self, trigger: TriggerConfig, event: ServerEvent) -> None:
        """One run. The event counts as heard when its run is kept; one whose inputs fit no run is logged and skipped."""
        self.trouble = ""
        try:
            await self._start(trigger, event.id or str(time.time_ns()), inputs_of(event.kind, event.data))
        except InvalidInput as error:
            self._log_trouble(trigger, error)
        if event.id:
            ledger, stream = self._keeper.parts.ledger, trigger.stream
            before = [head for head in await ledger.heads(stream) if head.stream == stream]
            await ledger.drop(before, stream, [Entry("heard", event.id.encode(), self._keeper.parts.clock_ms())])

    def _log_trouble(self, trigger: TriggerConfig, error: HiveError) -> None:
        self.trouble = f"trigger {trigger.name}: {error}"
        _log.error("%s: %s", self._keeper.parts.agent, self.trouble)

    async def _start(self, trigger: TriggerConfig, id: str, inputs: Mapping[str, Any]) -> str:
        """From outside come the inputs that the worker asks for alone: no output, and nothing that the manifest has set."""
        run, worker = trigger.run_of(id), self._keeper.worker
        names = (*worker.inputs, *worker.optional_inputs) if worker else ()
        expected = {name: inputs[name] for name in names if name in inputs}
        try:
            return await self._keeper.start(None, {**expected, **trigger.inputs}, run, trigger.shared_by)
        except InvalidInput:
            if await is_known(self._keeper.parts.ledger, run):
                return run
            raise

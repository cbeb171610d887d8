"""Triggers that begin runs by themselves: intervals, cron lines, hooks, and events of another server.

A trigger that is due begins one run, also after a restart: a run is called after its trigger and the time it was due, so what is
due twice, or in two processes, begins once. Times that passed while nobody was there are not made up for: only the next one
counts. Events are: the last one that began a run is kept, and a server that numbers them is asked for those behind it.
"""

import asyncio
import logging
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any

import msgspec

from hive_mind.agents.runs.run_journal import is_known
from hive_mind.agents.runs.shared_values import NAME_CHARACTERS
from hive_mind.errors import HiveError, InvalidInput
from hive_mind.model.entry import Entry
from hive_mind.runtime.runs.cron import cron_due
from hive_mind.runtime.runs.event_streams import ServerEvent, StreamEnded, events_from, shown_url
from hive_mind.runtime.runs.run_keeper import RunKeeper
from hive_mind.runtime.workers.config import TriggerConfig

_log = logging.getLogger(__name__)
_LOOK_S = 30.0
_AGAIN_S = (1.0, 60.0)
_HEARD = "heard"

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
            asyncio.create_task(self._follow(config) if config.events else self._watch(config), name=f"trigger {_name(config)}")
            for config in self._triggers
            if not config.hook
        ]

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def called(self, hook: str, inputs: Mapping[str, Any], id: str) -> str | None:
        """The run that a call of a hook begins; None where there is no such hook. The same id begins one run."""
        config = next((trigger for trigger in self._triggers if trigger.hook == hook), None)
        if config is None:
            return None
        return await self._start(config, id or str(time.time_ns()), inputs)

    async def _watch(self, trigger: TriggerConfig) -> None:
        while True:
            due = next_due(trigger, self._clock())
            await self._until(due)
            try:
                await self._start(trigger, f"{due:.3f}", {})
                self.trouble = ""
            except HiveError as error:
                self._log_trouble(trigger, error)

    async def _follow(self, trigger: TriggerConfig) -> None:
        """Listen, and again after each break, later and later while nothing comes."""
        pause, longest = _AGAIN_S
        while True:
            try:
                async for event in self._listen(trigger.events, trigger.token, await self._last(trigger)):
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
            await self._start(trigger, event.id or str(time.time_ns()), _inputs_of(event))
        except InvalidInput as error:
            self._log_trouble(trigger, error)
        if event.id:
            ledger, stream = self._keeper.parts.ledger, _stream(trigger)
            before = [head for head in await ledger.heads(stream) if head.stream == stream]
            await ledger.drop(before, stream, [Entry(_HEARD, event.id.encode(), self._keeper.parts.clock_ms())])

    async def _last(self, trigger: TriggerConfig) -> str:
        """The id of the event that was heard last, "" before the first."""
        entries = await self._keeper.parts.ledger.read(_stream(trigger))
        return entries[-1].body.decode() if entries else ""

    def _log_trouble(self, trigger: TriggerConfig, error: HiveError) -> None:
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
            return await self._keeper.start(None, {**self._expected(inputs), **trigger.inputs}, run, _shared_by(trigger))
        except InvalidInput:
            if await is_known(self._keeper.parts.ledger, run):
                return run
            raise

    def _expected(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Those that the worker asks for: from outside comes nothing else, no output and nothing that the manifest has set."""
        worker = self._keeper.worker
        names = (*worker.inputs, *worker.optional_inputs) if worker else ()
        return {name: inputs[name] for name in names if name in inputs}


def next_due(trigger: TriggerConfig, now: float) -> float:
    """When it is due next, in seconds since 1970-01-01 UTC. Raises `InvalidInput` for a malformed cron line."""
    return (now // trigger.every_s + 1) * trigger.every_s if trigger.every_s else cron_due(trigger.cron, now)


def _name(trigger: TriggerConfig) -> str:
    if trigger.events:
        # Two addresses may differ in what is not shown of them.
        return f"events of {shown_url(trigger.events)} ({sha256(trigger.events.encode()).hexdigest()[:6]})"
    return trigger.hook or trigger.cron or f"every {trigger.every_s:g} s"


def _shared_by(trigger: TriggerConfig) -> str:
    """The name under which its runs share values: of a long address the begin, and a digest of all."""
    name = _name(trigger)
    return name if len(name) <= NAME_CHARACTERS else f"{name[: NAME_CHARACTERS - 9]}…{sha256(name.encode()).hexdigest()[:8]}"


def _stream(trigger: TriggerConfig) -> str:
    return f"trigger/{sha256(_name(trigger).encode()).hexdigest()[:12]}"


def _inputs_of(event: ServerEvent) -> dict[str, Any]:
    """The fields of an event that is a JSON object; any other is `data`. `event` is what kind it is."""
    try:
        fields = msgspec.json.decode(event.data)
    except (msgspec.DecodeError, RecursionError):
        fields = None
    return {"event": event.kind, **(fields if isinstance(fields, dict) else {"data": event.data})}

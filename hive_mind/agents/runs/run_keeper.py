"""The runs of one agent: begun, driven side by side, left alone while they wait, and taken up when a person decides.

A run that waits is in the ledger and nowhere else. After a restart every run that has not ended is taken up again.

The words of models come as they are said, for clients that follow now, and are kept nowhere. A model is heard word by word only
where somebody looks: not every server that can do that also counts its tokens.

Triggers begin runs by themselves: intervals, cron lines, hooks, and events of another server. One due begins one run, also
after a restart. Times that passed while nobody was there are not made up for: only the next one counts. Events are: the last one
that began a run is kept, and a server that numbers them is asked for those behind it.
"""

import asyncio
import logging
import secrets
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any

from pydantic import ValidationError

from hive_mind.agents.notices import KINDS
from hive_mind.agents.runs import run_journal as journals
from hive_mind.agents.runs.event_streams import ServerEvent, StreamEnded, events_from
from hive_mind.agents.runs.executor import AGAIN_S, RunExecutor, kept_up, stopped
from hive_mind.agents.runs.performer import RunParts
from hive_mind.agents.runs.run_journal import is_known
from hive_mind.errors import HiveError, InvalidInput, sentence_of
from hive_mind.judge.items import DECIDED, Item
from hive_mind.llm.base import OnText
from hive_mind.model.entry import Entry
from hive_mind.runs import TriggerConfig, inputs_of
from hive_mind.runs.spec import WorkerSpec
from hive_mind.runs.steps import ENDED, PREFIX
from hive_mind.runs.worker_file import faults
from hive_mind.tools import Toolbox

_log = logging.getLogger(__name__)

_LOOKS_ON_S = 3.0
"""A client that follows a run polls several times a second."""
Reply = dict[str, Any]


class RunKeeper:
    """Of one agent, from `open` to `close`. `worker`: what it runs where nothing else is named.

    What others ask of its runs is answered in plain values; `run` there is the beginning of an id.
    """

    def __init__(self, parts: RunParts, worker: WorkerSpec | None = None) -> None:
        self.parts, self.worker = parts, worker
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._runs_again: set[str] = set()
        self._without_room: set[str] = set()
        self._own_runs: set[str] = set()
        self._following: asyncio.Task[None] | None = None
        self._followed_pos = 0
        self.saying = Saying()
        self.troubles: dict[str, str] = {}
        """Why a run can't go on now, by its name; it is tried again."""

    async def open(self) -> None:
        """Take up what has not ended. Raises what a ledger raises."""
        heads = await self.parts.ledger.heads("")
        self._followed_pos = max((head.pos for head in heads), default=0)
        followed = kept_up(self._follow, f"{self.parts.agent}: decisions can't be followed")
        self._following = asyncio.create_task(followed, name=f"decisions for the runs of {self.parts.agent}")
        for run in await journals.run_ids(self.parts.ledger, only_open=True):
            self._drive(run)
        # Take back what runs asked, where a kill came between their end and this.
        ended = {head.stream.removeprefix(PREFIX) for head in heads if head.kind == ENDED}
        for view in await self.parts.desk.open():
            if (run := _asking(view.item)) in ended:
                await self.parts.desk.withdraw([view.item.id], journals.moot_of(run))
        for head in await self.parts.ledger.heads(journals.TASKS):
            for entry in await self.parts.ledger.read(head.stream):
                await self._take(entry)

    async def close(self) -> None:
        """Stop where each run is. Closing twice is fine."""
        await stopped([*self._tasks.values(), *([self._following] if self._following else [])])
        self._tasks.clear()

    async def start(self, worker: WorkerSpec | None, inputs: Mapping[str, Any], name: str = "", stream: str = "") -> str:
        """Begin a run; its name. `stream`: the runs it shares values with.

        Raises `InvalidInput` for inputs that are missing and a name that is taken.
        """
        spec = worker or self.worker
        if spec is None:
            raise InvalidInput(f"agent {self.parts.agent!r} has no worker: name one in its manifest, `agents[].worker`")
        run = name or secrets.token_hex(4)
        self._own_runs.add(run)
        await RunExecutor(run, self.parts).start(spec, inputs, stream=stream)
        self._drive(run)
        return run

    @property
    def under_way(self) -> Sequence[str]:
        return [run for run, task in self._tasks.items() if not task.done()]

    async def run(self, worker: Mapping[str, Any], inputs: Mapping[str, Any], name: str, stream: str = "") -> Reply:
        """Begin one, of this worker as a file has it or of the agent's own. `stream`: the runs it shares values with."""
        run = await self.start(self._spec(worker) if worker else None, inputs, name, stream)
        self.saying.look(run)
        return {"run": run}

    async def listed(self, limit: int) -> Reply:
        """The last ones, the one that changed last first, and how many there are."""
        ids = await journals.run_ids(self.parts.ledger)
        return {"runs": [await self._document(run) for run in ids[: limit or None]], "count": len(ids)}

    async def shown(self, run: str) -> Reply:
        """One of them, with the graph of its worker, and with what its models say just now."""
        run_id = await journals.run_called(self.parts.ledger, run)
        saying = self.saying.look(run_id)
        spec = (await journals.RunJournal(self.parts.ledger, run_id).load()).spec
        nodes = [{"id": node.id, "kind": node.kind, "tool": node.tool, "description": node.description} for node in spec.nodes]
        # `when` is the condition of an edge, or what is told to a model that chooses.
        edges = [{"source": e.source, "target": e.target, "on": e.on, "when": e.when or e.description} for e in spec.edges]
        document = await self._document(run_id) | {"graph": {"nodes": nodes, "edges": edges}}
        return document | ({"saying": saying} if saying else {})

    async def resumed(self, run: str) -> Reply:
        """Look whether it can go on."""
        run_id = await journals.run_called(self.parts.ledger, run)
        self._drive(run_id)
        return {"run": run_id}

    async def cancelled(self, run: str, by: str) -> Reply:
        """Give it up; what was done stays done."""
        run_id = await journals.run_called(self.parts.ledger, run)
        await self._stop(run_id)
        await journals.RunJournal(self.parts.ledger, run_id, self.parts.clock_ms).cancel(by)
        return {"run": run_id}

    def tools(self) -> Reply:
        """Those that its workers may name, with what each is for and whether it may be called twice."""
        tools_by_name = {
            tool.name: {"description": tool.spec.description, "idempotent": tool.traits.is_idempotent} for tool in self._toolbox
        }
        return {"tools": tools_by_name}

    async def say(self, run: str, text: str, key: str) -> Reply:
        """A word for one, which hears it as soon as it waits for one; said once with the same key."""
        run_id = await journals.run_called(self.parts.ledger, run)
        return {"run": run_id, "number": await journals.say_to(self.parts.ledger, run_id, text, key)}

    @property
    def _toolbox(self) -> Toolbox:
        return self.parts.toolbox_of("", self.parts.files("", ""))

    def _spec(self, worker: Mapping[str, Any]) -> WorkerSpec:
        try:
            spec = WorkerSpec.model_validate(dict(worker))
        except ValidationError as error:
            raise InvalidInput(f"that is not a worker: {error.errors(include_url=False)[0]['msg']}") from error
        if wrong := faults(spec, {tool.name: tool.spec for tool in self._toolbox}, self.parts.judge.functions):
            raise InvalidInput(f"worker {spec.id}: {'.'.join(map(str, wrong[0].path))}: {wrong[0].message}")
        return spec

    async def _document(self, run: str) -> Reply:
        state = await journals.RunJournal(self.parts.ledger, run).load()
        trouble = self.troubles.get(run, "")
        return await journals.document_of(run, state, self.parts.desk) | ({"trouble": trouble} if trouble else {})

    def _drive(self, run: str) -> None:
        """One task for each; asked again while it runs, it looks once more when it is through."""
        if run in self._tasks and not self._tasks[run].done():
            self._runs_again.add(run)
            return
        self._tasks[run] = asyncio.create_task(self._driven(run), name=f"run {run}")

    async def _driven(self, run: str) -> None:
        while True:
            self._runs_again.discard(run)
            try:
                executor = RunExecutor(run, self.parts, listen=partial(self.saying.listen, run))
                await executor.resume()
                state = await executor.drive()
            except journals.RunTaken as error:
                _log.warning("%s: %s", self.parts.agent, error)
                return
            except (HiveError, OSError) as error:
                self.troubles[run] = sentence_of(error)
                _log.error("%s: run %s can't go on, and is tried again: %s", self.parts.agent, run, sentence_of(error))
                await asyncio.sleep(AGAIN_S)
                continue
            self._without_room.discard(run)
            if state.outcome is None and not state.is_waiting:
                self._without_room.add(run)
            self.troubles.pop(run, None)
            if run not in self._runs_again:
                return

    async def _follow(self) -> None:
        """Decisions about items of runs, words for runs, tasks that were assigned, and what others write into their journals."""
        async for entry in self.parts.ledger.follow(self._followed_pos):
            self._followed_pos = entry.pos
            prefix, _, rest = entry.stream.partition("/")
            if prefix == "item" and entry.kind == DECIDED:
                view = await self.parts.desk.view(rest)
                if view is not None and (run := _asking(view.item)) and await self.parts.ledger.read(PREFIX + run):
                    self._drive(run)
                for waiting in list(self._without_room):
                    self._drive(waiting)
            elif entry.stream.startswith(PREFIX) and "." not in rest:
                # A sub-agent is driven by the run that delegates to it.
                if entry.kind in ("paused", "continued", ENDED):
                    await self._stop(rest)
                if entry.kind == "continued" or (entry.kind == "started" and rest not in self._own_runs):
                    self._drive(rest)
            elif entry.stream.startswith(journals.WORDS):
                self._drive(rest)
            elif entry.kind == journals.ASSIGNED:
                await self._take(entry)

    async def _stop(self, run: str) -> None:
        """Somebody else wrote into its journal: whatever is under way here is not wanted any more. Of our own end nothing is."""
        task = self._tasks.get(run)
        if task is not None and not task.done():
            await stopped([task])
        self._own_runs.discard(run)
        self.troubles.pop(run, None)

    async def _take(self, entry: Entry) -> None:
        """A task begins one run, however often it is seen. One that can't begin is logged once."""
        run, inputs = journals.task_of(entry)
        if not await journals.is_known(self.parts.ledger, run):
            try:
                await self.start(None, inputs, run)
            except InvalidInput as error:
                _log.error("%s: a task that was assigned can't begin: %s", self.parts.agent, error)


def _asking(item: Item) -> str:
    """The run that asks, or whose sub-agent does; "" for an item that is of no run."""
    run, slash, _ = item.subject.partition("/")
    return run.partition(".")[0] if slash and item.kind in KINDS else ""


class Saying:
    """Of all runs of one agent. Each text has the number of its turn, so that two that are alike are two."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._turns = clock, count(1)
        self._followed: dict[str, tuple[float, dict[str, tuple[int, str]]]] = {}
        """When somebody looked at a run last, and what its nodes say: the turn and its text."""

    def look(self, run: str) -> list[dict[str, str | int]]:
        """The turn of each node that speaks or spoke last, with its text as far as it has come."""
        now, (_, messages) = self._clock(), self._followed.get(run, (0, {}))
        self._followed = {id: seen for id, seen in self._followed.items() if now - seen[0] <= _LOOKS_ON_S} | {
            run: (now, messages)
        }
        return [{"node": node, "turn": turn, "text": text} for node, (turn, text) in messages.items()]

    def listen(self, run: str, node: str) -> OnText | None:
        """The listener to a turn that begins now; None where nobody follows the run."""
        seen, messages = self._followed.get(run, (float("-inf"), {}))
        if self._clock() - seen > _LOOKS_ON_S:
            return None
        turn = next(self._turns)

        def hear(text: str) -> None:
            last, before = messages.get(node, (turn, ""))
            messages[node] = turn, before + text if last == turn else text

        return hear


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

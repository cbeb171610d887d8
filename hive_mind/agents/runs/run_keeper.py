"""The runs of one agent: begun, driven side by side, left alone while they wait, and taken up when a person decides.

A run that waits is in the ledger and nowhere else. After a restart every run that has not ended is taken up again.

The words of models come as they are said, for clients that follow now, and are kept nowhere. A model is heard word by word only
where somebody looks: not every server that can do that also counts its tokens.
"""

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any

from pydantic import ValidationError

from hive_mind.agents.notices import KINDS
from hive_mind.agents.runs import run_journal as journals
from hive_mind.agents.runs.executor import RunExecutor
from hive_mind.agents.runs.performer import RunParts
from hive_mind.agents.runs.tasks import AGAIN_S, kept_up, stopped
from hive_mind.errors import HiveError, InvalidInput
from hive_mind.judge.items import DECIDED, Item
from hive_mind.llm.base import OnText
from hive_mind.model.entry import Entry
from hive_mind.runs.graphs.spec import WorkerSpec
from hive_mind.runs.graphs.worker_file import faults
from hive_mind.runs.steps import ENDED, PREFIX
from hive_mind.tools.base import Toolbox

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
                self.troubles[run] = str(error)
                _log.error("%s: run %s can't go on, and is tried again: %s", self.parts.agent, run, error)
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

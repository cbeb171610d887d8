"""The runs of one agent of a worker: begun, driven side by side, left alone while they wait, and taken up when a person decides.

A run that waits is in the ledger and nowhere else. After a restart every run that has not ended is taken up again.

The words of models in the runs of an agent, as they come: for clients that follow now, and kept nowhere.

A model is heard word by word only where somebody looks: not every server that can do that also counts its tokens.
"""

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

from hive_mind.agents.runs.executor import RunExecutor
from hive_mind.agents.runs.performer import RunParts
from hive_mind.agents.runs.run_journal import ASSIGNED, TASKS, WORDS, RunJournal, RunTaken, is_known, moot_of, run_ids, task_of
from hive_mind.errors import HiveError, InvalidInput
from hive_mind.judge.items import DECIDED, Item
from hive_mind.llm.base import OnText
from hive_mind.model.entry import Entry
from hive_mind.runs.graphs.spec import WorkerSpec
from hive_mind.runs.steps import ENDED, PREFIX

_log = logging.getLogger(__name__)

_AGAIN_S = 5.0
_OF_RUNS = ("judgment", "tool", "question")

_LOOKS_ON_S = 3.0
"""A client that follows a run polls several times a second."""


class RunKeeper:
    """Of one agent, from `open` to `close`. `worker`: what it runs where nothing else is named."""

    def __init__(self, parts: RunParts, worker: WorkerSpec | None = None) -> None:
        self.parts, self.worker = parts, worker
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._executors: dict[str, RunExecutor] = {}
        self._runs_again: set[str] = set()
        self._without_room: set[str] = set()
        self._own_runs: set[str] = set()
        self._following: asyncio.Task[None] | None = None
        self.saying = Saying()
        self.troubles: dict[str, str] = {}
        """Why a run can't go on now, by its name; it is tried again."""

    async def open(self) -> None:
        """Take up what has not ended. Raises what a ledger raises."""
        if self._following is not None:
            return
        heads = await self.parts.ledger.heads("")
        since = max((head.pos for head in heads), default=0)
        self._following = asyncio.create_task(self._follow(since), name=f"decisions for the runs of {self.parts.agent}")
        for run in await run_ids(self.parts.ledger):
            if (await RunJournal(self.parts.ledger, run).load()).outcome is None:
                self._drive(run)
        await self._withdraw([head.stream.removeprefix(PREFIX) for head in heads if head.kind == ENDED])
        for head in await self.parts.ledger.heads(TASKS):
            for entry in await self.parts.ledger.read(head.stream):
                await self._take(entry)

    async def close(self) -> None:
        """Stop where each run is. Closing twice is fine."""
        tasks = [*self._tasks.values(), *([self._following] if self._following else [])]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
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

    def resume(self, run: str) -> None:
        """Look whether it can go on."""
        self._drive(run)

    async def cancel(self, run: str, by: str) -> None:
        """Give it up; what was done stays done."""
        await self._stop(run)
        await RunJournal(self.parts.ledger, run, self.parts.clock_ms).cancel(by)

    @property
    def under_way(self) -> Sequence[str]:
        """Runs at which something is done now."""
        return [run for run, task in self._tasks.items() if not task.done()]

    def _drive(self, run: str) -> None:
        """One task for each; asked again while it runs, it looks once more when it is through."""
        if run in self._tasks and not self._tasks[run].done():
            self._runs_again.add(run)
            return
        self._tasks[run] = asyncio.create_task(self._driven(run), name=f"run {run}")

    async def _driven(self, run: str) -> None:
        try:
            while True:
                self._runs_again.discard(run)
                try:
                    await self._once(run, RunExecutor(run, self.parts, listen=partial(self.saying.listen, run)))
                except RunTaken as error:
                    _log.warning("%s: %s", self.parts.agent, error)
                    return
                except (HiveError, OSError) as error:
                    self.troubles[run] = str(error)
                    _log.error("%s: run %s can't go on, and is tried again: %s", self.parts.agent, run, error)
                    await asyncio.sleep(_AGAIN_S)
                    continue
                self.troubles.pop(run, None)
                if run not in self._runs_again:
                    return
        finally:
            self._executors.pop(run, None)

    async def _once(self, run: str, executor: RunExecutor) -> None:
        self._executors[run] = executor
        await executor.resume()
        state = await executor.drive()
        self._without_room.discard(run)
        if state.outcome is None and not state.is_waiting:
            self._without_room.add(run)

    async def _follow(self, since: int) -> None:
        """Decisions about items of runs, words for runs, tasks that were assigned, and what others write into their journals."""
        while True:
            try:
                async for entry in self.parts.ledger.follow(since):
                    since = entry.pos
                    await self._heard(entry)
                return
            except HiveError as error:
                _log.error("%s: decisions can't be followed, tried again: %s", self.parts.agent, error)
                await asyncio.sleep(_AGAIN_S)

    async def _heard(self, entry: Entry) -> None:
        prefix, _, rest = entry.stream.partition("/")
        if prefix == "item" and entry.kind == DECIDED:
            await self._decided(rest)
        elif entry.stream.startswith(PREFIX) and "." not in rest:
            # A sub-agent is driven by the run that delegates to it.
            await self._written(rest, entry.kind)
        elif entry.stream.startswith(WORDS):
            if executor := self._executors.get(rest):
                executor.listen()
            self._drive(rest)
        elif entry.kind == ASSIGNED:
            await self._take(entry)

    async def _written(self, run: str, kind: str) -> None:
        if kind in ("paused", "continued", ENDED):
            await self._stop(run)
        if kind == "continued" or (kind == "started" and run not in self._own_runs):
            self._drive(run)

    async def _withdraw(self, ended: Collection[str]) -> None:
        """Take back what these runs asked, where a kill came between their end and this."""
        for view in await self.parts.desk.open():
            if (run := _asking(view.item)) in ended:
                await self.parts.desk.withdraw([view.item.id], moot_of(run))

    async def _stop(self, run: str) -> None:
        """Somebody else wrote into its journal: whatever is under way here is not wanted any more. Of our own end nothing is."""
        task = self._tasks.get(run)
        if task is not None and not task.done():
            task.cancel()
            await asyncio.wait([task])
        self._own_runs.discard(run)
        self.troubles.pop(run, None)

    async def _take(self, entry: Entry) -> None:
        """A task begins one run, however often it is seen. One that can't begin is logged once."""
        run, inputs = task_of(entry)
        if not await is_known(self.parts.ledger, run):
            try:
                await self.start(None, inputs, run)
            except InvalidInput as error:
                _log.error("%s: a task that was assigned can't begin: %s", self.parts.agent, error)

    async def _decided(self, item: str) -> None:
        view = await self.parts.desk.view(item)
        if view is not None and (run := _asking(view.item)) and await self.parts.ledger.read(PREFIX + run):
            self._drive(run)
        for waiting in list(self._without_room):
            self._drive(waiting)


def _asking(item: Item) -> str:
    """The run that asks, or whose sub-agent does; "" for an item that is of no run."""
    run, slash, _ = item.subject.partition("/")
    return run.partition(".")[0] if slash and item.kind in _OF_RUNS else ""


class Saying:
    """Of all runs of one agent. Each text has the number of its turn, so that two that are alike are two."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._turns = clock, 0
        self._looked_at: dict[str, float] = {}
        self._messages: dict[str, dict[str, tuple[int, str]]] = {}

    def look(self, run: str) -> list[dict[str, str | int]]:
        """The turn of each node that speaks or spoke last, with its text as far as it has come."""
        self._looked_at = {seen_run: at for seen_run, at in self._looked_at.items() if self._is_now(at)} | {run: self._clock()}
        self._messages = {seen_run: message for seen_run, message in self._messages.items() if seen_run in self._looked_at}
        return [{"node": node, "turn": turn, "text": text} for node, (turn, text) in self._messages.get(run, {}).items()]

    def listen(self, run: str, node: str) -> OnText | None:
        """The listener to a turn that begins now; None where nobody follows the run."""
        if not self._is_now(self._looked_at.get(run, float("-inf"))):
            return None
        self._turns += 1
        turn, nodes = self._turns, self._messages.setdefault(run, {})

        def hear(text: str) -> None:
            last, before = nodes.get(node, (turn, ""))
            nodes[node] = turn, before + text if last == turn else text

        return hear

    def _is_now(self, at: float) -> bool:
        return self._clock() - at <= _LOOKS_ON_S

"""The executor: begins what a run wants, keeps the steps that its events mean, and stops where only a person can go on.

A run has one executor at a time: the first to append goes on, the other gets an error. After a crash the steps are folded again,
and what is wanted is wanted again. Tasks beside the runs of an agent are kept up while they fail, and stopped together.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

from hive_mind.agents.runs.performer import ROOM_POLL_S, Budget, Listen, RunParts, RunPerformer
from hive_mind.agents.runs.run_journal import WORDS, RunJournal, StepTooLarge, checked_name, is_known, words_for
from hive_mind.agents.runs.run_tools import RunTools, UsedCredentials
from hive_mind.cognition.budget import usd_of
from hive_mind.errors import HiveError, InvalidInput
from hive_mind.llm.base import Usage
from hive_mind.runs import NAME_CHARACTERS
from hive_mind.runs import effects as e
from hive_mind.runs.accepted import accepted, begun
from hive_mind.runs.effects import WorkerPlan, wanted
from hive_mind.runs.prompt import DELEGATE, as_text, result_of, shown
from hive_mind.runs.spec import WorkerSpec, kept, sub_agent
from hive_mind.runs.state import RunState
from hive_mind.runs.steps import Resumed, Started, Step

_log = logging.getLogger(__name__)

AGAIN_S = 5.0


async def kept_up(work: Callable[[], Awaitable[object]], trouble: str) -> None:
    """Until it ends by itself; what failed is logged as this `trouble` and begun again."""
    while True:
        try:
            await work()
            break
        except* HiveError as failed:
            _log.error("%s, tried again: %s", trouble, failed.exceptions[0])
        await asyncio.sleep(AGAIN_S)


async def stopped(tasks: Collection["asyncio.Task[Any]"]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class RunExecutor:
    """Of one run. `is_waiting`: wait for people, instead of coming back when nothing else is left to do.

    `on_step` gets each step once it is durable; `listen` says who hears what a model says, as it comes and unkept.
    """

    def __init__(
        self,
        run: str,
        parts: RunParts,
        *,
        is_waiting: bool = False,
        on_step: Callable[[Step], None] | None = None,
        listen: Listen = lambda _: None,
    ) -> None:
        self.run, self.parts, self._is_waiting, self._listen = run, parts, is_waiting, listen
        self.journal = RunJournal(parts.ledger, run, parts.clock_ms, on_step)
        self._plan, self._budget = WorkerPlan(), Budget(lambda: self.state)
        self._heard_pos = 0
        """Behind this position of the ledger nothing was said to it yet that it knows."""

    @property
    def state(self) -> RunState:
        return self.journal.state

    async def start(self, spec: WorkerSpec, inputs: Mapping[str, Any], parent: str = "", stream: str = "") -> None:
        """The first steps. `stream`: the runs it shares values with.

        Raises `InvalidInput` for missing inputs, a name that is taken, and a limit in dollars that nothing counts against.
        """
        if not parent:
            checked_name(self.run)
        if len(stream) > NAME_CHARACTERS or not stream.isprintable():
            most = f"at most {NAME_CHARACTERS} printable characters"
            raise InvalidInput(f"the name of a stream is {most}, not {stream[:80]!r}")
        if missing := [key for key in spec.inputs if key not in inputs]:
            raise InvalidInput(f"worker {spec.id} needs {', '.join(missing)}: give each with --input {missing[0]}=VALUE")
        if (await self.journal.load()).seq:
            raise InvalidInput(f"there is a run {self.run} already; resume it")
        if await is_known(self.parts.ledger, self.run):
            raise InvalidInput(f"there was a run {self.run}, which is pruned: give another name")
        _check_price(spec, self.parts)
        has_rules = await self.parts.judge.has_rules()
        await self.journal.append(begun(Started(kept(spec), dict(inputs), parent, stream, has_rules)))

    async def resume(self, spec: WorkerSpec | None = None) -> None:
        """Take the run over. `spec`: a newer definition, which has to have the nodes at which the run is."""
        state = await self.journal.load()
        if not state.seq:
            raise InvalidInput(f"there is no run {self.run}")
        if state.outcome is not None:
            return
        if spec and (nodes := [place.node for place in state.places.values() if place.node not in spec.by_id]):
            raise InvalidInput(f"the new definition has no node {', '.join(nodes)}, where run {self.run} is")
        _check_price(spec or state.spec, self.parts)
        await self.journal.append([Resumed(kept(spec) if spec else None, await self.parts.judge.has_rules())])
        await asyncio.to_thread(self.parts.files(self.run, "").remove_halves)

    async def drive(self) -> RunState:
        """Until it has ended or waits for somebody. Raises `RunTaken`, and what ledger and disk raise; the run stays as it is."""
        files = self.parts.files(self.run, self.state.spec.identity)
        toolbox = self.parts.toolbox_of(self.run, files)
        used = UsedCredentials(self.parts.credential, self.parts.hidden)
        fleet_keys = frozenset(key for key, scope in self.state.spec.scopes.items() if scope == "fleet")
        tools = RunTools(self.run, self.parts.agent, toolbox, files, bool(self.state.parent), used, fleet_keys)
        self._plan = WorkerPlan(toolbox.traits, self.parts.model is not None)
        self._budget = budget = Budget(lambda: self.state)
        does = RunPerformer(tools, self.parts, self._delegated, budget, is_waiting=self._is_waiting, listen=self._listen)
        tasks: dict[str, asyncio.Task[e.Event | None]] = {}
        pending: set[str] = set()
        try:
            while self.state.outcome is None:
                await self._hear()
                effects = wanted(self.state, self._plan)
                ids = {effect.id for effect in effects}
                for id in [id for id in tasks if id not in ids]:
                    tasks.pop(id).cancel()
                    self._budget.release(id)
                pending &= ids
                for effect in effects:
                    if effect.id not in tasks and effect.id not in pending:
                        tasks[effect.id] = asyncio.create_task(does.perform(effect, self.state), name=effect.id)
                if not await self._advance(tasks, pending):
                    break
        finally:
            await stopped(tasks.values())
        return self.state

    async def _advance(self, tasks: dict[str, "asyncio.Task[e.Event | None]"], pending: set[str]) -> bool:
        """Keep what has come; False when nothing more will."""
        busy = [task for id, task in tasks.items() if id != "time" and not id.endswith(".w")]
        if not busy and not self._is_waiting:
            return False
        word = asyncio.create_task(self._said())
        try:
            tasks_done, _ = await asyncio.wait([*tasks.values(), word], return_when=asyncio.FIRST_COMPLETED)
        finally:
            await stopped([word])
        for id in [id for id, task in tasks.items() if task in tasks_done]:
            event = tasks.pop(id).result()
            if event is None:
                pending.add(id)
            else:
                await self._keep(event)
            self._budget.release(id)
        return True

    async def _keep(self, event: e.Event) -> None:
        """Keep the steps of an event. One that is too large asks a person: it would be as large the next time."""
        if steps := accepted(self.state, self._plan, event):
            try:
                await self.journal.append(steps)
            except StepTooLarge as error:
                if not isinstance(event, e.Word):
                    await self._keep(e.Failed(event.effect, str(error)))

    async def _said(self) -> None:
        """Until somebody says something that a node waits for, in this process or in another."""
        if not self.state.listening:
            await asyncio.Event().wait()
        async for entry in self.parts.ledger.follow(self._heard_pos, stream := WORDS + self.run):
            if entry.stream == stream:
                return

    async def _hear(self) -> None:
        """Words stay where they are until a node waits for one."""
        if self.state.listening:
            for word, pos in await words_for(self.parts.ledger, self.run):
                self._heard_pos = pos
                await self._keep(word)

    async def _delegated(self, state: RunState, effect: e.CallTool) -> e.ToolGave | e.CallWaits | None:
        """A run of its own, under a name that follows from the call: after a crash it is the same one.

        It never waits by itself: its run does, so that everybody sees for whom. None where its question finds no room now.
        """
        call, number = effect.call, effect.number
        name, task = call.arguments.get("name"), call.arguments.get("task")
        if name not in [subagent.id for subagent in state.spec.subagents] or not isinstance(task, str):
            text = "delegate_to_sub_agent needs the name of a sub-agent and a task"
            return e.ToolGave(effect.id, e.ToolResult(text, is_error=True))
        child = RunExecutor(f"{self.run}.{call.id}", self.parts)
        if (run_state := await child.journal.load()).seq:
            self._budget.hold(effect.id, run_state.spec.limits)
            await child.resume()
        else:
            # Turns and sub-agents at work or about to be, for which nothing is reserved yet.
            works = [each for each in wanted(self.state, self._plan) if isinstance(each, e.CallModel | e.CallTool)]
            paid_for = [each for each in works if isinstance(each, e.CallModel) or each.call.name == DELEGATE]
            unpaid = [each for each in paid_for if each.id not in self._budget.held]
            spec = sub_agent(state.spec, str(name), task, self._budget.part(effect.id, max(1, len(unpaid))))
            values_known = state.known_at(state.places[effect.place])
            await child.start(spec, {key: values_known.get(key) for key in spec.inputs}, parent=self.run)
        while (ended := await child.drive()).outcome is None:
            if ended.waiting:
                return e.CallWaits(effect.id, tuple(ended.waiting))
            if not self._is_waiting:
                return None
            await asyncio.sleep(ROOM_POLL_S)
        files = self.parts.files(self.run, state.spec.identity)
        text = as_text(result_of(ended, child.run))
        file = await asyncio.to_thread(files.keep_result, call.name, number, text)
        failed = ended.outcome not in ("accepted", "exhausted")
        result = e.ToolResult(shown(call.name, text, file), is_error=failed, file=file, tokens=ended.tokens, usd=ended.usd)
        return e.ToolGave(effect.id, result)


def _check_price(spec: WorkerSpec, parts: RunParts) -> None:
    """Raises `InvalidInput` for a limit in dollars that nothing could be counted against."""
    if spec.limits.usd is None or parts.model is None or usd_of(parts.model.name, Usage(1, 1, 1)) is not None:
        return
    raise InvalidInput(
        f"limits.usd: no price is known for {parts.model.name}; limit tokens instead, or name it provider:model, "
        "with genai-prices installed (extra llm)"
    )

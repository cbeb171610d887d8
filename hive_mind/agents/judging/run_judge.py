"""The judge of an agent's runs: of each output of any kind of node, and of what a run comes to.

It is put together once, of what a judge of facts is made of, too: rules, a model, settings, functions of one's own, and the log
from which people's decisions teach it. A worker adds rules, and says how sure its judge has to be.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from hive_mind.agents.judging.decision_log import LedgerLog
from hive_mind.agents.judging.hybrid_judge import HybridJudge, JudgedTurn, JudgeProtocol
from hive_mind.agents.judging.model_judge import ModelJudge
from hive_mind.errors import InvalidInput
from hive_mind.goals.goal import GENERAL, Goal
from hive_mind.judge.case import Case
from hive_mind.judge.hive_rules import RulesAtWork
from hive_mind.judge.judge_settings import JudgeSettings
from hive_mind.judge.judgment import Judgment, JudgmentAction, Signal
from hive_mind.judge.pipeline import RULES, is_for_a_person
from hive_mind.judge.precedent import Judged
from hive_mind.judge.rules import RuleSet
from hive_mind.runs.graphs.spec import NodeSpec, WorkerSpec
from hive_mind.runs.state import RunState


def always(rules: RuleSet) -> Callable[[], Awaitable[RulesAtWork]]:

    async def now() -> RulesAtWork:
        return RulesAtWork(rules)

    return now


_NO_RULES = always(RuleSet())


@dataclass(frozen=True)
class RunJudge:
    """`rules`: those at work now, beside a worker's. `functions`: judges and checks of one's own, by the names workers give."""

    rules: Callable[[], Awaitable[RulesAtWork]] = _NO_RULES
    model: ModelJudge | None = None
    settings: JudgeSettings = field(default_factory=JudgeSettings)
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    log: LedgerLog | None = None

    async def has_rules(self) -> bool:
        """Whether rules beside a worker's are asked about what a run comes to."""
        now = await self.rules()
        return bool(now.unreadable) or any(rule.on != "fact" and rule.mode != "retired" for rule in now.rules.rules)

    async def judged(
        self,
        spec: WorkerSpec,
        node: NodeSpec | None,
        case: Case,
        turn: JudgedTurn,
        subject: str,
        overruled: Collection[str] = (),
    ) -> Judged:
        """A judgement of a node's outputs, or of the whole; kept before it is returned. `overruled`: rules that are not asked.

        Raises `InvalidInput` for the name of a judge that is not there, and what the log raises.
        """
        now = await self.rules()
        # A rule of the fleet overrides a worker's of the same name.
        by_id = {rule.id: rule for rule in (*spec.rules, *now.rules.rules) if rule.id not in overruled}
        rules = RuleSet(by_id.values())
        signals = [Signal(name=RULES, origin=RULES, state="broken", reasoning=now.unreadable)] if now.unreadable else []
        judge = HybridJudge(rules, self.model, custom=self._own(node), settings=self._settings(spec), log=self.log)
        found_case = await judge.judged(replace(case, checks=self.functions), turn, signals, subject)
        if found_case.judgment.action is JudgmentAction.ESCALATE and not is_for_a_person(found_case.judgment, judge.settings):
            # Nobody is asked, so it has failed.
            return msgspec.structs.replace(found_case, judgment=msgspec.structs.replace(found_case.judgment, cause="unattended"))
        return found_case

    def _own(self, node: NodeSpec | None) -> JudgeProtocol | None:
        if node is None or not node.judge:
            return None
        if node.judge not in self.functions:
            raise InvalidInput(f"node {node.id} is judged by {node.judge!r}, which is not there: {how_to_name(node.judge)}")
        return judge_of(self.functions[node.judge])

    def _settings(self, spec: WorkerSpec) -> JudgeSettings:
        """Those of the agent, but for what the worker says."""
        said = {name: value for name, value in spec.judging if value is not None}
        return replace(self.settings, **said)


def how_to_name(name: str) -> str:
    """The remedy for a function that is not there."""
    return f"give it with --function {name}=FILE.py:NAME, or in a manifest's judge.functions"


def judge_of(function: Any) -> JudgeProtocol:
    """A judge of one's own: an object that has `evaluate`, or a function of the turn."""
    return function if hasattr(function, "evaluate") else _Function(function)


@dataclass(frozen=True, slots=True)
class _Function:
    function: Callable[[JudgedTurn], Any]

    async def evaluate(self, turn: JudgedTurn) -> Judgment | None:
        if inspect.iscoroutinefunction(self.function):
            said = await self.function(turn)
        else:
            said = await asyncio.to_thread(self.function, turn)
        return _understood(said)


def _understood(judgment: Any) -> Judgment | None:
    """A judgement; or in short an action, a text as feedback for another try, True to accept, None to leave it to others."""
    match judgment:
        case None | Judgment():
            return judgment
        case True:
            return Judgment(action=JudgmentAction.ACCEPT, reasoning="a judge of one's own accepts it")
        case JudgmentAction():
            return Judgment(action=judgment, reasoning=f"a judge of one's own says {judgment}")
        case str() if judgment:
            return Judgment(action=JudgmentAction.RETRY, reasoning=judgment, feedback=judgment)
    raise InvalidInput(f"a judge gives a Judgment, an action, a text for another try, True or None, not {judgment!r:.60}")


def case_of_node(spec: WorkerSpec, node: NodeSpec, outputs: Mapping[str, Any], turn: JudgedTurn) -> Case:
    kind = spec.goal.kind if spec.goal else GENERAL
    criteria = node.success_criteria
    goal = Goal(id=f"{spec.id}.{node.id}", kind=kind, success_criteria=criteria) if criteria else None
    return Case(outputs, goal, outputs=turn.outputs, attempts_left=turn.attempts_left, about=kind)


def case_of_whole(state: RunState) -> Case:
    """The end of a run against its goal. Rules don't see its inputs, unless a node has set them."""
    spec = state.spec
    keys = {key for node in spec.nodes if node.id in state.done for key in node.may_write}
    return Case(state.buffer, spec.goal, given=frozenset(state.inputs) - keys)

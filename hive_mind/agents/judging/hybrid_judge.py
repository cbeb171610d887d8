"""The judge of an agent: asks whatever signal the pipeline still needs, and keeps every judgement with what it rests on.

The decision is made by `judge.pipeline`, which is pure; here only somebody is asked. A judge that fails has said
nothing, and the pipeline hands the case to a person.

The judge of an agent's runs is made of it: of each output of any kind of node, and of what a run comes to. A worker adds rules,
and says how sure its judge has to be.
"""

import asyncio
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import msgspec

from hive_mind.agents.judging import functions_at
from hive_mind.agents.judging.decision_log import LedgerLog, log_of
from hive_mind.agents.judging.model_judge import JudgeModels, ModelJudge, Verdicts
from hive_mind.agents.judging.rules_at_work import HiveMember, HiveRules, rules_of
from hive_mind.errors import InvalidInput
from hive_mind.goals import GENERAL
from hive_mind.goals.goal import Check, Goal
from hive_mind.judge.judgment import CONFIDENCE_THRESHOLD, Judged, JudgeSettings, Judgment, JudgmentAction, ReviewConfig, Signal
from hive_mind.judge.pipeline import CUSTOM, MODEL, RULES, Case, Need, is_for_a_person, next_judgment
from hive_mind.judge.rules import RuleSet
from hive_mind.ledger import Ledger
from hive_mind.llm.base import LanguageModel
from hive_mind.model.ids import judgment_id
from hive_mind.runs.spec import NodeSpec, WorkerSpec
from hive_mind.runs.state import RunState

_NO_RULES = RuleSet()


@dataclass(frozen=True, slots=True)
class JudgedTurn:
    """An agent's actions in the turn that is judged: its text, the tools it called, the outputs it has to set."""

    text: str = ""
    calls: Sequence[str] = ()
    outputs: Sequence[str] = ()
    iteration: int = 0
    attempts_left: int = 0


class JudgeProtocol(Protocol):
    """A judge of one's own."""

    async def evaluate(self, turn: JudgedTurn) -> Judgment | None:
        """Its judgement, definitive where it has no confidence; None to leave it to the model."""


class HybridJudge:
    """Judges by rules, criteria, a judge of one's own or a model, and leaves to people what these can't decide.

    `llm_confidence_threshold` is that of `settings` where these are given. A `ModelJudge` has a budget of one's own.
    """

    def __init__(
        self,
        rules: RuleSet = _NO_RULES,
        model: LanguageModel | ModelJudge | None = None,
        *,
        llm_confidence_threshold: float = CONFIDENCE_THRESHOLD,
        custom: JudgeProtocol | Callable[..., Any] | None = None,
        settings: JudgeSettings | None = None,
        checks: Mapping[str, Check] | None = None,
        log: LedgerLog | None = None,
    ) -> None:
        self.rules = rules
        chosen = settings or JudgeSettings(threshold=llm_confidence_threshold)
        self.settings = replace(chosen, has_model=model is not None, has_custom=custom is not None)
        self._model = model if model is None or isinstance(model, ModelJudge) else ModelJudge(model)
        self._custom, self._checks, self._log = custom, checks or {}, log

    @property
    def llm_confidence_threshold(self) -> float:
        """How sure a judge has to be where nothing else was learned."""
        return self.settings.threshold

    async def evaluate(
        self, goal: Goal | None, result: Mapping[str, Any], turn: JudgedTurn | None = None, given: Sequence[Signal] = ()
    ) -> Judgment:
        """The judgement, recorded before it is returned; without a goal, of the outputs alone.

        `given`: what is known already, such as a person's decision.
        Raises only what the log raises.
        """
        turn = turn or JudgedTurn()
        case = Case(result, goal, outputs=turn.outputs, attempts_left=turn.attempts_left, checks=self._checks)
        return (await self.judged(case, turn, given)).judgment

    async def judged(self, case: Case, turn: JudgedTurn, given: Sequence[Signal] = (), subject: str = "") -> Judged:
        """The same with all that it rests on. `subject`: what is judged, attempt after attempt."""
        settings, signals, verdicts = self.settings, list(given), Verdicts()
        judgment = next_judgment(case, self.rules, settings, signals)
        if isinstance(judgment, Need) and self._log:
            settings = await self._log.taught(settings)
        while isinstance(judgment, Need):
            if judgment.signal == MODEL and self._model:
                verdicts = await self._model.verdict(case)
                signals += verdicts.signals
            else:
                signals.append(await _custom_signal(self._custom, turn))
            judgment = next_judgment(case, self.rules, settings, signals)
        digest, goal = case.digest, case.goal.id if case.goal else ""
        record = Judged(
            judgment=msgspec.structs.replace(judgment, id=judgment_id(goal, digest, turn.iteration)),
            case=digest,
            goal=goal,
            kind=case.goal_kind,
            result=dict(case.result),
            weights=dict(settings.weights_of(case.goal_kind)),
            subject=subject,
        )
        record = verdicts.noted_on(record)
        return await self._log.keep(record) if self._log else record


async def _custom_signal(judge: Any, turn: JudgedTurn) -> Signal:
    """Of a judge of one's own: an object that has `evaluate`, or a function of the turn."""
    evaluate = getattr(judge, "evaluate", judge)
    try:
        outcome = await (evaluate(turn) if inspect.iscoroutinefunction(evaluate) else asyncio.to_thread(evaluate, turn))
        outcome = _understood(outcome)
    except Exception as error:  # noqa: BLE001 - somebody else's code: whatever it raises, it has not said yes
        return Signal(name=CUSTOM, origin=CUSTOM, state="broken", reasoning=f"{type(error).__name__}: {error}")
    if outcome is None:
        return Signal(name=CUSTOM, origin=CUSTOM, reasoning="it leaves it to others")
    return Signal(
        name=CUSTOM,
        origin=CUSTOM,
        action=outcome.action,
        confidence=outcome.confidence,
        reasoning=outcome.feedback or outcome.reasoning,
    )


@dataclass(frozen=True)
class RunJudge:
    """`rules`: those at work now, beside a worker's. `functions`: judges and checks of one's own, by the names workers give."""

    rules: HiveRules = field(default_factory=HiveRules)
    model: ModelJudge | None = None
    settings: JudgeSettings = field(default_factory=JudgeSettings)
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    log: LedgerLog | None = None

    async def has_rules(self) -> bool:
        """Whether rules beside a worker's are asked about what a run comes to."""
        now = await self.rules.known()
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
        now = await self.rules.known()
        # A rule of the fleet overrides a worker's of the same name.
        by_id = {rule.id: rule for rule in (*spec.rules, *now.rules.rules) if rule.id not in overruled}
        rules = RuleSet(by_id.values())
        signals = [Signal(name=RULES, origin=RULES, state="broken", reasoning=now.unreadable)] if now.unreadable else []
        settings = replace(self.settings, **{name: value for name, value in spec.judging if value is not None})
        judge = HybridJudge(rules, self.model, custom=self._own(node), settings=settings, log=self.log)
        found_case = await judge.judged(replace(case, checks=self.functions), turn, signals, subject)
        if found_case.judgment.action is JudgmentAction.ESCALATE and not is_for_a_person(found_case.judgment, judge.settings):
            # Nobody is asked, so it has failed.
            return msgspec.structs.replace(found_case, judgment=msgspec.structs.replace(found_case.judgment, cause="unattended"))
        return found_case

    def _own(self, node: NodeSpec | None) -> Callable[..., Any] | None:
        if node is None or not (name := node.judge):
            return None
        if name not in self.functions:
            remedy = f"give it with --function {name}=FILE.py:NAME, or in a manifest's judge.functions"
            raise InvalidInput(f"node {node.id} is judged by {name!r}, which is not there: {remedy}")
        return self.functions[name]


async def run_judge(config: ReviewConfig, ledger: Ledger, models: JudgeModels, model: str, member: HiveMember | None) -> RunJudge:
    """The judge of an agent's runs. `model`: the agent's own, for where the configuration names none. Raises `InvalidInput`."""
    name = config.model.name or model
    return RunJudge(
        HiveRules(rules_of(config).rules, member.member if member else None),
        await models.judging(name) if name else None,
        config.model.settings,
        functions_at(config.functions),
        log_of(ledger, config.model),
    )


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

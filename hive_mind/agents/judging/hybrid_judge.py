"""The judge of an agent: asks whatever signal the pipeline still needs, and keeps every judgement with what it rests on.

The decision is made by `judge.pipeline`, which is pure; here only somebody is asked. A judge that fails has said
nothing, and the pipeline hands the case to a person.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import msgspec

from hive_mind.agents.judging.model_judge import ModelJudge, ModelVerdict
from hive_mind.goals.goal import Goal
from hive_mind.goals.satisfaction import Check
from hive_mind.judge.case import Case
from hive_mind.judge.judge_settings import CONFIDENCE_THRESHOLD, JudgeSettings
from hive_mind.judge.judgment import Judgment, Signal
from hive_mind.judge.pipeline import CUSTOM, Need, next_judgment
from hive_mind.judge.precedent import Judged
from hive_mind.judge.rules import RuleSet
from hive_mind.llm.base import LanguageModel, Usage
from hive_mind.model.ids import judgment_id

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
        ...


class DecisionLog(Protocol):
    """Where judgements are kept."""

    async def keep(self, judged: Judged) -> Judged:
        """Durable when it returns, and chosen for people to look at, or not; what can't be kept raises, and is not decided."""
        ...

    async def taught(self, settings: JudgeSettings) -> JudgeSettings:
        """With what people's decisions taught. Raises what a ledger raises."""
        ...


@dataclass(slots=True)
class _Asked:
    signals: list[Signal]
    verdict: ModelVerdict | None = None


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
        custom: JudgeProtocol | None = None,
        settings: JudgeSettings | None = None,
        checks: Mapping[str, Check] | None = None,
        log: DecisionLog | None = None,
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
        settings, question = self.settings, _Asked(list(given))
        found = next_judgment(case, self.rules, settings, question.signals)
        if isinstance(found, Need) and self._log:
            settings = await self._log.taught(settings)
        while isinstance(found, Need):
            await self._ask(found, case, turn, question)
            found = next_judgment(case, self.rules, settings, question.signals)
        digest = case.digest
        name = judgment_id(case.goal.id if case.goal else "", digest, turn.iteration)
        record = self._record(msgspec.structs.replace(found, id=name), case, digest, question.verdict)
        record = msgspec.structs.replace(record, subject=subject, weights=dict(settings.weights_of(case.goal_kind)))
        return await self._log.keep(record) if self._log else record

    async def _ask(self, need: Need, case: Case, turn: JudgedTurn, asked: _Asked) -> None:
        if need.signal == "custom" and self._custom:
            asked.signals.append(await _custom_signal(self._custom, turn))
        elif need.signal == "model" and self._model:
            asked.verdict = await self._model.verdict(case)
            asked.signals.append(asked.verdict.signal)
        else:
            raise AssertionError(f"no source is configured for signal {need.signal}")

    def _record(self, judgment: Judgment, case: Case, digest: str, verdict: ModelVerdict | None) -> Judged:
        usage = verdict.usage if verdict else Usage()
        return Judged(
            judgment=judgment,
            case=digest,
            goal=case.goal.id if case.goal else "",
            kind=case.goal_kind,
            result=dict(case.result),
            model=self._model.name if self._model and verdict else "",
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            usd=verdict.usd if verdict else None,
        )


async def _custom_signal(judge: JudgeProtocol, turn: JudgedTurn) -> Signal:
    try:
        said = await judge.evaluate(turn)
    except Exception as error:  # noqa: BLE001 - somebody else's code: whatever it raises, it has not said yes
        return Signal(name=CUSTOM, origin=CUSTOM, state="broken", reasoning=f"{type(error).__name__}: {error}")
    if said is None:
        return Signal(name=CUSTOM, origin=CUSTOM, reasoning="it leaves it to others")
    return Signal(
        name=CUSTOM, origin=CUSTOM, action=said.action, confidence=said.confidence, reasoning=said.feedback or said.reasoning
    )

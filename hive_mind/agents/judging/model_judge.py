"""The language model as a signal: what it says of a result against a goal, or why nothing usable came from it.

It is asked within a budget, tried again while its provider is in trouble, corrected twice where a reply is malformed. Any
failure becomes a broken signal, which a judge hands to a person. The result is fenced as data: it may say whatever it likes.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from hive_mind.agents.judging.checked_model import CheckedModel
from hive_mind.cognition.budget import Spending, usd_of
from hive_mind.cognition.prompts import instructions_of
from hive_mind.cognition.replies import VerdictReply, verdict_reply
from hive_mind.errors import BackendError, BudgetExceeded, ModelOutputError
from hive_mind.goals.goal import Constraint, Goal, SuccessCriterion
from hive_mind.goals.satisfaction import as_text
from hive_mind.judge.case import Case
from hive_mind.judge.judgment import JudgmentAction, Signal
from hive_mind.judge.pipeline import MODEL
from hive_mind.llm.base import Usage

ASKING_ERRORS = BackendError, ModelOutputError, BudgetExceeded
"""The errors of asking a model."""
_SPENT = "the token budget of the judge is spent"


@dataclass(frozen=True, slots=True)
class ModelVerdict:
    """The signal, and what it cost; `usd` is None where no price is known."""

    signal: Signal
    usage: Usage
    usd: float | None


class ModelJudge(CheckedModel):
    """Asks one model. `budget` is for all its verdicts together."""

    async def verdict(self, case: Case) -> ModelVerdict:
        """The model's verdict on all parts that neither code nor a person has looked at."""
        spent: list[Spending] = []
        try:
            signal = await self._asked(case, spent)
        except ASKING_ERRORS as error:
            signal = broken(error)
        usage = sum((one.used for one in spent), Usage())
        return ModelVerdict(signal, usage, usd_of(self.name, usage))

    async def _asked(self, case: Case, spent: list[Spending]) -> Signal:
        seen = case.satisfaction()
        unchecked = set(seen.unchecked) if seen else set()
        criteria = [one for one in case.criteria if one.id in unchecked]
        constraints = [one for one in case.constraints if one.id in unchecked]
        instructions = f"{instructions_of('judge')}\n\n{_goal_text(case.goal, criteria, constraints)}"
        data = _result_text(case, self.settings.result_chars_max)
        ids = [one.id for one in criteria], [one.id for one in constraints]
        return _signal(await self.ask(instructions, data, lambda reply: verdict_reply(reply, *ids), spent))


def broken(error: Exception) -> Signal:
    """The signal of a model from which nothing usable came."""
    why = f"{_SPENT}: {error}" if isinstance(error, BudgetExceeded) else str(error)
    return Signal(name=MODEL, origin=MODEL, state="broken", reasoning=why)


def _signal(reply: VerdictReply) -> Signal:
    kept = {id: None if violated is None else float(not violated) for id, violated in reply.violated.items()}
    return Signal(
        name=MODEL,
        origin=MODEL,
        action=JudgmentAction(reply.action),
        confidence=reply.confidence,
        reasoning=reply.reasoning.strip(),
        grades={**reply.scores, **kept},
    )


def _goal_text(goal: Goal | None, criteria: Sequence[SuccessCriterion], constraints: Sequence[Constraint]) -> str:
    if goal is None:
        return ""
    parts = [f"Goal: {goal.name or goal.id}", goal.description]
    if goal.context:
        parts.append(f"Known about it: {json.dumps(goal.context, ensure_ascii=False, default=str)}")
    parts += _listed("Criteria", criteria)
    parts += _listed("Constraints", constraints)
    return "\n".join(part for part in parts if part)


def _listed(title: str, parts: Sequence[SuccessCriterion | Constraint]) -> list[str]:
    lines = [f"- {json.dumps(one.id, ensure_ascii=False)}: {one.description or one.id}{_hidden(one)}" for one in parts]
    return [f"{title}:", *lines] if lines else []


def _hidden(one: SuccessCriterion | Constraint) -> str:
    # The worker sees the reasoning.
    is_hidden = isinstance(one, SuccessCriterion) and one.hidden
    return " (hidden from the worker: do not mention it in the reasoning)" if is_hidden else ""


def _result_text(case: Case, chars_max: int) -> str:
    text = "\n\n".join(f"{key}:\n{as_text(value)}" for key, value in case.result.items())
    return text if len(text) <= chars_max else f"{text[:chars_max]}\n… [{len(text) - chars_max:,} more characters, not shown]"

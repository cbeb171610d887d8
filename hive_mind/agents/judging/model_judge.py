"""The language model as a signal: what it says of a result against a goal, or why nothing usable came from it.

It is asked within a budget and at a pace, tried again while its provider is in trouble, corrected twice where a reply is
malformed. Any failure becomes a broken signal, which a judge hands to a person. The result is fenced as data: it may say
whatever it likes.
"""

import asyncio
import json
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from hive_mind.cognition.budget import Budget, Spending, usd_of, used_by
from hive_mind.cognition.prompts import fenced, instructions_of
from hive_mind.cognition.replies import UnusableReplyError, VerdictReply, verdict_reply
from hive_mind.errors import BackendError, BudgetExceeded, ModelOutputError
from hive_mind.goals.goal import Constraint, Goal, SuccessCriterion
from hive_mind.goals.satisfaction import as_text
from hive_mind.judge.case import Case
from hive_mind.judge.judgment import JudgmentAction, Signal
from hive_mind.judge.pipeline import MODEL
from hive_mind.llm.base import LanguageModel, Prompt, Usage
from hive_mind.retry import RetrySettings, retried

ASKING_ERRORS = BackendError, ModelOutputError, BudgetExceeded
"""The errors of asking a model."""
_SPENT = "the token budget of the judge is spent"

# Some two hundred verdicts. When it is spent, people are asked.
BUDGET_TOKENS = 200_000

_T = TypeVar("_T")

_MINUTE_S = 60.0


class Pace:
    """`turn` returns at most `per_minute` times within any minute. Clock and waiting are handed in by tests."""

    def __init__(
        self,
        per_minute: int,
        clock_s: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._clock_s, self._sleep = clock_s, sleep
        self._turns: deque[float] = deque(maxlen=per_minute)
        self._lock = asyncio.Lock()

    async def free(self) -> None:
        """When a call could be made; none is taken."""
        while len(self._turns) == self._turns.maxlen and (wait_s := self._turns[0] + _MINUTE_S - self._clock_s()) > 0:
            await self._sleep(wait_s)

    async def turn(self) -> None:
        """When the next call may be made."""
        async with self._lock:
            await self.free()
            self._turns.append(self._clock_s())


@dataclass(frozen=True, slots=True)
class ModelJudgeSettings:
    """`result_chars_max`: of a longer result the model sees the beginning and a note. `reply_tokens_max` bounds a verdict.

    `repairs_max`: how often a reply that can't be used is named to the model and asked for again.
    """

    result_chars_max: int = 40_000
    reply_tokens_max: int = 1_024
    repairs_max: int = 2
    retry: RetrySettings = field(default_factory=RetrySettings)


class CheckedModel:
    """Asks one model. `budget` is for all that it is asked; `pace`, if given, holds up calls."""

    def __init__(
        self,
        model: LanguageModel,
        budget: Budget | None = None,
        settings: ModelJudgeSettings | None = None,
        *,
        rng: random.Random | None = None,
        pace: Pace | None = None,
    ) -> None:
        self.budget = budget or Budget(BUDGET_TOKENS)
        self.settings = settings or ModelJudgeSettings()
        self._model, self._pace = model, pace
        self._rng = rng or random.Random()  # noqa: S311 - spreads retries in time, guards nothing

    @property
    def name(self) -> str:
        return self._model.name

    async def until_free(self) -> None:
        if self._pace:
            await self._pace.free()

    async def ask(
        self, instructions: str, data: str, read: Callable[[str], _T], spent: list[Spending], reply_tokens_max: int = 0
    ) -> _T:
        """A reply as `read` gives it; `read` raises `UnusableReplyError` for one that can't be used. Its cost goes to `spent`.

        Raises `BackendError`, `BudgetExceeded`, and `ModelOutputError` when no reply could be used.
        """
        problem = ""
        for _ in range(self.settings.repairs_max + 1):
            remark = f"\n\nYour last reply could not be used: {problem}. Reply again, as described." if problem else ""
            prompt = fenced(instructions + remark, data, reply_tokens_max or self.settings.reply_tokens_max)
            reply = await self._reply_to(prompt, spent)
            try:
                return read(reply)
            except UnusableReplyError as unusable:
                problem = str(unusable)
        times = self.settings.repairs_max + 1
        raise ModelOutputError(f"{self._model.name} replied {times} times with something that can't be used: {problem}")

    async def _reply_to(self, prompt: Prompt, spent: list[Spending]) -> str:
        return await retried(lambda: self._attempt(prompt, spent), self.settings.retry, rng=self._rng)

    async def _attempt(self, prompt: Prompt, spent: list[Spending]) -> str:
        if self._pace:
            await self._pace.turn()
        async with self.budget.spending(prompt) as spending:
            spent.append(spending)
            completion = await self._model.complete(prompt)
            spending.used = used_by(prompt, completion)
        return completion.text


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
        usage = sum((spending.used for spending in spent), Usage())
        return ModelVerdict(signal, usage, usd_of(self.name, usage))

    async def _asked(self, case: Case, spent: list[Spending]) -> Signal:
        satisfaction = case.satisfaction()
        unchecked = set(satisfaction.unchecked) if satisfaction else set()
        criteria = [criterion for criterion in case.criteria if criterion.id in unchecked]
        constraints = [constraint for constraint in case.constraints if constraint.id in unchecked]
        instructions = f"{instructions_of('judge')}\n\n{_goal_text(case.goal, criteria, constraints)}"
        data = _result_text(case, self.settings.result_chars_max)
        ids = [criterion.id for criterion in criteria], [constraint.id for constraint in constraints]
        return _signal(await self.ask(instructions, data, lambda reply: verdict_reply(reply, *ids), spent))


def broken(error: Exception) -> Signal:
    """The signal of a model from which nothing usable came."""
    why = f"{_SPENT}: {error}" if isinstance(error, BudgetExceeded) else str(error)
    return Signal(name=MODEL, origin=MODEL, state="broken", reasoning=why)


def _signal(reply: VerdictReply) -> Signal:
    kept_constraints = {id: None if violated is None else float(not violated) for id, violated in reply.violated.items()}
    return Signal(
        name=MODEL,
        origin=MODEL,
        action=JudgmentAction(reply.action),
        confidence=reply.confidence,
        reasoning=reply.reasoning.strip(),
        grades={**reply.scores, **kept_constraints},
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
    lines = [f"- {json.dumps(part.id, ensure_ascii=False)}: {_in_words(part)}{_hidden(part)}" for part in parts]
    return [f"{title}:", *lines] if lines else []


def _in_words(part: SuccessCriterion | Constraint) -> str:
    return (part.in_words if isinstance(part, Constraint) else part.description) or part.id


def _hidden(part: SuccessCriterion | Constraint) -> str:
    # The worker sees the reasoning.
    is_hidden = isinstance(part, SuccessCriterion) and part.hidden
    return " (hidden from the worker: do not mention it in the reasoning)" if is_hidden else ""


def _result_text(case: Case, chars_max: int) -> str:
    text = "\n\n".join(f"{key}:\n{as_text(value)}" for key, value in case.result.items())
    return text if len(text) <= chars_max else f"{text[:chars_max]}\n… [{len(text) - chars_max:,} more characters, not shown]"

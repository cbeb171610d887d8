"""The language model as a signal: what it says of a result against a goal, or why nothing usable came from it.

It is asked within a budget and at a pace, tried again while its provider is in trouble, corrected twice where a reply is
malformed. Any failure becomes a broken signal, which a judge hands to a person. The result is fenced as data: it may say
whatever it likes.
"""

import asyncio
import json
import logging
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from msgspec import structs

from hive_mind.cognition import fenced, instructions_of
from hive_mind.cognition.budget import Budget, Spending, reply_of, usd_of
from hive_mind.cognition.replies import UnusableReplyError, VerdictReply, verdict_reply
from hive_mind.errors import BackendError, BackendRejected, BudgetExceeded, HiveError, ModelOutputError
from hive_mind.goals.goal import Constraint, Goal, SuccessCriterion, as_text
from hive_mind.judge.judgment import Judged, JudgmentAction, Signal
from hive_mind.judge.pipeline import MODEL, Case
from hive_mind.llm.base import Completion, LanguageModel, OnText, Prompt, Usage
from hive_mind.model.content import Reply, Turn
from hive_mind.retry import RetrySettings

_log = logging.getLogger(__name__)

# Some two hundred verdicts. When it is spent, people are asked.
BUDGET_TOKENS = 200_000

_MINUTE_S = 60.0
# Of a longer result the model sees the beginning and a note.
_RESULT_CHARS_MAX, _REPLY_TOKENS_MAX = 40_000, 1_024


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


ReadSignals = Callable[[str], Sequence[Signal]]
"""Raises `UnusableReplyError` for a reply that can't be used."""


@dataclass(frozen=True, slots=True)
class Verdicts:
    """A signal for each thing that was asked about, and the cost of all; `usd` is None where no price is known."""

    signals: Sequence[Signal] = ()
    usage: Usage = field(default_factory=Usage)
    usd: float | None = None
    model: str = ""

    def noted_on(self, judged: Judged) -> Judged:
        """A judgement with the model that was asked for it, and the cost."""
        tokens = {"input_tokens": self.usage.input_tokens, "output_tokens": self.usage.output_tokens}
        return structs.replace(judged, model=self.model, usd=self.usd, **tokens)


class ModelJudge:
    """Asks one model. `budget` is for all its verdicts together; `pace`, if given, holds up calls.

    `repairs_max`: how often a reply that can't be used is named to the model and asked for again.
    """

    def __init__(
        self,
        model: LanguageModel,
        budget: Budget | None = None,
        retry: RetrySettings | None = None,
        *,
        rng: random.Random | None = None,
        pace: Pace | None = None,
        repairs_max: int = 2,
    ) -> None:
        self.budget = budget or Budget(BUDGET_TOKENS)
        self._model, self._retry, self._pace, self._repairs_max = model, retry or RetrySettings(), pace, repairs_max
        self._rng = rng or random.Random()  # noqa: S311 - spreads retries in time, guards nothing

    @property
    def name(self) -> str:
        return self._model.name

    async def until_free(self) -> None:
        if self._pace:
            await self._pace.free()

    async def verdict(self, case: Case) -> Verdicts:
        """The model's verdict on all parts that neither code nor a person has looked at."""
        satisfaction = case.satisfaction()
        unchecked = set(satisfaction.unchecked) if satisfaction else set()
        criteria = [criterion for criterion in case.criteria if criterion.id in unchecked]
        constraints = [constraint for constraint in case.constraints if constraint.id in unchecked]
        instructions = f"{instructions_of('judge')}\n\n{_goal_text(case.goal, criteria, constraints)}"
        text = "\n\n".join(f"{key}:\n{as_text(value)}" for key, value in case.result.items())
        left_out = len(text) - _RESULT_CHARS_MAX
        data = text if left_out <= 0 else f"{text[:_RESULT_CHARS_MAX]}\n… [{left_out:,} more characters, not shown]"
        ids = [criterion.id for criterion in criteria], [constraint.id for constraint in constraints]
        return await self.verdicts(instructions, data, lambda reply: [_signal(verdict_reply(reply, *ids))])

    async def verdicts(
        self, instructions: str, data: str, read: ReadSignals, size: int = 1, tokens_max: int = _REPLY_TOKENS_MAX
    ) -> Verdicts:
        """As many signals as `size`, as `read` gives them; where nothing usable came all are broken."""
        spent: list[Spending] = []
        try:
            signals = await self._read(lambda remark: fenced(instructions + remark, data, tokens_max), read, spent)
        except (BackendError, ModelOutputError, BudgetExceeded) as error:
            why = f"the token budget of the judge is spent: {error}" if isinstance(error, BudgetExceeded) else str(error)
            signals = [broken(why)] * size
        usage = sum((spending.used for spending in spent), Usage())
        return Verdicts(signals, usage, usd_of(self.name, usage), self.name)

    async def _read(self, prompt: Callable[[str], Prompt], read: ReadSignals, spent: list[Spending]) -> Sequence[Signal]:
        remark, times, turn = "", self._repairs_max + 1, self._pace.turn if self._pace else None
        for _ in range(times):
            asking = reply_of(self._model, prompt(remark), self.budget, self._retry, rng=self._rng, turn=turn, spent=spent)
            try:
                return read(await asking)
            except UnusableReplyError as unusable:
                problem = str(unusable)
            remark = f"\n\nYour last reply could not be used: {problem}. Reply again, as described."
        raise ModelOutputError(f"{self.name} replied {times} times with something that can't be used: {problem}")


def broken(why: str) -> Signal:
    """The signal of a model from which nothing usable came."""
    return Signal(name=MODEL, origin=MODEL, state="broken", reasoning=why)


@dataclass(frozen=True, slots=True)
class JudgeModels:
    """How a judge gets at language models: `open` gives one by its name, `tokens` is what all its verdicts may cost."""

    open: Callable[[str], Awaitable[LanguageModel]]
    retry: RetrySettings = field(default_factory=RetrySettings)
    tokens: int = BUDGET_TOKENS

    async def judging(self, name: str, pace: Pace | None = None) -> ModelJudge:
        """One of them as a judge; one that can't be had says so each time it is asked."""
        try:
            model = await self.open(name)
        except HiveError as error:
            _log.warning("no model can judge, so people are asked: %s", error)
            model = _Absent(name, str(error))
        return ModelJudge(model, Budget(self.tokens), self.retry, pace=pace)


@dataclass(frozen=True, slots=True)
class _Absent:
    """A model that can't be had."""

    name: str
    why: str

    async def complete(self, prompt: Prompt) -> Completion:
        del prompt
        raise BackendRejected(self.name, self.why)

    async def converse(self, turn: Turn, on_text: OnText | None = None) -> Reply:
        del turn, on_text
        raise BackendRejected(self.name, self.why)

    async def close(self) -> None:
        """Nothing to release."""


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
    lines = []
    for part in parts:
        in_words = part.in_words if isinstance(part, Constraint) else part.description
        # The worker sees the reasoning.
        is_hidden = isinstance(part, SuccessCriterion) and part.hidden
        note = " (hidden from the worker: do not mention it in the reasoning)" if is_hidden else ""
        lines.append(f"- {json.dumps(part.id, ensure_ascii=False)}: {in_words or part.id}{note}")
    return [f"{title}:", *lines] if lines else []

"""A language model that is asked within a budget, tried again while its provider is in trouble, and corrected twice.

A rate limit: calls per minute; early ones wait.
"""

import asyncio
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from hive_mind.cognition.budget import Budget, Spending, used_by
from hive_mind.cognition.prompts import fenced
from hive_mind.cognition.replies import UnusableReplyError
from hive_mind.errors import ModelOutputError
from hive_mind.llm.base import LanguageModel, Prompt
from hive_mind.retry import RetrySettings, retried

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
        """When a call could be sent."""
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
            again = f"\n\nYour last reply could not be used: {problem}. Reply again, as described." if problem else ""
            prompt = fenced(instructions + again, data, reply_tokens_max or self.settings.reply_tokens_max)
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

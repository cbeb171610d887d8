"""A run's budget and its cost: one token budget for all its processes, and the use between two moments.

Cells run in processes of their own, and a run may be interrupted and go on. So the use stands in a file of the run's folder, and
every call looks there first: cells side by side can't overspend together, and a run that goes on goes on counting.
"""

import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol

from hive_mind.cognition.budget import Budget, Spending, estimated_input_tokens, usd_of
from hive_mind.errors import BudgetExceeded
from hive_mind.file_lock import lock
from hive_mind.llm.base import LanguageModel, Prompt, Usage

FILE = "tokens.txt"

_log = logging.getLogger(__name__)


class Metered(Protocol):
    """A source of answers or judgements that counts its use."""

    @property
    def name(self) -> str:
        """For reports: how it works, and with which model."""
        ...

    @property
    def spent(self) -> Usage:
        """Total use so far, failed calls included."""
        ...

    def usd(self, used: Usage) -> float | None:
        """The price of that use in money; None where no price is known."""
        ...

    async def close(self) -> None:
        """Let go of the model."""
        ...


class MeteredModel:
    """`Metered` for what asks a language model for `purpose`. `has_price`: whether its provider's prices hold for it."""

    purpose = ""

    def __init__(self, model: LanguageModel, budget: Budget, *, has_price: bool = True) -> None:
        self._model, self._budget, self._has_price = model, budget, has_price

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def spent(self) -> Usage:
        return self._budget.spent

    def usd(self, used: Usage) -> float | None:
        """By the provider's published prices."""
        return usd_of(self.name, used) if self._has_price else None

    async def close(self) -> None:
        """Close the model and tell what it cost."""
        await self._model.close()
        _log.info("%s: %d calls, %d tokens spent on %s", self.name, self.spent.calls, self.spent.tokens, self.purpose)


class RunBudget(Budget):
    """At most `max_tokens` for everything that shares the file. `spent` is what this one spent alone.

    A process that is killed in the middle of a call leaves the most it can have cost: it may be billed.
    """

    def __init__(self, max_tokens: int, file: Path) -> None:
        super().__init__(max_tokens)
        self._file = file

    @asynccontextmanager
    async def spending(self, prompt: Prompt) -> AsyncIterator[Spending]:
        """Around one call, as `Budget` has it. Raises `BudgetExceeded` where all together would spend too much."""
        most = estimated_input_tokens(prompt) + prompt.max_output_tokens
        self._take(most)
        before = self.spent.tokens
        try:
            async with super().spending(prompt) as call:
                yield call
        finally:
            self._note(self.spent.tokens - before - most)

    def _take(self, most: int) -> None:
        with _locked(self._file) as file:
            counted = sum(map(int, file.read().split()))
            if counted + most > self.max_tokens:
                raise BudgetExceeded(
                    f"the run's token budget is spent: {counted} of {self.max_tokens} used, the next call may need {most}; "
                    "raise HIVE_MIND_TOKEN_BUDGET, and run into another folder, because nothing is asked twice in this one"
                )
            file.write(b"%d\n" % most)

    def _note(self, change: int) -> None:
        with _locked(self._file) as file:
            file.write(b"%d\n" % change)


def since(before: Usage, now: Usage) -> Usage:
    return Usage(now.input_tokens - before.input_tokens, now.output_tokens - before.output_tokens, now.calls - before.calls)


@contextmanager
def _locked(path: Path) -> Iterator[BinaryIO]:
    """The file for this process alone, to be read and added to. A call takes longer than all of its writing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        lock(file)
        file.seek(0)
        yield file

"""The one answerer of an experiment: every arm's hits are worded into an answer by the same reader, so that only they differ.

It is the reader that agents have: "quoting" quotes facts word for word, "model" asks a language model within a budget. It sees
the question's text, when it is asked, and the hits, and none of the question's labels.
"""

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from hive_mind.cognition.answering.quoting import PREFACE
from hive_mind.cognition.budget import Budget
from hive_mind.cognition.extractive import ExtractiveReader
from hive_mind.cognition.prompted import PromptedReader, PromptedSettings
from hive_mind.errors import InvalidInput
from hive_mind.evals.answers.spending import Metered, MeteredModel, since
from hive_mind.evals.datasets import LabelledQuestion
from hive_mind.llm.base import LanguageModel, Usage
from hive_mind.model.answer import Question
from hive_mind.model.query import Hit
from hive_mind.retry import RetrySettings
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import open_model

AnswererKind = Literal["none", "quoting", "model"]


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """An answer and what it cost. `is_known` is False for "I don't know"; `usd` is None where no price is known."""

    text: str
    is_known: bool
    tokens_in: int = 0
    tokens_out: int = 0
    usd: float | None = None


class Answerer(Metered, Protocol):
    """Words answers."""

    async def answer(self, question: LabelledQuestion, hits: Sequence[Hit]) -> GivenAnswer:
        """The answer that these hits give. Raises `ModelOutputError`, `BudgetExceeded` and `BackendError`."""
        ...


async def open_answerer(kind: AnswererKind, settings: Settings, budget: Budget | None = None) -> Answerer | None:
    """The answerer of this kind, None for "none". Without a `budget` it has the settings' token budget to itself.

    Raises `ConfigError`: no model is named, or it can't be opened.
    """
    match kind:
        case "none":
            return None
        case "quoting":
            return QuotingAnswerer()
        case "model":
            if not settings.llm:
                raise InvalidInput("answerer 'model' needs a language model: set HIVE_MIND_LLM, or take the answerer 'quoting'")
            granted = budget or Budget(settings.token_budget)
            return ModelAnswerer(await open_model(settings), granted, settings.llm_retry, has_price=not settings.llm_url)


class QuotingAnswerer:
    """Implements `Answerer` without a model: the relevant facts word for word, or "I don't know"."""

    name = "quoting"
    spent = Usage()

    def __init__(self) -> None:
        self._reader = ExtractiveReader()

    def usd(self, used: Usage) -> float | None:  # noqa: ARG002 - of whatever is used
        """Nothing is bought, so there is no price."""
        return None

    async def answer(self, question: LabelledQuestion, hits: Sequence[Hit]) -> GivenAnswer:
        """The quotations alone: keywords are looked for in what was found, not in how it is introduced."""
        given_answer = await self._reader.synthesise(Question(question.text, question.asked_at), hits)
        return GivenAnswer(given_answer.text.removeprefix(PREFACE).strip(), given_answer.is_known)

    async def close(self) -> None:
        """Nothing to let go of."""


class ModelAnswerer(MeteredModel):
    """Implements `Answerer` with a language model, which it closes."""

    purpose = "answers"

    def __init__(
        self, model: LanguageModel, budget: Budget, retry: RetrySettings | None = None, *, has_price: bool = True
    ) -> None:
        super().__init__(model, budget, has_price=has_price)
        # The arm decides the number of hits; full context is all of them.
        settings = PromptedSettings(hits_max=sys.maxsize, retry=retry or RetrySettings())
        self._reader = PromptedReader(model, budget, settings)
        self._turn = asyncio.Lock()

    async def answer(self, question: LabelledQuestion, hits: Sequence[Hit]) -> GivenAnswer:
        """One answer at a time, so that what is spent meanwhile is what this answer costs."""
        async with self._turn:
            before = self.spent
            given_answer = await self._reader.synthesise(Question(question.text, question.asked_at), hits)
            cost = since(before, self.spent)
        return GivenAnswer(given_answer.text, given_answer.is_known, cost.input_tokens, cost.output_tokens, self.usd(cost))

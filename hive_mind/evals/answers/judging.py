"""The judge of groundedness: do the facts found support the answer? A language model named in every report.

It fails closed: a reply that can't be used, a provider in trouble or a budget that is spent gives no verdict, and never a made-up
one. A verdict counts only where the model's own list of unsupported statements agrees with it.
"""

import asyncio
import logging
import random
from collections.abc import Sequence
from importlib.resources import files
from typing import Literal, Protocol

import msgspec

from hive_mind.cognition.budget import Budget, reply_of
from hive_mind.cognition.prompts import fenced
from hive_mind.cognition.replies import numbered
from hive_mind.errors import BackendError, BudgetExceeded, InvalidInput
from hive_mind.evals.answers.answering import GivenAnswer
from hive_mind.evals.answers.spending import Metered, MeteredModel
from hive_mind.evals.datasets import LabelledQuestion
from hive_mind.llm.base import LanguageModel
from hive_mind.model.query import Hit
from hive_mind.retry import RetrySettings, Sleep
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import open_model

JudgeKind = Literal["none", "model"]

# A verdict, and a few words for each statement it does not find.
_VERDICT_TOKENS_MAX = 1_024

_log = logging.getLogger(__name__)


class GroundingJudge(Metered, Protocol):
    """Says whether answers are grounded."""

    async def is_grounded(self, question: LabelledQuestion, answer: GivenAnswer, hits: Sequence[Hit]) -> bool | None:
        """Whether the hits support the answer; None where nothing was claimed, and where the judge gave no verdict."""
        ...


async def fact_judge(kind: JudgeKind, settings: Settings, budget: Budget | None = None) -> GroundingJudge | None:
    """The judge of this kind, None for "none". Without a `budget` it has the settings' token budget to itself.

    Raises `ConfigError`: no model is named, or it can't be opened.
    """
    if kind == "none":
        return None
    if not settings.llm:
        raise InvalidInput("judge 'model' needs a language model: set HIVE_MIND_LLM, or take the judge 'none' (--no-judge)")
    granted = budget or Budget(settings.token_budget)
    return ModelJudge(await open_model(settings), granted, settings.llm_retry, has_price=not settings.llm_url)


class _Verdict(msgspec.Struct, frozen=True):
    unsupported: list[str]
    grounded: bool


class ModelJudge(MeteredModel):
    """Implements `GroundingJudge` with a language model, which it closes. Why an answer got no verdict is logged."""

    purpose = "judging"

    def __init__(
        self,
        model: LanguageModel,
        budget: Budget,
        retry: RetrySettings | None = None,
        *,
        rng: random.Random | None = None,
        sleep: Sleep = asyncio.sleep,
        has_price: bool = True,
    ) -> None:
        super().__init__(model, budget, has_price=has_price)
        self._retry = retry or RetrySettings()
        self._rng = rng or random.Random()  # noqa: S311 - spreads retries in time, guards nothing
        self._sleep = sleep

    async def is_grounded(self, question: LabelledQuestion, answer: GivenAnswer, hits: Sequence[Hit]) -> bool | None:
        """One call. "I don't know" claims nothing, so nothing is asked; an answer from no source is not supported by any."""
        if not answer.is_known:
            return None
        if not hits:
            return False
        asked = fenced(_instructions(), _prompt(question, answer, hits), _VERDICT_TOKENS_MAX)
        try:
            reply = await reply_of(self._model, asked, self._budget, self._retry, rng=self._rng, sleep=self._sleep)
        except (BackendError, BudgetExceeded) as error:
            self._no_verdict(question, str(error))
            return None
        verdict = _verdict_in(reply)
        if verdict is None:
            self._no_verdict(question, "its reply can't be used")
        return verdict

    def _no_verdict(self, question: LabelledQuestion, why: str) -> None:
        _log.warning("judge %s gave no verdict on question %s: %s", self.name, question.id, why)


def _verdict_in(reply: str) -> bool | None:
    # Models like to put JSON into a code fence or a sentence.
    body = reply[reply.find("{") : reply.rfind("}") + 1]
    try:
        verdict = msgspec.json.decode(body.encode("utf-8", "replace"), type=_Verdict)
    except msgspec.DecodeError:
        return None
    return verdict.grounded if verdict.grounded == (not verdict.unsupported) else None


def _prompt(question: LabelledQuestion, answer: GivenAnswer, hits: Sequence[Hit]) -> str:
    """Everything on lines of its own, so that no answer can look like a source."""
    sources = numbered([_shown(hit) for hit in hits])
    asked_at = f"\nAsked at: {_line(question.asked_at)}" if question.asked_at else ""
    return f"Question: {_line(question.text)}{asked_at}\n\nSources:\n{sources}\n\nAnswer: {_line(answer.text)}"


def _shown(hit: Hit) -> str:
    """All that the answerer saw of a fact."""
    fact = hit.fact
    notes = [part for part in (fact.speaker, fact.said_at, "no longer true" if fact.superseded_by else "") if part]
    return f"{fact.content} ({', '.join(notes)})" if notes else fact.content


def _line(text: str) -> str:
    return " ".join(text.split())


def _instructions() -> str:
    return files(__package__).joinpath("prompts/grounded.md").read_text("utf-8").strip()

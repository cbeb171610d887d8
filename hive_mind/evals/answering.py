"""The one answerer of an experiment, the judge of groundedness, and what both may spend.

Every arm's hits are worded into an answer by the same reader, so that only the arms differ. It is the reader that agents have:
"quoting" quotes facts word for word, "model" asks a language model. It sees the question's text, when it is asked, and the hits,
and none of the question's labels.

The judge says whether the facts found support the answer. It fails closed: a reply that can't be used, a provider in trouble or a
budget that is spent gives no verdict, and never a made-up one. A verdict counts only where the model's own list of unsupported
statements agrees with it.

Cells run in processes of their own, and a run may be interrupted and go on. So the use of tokens stands in a file of the run's
folder, and every call looks there first: cells side by side can't overspend together, and a run that goes on goes on counting.
"""

import asyncio
import logging
import random
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import BinaryIO, Literal

import msgspec

from hive_mind.cognition import fenced
from hive_mind.cognition.answering.quoting import PREFACE
from hive_mind.cognition.budget import Budget, Spending, estimated_input_tokens, reply_of, usd_of
from hive_mind.cognition.extractive import ExtractiveReader
from hive_mind.cognition.prompted import PromptedReader, PromptedSettings
from hive_mind.cognition.replies import numbered
from hive_mind.errors import BackendError, BudgetExceeded, InvalidInput
from hive_mind.evals.datasets import LabelledQuestion
from hive_mind.llm.base import LanguageModel, Prompt, Usage
from hive_mind.model.decoding import json_decoder
from hive_mind.model.gathered import Question
from hive_mind.model.query import Hit
from hive_mind.retry import RetrySettings, Sleep
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import open_model
from hive_mind.safe_files import lock

FILE = "tokens.txt"

_log = logging.getLogger(__name__)


class MeteredModel:
    """Asks a language model for `purpose` and counts that. `has_price`: whether its provider's prices hold for it."""

    purpose = ""

    def __init__(
        self,
        model: LanguageModel,
        budget: Budget,
        retry: RetrySettings | None = None,
        *,
        has_price: bool = True,
        rng: random.Random | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._model, self._budget, self._retry, self._has_price = model, budget, retry or RetrySettings(), has_price
        self._rng = rng or random.Random()  # noqa: S311 - spreads retries in time, guards nothing
        self._sleep = sleep

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def spent(self) -> Usage:
        """Total use so far, failed calls included."""
        return self._budget.spent

    def usd(self, used: Usage) -> float | None:
        """By the provider's published prices."""
        return usd_of(self.name, used) if self._has_price else None

    async def close(self) -> None:
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


AnswererKind = Literal["none", "quoting", "model"]


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """An answer. `is_known` is False for "I don't know"."""

    text: str
    is_known: bool


async def open_answerer(
    kind: AnswererKind, settings: Settings, budget: Budget | None = None
) -> "QuotingAnswerer | ModelAnswerer | None":
    """The answerer of this kind, None for "none". Without a `budget` it has the settings' token budget to itself.

    Raises `ConfigError`: no model is named, or it can't be opened.
    """
    if kind == "model":
        return ModelAnswerer(*await _model_for("answerer", "'quoting'", settings, budget), has_price=not settings.llm_url)
    return QuotingAnswerer() if kind == "quoting" else None


async def _model_for(
    role: str, instead: str, settings: Settings, budget: Budget | None
) -> tuple[LanguageModel, Budget, RetrySettings]:
    if not settings.llm:
        raise InvalidInput(f"{role} 'model' needs a language model: set HIVE_MIND_LLM, or take the {role} {instead}")
    return await open_model(settings), budget or Budget(settings.token_budget), settings.llm_retry


class QuotingAnswerer:
    """Words answers without a model: the relevant facts word for word, or "I don't know"."""

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
    """Words answers with a language model, which it closes."""

    purpose = "answers"

    async def answer(self, question: LabelledQuestion, hits: Sequence[Hit]) -> GivenAnswer:
        """The answer that these hits give. Raises `ModelOutputError`, `BudgetExceeded` and `BackendError`."""
        # The arm decides the number of hits; full context is all of them.
        settings = PromptedSettings(hits_max=sys.maxsize, retry=self._retry)
        reader = PromptedReader(self._model, self._budget, settings, rng=self._rng, sleep=self._sleep)
        given_answer = await reader.synthesise(Question(question.text, question.asked_at), hits)
        return GivenAnswer(given_answer.text, given_answer.is_known)


Answerer = QuotingAnswerer | ModelAnswerer
JudgeKind = Literal["none", "model"]

# A verdict, and a few words for each statement it does not find.
_VERDICT_TOKENS_MAX = 1_024


async def fact_judge(kind: JudgeKind, settings: Settings, budget: Budget | None = None) -> "ModelJudge | None":
    """The judge of this kind, None for "none". Without a `budget` it has the settings' token budget to itself.

    Raises `ConfigError`: no model is named, or it can't be opened.
    """
    if kind == "none":
        return None
    return ModelJudge(*await _model_for("judge", "'none' (--no-judge)", settings, budget), has_price=not settings.llm_url)


class _Verdict(msgspec.Struct, frozen=True):
    unsupported: list[str]
    grounded: bool


class ModelJudge(MeteredModel):
    """Says whether answers are grounded, by a language model, which it closes. Why an answer got no verdict is logged."""

    purpose = "judging"

    async def is_grounded(self, question: LabelledQuestion, answer: GivenAnswer, hits: Sequence[Hit]) -> bool | None:
        """Whether the hits support the answer; None where nothing was claimed, and where the judge gave no verdict.

        "I don't know" claims nothing, so nothing is asked; an answer from no source is not supported by any.
        """
        if not answer.is_known:
            return None
        if not hits:
            return False
        # Everything on lines of its own, so that no answer can look like a source.
        asked_at = f"\nAsked at: {_line(question.asked_at)}" if question.asked_at else ""
        sources = numbered([_shown(hit) for hit in hits])
        data = f"Question: {_line(question.text)}{asked_at}\n\nSources:\n{sources}\n\nAnswer: {_line(answer.text)}"
        instructions = files(__package__).joinpath("prompts/grounded.md").read_text("utf-8").strip()
        prompt = fenced(instructions, data, _VERDICT_TOKENS_MAX)
        try:
            reply = await reply_of(self._model, prompt, self._budget, self._retry, rng=self._rng, sleep=self._sleep)
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
        verdict = json_decoder(_Verdict)(body.encode("utf-8", "replace"))
    except msgspec.DecodeError:
        return None
    return verdict.grounded if verdict.grounded == (not verdict.unsupported) else None


def _shown(hit: Hit) -> str:
    """All that the answerer saw of a fact."""
    fact = hit.fact
    notes = [part for part in (fact.speaker, fact.said_at, "no longer true" if fact.superseded_by else "") if part]
    return f"{fact.content} ({', '.join(notes)})" if notes else fact.content


def _line(text: str) -> str:
    return " ".join(text.split())

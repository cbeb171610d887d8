"""The reader that asks a language model: when a text was said, what facts it holds, what it is about, what answers a question.

Every call passes one place that checks the budget first, tries again when the provider is in trouble, and asks once more when
a reply is not what was asked. The prompts are in `prompts/*.md`, the forms of replies in `replies`.

Batches: a long text cut into parts that fit one request, without overlap, where a reader would pause.

Overlap would let one statement be extracted twice in two wordings, which no identifier can tell apart.

Where the model can't answer, a reader that quotes does.
"""

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from hive_mind.cognition import Extraction, Reader, prompt
from hive_mind.cognition.answering.quoting import not_known
from hive_mind.cognition.budget import Budget, reply_of
from hive_mind.cognition.extractive import ExtractiveReader
from hive_mind.cognition.replies import (
    FactReply,
    FactsReply,
    UnusableReplyError,
    answer_reply,
    concepts_reply,
    facts_reply,
    numbered,
    said_at_reply,
    words_reply,
)
from hive_mind.cognition.temporal import normalised, resolved_dates
from hive_mind.errors import BackendError, BackendTimeout, ConfigError, ModelOutputError
from hive_mind.llm.base import LanguageModel, Prompt
from hive_mind.memory.disputes import dispute_text
from hive_mind.memory.entities import entities
from hive_mind.memory.sharing import voices_text
from hive_mind.model.content import Candidate, Content
from hive_mind.model.gathered import Answer, Question
from hive_mind.model.ids import canonical
from hive_mind.model.query import Hit
from hive_mind.retry import RetrySettings, Sleep

_log = logging.getLogger(__name__)

_T = TypeVar("_T")

# In order of preference. Below three quarters of a full batch any end of a line or sentence beats a better one further ahead.
_PAUSES = ("\n\n", "\n", ". ", " ")
_FILLED_MIN = 0.75
# Long enough for a server to work off what it has, and short enough for the next question of the same person.
_LET_ALONE_S = 30.0


@dataclass(frozen=True, slots=True)
class PromptedSettings:
    """`batch_chars_max`: more means fewer calls with more context each, and facts in the middle get lost.

    `concurrent_calls_max`: more is faster until the provider throttles. `facts_tokens_max` bounds the reply to a batch; too few
    cut its JSON short. `short_tokens_max` bounds the other replies. `dated_chars_max`: how far a date is looked for.
    `hits_max`: more evidence for an answer, and more to pay for and to be distracted by. `instructions`: more of them, by
    the operator of this agent; the required form of a reply follows them.
    """

    batch_chars_max: int = 12_000
    concurrent_calls_max: int = 4
    facts_tokens_max: int = 4_096
    short_tokens_max: int = 1_024
    dated_chars_max: int = 2_000
    hits_max: int = 30
    instructions: str = ""
    retry: RetrySettings = field(default_factory=RetrySettings)


class PromptedReader:
    """Implements `Reader` with a language model. Raises `ModelOutputError`, `BudgetExceeded` and `BackendError`."""

    def __init__(
        self,
        model: LanguageModel,
        budget: Budget,
        settings: PromptedSettings | None = None,
        *,
        rng: random.Random | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.budget = budget
        self._model = model
        self._settings = settings or PromptedSettings()
        self._rng = rng or random.Random()  # noqa: S311 - spreads retries in time, guards nothing
        self._sleep = sleep

    async def extract(self, content: Content) -> Extraction:
        """Facts of every batch in order. One batch that fails fails the whole, so that content is never half read in silence."""
        if not content.text.strip():
            return Extraction((), normalised(content.said_at))
        said_at = normalised(content.said_at) or await self._said_at(content)
        parts = batches(content.text, self._settings.batch_chars_max)
        replies = await self._facts_of_all([_framed(content, said_at, part) for part in parts])
        candidates: dict[str, Candidate] = {}
        for fact in (fact for reply in replies for fact in reply.facts):
            candidates.setdefault(canonical(fact.fact), _candidate_of(fact, content, said_at))
        return Extraction(tuple(candidates.values()), said_at, sum(reply.dropped for reply in replies))

    async def summarise(self, content: Content, candidates: Sequence[Candidate]) -> str:
        """A concept map in the model's words; "" where there is nothing to sum up, and then nothing is asked."""
        if not candidates:
            return ""
        listed = "\n".join(f"{candidate.concept}: {candidate.content}" for candidate in candidates)
        titled = f"{content.title}\n\n{listed}" if content.title else listed
        # A map is drawn from what fits one request; the first statements of a text say what it is about.
        data = batches(titled, self._settings.batch_chars_max)[0]
        return await self._ask(prompt("concepts", data, self._settings.short_tokens_max), concepts_reply)

    async def synthesise(self, question: Question, hits: Sequence[Hit]) -> Answer:
        """An answer that cites hits, or "not known". Without hits nothing is asked."""
        shown_hits = hits[: self._settings.hits_max]
        if not shown_hits:
            return not_known()
        prompt_text = f"Question: {question.text}" + (f"\nAsked at: {question.asked_at}" if question.asked_at else "")
        data = f"{prompt_text}\n\nFacts:\n{numbered([_shown(hit) for hit in shown_hits])}"
        reply = await self._ask(
            prompt("answer", data, self._settings.short_tokens_max), lambda text: answer_reply(text, len(shown_hits))
        )
        if not reply.known:
            return not_known(shown_hits)
        sources = tuple(shown_hits[number - 1] for number in reply.citations)
        confidence = sum(hit.fact.confidence for hit in sources) / len(sources)
        # Added whatever the model made of it.
        disputes = [f"“{hit.fact.content}” is {dispute}" for hit in sources if (dispute := dispute_text(hit))]
        return Answer("\n".join([reply.answer, *disputes]), sources, "reasoned", round(confidence, 2))

    async def more_words(self, question: str) -> str:
        """Other words by which a memory could answer."""
        return await self._ask(prompt("expansion", question, self._settings.short_tokens_max), words_reply)

    async def _said_at(self, content: Content) -> str:
        data = f"{content.title}\n\n{content.text[: self._settings.dated_chars_max]}".strip()
        return normalised(await self._ask(prompt("temporal", data, self._settings.short_tokens_max), said_at_reply))

    async def _facts_of_all(self, framed: Sequence[str]) -> list[FactsReply]:
        turn = asyncio.Semaphore(self._settings.concurrent_calls_max)

        async def facts_of(data: str) -> FactsReply:
            async with turn:
                return await self._ask(prompt("facts", data, self._settings.facts_tokens_max), facts_reply)

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(facts_of(data)) for data in framed]
        except ExceptionGroup as failures:
            # The first failure cancelled the others; it alone says what happened.
            raise failures.exceptions[0] from None
        return [task.result() for task in tasks]

    async def _ask(self, first: Prompt, parse: Callable[[str], _T]) -> _T:
        """The parsed reply. A reply that can't be used is named to the model and asked for again, once."""
        if self._settings.instructions:
            first = replace(first, instructions=f"{self._settings.instructions}\n\n{first.instructions}")
        try:
            return parse(await self._reply_to(first))
        except UnusableReplyError as problem:
            instructions = f"{first.instructions}\n\nYour last reply could not be used: {problem}. Reply again, as described."
        try:
            return parse(await self._reply_to(replace(first, instructions=instructions)))
        except UnusableReplyError as problem:
            raise ModelOutputError(
                f"{self._model.name} replied twice with something that can't be used: {problem}; try again or another model"
            ) from None

    async def _reply_to(self, prompt: Prompt) -> str:
        return await reply_of(self._model, prompt, self.budget, self._settings.retry, rng=self._rng, sleep=self._sleep)


def _framed(content: Content, said_at: str, part: str) -> str:
    """A batch with what is known about the whole text in front of it."""
    labelled = (("Title", content.title), ("Said at", said_at), ("Speaker", content.speaker))
    head = "".join(f"{label}: {value}\n" for label, value in labelled if value)
    return f"{head}\n{part}" if head else part


def _candidate_of(fact: FactReply, content: Content, said_at: str) -> Candidate:
    names = entities(fact.fact)
    return Candidate(
        content=fact.fact,
        concept=fact.context or next(iter(names), "") or content.title.strip() or "general",
        confidence=fact.confidence,
        said_at=said_at,
        speaker=fact.speaker or content.speaker,
        entities=names,
        labels=resolved_dates(fact.fact, said_at),
    )


def _shown(hit: Hit) -> str:
    fact = hit.fact
    attribution = ", ".join(part for part in (fact.speaker, fact.said_at, voices_text(hit)) if part)
    past = " (no longer true)" if fact.superseded_by else ""
    disputed = f" ({dispute})" if (dispute := dispute_text(hit)) else ""
    return f"{fact.content}{f' ({attribution})' if attribution else ''}{past}{disputed}"


def batches(text: str, chars_max: int) -> list[str]:
    """Parts of at most `chars_max` characters that together hold every word of the text in order; none is blank."""
    parts: list[str] = []
    start = 0
    while start < len(text):
        end = _end_of_batch(text, start, chars_max)
        part = text[start:end].strip()
        if part:
            parts.append(part)
        start = end
    return parts


def _end_of_batch(text: str, start: int, chars_max: int) -> int:
    end = start + chars_max
    if end >= len(text):
        return len(text)
    earliest = start + int(chars_max * _FILLED_MIN)
    for pause in _PAUSES:
        at = text.rfind(pause, earliest, end)
        if at > start:
            return at + len(pause)
    return end


class QuotingInstead:
    """Implements `Reader` over one that may fail, or over why there is none: no key, a server that is away, no budget.

    Only answers fall back, and their `method` says so. Learned facts stay for good and must not depend on whether a server could
    be reached that day. A model that was late is let alone for a while: the next questions are answered by quotation at once, and
    one at a time tries whether it replies again. So nobody queues behind a server that is dead or overloaded.
    """

    def __init__(
        self,
        reader: Reader | ConfigError,
        quoting: Reader | None = None,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._reader, self._quoting = reader, quoting or ExtractiveReader()
        self._clock_s = clock_s
        self._alone_until_s = 0.0

    @property
    def reader(self) -> Reader:
        """The one that may fail. Raises `ConfigError` where there is none."""
        if isinstance(self._reader, ConfigError):
            raise self._reader
        return self._reader

    async def more_words(self, question: str) -> str:
        if not isinstance(reader := self.reader, PromptedReader) or self._skip_while_late():
            return ""
        return await self._heard(reader.more_words(question))

    async def extract(self, content: Content) -> Extraction:
        return await self.reader.extract(content)

    async def summarise(self, content: Content, candidates: Sequence[Candidate]) -> str:
        return await self.reader.summarise(content, candidates)

    async def synthesise(self, question: Question, hits: Sequence[Hit]) -> Answer:
        """The reader's answer; where it fails, quotations and one line that says why."""
        if self._skip_while_late():
            _log.warning("quoted instead of reasoned: the language model was late a moment ago; it is asked again soon")
            return await self._quoting.synthesise(question, hits)
        try:
            return await self._heard(self.reader.synthesise(question, hits))
        except (BackendError, ModelOutputError, ConfigError) as error:
            _log.warning("quoted instead of reasoned: %s", error)
            return await self._quoting.synthesise(question, hits)

    def _skip_while_late(self) -> bool:
        """Whether the model was late and is not to be asked yet. After a while one question finds out for all."""
        if not self._alone_until_s:
            return False
        now_s = self._clock_s()
        if now_s < self._alone_until_s:
            return True
        self._alone_until_s = now_s + _LET_ALONE_S
        return False

    async def _heard(self, reply: Awaitable[_T]) -> _T:
        try:
            reply_text = await reply
        except BackendTimeout:
            self._alone_until_s = self._clock_s() + _LET_ALONE_S
            raise
        self._alone_until_s = 0.0
        return reply_text

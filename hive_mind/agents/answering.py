"""Answering a question: see what it asks for, search, choose the evidence, word the answer from it.

The steps of one turn of the loop. The answer rests on what was found and on nothing else.

How much text one question may read is bounded: a few facts full of figures must not keep an agent from everything else. It is
counted and not timed: the same facts are left out on every machine and in every topology, and the answer says how many.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from hive_mind.awaiting import off_loop
from hive_mind.cognition import Reader
from hive_mind.cognition.answering.aliases import aliases_of, as_written, described_in, reworded
from hive_mind.cognition.answering.intent import Intent, direct, intent_of, parts_of
from hive_mind.cognition.answering.relevance import RelevanceSettings, asked_about_known
from hive_mind.cognition.answering.tallying import (
    FACTS_MAX,
    Tally,
    aggregations_of,
    collected_answer,
    needs_tally,
    tallied_answer,
    tally_of,
)
from hive_mind.cognition.answering.wordings import other_words
from hive_mind.counted import counted
from hive_mind.errors import InvalidInput
from hive_mind.memory.base import Memory, asked_for
from hive_mind.model.aggregation import Aggregated, Aggregation
from hive_mind.model.bounds import refuse_long, refuse_other_than
from hive_mind.model.gathered import Answer, Question, SearchResult
from hive_mind.model.query import LIMIT, METHOD, Hit, Method, Query

CHARACTERS_MAX = 40_000
"""Each is looked at by some 150 expressions. Thirty facts of a sentence or two have six thousand, and thirty of documentation,
with what stands before them, 31,000 at most (of 400 questions)."""


class ReadingLimit:
    """The rest of what one question may read. A fact found by several searches counts once."""

    def __init__(self) -> None:
        self._left = CHARACTERS_MAX
        self._read: dict[str, bool] = {}

    def within(self, result: SearchResult) -> SearchResult:
        """The results that may still be read, the best first; a long one that does not fit makes room for those behind it."""
        for fact in [hit.fact for hit in result if hit.fact.id not in self._read]:
            characters = len(fact.content) + len(fact.before)
            self._read[fact.id] = characters <= self._left
            self._left -= characters if self._read[fact.id] else 0
        is_whole = all(self._read[hit.fact.id] for hit in result)
        return result if is_whole else result.with_hits([hit for hit in result if self._read[hit.fact.id]])

    def noted(self, result: SearchResult) -> SearchResult:
        """The results, and in their note how many were not read."""
        left_out = sum(not is_read for is_read in self._read.values())
        if not left_out:
            return result
        note = f"{counted(left_out, 'fact')} not read: one question reads {CHARACTERS_MAX:,} characters"
        return result.with_hits(result, "; ".join(filter(None, (result.note, note))))


_QUESTION_CHARACTERS_MAX = 10_000
"""A question is taken apart in the loop, for 70 µs a character: a document pasted as one held its process up for a minute."""

OnFound = Callable[[SearchResult], None]
"""Takes what was found for a question, at most as many facts as are wanted."""


@dataclass(frozen=True, slots=True)
class AnswerEvidence:
    """A question and the facts an answer may rest on, best first."""

    question: Question
    found: SearchResult
    collected: Aggregated | None = None
    """The answer of all facts together, where the question asks for it."""


@dataclass(slots=True)
class AnsweringSteps:
    """Observe the question, orient by its intent, decide on evidence by searching, act by wording the answer."""

    memory: Memory
    reader: Reader
    limit: int = LIMIT
    method: Method = METHOD
    on_found: OnFound | None = None

    async def observe(self, question: Question) -> Question:
        """The question, if there is one, and if what it wants can be searched for. Raises `InvalidInput`."""
        refuse_other_than(Question, question)
        if not question.text.strip():
            raise InvalidInput("the question has no words: ask in your own")
        refuse_long("question", _QUESTION_CHARACTERS_MAX, question.text)
        asked_for(Query(question.text, self.limit, self.method), self.limit)
        return question

    async def orient(self, observed: Question) -> tuple[Question, Intent]:
        """The question, and what kind of answer it wants."""
        return observed, intent_of(direct(observed.text))

    async def decide(self, oriented: tuple[Question, Intent]) -> AnswerEvidence:
        """The evidence: as much as the intent needs, and what was true before only where that is asked; or all facts together."""
        question, intent = oriented
        # A count of all facts counts those of today.
        for aggregation in aggregations_of(question.text) if not question.as_of_us else ():
            collected = await self.memory.aggregate(aggregation)
            if collected.count:
                if self.on_found:
                    self.on_found(await self.memory.search_facts(Query(question.text, self.limit, self.method)))
                return AnswerEvidence(question, SearchResult(), collected)
        limit, with_past = max(self.limit, intent.hits), intent.wants_superseded
        query = Query(direct(question.text), limit, self.method, with_superseded=with_past, as_of_us=question.as_of_us)
        reading = ReadingLimit()
        result = reading.noted(await self._found(query, reading))
        if self.on_found:
            self.on_found(result.with_hits(result[: self.limit]))
        return AnswerEvidence(question, result)

    async def _found(self, query: Query, reading: ReadingLimit) -> SearchResult:
        """Results for the question, and for each of its parts; and for both by the other names of the things it identifies."""
        texts = (query.text, *parts_of(query.text))
        result = await self._all_of(query, texts, reading)
        corrected = as_written(query.text, result)
        if aliases := aliases_of(corrected, result):
            return _together(
                result, await self._all_of(query, [reworded(as_written(text, result), aliases) for text in texts], reading)
            )
        if described := described_in(query.text):
            result = _together(result, await self._all_of(query, [described.who], reading))
            if texts_about_known := asked_about_known(query.text, result, RelevanceSettings()):
                return _together(result, await self._all_of(query, texts_about_known[1:], reading))
        return result if corrected == query.text else _together(result, await self._all_of(query, [corrected], reading))

    async def _all_of(self, query: Query, texts: Sequence[str], reading: ReadingLimit) -> SearchResult:
        queries = [replace(query, text=text, also=other_words(text)) for text in texts]
        first, *further = await asyncio.gather(*map(self.memory.search_facts, queries))
        for result in further:
            first = _together(first, result)
        return reading.within(first)

    async def act(self, decided: AnswerEvidence) -> Answer:
        """The answer, or an honest "not known"."""
        if decided.collected is not None:
            return collected_answer(decided.collected)
        result = decided.found
        answer = await self.reader.synthesise(decided.question, result)
        refuse_other_than(Answer, answer)
        text, tally = decided.question.text, None if decided.question.as_of_us else tally_of(decided.question.text)
        if tally and needs_tally(text, tally, answer):
            answer = await self._tallied(tally) or answer
        completeness = min(answer.completeness, result.completeness)
        return replace(answer, completeness=completeness, gathered=result.gathered, note=result.note)

    async def _tallied(self, tally: Tally) -> Answer | None:
        """The answer that all facts together give; None where there are too many of them, or nothing in them is counted."""
        whole = await self.memory.aggregate(Aggregation("count"))
        if whole.count > FACTS_MAX:
            return None
        facts = await self.memory.get_all_facts()
        whole = replace(whole, completeness=min(whole.completeness, facts.completeness))
        return await off_loop(sum(len(fact.content) for fact in facts), tallied_answer, tally, facts, whole)


def _together(result: SearchResult, further: SearchResult) -> SearchResult:
    """The results of two searches, each fact once, as complete as the less complete of them."""
    best: dict[str, Hit] = {}
    for hit in sorted([*result, *further], key=lambda hit: -hit.score):
        best.setdefault(hit.fact.id, hit)
    least = min(result, further, key=lambda each: each.completeness)
    return least.with_hits(best.values(), result.note or further.note)

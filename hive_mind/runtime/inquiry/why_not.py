"""Why a fact is not in an answer: at which step on the way from memory to answer it fell out.

The steps in their order: is it known at all, does it hold still, do words or meaning lead to it, is it among the best, does the
answer use it. Each is looked at as the answer itself was made: by the same search and the same reader.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hive_mind.agents.agent import LearningAgent
from hive_mind.cognition.answering.intent import intent_of
from hive_mind.cognition.answering.wordings import other_words
from hive_mind.memory.base import Memory
from hive_mind.model.answer import Answer
from hive_mind.model.fact import Fact
from hive_mind.model.gathered import SearchResult
from hive_mind.model.ids import PREFIX_CHARACTERS_MIN
from hive_mind.model.query import Hit, Method, Query

Step = Literal["unknown", "retracted", "superseded", "not found", "ranked below", "not used", "used"]

# Beyond this place nobody asks why; a search for all these takes tenths of a second in a large memory.
_PLACES_MAX = 1000
_HEX = frozenset("0123456789abcdef")


@dataclass(frozen=True, slots=True)
class WhyNot:
    """At which step, and the same in words. `fact` is what was taken for the one expected; `place` counts from 1, 0 is none.

    `hit` has its score as far as it was found, `last` is the last one that got in.
    """

    step: Step
    explanation: str
    answer: Answer
    fact: Fact | None = None
    place: int = 0
    hit: Hit | None = None
    last: Hit | None = None


async def why_not(agent: LearningAgent, question: str, expected: str, limit: int, method: Method) -> WhyNot:
    """`expected`: a fact's id, its first characters, or what it says. Raises `InvalidInput`."""
    answer, intent = await agent.answer_question(question, limit, method), intent_of(question)
    fact = await _meant(agent.memory, expected)
    if fact is None:
        return WhyNot("unknown", _why_unknown(answer.completeness), answer)
    if fact.is_retracted:
        return WhyNot("retracted", "It was taken back, so no search finds it.", answer, fact)
    if fact.superseded_by and not intent.wants_superseded:
        explanation = "It holds no longer: another statement took its place, or its source does not say it any more."
        return WhyNot("superseded", f"{explanation} Only a question about the past finds it.", answer, fact)
    query = Query(question, _PLACES_MAX, method, with_superseded=intent.wants_superseded, also=other_words(question))
    found = await agent.memory.search_facts(query)
    return _placed(fact, found, answer, max(limit, intent.hits))


def _placed(fact: Fact, found: SearchResult, answer: Answer, limit: int) -> WhyNot:
    place = next((place for place, hit in enumerate(found, 1) if hit.fact.id == fact.id), 0)
    hit = found[place - 1] if place else None
    last = found[min(limit, len(found)) - 1] if found else None
    used = {source.fact.id for source in answer.sources}
    if fact.id in used:
        return WhyNot("used", "It is one of the sources of this answer.", answer, fact, place, hit, last)
    if hit is None and len(found) >= _PLACES_MAX:
        explanation = (
            f"It is not among the first {_PLACES_MAX:,} that the search finds, and the answer looks at the first {limit}."
        )
        return WhyNot("ranked below", explanation, answer, fact, last=last)
    if hit is None:
        explanation = "The search did not find it: it shares no word with the question, and its meaning is too far from it."
        return WhyNot("not found", explanation, answer, fact)
    if place > limit:
        explanation = f"It was found at place {place}, and the answer looks at the first {limit}."
        return WhyNot("ranked below", explanation, answer, fact, place, hit, last)
    return WhyNot("not used", f"It was found at place {place}, {_why_unused(answer)}", answer, fact, place, hit, last)


def _why_unused(answer: Answer) -> str:
    if answer.method == "collected":
        return "but the question asks for a count or a list, which was made of all facts together."
    if not answer.is_known:
        return "but the reader judged that nothing that was found answers the question for certain."
    others = "another fact" if len(answer.sources) == 1 else "other facts"
    return f"but the reader chose {others}: those answer the question more closely, or say the same."


def _why_unknown(completeness: float) -> str:
    if completeness < 1.0:
        return "Neither this agent nor a member of the hive that answered knows it; some members were silent and may."
    return "Neither this agent nor the hive knows it. Another agent may hold it and not have shared it."


async def _meant(memory: Memory, expected: str) -> Fact | None:
    """By its id, by the beginning of it, or by what it says: the one that says the same, else the nearest that shares words."""
    wanted = expected.strip()
    if _is_id(wanted.lower()) and (fact := await _named(memory, wanted.lower())) is not None:
        return fact
    found = await memory.search_facts(Query(wanted, 10, with_superseded=True))
    return _saying(wanted, [hit.fact for hit in found if hit.components.keyword > 0 or hit.components.exact > 0])


async def _named(memory: Memory, wanted: str) -> Fact | None:
    if (fact := await memory.get_fact(wanted)) is not None:
        return fact
    some = await memory.facts_with_prefix(wanted)
    return some[0] if len(some) == 1 else None


def _saying(wanted: str, facts: Sequence[Fact]) -> Fact | None:
    words = wanted.casefold()
    exact = (fact for fact in facts if words in fact.content.casefold())
    return next(exact, next(iter(facts), None))


def _is_id(text: str) -> bool:
    return len(text) >= PREFIX_CHARACTERS_MIN and _HEX.issuperset(text)

"""Requests to an agent about the evidence: what supports a fact, and why one is not in an answer.

Why a fact is not in an answer: at which step on the way from memory to answer it fell out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from hive_mind.agents.agent import LearningAgent
from hive_mind.api import requests as api
from hive_mind.api.replies import Step, Voucher
from hive_mind.errors import InvalidInput
from hive_mind.memory.base import Memory
from hive_mind.model.evidence import HiveFact
from hive_mind.model.fact import Fact
from hive_mind.model.gathered import Answer, SearchResult
from hive_mind.model.ids import PREFIX_CHARACTERS_MIN
from hive_mind.model.query import Hit, Method, Query
from hive_mind.runtime.inquiry.asked_agent import AskedAgent
from hive_mind.runtime.replies import answer_reply, fact_reply, hit_reply

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
    from hive_mind.cognition.answering.intent import intent_of
    from hive_mind.cognition.answering.wordings import other_words

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
    result = await agent.memory.search_facts(query)
    return _placed(fact, result, answer, max(limit, intent.hits))


def _placed(fact: Fact, result: SearchResult, answer: Answer, limit: int) -> WhyNot:
    place = next((place for place, hit in enumerate(result, 1) if hit.fact.id == fact.id), 0)
    hit = result[place - 1] if place else None
    last = result[min(limit, len(result)) - 1] if result else None
    used = {source.fact.id for source in answer.sources}
    if fact.id in used:
        return WhyNot("used", "It is one of the sources of this answer.", answer, fact, place, hit, last)
    if hit is None and len(result) >= _PLACES_MAX:
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
    alternatives = "another fact" if len(answer.sources) == 1 else "other facts"
    return f"but the reader chose {alternatives}: those answer the question more closely, or say the same."


def _why_unknown(completeness: float) -> str:
    if completeness < 1.0:
        return "Neither this agent nor a member of the hive that answered knows it; some members were silent and may."
    return "Neither this agent nor the hive knows it. Another agent may hold it and not have shared it."


async def _meant(memory: Memory, expected: str) -> Fact | None:
    """By its id, by the beginning of it, or by what it says: the one that says the same, else the nearest that shares words."""
    words_wanted = expected.strip()
    if _is_id(words_wanted.lower()) and (fact := await _named(memory, words_wanted.lower())) is not None:
        return fact
    result = await memory.search_facts(Query(words_wanted, 10, with_superseded=True))
    return _saying(words_wanted, [hit.fact for hit in result if hit.components.keyword > 0 or hit.components.exact > 0])


async def _named(memory: Memory, fact_id: str) -> Fact | None:
    if (fact := await memory.get_fact(fact_id)) is not None:
        return fact
    fact_list = await memory.facts_with_prefix(fact_id)
    return fact_list[0] if len(fact_list) == 1 else None


def _saying(text: str, facts: Sequence[Fact]) -> Fact | None:
    words = text.casefold()
    exact = (fact for fact in facts if words in fact.content.casefold())
    return next(exact, next(iter(facts), None))


def _is_id(text: str) -> bool:
    return len(text) >= PREFIX_CHARACTERS_MIN and _HEX.issuperset(text)


# As deep as a search compares what it finds.
_COMPARED_MAX = 100
_RIVALS_MAX = 20


class EvidenceCalls(AskedAgent):
    """A part of `runtime.calls.AgentCalls`."""

    async def _do_why_not(self, request: api.WhyNot) -> Any:
        if not request.text.strip():
            raise InvalidInput("say which fact was expected: its id, or what it says")
        evidence, name = (
            await why_not(self._agent, request.question, request.text, request.limit, request.method),
            self._agent.name,
        )
        reply = {
            "step": evidence.step,
            "told": evidence.explanation,
            "place": evidence.place,
            "answer": answer_reply(evidence.answer, name),
        }
        reply |= {"fact": fact_reply(evidence.fact) if evidence.fact else None}
        return reply | {"hit": hit_reply(evidence.hit, name), "last": hit_reply(evidence.last, name)}

    async def _do_evidence(self, request: api.Evidence) -> Any:
        memory, fact = self._agent.memory, await self._fact(request.fact_id)
        shared = await self._shared.evidence_of(fact.id) if self._shared else None
        # A contradiction shares words with it: no need to look through all facts.
        result = await memory.search_facts(Query(fact.content, _COMPARED_MAX, "keyword"))
        rivals = {rival.id: rival for hit in result if hit.fact.id == fact.id for rival in hit.rivals}
        rivals |= await memory.get_facts(shared.disputed_by[:_RIVALS_MAX] if shared else ())
        reply = self._shared_evidence(shared) if shared else self._own_evidence(fact)
        return reply | {"disputed": [fact_reply(rival) for id, rival in rivals.items() if id != fact.id][:_RIVALS_MAX]}

    def _own_evidence(self, fact: Fact) -> dict[str, Any]:
        """Of a fact that this agent has for itself."""
        at_ms = fact.learned_at_us // 1000
        vouchers = [
            Voucher(agent=self._agent.name, source=source, confidence=fact.confidence, at_ms=at_ms) for source in fact.sources
        ]
        evidence = {"vouchers": vouchers, "confidence": fact.confidence, "confirmations": fact.confirmations, "trust": 1.0}
        return evidence | {"status": fact.sharing.value, "kept_by": [self._agent.name], "silent": []}

    def _shared_evidence(self, fact: HiveFact) -> dict[str, Any]:
        vouchers = [
            Voucher(agent=provenance.agent, source=provenance.root, confidence=provenance.confidence, at_ms=provenance.stamp.ms)
            for provenance in fact.provenance
        ]
        kept_by = self._kept_by(fact)
        silent = set(self._given.silent()) if self._given else set()
        return {
            "vouchers": sorted(vouchers, key=lambda voucher: voucher["at_ms"]),
            "confidence": fact.confidence,
            "confirmations": fact.confirmations,
            "trust": fact.trust,
            "status": fact.status,
            "kept_by": kept_by,
            "silent": [name for name in kept_by if name in silent],
        }

    def _kept_by(self, fact: HiveFact) -> list[str]:
        """The nodes that are to have it, by the topology: each voucher's node places it."""
        if self._given is None:
            return []
        node, nodes = self._given.member.node, set[str]()
        for provenance in fact.provenance:
            registered = node.registry.get(f"agent/{provenance.agent}")
            home = msgspec.json.decode(registered).get("node", "") if registered else ""
            nodes |= node.topology.write_set(fact.id, home or provenance.agent, provenance.confidence)
        return sorted(nodes)

"""Requests to an agent about the evidence: what supports a fact, and why one is not in an answer."""

from typing import Any

import msgspec

from hive_mind.errors import InvalidInput
from hive_mind.model.evidence import HiveFact
from hive_mind.model.fact import Fact
from hive_mind.model.query import Query
from hive_mind.runtime.fact_replies import answer_reply, fact_reply, hit_reply
from hive_mind.runtime.inquiry.asked_agent import AskedAgent
from hive_mind.runtime.inquiry.why_not import why_not
from hive_mind.runtime.reply_types import EvidenceJson, Voucher, WhyNotJson
from hive_mind.runtime.requests import Call, request

# As deep as a search compares what it finds.
_COMPARED_MAX = 100
_RIVALS_MAX = 20


class EvidenceCalls(AskedAgent):
    """A part of `runtime.calls.AgentCalls`."""

    @request("limit", "method", needs=("question", "text"), gives=WhyNotJson)
    async def _do_why_not(self, call: Call) -> Any:
        """Why a fact is not in the answer to a question. `text`: its id, or what it says."""
        if not call.text.strip():
            raise InvalidInput("say which fact was expected: its id, or what it says")
        found, name = await why_not(self._agent, call.question, call.text, call.limit, call.method), self._agent.name
        reply = {"step": found.step, "told": found.explanation, "place": found.place, "answer": answer_reply(found.answer, name)}
        reply |= {"fact": fact_reply(found.fact) if found.fact else None}
        return reply | {"hit": hit_reply(found.hit, name), "last": hit_reply(found.last, name)}

    @request(needs=("fact_id",), gives=EvidenceJson)
    async def _do_evidence(self, call: Call) -> Any:
        """The agents that vouch for a fact, how far they are trusted, which nodes keep it, and what contradicts it."""
        memory, fact = self._agent.memory, await self._fact(call.fact_id)
        shared = await self._shared.evidence_of(fact.id) if self._shared else None
        # A contradiction shares words with it: no need to look through all facts.
        found = await memory.search_facts(Query(fact.content, _COMPARED_MAX, "keyword"))
        rivals = {rival.id: rival for hit in found if hit.fact.id == fact.id for rival in hit.rivals}
        rivals |= await memory.get_facts(shared.disputed_by[:_RIVALS_MAX] if shared else ())
        reply = self._shared_evidence(shared) if shared else self._own_evidence(fact)
        return reply | {"disputed": [fact_reply(one) for id, one in rivals.items() if id != fact.id][:_RIVALS_MAX]}

    def _own_evidence(self, fact: Fact) -> dict[str, Any]:
        """Of a fact that this agent has for itself."""
        at_ms = fact.learned_at_us // 1000
        vouchers = [Voucher(agent=self._agent.name, source=one, confidence=fact.confidence, at_ms=at_ms) for one in fact.sources]
        evidence = {"vouchers": vouchers, "confidence": fact.confidence, "confirmations": fact.confirmations, "trust": 1.0}
        return evidence | {"status": fact.sharing.value, "kept_by": [self._agent.name], "silent": []}

    def _shared_evidence(self, fact: HiveFact) -> dict[str, Any]:
        vouchers = [
            Voucher(agent=one.agent, source=one.root, confidence=one.confidence, at_ms=one.stamp.ms) for one in fact.provenance
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
        node, kept = self._given.member.node, set[str]()
        for provenance in fact.provenance:
            registered = node.registry.get(f"agent/{provenance.agent}")
            home = msgspec.json.decode(registered).get("node", "") if registered else ""
            kept |= node.topology.write_set(fact.id, home or provenance.agent, provenance.confidence)
        return sorted(kept)

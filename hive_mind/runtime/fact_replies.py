"""Facts, hits and answers as plain values: what an agent that runs tells of them, and what commands print as JSON."""

from collections.abc import Iterable
from typing import cast

import msgspec

from hive_mind.api.replies import Answered, FactJson, FoundReply, HitJson, Reached, SaidBy
from hive_mind.memory.disputes import dispute_text
from hive_mind.memory.editions.former import former_note
from hive_mind.model.answer import Answer
from hive_mind.model.fact import Fact
from hive_mind.model.gathered import Gathered, SearchResult
from hive_mind.model.query import Hit


def fact_reply(fact: Fact) -> FactJson:
    fields = msgspec.to_builtins(fact)
    # As they look after a journey as JSON.
    lists = {name: list(value) for name, value in fields.items() if isinstance(value, tuple)}
    return cast(FactJson, {"fact_id": fields.pop("id"), **fields, **lists})


def found_reply(result: SearchResult, agent: str) -> FoundReply:
    return {"hits": _hits(result, result.gathered, agent), **_reached(result)}


def answer_reply(answer: Answer, agent: str) -> Answered:
    return {
        "answer": answer.text,
        "is_known": answer.is_known,
        "method": answer.method,
        "confidence": answer.confidence,
        "sources": _hits(answer.sources, answer.gathered, agent),
        "closest": _hits(answer.closest, answer.gathered, agent),
        **_reached(answer),
    }


def hit_reply(hit: Hit | None, agent: str) -> HitJson | None:
    return _hit(hit, "", agent) if hit else None


def _hits(hits: Iterable[Hit], gathered: Gathered | None, agent: str) -> list[HitJson]:
    holders = gathered.holders if gathered else {}
    return [_hit(hit, holders.get(hit.fact.id, ""), agent) for hit in hits]


def _hit(hit: Hit, held_by: str, agent: str) -> HitJson:
    authors: SaidBy = {"from": list(hit.voices.agents) if hit.voices else [agent]}
    return {
        **fact_reply(hit.fact),
        **authors,
        "score": hit.score,
        "components": hit.components,
        "contributions": hit.contributions,
        "trust": hit.voices.trust if hit.voices else 1.0,
        "held_by": held_by,
        "disputed": dispute_text(hit),
        "former": former_note(hit.fact),
        "rivals": [fact_reply(fact) for fact in hit.rivals],
    }


def _reached(result: SearchResult | Answer) -> Reached:
    gathered = result.gathered
    reached, silent = (gathered.asked, gathered.silent) if gathered else ((), ())
    return {"completeness": result.completeness, "asked": list(reached), "silent": list(silent), "note": result.note}

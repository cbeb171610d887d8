"""Facts, hits and answers as plain values: what an agent that runs tells of them, and what commands print as JSON."""

from collections.abc import Iterable
from typing import NotRequired, TypedDict, cast

import msgspec

from hive_mind.memory.disputes import dispute_text
from hive_mind.memory.editions.former import former_note
from hive_mind.model.answer import Answer
from hive_mind.model.fact import Fact, Sharing
from hive_mind.model.gathered import Gathered, SearchResult
from hive_mind.model.query import Hit
from hive_mind.model.scores import ComponentScores, Contributions


class FactJson(TypedDict):
    """All of a `model.fact.Fact`."""

    fact_id: str
    content: str
    concept: str
    confidence: float
    sources: list[str]
    learned_at_us: int
    said_at: str
    speaker: str
    before: str
    entities: list[str]
    labels: list[str]
    sharing: Sharing
    superseded_by: str
    held_back: str
    offered: list[str]
    turned_at_us: list[int]
    copied: list[str]


# "from" is a keyword of Python, so no class can have it as a name.
_From = TypedDict("_From", {"from": list[str]})


class HitJson(FactJson, _From):
    """A fact that was found. `from`: the agents that said it; `held_by`: the node that shows it, "" for its own agent.

    `components` are the raw figures behind the score, `contributions` what each added. `disputed` and `former` say in words what
    contradicts it, and that it is no longer true.
    """

    score: float
    components: ComponentScores
    contributions: Contributions
    trust: float
    held_by: str
    disputed: str
    former: str
    rivals: list[FactJson]


class Reached(TypedDict):
    """`completeness` is the share of the hive that was searched; `silent` are those of `asked` that did not answer in time.

    `note` says what the ranking had to do without, "" for nothing.
    """

    completeness: float
    asked: list[str]
    silent: list[str]
    note: str


class FoundReply(Reached):
    """Of a search, the best hit first."""

    hits: list[HitJson]


class Answered(Reached):
    """`method`, `confidence`, `closest`: see `model.answer.Answer`."""

    answer: str
    is_known: bool
    method: str
    confidence: float
    sources: list[HitJson]
    closest: list[HitJson]


class AskReply(Answered):
    """`found`: the facts that it was chosen from, where that is wanted."""

    found: NotRequired[FoundReply]


def fact_reply(fact: Fact) -> FactJson:
    fields = msgspec.to_builtins(fact)
    # As they look after a journey as JSON.
    lists = {name: list(value) for name, value in fields.items() if isinstance(value, tuple)}
    return cast(FactJson, {"fact_id": fields.pop("id"), **fields, **lists})


def found_reply(found: SearchResult, agent: str) -> FoundReply:
    return {"hits": _hits(found, found.gathered, agent), **_reached(found)}


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
    authors: _From = {"from": list(hit.voices.agents) if hit.voices else [agent]}
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


def _reached(found: SearchResult | Answer) -> Reached:
    gathered = found.gathered
    asked, silent = (gathered.asked, gathered.silent) if gathered else ((), ())
    return {"completeness": found.completeness, "asked": list(asked), "silent": list(silent), "note": found.note}

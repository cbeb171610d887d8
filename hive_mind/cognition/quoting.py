"""Answers by quotation: the best facts word for word, with who said them and when.

Nothing between the quotation marks is ours. What is ours (a resolved date, "no longer true") stands outside of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from hive_mind.cognition.intent import Kind, intent_of
from hive_mind.cognition.relevance import RelevanceSettings, relevant
from hive_mind.cognition.temporal import moments
from hive_mind.model.answer import Answer, Question
from hive_mind.model.query import Hit

PREFACE = "Quoted from memory, not reasoned:"
NOT_KNOWN = "I don't know: nothing in memory answers this."


@dataclass(frozen=True, slots=True)
class QuotingSettings:
    """`quotes_max` and `list_quotes_max`: more quotes miss less and read worse; lists and histories get the second.

    `score_share_min`: quotes below this share of the best score are left out; lower it to quote more of the weak ones.
    """

    quotes_max: int = 3
    list_quotes_max: int = 10
    score_share_min: float = 0.5
    relevance: RelevanceSettings = field(default_factory=RelevanceSettings)


def quoted_answer(question: Question, hits: Sequence[Hit], settings: QuotingSettings) -> Answer:
    """The relevant hits as quotations, or "not known"."""
    kind = intent_of(question.text).kind
    judged = relevant(question.text, hits, settings.relevance)
    if not judged:
        return Answer(NOT_KNOWN, (), "unknown", 0.0)
    floor = max(hit.score for hit, _ in judged) * settings.score_share_min
    few = kind in (Kind.LOOKUP, Kind.TEMPORAL, Kind.YES_NO, Kind.CURRENT)
    limit = settings.quotes_max if few else settings.list_quotes_max
    chosen = [(hit, covered) for hit, covered in judged if hit.score >= floor][:limit]
    sources = tuple(hit for hit, _ in chosen)
    confidence = max(max(covered, _similarity(hit)) * hit.fact.confidence for hit, covered in chosen)
    return Answer("\n".join([PREFACE, *map(_quotation, sources)]), sources, "quoted", round(confidence, 2))


def _similarity(hit: Hit) -> float:
    return min(1.0, max(0.0, hit.components.semantic or 0.0))


def _quotation(hit: Hit) -> str:
    fact = hit.fact
    told = ", ".join(part for part in (fact.speaker, fact.said_at) if part)
    notes = [f"“{moment.text}” is {moment.iso}" for moment in moments(fact.content, fact.said_at) if moment.text != moment.iso]
    if fact.superseded_by:
        notes.append("no longer true")
    return f"“{fact.content}”" + (f" — {told}" if told else "") + (f" ({'; '.join(notes)})" if notes else "")

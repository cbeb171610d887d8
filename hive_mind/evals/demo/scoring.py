"""How well the demo's questions were answered: whether the quoted evidence was found, how early, and what was answered.

Pure; asking is left to the caller.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hive_mind.evals.demo import KINDS, DemoQuestion
from hive_mind.measure.intervals import macro_mean
from hive_mind.model.answer import Answer
from hive_mind.model.query import Hit


@dataclass(frozen=True, slots=True)
class DemoResult:
    """One question's result.

    `recall` is the share of the needed evidence among the hits, `reciprocal_rank` 1 / place of the first evidence (0: not found);
    both are None where there is none to find. `is_right`: the answer holds an accepted word, or rightly was "not known".
    """

    question: DemoQuestion
    recall: float | None
    reciprocal_rank: float | None
    is_known: bool
    is_right: bool


@dataclass(frozen=True, slots=True)
class Summary:
    """Outcomes of one kind taken together. `unknown` counts the answers "not known"."""

    kind: str
    questions: int
    recall: float | None
    reciprocal_rank: float | None
    right: int
    unknown: int


def outcome(question: DemoQuestion, hits: Sequence[Hit], answer: Answer) -> DemoResult:
    """The result of one question; `hits` are those that count, best first."""
    right = any(word in answer.text for word in question.keywords) if question.evidence else not answer.is_known
    return DemoResult(question, _recall(question, hits), _reciprocal_rank(question, hits), answer.is_known, right)


def summaries(outcomes: Iterable[DemoResult]) -> list[Summary]:
    """One per kind in its usual order, then "all" over every kind."""
    everything = list(outcomes)
    kinds = [(kind, [one for one in everything if one.question.kind == kind]) for kind in KINDS]
    return [_summary(name, group) for name, group in [*kinds, ("all", everything)] if group]


def _summary(kind: str, group: Sequence[DemoResult]) -> Summary:
    return Summary(
        kind,
        len(group),
        macro_mean(one.recall for one in group),
        macro_mean(one.reciprocal_rank for one in group),
        sum(one.is_right for one in group),
        sum(not one.is_known for one in group),
    )


def _recall(question: DemoQuestion, hits: Sequence[Hit]) -> float | None:
    if not question.evidence:
        return None
    found = sum(any(quote in hit.fact.content for hit in hits) for quote in question.evidence)
    return found / len(question.evidence) if question.kind == "multi-hop" else float(found > 0)


def _reciprocal_rank(question: DemoQuestion, hits: Sequence[Hit]) -> float | None:
    if not question.evidence:
        return None
    places = (place for place, hit in enumerate(hits, 1) if any(quote in hit.fact.content for quote in question.evidence))
    return next((1 / place for place in places), 0.0)

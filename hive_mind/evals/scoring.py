"""Figures of one question in one arm: of the facts found and of the answer from them, under fixed names.

Arithmetic only; definitions are in `measure`. A figure that has nothing to measure is None and never 0: recall without a relevant
document, distractors where none is labelled, a keyword hit without keywords or without an answer.
"""

from collections.abc import Mapping, Sequence
from math import isnan

import numpy as np
from numpy.typing import NDArray

from hive_mind.evals.answering import GivenAnswer
from hive_mind.evals.datasets import LabelledQuestion
from hive_mind.measure.keywords import holds_all, holds_any
from hive_mind.measure.ranking import ndcg_at_k, nudcg_at_k, recall_at_k, reciprocal_rank
from hive_mind.measure.results import coverage_gap, likeness, source_diversity
from hive_mind.model.query import Hit

Figures = dict[str, float | None]

GROUNDED = "grounded"
"""The name of the judge's figure: 1 or 0, and None where it gave none."""

_WORDED = ("keyword_hit", "required_hit", "forbidden_hit", "stale", "abstained", "abstention_right")
ANSWERED = frozenset({*_WORDED, GROUNDED})
"""Figures that only an answer has."""


def score(
    question: LabelledQuestion,
    found: Sequence[str],
    hits: Sequence[Hit],
    kinds: Sequence[str],
    vectors: NDArray[np.float32] | None,
    answer: GivenAnswer | None,
    limit: int,
) -> Figures:
    """All figures of a question, of the first `limit` results; without a judge, which is asked elsewhere.

    `found` are document ids, best first. `kinds` and `vectors` belong to the hits, one each: the kind of source, "" where the
    data does not say; and a vector, zeros where a text has none, None where nothing has one. Raises `ValueError` for a score that
    is NaN and for a vector that is not finite.
    """
    return (
        ranked_figures(question, found, limit)
        | shown_figures(hits[:limit], kinds[:limit], None if vectors is None else vectors[:limit])
        | answered_figures(question, answer)
    )


def ranked_figures(question: LabelledQuestion, found: Sequence[str], limit: int) -> Figures:
    """How good the order of the documents is."""
    judgements = question.relevant
    distractors = {document for document, judgement in judgements.items() if judgement < 0}
    return {
        f"recall@{limit}": recall_at_k(found, judgements, limit),
        f"mrr@{limit}": reciprocal_rank(found, judgements, limit),
        f"ndcg@{limit}": ndcg_at_k(found, judgements, limit),
        f"nudcg@{limit}": nudcg_at_k(found, judgements, limit),
        f"distractors@{limit}": float(len(distractors.intersection(found[:limit]))) if distractors else None,
    }


def shown_figures(hits: Sequence[Hit], kinds: Sequence[str], vectors: NDArray[np.float32] | None) -> Figures:
    """Properties of the results, independent of the question's labels."""
    if len(kinds) != len(hits) or (vectors is not None and len(vectors) != len(hits)):
        rows = "no" if vectors is None else len(vectors)
        raise ValueError(f"each hit must have a kind and a vector, but there are {len(hits)}, {len(kinds)} and {rows}")
    alike = None if vectors is None else likeness(vectors)
    return {
        "source_diversity": source_diversity(kinds),
        "near_duplicates": None if alike is None else alike.near_duplicates,
        "mean_cosine": None if alike is None else alike.mean_cosine,
        "coverage_gap": coverage_gap(shown_scores(hits)),
    }


def shown_scores(hits: Sequence[Hit]) -> list[float]:
    """Scores in [0, 1]. One that names the query's identifier is above 1 and counts as 1; a negative cosine counts as 0.

    Raises `ValueError` for NaN.
    """
    if unknown := [hit.fact.id for hit in hits if isnan(hit.score)]:
        raise ValueError(f"the score of fact {unknown[0]} is not a number")
    return [max(0.0, min(1.0, hit.score)) for hit in hits]


def answered_figures(question: LabelledQuestion, answer: GivenAnswer | None) -> Figures:
    """The answer's figures by the question's keywords. An answer that is declined holds none of them."""
    if answer is None:
        return dict.fromkeys(_WORDED)
    # "I don't know" is our wording. Where that is right, it may be what the keywords ask for.
    said = answer.text if answer.is_known or not question.is_answerable else ""
    return {
        "keyword_hit": _any_of(question.acceptable, said),
        "required_hit": float(holds_all(said, question.required)) if question.required else None,
        "forbidden_hit": _any_of(question.forbidden, said),
        "stale": _any_of(question.superseded, said),
        "abstained": float(not answer.is_known),
        "abstention_right": float(answer.is_known == question.is_answerable),
    }


def lacks_verdict(figures: Mapping[str, float | None]) -> bool:
    """Whether something was claimed, and the judge that was asked said nothing of it that could be used."""
    return GROUNDED in figures and figures[GROUNDED] is None and figures.get("abstained") == 0.0


def _any_of(keywords: Sequence[str], said: str) -> float | None:
    return float(holds_any(said, keywords)) if keywords else None

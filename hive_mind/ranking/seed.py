"""Formulas of the source documents, by name: none is the default, and a retrieval configuration or an evaluation may name it.

Of 002, how much words and meaning count for one query. A is one weight for all queries. B lowers the weight of meaning as more of
the query's words are identifiers. C multiplies what matches an identifier exactly. Identifiers are found by `adaptive`, because
002's own pattern finds none in "D40?" or "INC-2024-001". Ours is another C: an exact match adds to the score (`pipeline`), as a
multiple of a poor score is still poor.

Of 004, the score of a fact, reciprocal rank fusion, and by that the merge of what federated hives found, of a list by keywords
and one by confidence. That says how sure somebody was, not what a question is about: measured on 5,882 conversation turns dealt
to 10 agents, it loses 17 to 39 points of recall@10 against one ranking over everything.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hive_mind.model.gathered import Anchors
from hive_mind.ranking.pipeline import RRF_K, confirmation_share, trust_share
from hive_mind.ranking.question import anchors, asked_terms

Item = TypeVar("Item", bound=Hashable)
Scores = NDArray[np.float32]

# Option A, and what the two other classes of option B say instead.
SEMANTIC_WEIGHT_002 = 0.7
_MIXED, _IDENTIFIERS = 0.5, 0.3
_MIXED_ABOVE, _IDENTIFIERS_ABOVE = 0.2, 0.5
ANCHOR_BOOST_002 = 1.5
"""Option C: an exact match counts half as much again."""

SEMANTIC_WEIGHT = 0.5
CONFIRMATION_WEIGHT = 0.3
TRUST_WEIGHT = 0.2
LIMIT_MULTIPLIER = 10
"""Results collected per wanted one before they are merged."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The factor of each arm's score; together 1."""

    semantic: float
    keyword: float


def fixed(semantic: float = SEMANTIC_WEIGHT_002) -> Weights:
    return Weights(semantic, 1.0 - semantic)


def adaptive(query: str, semantic: float = SEMANTIC_WEIGHT_002) -> Weights:
    """Option B: `semantic` for ordinary questions, less where identifiers are a part of the query, and never more."""
    specific = specificity(query)
    if specific > _IDENTIFIERS_ABOVE:
        return fixed(min(semantic, _IDENTIFIERS))
    return fixed(min(semantic, _MIXED) if specific > _MIXED_ABOVE else semantic)


def specificity(query: str) -> float:
    """Share of the query's words, beyond those of asking, that belong to an identifier."""
    terms_asked = set(asked_terms(query))
    terms = {term for required in anchors(query).required for term in required}
    # A compound code is one term beside its parts: its parts count as covered, too.
    covered = {term for term in terms_asked if term in terms or any(term in code for code in terms)}
    return len(covered) / len(terms_asked) if terms_asked else 0.0


def boosted(scores: Scores, exact: Scores, factor: float = ANCHOR_BOOST_002) -> Scores:
    """Option C by name: candidates that name an identifier (`exact` > 0) times `factor`. Shapes (candidates,)."""
    result: Scores = np.where(exact > 0, scores * np.float32(factor), scores).astype(np.float32)
    return result


def needs_no_meaning(named_anchors: Anchors, exact_best: float) -> bool:
    """Whether keywords alone should answer: the query is nothing but identifiers, and they are codes or something names them all.

    A code has no meaning to compare, found or not. A lone word with a capital may be a name nobody wrote down: then its
    neighbours in meaning are better than nothing.
    """
    return named_anchors.is_pure and (exact_best >= 1.0 or are_codes(named_anchors.required))


def are_codes(required: Sequence[tuple[str, ...]]) -> bool:
    """Whether every identifier has a digit."""
    return all(any(character.isdigit() for term in terms for character in term) for terms in required)


def hybrid_score_weighted(
    semantic_similarity: float,
    confirmation_count: int,
    source_trust: float,
    *,
    semantic_weight: float = SEMANTIC_WEIGHT,
    confirmation_weight: float = CONFIRMATION_WEIGHT,
    trust_weight: float = TRUST_WEIGHT,
) -> float:
    """The formula of document 004: 0.5 · similarity + 0.3 · confirmations (five are full) + 0.2 · trust (2.0 is full)."""
    return (
        semantic_weight * semantic_similarity
        + confirmation_weight * confirmation_share(confirmation_count)
        + trust_weight * trust_share(source_trust)
    )


def rrf_merge(rankings: Sequence[Sequence[Item]], k: int = RRF_K) -> list[tuple[Item, float]]:
    """Reciprocal rank fusion: Σ 1 / (k + rank), ranks from 1, best first; a list that lacks an item adds nothing.

    Ties keep the order in which items were first seen.
    """
    scores: dict[Item, float] = {}
    for ranking in rankings:
        for rank, item in enumerate(dict.fromkeys(ranking), start=1):
            scores[item] = scores.get(item, 0.0) + 1.0 / (k + rank)
    return sorted(scores.items(), key=lambda scored: -scored[1])


@dataclass(frozen=True, slots=True)
class Collected:
    """A fact some hive found: its id, its score by keywords, and how sure its author was."""

    id: str
    keyword: float
    confidence: float


def seed_federated(collected: Iterable[Collected], k: int = RRF_K) -> list[tuple[str, float]]:
    """Facts of all hives, each once with its best figures, by Σ 1 / (k + rank) over the two lists; ties by id."""
    best: dict[str, Collected] = {}
    for collected_fact in collected:
        best_known = best.get(collected_fact.id, collected_fact)
        best[collected_fact.id] = Collected(
            collected_fact.id,
            max(best_known.keyword, collected_fact.keyword),
            max(best_known.confidence, collected_fact.confidence),
        )
    by_keyword = sorted(best.values(), key=lambda each: (-each.keyword, each.id))
    by_confidence = sorted(best.values(), key=lambda each: (-each.confidence, each.id))
    merged = rrf_merge([[each.id for each in by_keyword], [each.id for each in by_confidence]], k)
    return sorted(merged, key=lambda scored: (-scored[1], scored[0]))

"""How much words and meaning count for one query: document 002's three options.

A is one weight for all queries. B lowers the weight of meaning as more of the query's words are identifiers. C multiplies what
matches an identifier exactly. Identifiers are found by `adaptive`, because 002's own pattern finds none in "D40?" or
"INC-2024-001". Ours is another C: an exact match adds to the score (`pipeline`), as a multiple of a poor score is still poor.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hive_mind.model.probe import Anchors
from hive_mind.ranking.adaptive import anchors, asked_terms

Scores = NDArray[np.float32]

# Option A, and what the two other classes of option B say instead.
SEMANTIC_WEIGHT_002 = 0.7
_MIXED, _IDENTIFIERS = 0.5, 0.3
_MIXED_ABOVE, _IDENTIFIERS_ABOVE = 0.2, 0.5
ANCHOR_BOOST_002 = 1.5
"""Option C: an exact match counts half as much again."""


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

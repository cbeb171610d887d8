"""The worth of results beside their order (document 003): coverage gap, diversity of their sources, near-duplicates.

Unit rows: vectors made comparable by cosine, whatever their lengths.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite, log2

import numpy as np
from numpy.typing import NDArray

WEAK_BELOW = 0.5
"""A score below this is weak. Scores are in [0, 1]."""

# Measured with sentence embeddings, paraphrases lie around here and other statements about the same thing well below.
NEAR_DUPLICATE_COSINE = 0.9


def coverage_gap(scores: Sequence[float], threshold: float = WEAK_BELOW) -> float:
    """Share of the results whose score is below the threshold, in [0, 1]; 1.0 where nothing was found.

    Raises `ValueError` for a score outside [0, 1] or NaN: compared with a threshold that would count as strong or as weak by
    accident.
    """
    for score in scores:
        if not isfinite(score) or not 0.0 <= score <= 1.0:
            raise ValueError(f"a score must be in [0, 1], not {score}")
    if not scores:
        return 1.0
    return sum(score < threshold for score in scores) / len(scores)


def source_diversity(kinds: Iterable[str]) -> float | None:
    """Shannon entropy of the kinds over that of an even spread over the kinds that were seen, in [0, 1]; 0 for a single kind.

    `kinds` has one entry for each result. "" is a result whose kind is not known and is left out; None where none is known.
    """
    counts = Counter(kind for kind in kinds if kind)
    if not counts:
        return None
    if len(counts) == 1:
        return 0.0
    total = counts.total()
    entropy = sum(count / total * log2(total / count) for count in sorted(counts.values()))
    # An even spread may come out a last bit above.
    return min(1.0, entropy / log2(len(counts)))


@dataclass(frozen=True, slots=True)
class Likeness:
    """Over all pairs of results: the share that is above the threshold, in [0, 1], and the mean cosine, in [-1, 1]."""

    near_duplicates: float
    mean_cosine: float


def likeness(vectors: NDArray[np.float32], threshold: float = NEAR_DUPLICATE_COSINE) -> Likeness | None:
    """How alike results are, by their vectors, one row each; None for fewer than two, because then there is no pair.

    A row of zeros is a result without a vector and is left out. Raises `ValueError` for values that are not finite.
    """
    rows = unit_rows(vectors)[pointing(vectors)]
    if len(rows) < 2:
        return None
    cosines = np.clip((rows @ rows.T)[np.triu_indices(len(rows), 1)], -1.0, 1.0)
    return Likeness(float(np.mean(cosines > threshold)), float(cosines.mean()))


def unit_rows(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Each row scaled to length 1; a row of zeros, which points nowhere, stays as it is.

    Raises `ValueError` for what is no matrix and for values that are not finite.
    """
    check_rows(vectors)
    # Scaled by the largest value first: squares of very large or very small ones leave the range of a float.
    exact = vectors.astype(np.float64)
    peaks = np.abs(exact).max(axis=1, keepdims=True, initial=0.0)
    scaled = np.divide(exact, peaks, out=np.zeros_like(exact), where=peaks > 0)
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    unit: NDArray[np.float64] = np.divide(scaled, lengths, out=np.zeros_like(scaled), where=lengths > 0)
    return unit


def check_rows(vectors: NDArray[np.float32]) -> None:
    """Raises `ValueError` for what is no matrix and for values that are not finite."""
    if vectors.ndim != 2:
        raise ValueError(f"vectors must be rows of a matrix, not an array of shape {vectors.shape}")
    if not np.isfinite(vectors).all():
        raise ValueError("a vector has a value that is not a finite number; leave out what has no vector")


def pointing(vectors: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Which rows point anywhere: the zero row stands for a text that has no vector, and is like nothing."""
    return np.asarray((vectors != 0).any(axis=1))

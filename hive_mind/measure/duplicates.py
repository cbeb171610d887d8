"""Near-duplicate density (document 003): how much of what was found says the same in nearly the same words."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hive_mind.measure._unit import pointing, unit_rows

# Measured with sentence embeddings, paraphrases lie around here and other statements about the same thing well below.
NEAR_DUPLICATE_COSINE = 0.9


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

"""Unit rows: vectors made comparable by cosine, whatever their lengths."""

import numpy as np
from numpy.typing import NDArray


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

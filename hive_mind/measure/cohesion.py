"""Embedding cohesion (document 003): does what belongs to one topic lie together in the space of its vectors?

The mean cosine of two texts of the same topic, over that of two texts of different topics. 1 means that topics look alike;
what is above it, a search by meaning can use. A large collection has too many pairs to look at, so some are drawn; chance
comes in as `rng`.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hive_mind.measure.results import check_rows, pointing, unit_rows

# Cosines of sentences spread by about 0.15, so the standard error of either mean is then 0.001.
PAIRS = 20_000

_Pairs = tuple[NDArray[np.intp], NDArray[np.intp]]
# Rows that are multiplied at a time: 20,000 pairs of 1,024 numbers would be 320 MB.
_BLOCK = 4_096


def cohesion(vectors: NDArray[np.float32], topics: Sequence[str], rng: np.random.Generator, pairs: int = PAIRS) -> float | None:
    """Mean cosine within a topic over that across topics, every pair of texts counting the same.

    `pairs` of either sort are drawn with replacement; a sort that has no more is looked at whole. Texts without a topic ("") or a
    vector (zeros) are left out. None where there is no pair of a sort, and where texts of different topics are not alike at all
    (a mean of 0 or less): a ratio to that says nothing. Raises `ValueError` for values that are not finite.
    """
    if len(vectors) != len(topics):
        raise ValueError(f"each vector must have a topic, but there are {len(vectors)} and {len(topics)}")
    if pairs < 1:
        raise ValueError(f"pairs must be at least 1, not {pairs}")
    check_rows(vectors)
    groups = _grouped(topics, pointing(vectors))
    within, across = _within(groups, rng, pairs), _across(groups, rng, pairs)
    if within is None or across is None:
        return None
    apart = _mean_cosine(vectors, across)
    return _mean_cosine(vectors, within) / apart if apart > 0 else None


def _grouped(topics: Sequence[str], has_vector: NDArray[np.bool_]) -> list[NDArray[np.intp]]:
    """The numbers of the texts of each topic; topics in the order in which they are first seen."""
    numbers: dict[str, list[int]] = {}
    for number, topic in enumerate(topics):
        if topic and has_vector[number]:
            numbers.setdefault(topic, []).append(number)
    return [np.array(group, np.intp) for group in numbers.values()]


def _within(groups: list[NDArray[np.intp]], rng: np.random.Generator, pairs: int) -> _Pairs | None:
    sizes = np.array([len(group) for group in groups], np.int64)
    ways = sizes * (sizes - 1) // 2
    if not ways.sum():
        return None
    if ways.sum() <= pairs:
        every = [tuple(group[side] for side in np.triu_indices(len(group), 1)) for group in groups]
        return np.concatenate([left for left, _ in every]), np.concatenate([right for _, right in every])
    drawn = rng.choice(len(groups), size=pairs, p=ways / ways.sum())
    first = rng.integers(sizes[drawn])
    # One of the others: those from the first on move up by one.
    second = rng.integers(sizes[drawn] - 1)
    second += second >= first
    starts, order = np.cumsum(sizes) - sizes, np.concatenate(groups)
    return order[starts[drawn] + first], order[starts[drawn] + second]


def _across(groups: list[NDArray[np.intp]], rng: np.random.Generator, pairs: int) -> _Pairs | None:
    if len(groups) < 2:
        return None
    sizes = np.array([len(group) for group in groups], np.int64)
    order, total = np.concatenate(groups), int(sizes.sum())
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    owns = np.repeat(sizes, sizes)
    other_counts = total - owns
    if other_counts.sum() // 2 <= pairs:
        left = np.repeat(np.arange(total), total - starts - owns)
        right = np.concatenate([np.arange(start + size, total) for start, size in zip(starts, owns, strict=True)])
        return order[left], order[right]
    # A text is drawn as often as it has others, and then one of these; its own topic, which lies together, is skipped.
    first = rng.choice(total, size=pairs, p=other_counts / other_counts.sum())
    second = rng.integers(other_counts[first])
    second += np.where(second >= starts[first], owns[first], 0)
    return order[first], order[second]


def _mean_cosine(vectors: NDArray[np.float32], pairs: _Pairs) -> float:
    left, right = pairs
    blocks = [slice(start, start + _BLOCK) for start in range(0, len(left), _BLOCK)]
    sums = [np.vecdot(unit_rows(vectors[left[block]]), unit_rows(vectors[right[block]])).sum() for block in blocks]
    return float(sum(sums)) / len(left)

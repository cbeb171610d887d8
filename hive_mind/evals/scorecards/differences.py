"""Which differences are real? Paired by question, with bootstrap intervals, randomisation p and Holm's correction.

Two cells that answered the same questions differ less by luck than two means do, because how hard a question is goes away. Who
looks at many differences finds some by chance; Holm's correction keeps the chance of even one such find at 5 %. Differences over
the same questions are tested together, by the same flips of signs, which is what makes a whole scorecard a matter of seconds.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hive_mind.evals.rows import Row
from hive_mind.evals.scorecards.card import Difference, Estimate
from hive_mind.evals.scorecards.intervals import SEED, Values, estimates
from hive_mind.evals.scorecards.metrics import value_of
from hive_mind.measure.statistics import DRAWS, EXACT_MAX, randomisation_p

# At most this many signs at once: 16 MB.
_BLOCK_NUMBERS = 2_000_000
# Sums of the same numbers in another order differ in their last bits.
_SAME = 1e-9

Pairs = Sequence[tuple[float | None, float | None]]
"""New and old value of each question."""


def differences(columns: Sequence[Pairs], groups: Sequence[Sequence[str]] = ()) -> list[Difference | None]:
    """New minus old for each column, all of them one family for Holm; None where no question is defined for both.

    `groups` are those of each column's questions: intervals are then drawn by group. p remains that of these questions.
    """
    moved = [[_change(*pair) for pair in pairs] for pairs in columns]
    ps = randomisation_ps([sorted(change for change in column if change is not None) for column in moved])
    both = zip(ps, holm(ps), strict=True)
    return [_difference(found, *p) for found, p in zip(estimates(moved, groups), both, strict=True)]


def randomisation_ps(columns: Sequence[Sequence[float]]) -> list[float | None]:
    """What `measure.randomisation` computes for one column of differences, for many. None for an empty one.

    Draws can't show a p below 1 in 10,001. Where Hoeffding's inequality proves that p is smaller, its bound is given, so that a
    correction for many comparisons does not hide what is beyond doubt.
    """
    arrays = [np.asarray(column, np.float64) for column in columns]
    found = [_without_draws(array) for array in arrays]
    by_size: dict[int, list[int]] = {}
    for place, (array, p) in enumerate(zip(arrays, found, strict=True)):
        if len(array) and p is None:
            by_size.setdefault(len(array), []).append(place)
    for places in by_size.values():
        drawn = _drawn_ps(np.column_stack([arrays[place] for place in places]))
        for place, p in zip(places, drawn, strict=True):
            found[place] = p
    return found


def holm(ps: Sequence[float | None]) -> list[float | None]:
    """Each p times the number of hypotheses that are not yet rejected when it is its turn, the smallest first; 1 at most.

    Undefined ones are no hypotheses (Holm 1979).
    """
    order = sorted((p, place) for place, p in enumerate(ps) if p is not None)
    found: list[float | None] = [None] * len(ps)
    highest = 0.0
    for rank, (p, place) in enumerate(order):
        highest = max(highest, min(1.0, p * (len(order) - rank)))
        found[place] = highest
    return found


def paired(new: Mapping[str, Row], old: Mapping[str, Row], metric: str) -> Pairs:
    """A metric of the questions that both were asked, in sorted order."""
    return [(value_of(new[one], metric), value_of(old[one], metric)) for one in sorted(new.keys() & old.keys())]


def groups_of_both(new: Mapping[str, Row], old: Mapping[str, Row]) -> list[str]:
    """The group of each question of `paired`. Runs of before did not write it down."""
    return [new[one].group or old[one].group for one in sorted(new.keys() & old.keys())]


def identical(new: Mapping[str, Row], old: Mapping[str, Row], limit: int) -> list[float | None]:
    """For each question of `paired`, whether the first `limit` facts are the same, in the same order: 1 or 0.

    None where one of them has no result.
    """
    both = ((new[one], old[one]) for one in sorted(new.keys() & old.keys()))
    return [None if a.error or b.error else float(a.facts[:limit] == b.facts[:limit]) for a, b in both]


def _change(new: float | None, old: float | None) -> float | None:
    return None if new is None or old is None else new - old


def _difference(change: Estimate | None, p: float | None, p_holm: float | None) -> Difference | None:
    if change is None or p is None or p_holm is None:
        return None
    return Difference(change.mean, change.low, change.high, p, p_holm, change.n)


def _without_draws(differences: Values) -> float | None:
    """p where every way of flipping can be looked at, or where it is certain to be smaller than draws can show."""
    moved = differences[differences != 0]
    if len(moved) <= EXACT_MAX:
        return randomisation_p(list(differences), [0.0] * len(differences), rng=np.random.default_rng(SEED))
    bound = _hoeffding(moved)
    return bound if bound < 1 / (1 + DRAWS) else None


def _hoeffding(differences: Values) -> float:
    """How likely a sum of these with random signs is as far from zero as theirs is, at the very most."""
    return float(2 * np.exp(-(differences.sum() ** 2) / (2 * (differences**2).sum())))


def _drawn_ps(together: Values) -> list[float]:
    """By flipping signs at random, the same for all columns. What was found is one of the ways itself, so p is never 0."""
    size, rng = len(together), np.random.default_rng(SEED)
    far = np.abs(together.sum(axis=0)) * (1 - _SAME) - _SAME * 1e-3
    count: NDArray[np.int64] = np.zeros(together.shape[1], np.int64)
    rows = max(1, _BLOCK_NUMBERS // size)
    for start in range(0, DRAWS, rows):
        flips = rng.integers(2, size=(min(rows, DRAWS - start), size), dtype=np.int8) * 2.0 - 1.0
        count += np.count_nonzero(np.abs(flips @ together) >= far, axis=0)
    return [float(p) for p in (1 + count) / (1 + DRAWS)]

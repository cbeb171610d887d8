"""How many candidates each replica set is asked for at first.

Of the best hundred of a hive, one of fifty sets has two or three. To ask each of them for a hundred, so that none can be missed,
is to have fifty times as many found, sent and checked as are of use. So each is asked for as many as it can be expected to have,
with room for chance. A member that gave all it was asked for, none of them too weak for the merged pool, may have more
such and is asked for all of them (`reply_collector`). The result is the same pool, to the last candidate and score. Evidence adds
up over the answers that hold a fact: where two groups learned the same, one may leave its own out if what surrounds it there fits
the question worse.
"""

from math import ceil, sqrt

from hive_mind.hive.policy.admission import DEPTH_MAX

_DEVIATIONS = 4.0
"""Of a Poisson distribution (its variance is its mean): where facts are dealt by chance, one set in 30,000 has more."""
_LEAST = 4.0


def first_depth(depth: int, share: float) -> int:
    """Candidates to ask a set for that is expected to have this share of the best `depth`; all where little would be saved."""
    expected = depth * share
    wanted = ceil(expected + _DEVIATIONS * sqrt(expected) + _LEAST)
    return wanted if 2 * wanted <= depth <= DEPTH_MAX else depth

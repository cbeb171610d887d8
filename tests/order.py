"""In which order tests run where several processes share them: the long ones begin first, so that the last minute has short ones.

pytest-xdist gives each process an equal share of the list, and one that is done takes from the end of another's share.
"""

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter

import pytest


def dealt_out(tests: Sequence[pytest.Item], processes: int) -> list[pytest.Item]:
    """All of them, in the share of each process its long files first.

    One process loads the embedding model's libraries, which takes seconds, and not each that comes across a test of it.
    """
    embedding = [one for one in tests if one.get_closest_marker("embeddings")]
    others = [one for one in tests if not one.get_closest_marker("embeddings")]
    files = [(_long(of_file := list(file)), of_file) for _, file in groupby(others, lambda one: one.path)]
    short = [one for long, file in files if not long for one in file]
    shares: list[list[pytest.Item]] = [embedding, *([] for _ in range(processes - 1))]
    weights = [len(share) for share in shares]
    for long, file in sorted((file for file in files if file[0]), key=itemgetter(0), reverse=True):
        least = weights.index(min(weights))
        shares[least] += file
        weights[least] += long
    order: list[pytest.Item] = []
    for place, share in enumerate(shares, 1):
        room = max(0, len(tests) * place // processes - len(order) - len(share))
        order += [*share, *short[:room]]
        del short[:room]
    return [*order, *short]


def _long(tests: Sequence[pytest.Item]) -> int:
    """How many of them take seconds."""
    return sum(one.get_closest_marker("slow") is not None for one in tests)

"""Scores that are made anew by the statistics of all are those that an index with these would have given, to the last bit."""

import random
from collections.abc import Sequence
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.model.gathered import Anchors, Probe
from hive_mind.model.query import TermStatistics
from hive_mind.ranking import inverted
from hive_mind.ranking.index import FactIndex
from hive_mind.ranking.inverted import asked_for
from hive_mind.ranking.merge import left_out, most_left, rescored, total

BESIDE = [None, TermStatistics(0, 0.0), TermStatistics(3, 20.0, {"w0": 2}, 160.0), TermStatistics(9_000, 3e5, {"w1": 8_000}, 4e7)]


def index_of(chance: random.Random, words: Sequence[str]) -> FactIndex:
    """Up to forty documents, in which one of the words is common; some are taken out again."""
    index, common, length = FactIndex(), chance.choice(words), chance.randint(1, 12)
    documents = []
    for number in range(chance.randint(0, 40)):
        terms: dict[str, float] = {}
        for _ in range(chance.randint(1, length)):
            word = chance.choice([*words, *[common] * len(words)])
            terms[word] = terms.get(word, 0.0) + chance.choice([1.0, 0.3, 40.0])
        documents.append((f"{number}", terms))
        index.add(*documents[-1])
    for id, terms in documents:
        if chance.random() < 0.2:
            index.remove(id, terms)
    return index


@pytest.mark.parametrize("together_bytes_max", [1 << 20, 0], ids=["together", "one by one"])
@given(st.integers(2, 30), st.integers(1, 6), st.integers(1, 10), st.sampled_from(BESIDE), st.randoms(use_true_random=False))
def test_what_members_tell_is_all_that_is_needed(together_bytes_max, size, sets, depth, beside, chance):
    words = [f"w{number}" for number in range(size)]
    indexes = [index_of(chance, words) for _ in range(sets)]
    terms = tuple(chance.choice([*words, "nowhere"]) for _ in range(chance.randint(1, 6)))
    asked = asked_for(terms)

    with patch.object(inverted, "_TOGETHER_BYTES_MAX", together_bytes_max):
        told = [index.pool_with_words(Probe(terms, Anchors(), None, depth, beside=beside)) for index in indexes]
    own = [[occurrences.statistics, *([beside] if beside else [])] for _, _, occurrences in told]
    together = total([*(one[0] for one in own), *([beside] if beside else [])])
    occurrences = [one for _, _, one in told]

    anew = rescored(occurrences, asked, together)
    left = [left_out(pool.keyword, depth) for pool, _, _ in told]
    most = most_left(occurrences, left, [total(one) for one in own], asked, together)

    expected = [index.scored(Probe(terms, Anchors(), statistics=together)).keyword for index in indexes]
    chosen = [positions for _, positions, _ in told]
    assert anew.tobytes() == np.concatenate([scores[at] for scores, at in zip(expected, chosen, strict=True)]).tobytes()
    for bound, scores, at in zip(most.tolist(), expected, chosen, strict=True):
        best_left_out = np.delete(scores, at).max(initial=0.0)
        assert best_left_out <= bound
        assert (bound == 0) == (best_left_out == 0)


def test_the_bound_follows_the_words_that_are_left_and_not_the_worst_of_them():
    """One document says "n1", which is rarer in the hive; half of them say "pump", which is as common everywhere."""
    index = FactIndex()
    for number in range(100):
        index.add(f"{number:02}", {"red" if number % 2 else "pump": 1.0, f"n{number}": 1.0})
    pool, _, told = index.pool_with_words(Probe(("n1", "pump"), Anchors(), None, 10))
    together = TermStatistics(10_000, 20_000.0, {"n1": 1, "pump": 5_000}, 40_000.0)
    left = left_out(pool.keyword, 10)

    (bound,) = most_left([told], [left], [told.statistics], {"n1": 1.0, "pump": 1.0}, together)

    assert bound == pytest.approx(left, rel=0.02)

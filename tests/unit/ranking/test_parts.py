"""A part of an index chosen beforehand ranks as if there were nothing else, whichever vector index compares."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from hive_mind import backends
from hive_mind.model.gathered import Anchors, Pool, Probe
from hive_mind.ranking.index import FactIndex
from hive_mind.ranking.inverted import Bm25Index
from hive_mind.ranking.question import anchors
from hive_mind.ranking.within import TermCache
from tests.builders import words_vector

DIMENSION, SIZE = 32, 400
ARMS = ((0, 0.0), (1, -2.0), (2, 0.0))
WORDS = "red blue pump door tank valve D40 D41 leaks open shut north south".split()


@cache
def text(number: int) -> str:
    rng = np.random.default_rng(number)
    return " ".join(rng.choice(WORDS, size=int(rng.integers(2, 8))))


def unit(words: str) -> np.ndarray:
    vector = words_vector(words, DIMENSION)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


@cache
def index_of(arm: str, numbers: range = range(SIZE)) -> FactIndex:
    """Nobody changes it."""
    return new_index(arm, numbers)


def new_index(arm: str, numbers: range = range(SIZE)) -> FactIndex:
    index = FactIndex(backends.load("ann", arm).open(DIMENSION))
    for number in numbers:
        # Some have no vector and are found by words alone.
        index.add(f"{number:04}", dict.fromkeys(text(number).lower().split(), 1.0), unit(text(number)) if number % 7 else None)
    return index


def told(pool: Pool) -> dict[str, tuple]:
    rows = zip(pool.keyword.tolist(), np.nan_to_num(pool.semantic, nan=-9).tolist(), pool.exact.tolist(), strict=True)
    return {id: tuple(round(figure, 5) for figure in row) for id, row in zip(pool.ids, rows, strict=True)}


@pytest.mark.parametrize("arm", ["exact", "quantised"])
def test_a_part_is_an_index_of_its_own(arm: str):
    whole = index_of(arm)
    for chosen in (range(100, 350), range(0, SIZE, 2), range(3, SIZE, 50), range(0)):
        alone = index_of(arm, chosen)
        for query in ("red pump", "D40", "Who shut the D41 valve?", ""):
            probe = Probe(tuple(query.lower().split()), anchors(query), unit(query or "red"), depth=5)
            scored = whole.scored(probe, whole.part(np.array(chosen, np.int64)))

            assert told(whole.candidates(scored, 5)[0]) == told(alone.candidates(alone.scored(probe), 5)[0]), (chosen, query)
            assert scored.looked_at == len(chosen)


@pytest.mark.parametrize("arm", ["exact", "quantised"])
@pytest.mark.parametrize("depth", [1, 5, 40, 1000])
@pytest.mark.parametrize("each", [1, 3])
def test_a_pool_is_the_best_of_each_arm(arm: str, depth: int, each: int):
    whole = index_of(arm)
    names = [f"{number:04}" for number in range(0, SIZE, each)]
    for query in ("red pump", "D40", "Who shut the D41 valve?", ""):
        for vector in (None, unit(query or "red")):
            probe = Probe(tuple(query.lower().split()), anchors(query), vector, depth)
            figures = told(whole.pool(replace(probe, depth=SIZE)))
            arms = ([name for name in names if name in figures and figures[name][column] > floor] for column, floor in ARMS)
            best = [
                sorted(holders, key=lambda name: (*(-figures[name][i] for i in order), name))[:depth]
                for holders, order in zip(arms, ((0,), (1,), (2, 0)), strict=True)
            ]

            pool = whole.pool(probe, None if each == 1 else set(names).__contains__)

            assert told(pool) == {name: figures[name] for name in set().union(*best)}, query


def test_by_words_alone_only_holders_of_a_word_are_looked_at():
    whole = index_of("exact")
    rows = np.arange(100)
    holders = sum("pump" in text(number).lower().split() for number in range(100))
    assert whole.scored(Probe(("pump",), Anchors()), whole.part(rows)).looked_at == holders


def test_what_was_removed_is_in_no_part():
    whole = new_index("quantised")
    whole.remove("0001", text(1).lower().split())
    rows = np.array([number for number in range(100) if number != 1])
    found = whole.candidates(whole.scored(Probe(("pump",), Anchors(), unit("pump"), 5), whole.part(rows)), 5)[0]
    assert "0001" not in found.ids


def by_words(numbers: range) -> Bm25Index:
    index = Bm25Index()
    for position, number in enumerate(numbers):
        index.add(position, dict.fromkeys(text(number).lower().split(), 1.0))
    return index


@pytest.mark.parametrize("terms", [["red", "pump"], ["pump", "absent", "red", "pump"], ["absent"], []])
def test_a_part_that_knows_words_from_earlier_queries_scores_to_the_last_bit_as_an_index_of_its_own(terms: list[str]):
    index, chosen = by_words(range(SIZE)), range(0, SIZE, 3)
    part = index.within(np.array(chosen, np.int64))
    for earlier in (["pump", "door"], ["red", "valve", "d40"]):
        index.scores_within(earlier, part)

    first, again = index.scores_within(terms, part), index.scores_within(terms, part)

    assert first[part.rows].tolist() == by_words(chosen).matched(terms).scores.tolist()
    assert first.tolist() == again.tolist()
    assert not first[~part.mask].any()


def test_a_part_too_small_to_keep_anything_scores_the_same():
    index, chosen = by_words(range(SIZE)), np.arange(100)
    roomy, full = index.within(chosen), index.within(chosen)
    full.kept.put(("other", 1.0), np.empty(full.kept_max, np.int32), np.empty(full.kept_max, np.float32), full.kept_max)
    for _ in range(2):
        assert index.scores_within(["red", "pump"], full).tolist() == index.scores_within(["red", "pump"], roomy).tolist()


def test_what_is_kept_of_a_part_is_bounded_and_the_longest_unused_goes_first():
    kept = TermCache()
    for term in "abc":
        kept.put((term, 1.0), np.zeros(3, np.int32), np.zeros(3, np.float32), 9)
    kept.get(("a", 1.0))

    kept.put(("d", 1.0), np.zeros(2, np.int32), np.zeros(2, np.float32), 9)
    kept.put(("too long", 1.0), np.zeros(10, np.int32), np.zeros(10, np.float32), 9)

    assert [term for term in ("a", "b", "c", "d", "too long") if kept.get((term, 1.0)) is not None] == ["a", "c", "d"]
    assert kept.entries == 8

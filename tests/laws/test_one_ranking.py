"""One ranking whatever the topology: facts dealt to shards in any way are ranked as if they were in one index."""

import random
from hashlib import blake2b

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.model.query import Method
from hive_mind.ranking.adaptive import anchors
from hive_mind.ranking.index import FactIndex, Pool, Probe, merge_pools, with_statistics
from hive_mind.ranking.pipeline import Evidence, rank
from hive_mind.ranking.tokens import tokenize
from hive_mind.ranking.vector import ExactVectors
from tests.builders import words_vector

DIMENSION = 16
WORDS = [*"red blue pump door tank valve D40 D41 INC-2024-001 75.1725".split()]
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=7).map(" ".join), min_size=1, max_size=40, unique=True)
QUERIES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)


def name(text: str) -> str:
    return blake2b(text.encode(), digest_size=16).hexdigest()


def unit(text: str) -> np.ndarray:
    vector = words_vector(text, DIMENSION)
    return (vector / (np.linalg.norm(vector) or 1)).astype(np.float32)


def terms_of(text: str) -> dict[str, float]:
    return {term: float(tokenize(text).count(term)) for term in tokenize(text)}


def index_of(texts: list[str], has_vector=lambda _: True) -> FactIndex:
    index = FactIndex(ExactVectors(DIMENSION))
    for text in texts:
        index.add(name(text), terms_of(text), unit(text) if has_vector(text) else None)
    return index


def evidence_of(id: str) -> Evidence:
    numbers = bytes.fromhex(id)
    return Evidence(numbers[0] % 6 / 5, numbers[1] / 255, numbers[2] / 255)


def ranking(pool: Pool, limit: int, method: Method) -> list[tuple[str, float]]:
    return [(found.id, pytest.approx(found.score, abs=1e-5)) for found in rank(pool, evidence_of, limit, method)]


@given(TEXTS, QUERIES, st.integers(1, 6), st.sampled_from(["hybrid", "keyword", "vector"]), st.randoms(use_true_random=False))
def test_dealt_to_shards_in_any_way_facts_rank_as_in_one_index(texts, query, shards, method, chance: random.Random):
    def has_vector(text: str) -> bool:
        return name(text)[-1] != "0"

    dealt: list[list[str]] = [[] for _ in range(shards)]
    for text in chance.sample(texts, len(texts)):
        chance.choice(dealt).append(text)
    whole, parts = index_of(texts, has_vector), [index_of(some, has_vector) for some in dealt]
    probe = Probe(tuple(tokenize(query)), anchors(query), unit(query), depth=50)

    shared = with_statistics(probe, parts)
    merged = merge_pools([part.pool(shared) for part in parts], probe.depth)

    for limit in (1, 5, 50):
        assert ranking(merged, limit, method) == ranking(whole.pool(probe), limit, method)


def test_more_equals_than_there_are_places_are_cut_alike_wherever_they_lie():
    texts = [f"pump{n} red" for n in range(90)]
    for query in ("red", "red INC-2024-001"):
        named = [text + (" INC-2024-001" if "INC" in query else "") for text in texts]
        probe = Probe(tuple(tokenize(query)), anchors(query), depth=10)
        parts = [index_of(named[shard::7][::-1]) for shard in range(7)]
        merged = merge_pools([part.pool(with_statistics(probe, parts)) for part in parts], probe.depth)

        assert ranking(merged, 10, "keyword") == ranking(index_of(named).pool(probe), 10, "keyword")


@given(TEXTS, QUERIES, st.randoms(use_true_random=False))
def test_an_index_with_a_history_ranks_as_one_without(texts, query, chance: random.Random):
    gone = chance.sample(texts, chance.randint(0, len(texts) - 1))
    lived = index_of(texts)
    for text in gone:
        lived.remove(name(text), terms_of(text))
        lived.remove(name(text), terms_of(text))
    back = [text for text in gone if chance.random() < 0.5]
    for text in back:
        lived.add(name(text), terms_of(text), unit(text))
    there = [text for text in texts if text not in gone or text in back]
    probe = Probe(tuple(tokenize(query)), anchors(query), unit(query), depth=50)

    assert ranking(lived.pool(probe), 50, "hybrid") == ranking(index_of(there).pool(probe), 50, "hybrid")
    assert len(lived) == len(there)


@given(TEXTS, QUERIES, st.integers(1, 5), st.randoms(use_true_random=False))
def test_a_filter_lets_through_the_best_that_pass_and_no_other(texts, query, depth: int, chance: random.Random):
    accepted = {name(text) for text in texts if chance.random() < 0.4}
    probe = Probe(tuple(tokenize(query)), anchors(query), unit(query), depth)

    filtered = index_of(texts).pool(probe, accepted.__contains__)

    assert set(filtered.ids) <= accepted
    everything = index_of(texts).pool(Probe(probe.terms, probe.anchors, probe.vector, len(texts) * 9))
    passing = [row for row, id in enumerate(everything.ids) if id in accepted]
    for arm in (everything.keyword, everything.semantic, everything.exact):
        best = sorted((float(arm[row]) for row in passing if arm is everything.semantic or arm[row] > 0), reverse=True)[:depth]
        own = {everything.keyword is arm: filtered.keyword, everything.semantic is arm: filtered.semantic}.get(
            True, filtered.exact
        )
        assert sorted(map(float, own), reverse=True)[: len(best)] == pytest.approx(best, abs=1e-6)


@given(TEXTS)
def test_a_fact_is_findable_at_once_and_gone_at_once(texts):
    index = index_of([])
    for text in texts:
        index.add(name(text), terms_of(text), unit(text))
        probe = Probe(tuple(tokenize(text)), anchors(""), unit(text), depth=100)
        assert name(text) in index.pool(probe).ids
        assert name(text) in index

    index.remove(name(texts[0]), terms_of(texts[0]))
    assert name(texts[0]) not in index.pool(Probe(tuple(tokenize(texts[0])), anchors(texts[0]), unit(texts[0]))).ids


def test_an_id_is_taken_once():
    with pytest.raises(ValueError, match="already"):
        index_of(["red", "red"])


def test_an_empty_index_has_an_empty_pool():
    empty = index_of([]).pool(Probe(("red",), anchors("D40"), unit("red")))

    assert len(empty) == 0
    assert rank(merge_pools([empty, empty], 10), evidence_of, 5) == []

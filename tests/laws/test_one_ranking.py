"""One ranking whatever the topology: facts dealt to shards in any way are ranked as if they were in one index."""

import random
from hashlib import blake2b
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.model.gathered import NOWHERE, EvidenceColumns, Pool, Probe
from hive_mind.model.query import Method
from hive_mind.ranking.index import FactIndex, with_statistics
from hive_mind.ranking.merge import merge_all, merge_found, merge_pools, merge_replicas
from hive_mind.ranking.pipeline import RankingSettings, Related, rank
from hive_mind.ranking.question import anchors
from hive_mind.ranking.tokens import tokenize
from hive_mind.ranking.vector import ExactVectors
from tests.builders import words_vector
from tests.supports import FactSupport, alike, by_id

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


def evidence_of(id: str) -> FactSupport:
    numbers = bytes.fromhex(id)
    return FactSupport(numbers[0] % 6 / 5, numbers[1] / 255, numbers[2] / 255)


def ranking(pool: Pool, limit: int, method: Method, settings: RankingSettings | None = None) -> list[tuple[str, float]]:
    return [
        (found.id, pytest.approx(found.score, abs=1e-5))
        for found in rank(pool, by_id(pool, evidence_of), limit, method, settings)
    ]


def place(id: str) -> bytes:
    """One of three sessions or none, after the one of some other texts."""
    session, before = int(id[0], 16) % 4, WORDS[int(id[1], 16) % len(WORDS)]
    if not session:
        return NOWHERE
    return session.to_bytes(8, "little") + bytes.fromhex(name(before)[:16]) + (1 + int(id[2], 16) % 2).to_bytes(8, "little")


def columns_of(pool: Pool, **fixed: float) -> EvidenceColumns:
    rows = [evidence_of(id)._replace(**fixed) for id in pool.ids]
    return EvidenceColumns(*np.array(rows, np.float32).reshape(-1, 3).T, b"".join(map(place, pool.ids)))


def probe_of(query: str, depth: int = 50) -> Probe:
    return Probe(tuple(tokenize(query)), anchors(query), unit(query), depth)


RRF = RankingSettings(fusion="rrf")


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

    # Ranks are given by the coordinator, so shards do not matter to them either.
    for limit, settings in product((1, 5, 50), (None, RRF)):
        assert ranking(merged, limit, method, settings) == ranking(whole.pool(probe), limit, method, settings)


@given(TEXTS, QUERIES, st.integers(1, 50), st.sampled_from(["hybrid", "keyword", "vector"]))
def test_who_wants_to_look_at_more_of_them_gets_the_same_first_ones(texts, query, limit, method):
    pool = index_of(texts).pool(probe_of(query))
    for settings in (RankingSettings(), RRF):
        assert ranking(pool, 50, method, settings)[:limit] == ranking(pool, limit, method, settings)


@given(TEXTS, QUERIES, st.integers(1, 5), st.integers(1, 50), st.randoms(use_true_random=False))
def test_a_fact_in_several_pools_is_one_candidate(texts, query, shards: int, depth: int, chance: random.Random):
    dealt = [chance.sample(texts, chance.randint(0, len(texts))) for _ in range(shards)]
    everything = sorted({text for some in dealt for text in some})
    parts = [index_of(some) for some in dealt]
    shared = with_statistics(probe_of(query, depth), parts)

    merged = merge_pools([part.pool(shared) for part in parts], depth)

    assert len(set(merged.ids)) == len(merged.ids)
    assert ranking(merged, 50, "hybrid") == ranking(merge_pools([index_of(everything).pool(shared)], depth), 50, "hybrid")
    again = merge_pools([part.pool(shared) for part in parts[::-1]], depth)
    assert sorted(again.ids) == sorted(merged.ids)


@given(TEXTS, QUERIES, st.integers(1, 5), st.integers(1, 50), st.randoms(use_true_random=False))
def test_evidence_stays_with_its_fact_and_adds_up_over_groups(texts, query, shards: int, depth: int, chance: random.Random):
    dealt = [chance.sample(texts, chance.randint(0, len(texts))) for _ in range(shards)]
    parts = [index_of(some) for some in dealt]
    shared = with_statistics(probe_of(query, depth), parts)
    pools = [part.pool(shared) for part in parts]
    evidence = [columns_of(pool, trust=number / shards) for number, pool in enumerate(pools)]

    merged = merge_all(pools, evidence, depth)

    assert merge_pools(pools, depth).ids == merged.pool.ids == merge_found(pools, evidence, depth)[0].ids
    columns = (merged.evidence.confirmations, merged.evidence.trust, merged.evidence.confidence)
    for id, origin, *found in zip(merged.pool.ids, merged.origins.tolist(), *columns, strict=True):
        holders = [number for number, pool in enumerate(pools) if id in pool.ids]
        plain = evidence_of(id)
        assert origin == holders[0]
        confirmations = min(1.0, plain.confirmations * len(holders))
        assert found == pytest.approx([confirmations, holders[-1] / shards, plain.confidence], abs=1e-6)
    assert merged.evidence.places == b"".join(map(place, merged.pool.ids))


@given(TEXTS, QUERIES, st.integers(1, 6), st.randoms(use_true_random=False))
def test_what_was_said_around_a_fact_counts_alike_wherever_both_lie(texts, query, shards, chance: random.Random):
    dealt: list[list[str]] = [[] for _ in range(shards)]
    for text in texts:
        chance.choice(dealt).append(text)
    parts, probe = [index_of(some) for some in dealt], probe_of(query)
    pools = [part.pool(with_statistics(probe, parts)) for part in parts]
    merged, evidence = merge_found(pools, [columns_of(pool) for pool in pools], probe.depth)
    whole = index_of(texts).pool(probe)

    def ranked(pool: Pool, places: bytes) -> list[tuple[str, float]]:
        found = rank(pool, by_id(pool, evidence_of), 10, related=Related(places))
        return [(one.id, pytest.approx(one.score, abs=1e-5)) for one in found]

    assert ranked(merged, evidence.places) == ranked(whole, columns_of(whole).places)


@given(TEXTS, QUERIES, st.randoms(use_true_random=False))
def test_replicas_of_one_share_say_the_same_evidence_twice(texts, query, chance: random.Random):
    pools = [index_of(chance.sample(texts, chance.randint(1, len(texts)))).pool(probe_of(query)) for _ in range(2)]
    pool, evidence = merge_replicas(pools, [columns_of(pool) for pool in pools])
    assert set(pool.ids) == set(pools[0].ids) | set(pools[1].ids)
    found = zip(evidence.confirmations, evidence.trust, evidence.confidence, strict=True)
    assert list(found) == [pytest.approx(evidence_of(id), abs=1e-6) for id in pool.ids]


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
    assert len(empty) == len(merge_pools([], 10)) == 0
    assert rank(merge_pools([empty, empty], 10), alike, 5) == []

"""Asking each replica set for a few candidates first, and for more where there are more, finds what asking for all finds."""

import random
from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.hive.effects import Ask, SearchLocal, Send
from hive_mind.hive.query import Latencies, ScatterSettings
from hive_mind.hive.query.rounds import Asker
from hive_mind.hive.query.scatter import Scatter
from hive_mind.hive.topology import ReplicaSet
from hive_mind.model.gathered import EvidenceColumns, Gathered, Pool, Probe
from hive_mind.model.messages import PoolReply, PoolRequest
from hive_mind.ranking.index import FactIndex, with_statistics
from hive_mind.ranking.merge import may_have_more, merge_pools
from tests.laws.test_one_ranking import WORDS, index_of, probe_of

DEPTHS = st.integers(20, 60)


def texts_by_topic(chance: random.Random, topics: int, each: int) -> list[list[str]]:
    """Texts of which those of a topic speak of the same things, as far as chance has it, and are equally good often."""
    return [
        [f"{chance.choice(WORDS)} {WORDS[topic % len(WORDS)]} {chance.choice(WORDS)} t{topic} n{n}" for n in range(each)]
        for topic in range(topics)
    ]


def everything(parts: Sequence[FactIndex], probe: Probe) -> Pool:
    shared = with_statistics(probe, parts)
    return merge_pools([part.pool(shared) for part in parts], probe.depth)


def same(one: Pool, other: Pool) -> bool:
    def rows(pool: Pool) -> dict[str, tuple[str, ...]]:
        columns = zip(pool.keyword, pool.semantic, pool.exact, strict=True)
        return {id: tuple(f"{figure:.6g}" for figure in row) for id, row in zip(pool.ids, columns, strict=True)}

    return rows(one) == rows(other)


@given(st.integers(2, 12), st.integers(1, 30), st.integers(1, 40), DEPTHS, st.randoms(use_true_random=False))
def test_whoever_may_have_more_is_known_from_what_was_given(sets, each, asked, depth, chance):
    parts = [index_of(texts) for texts in texts_by_topic(chance, sets, each)]
    shared = with_statistics(probe_of(f"{WORDS[0]} {chance.choice(WORDS)}", depth), parts)
    shallow = Probe(shared.terms, shared.anchors, shared.vector, asked, shared.statistics)
    pools = [part.pool(shallow) for part in parts]

    for number in may_have_more(pools, [asked] * sets, depth):
        pools[number] = parts[number].pool(shared)

    assert same(merge_pools(pools, depth), everything(parts, shared))


def ask(parts: Sequence[FactIndex], probe: Probe, latencies: Latencies | None = None) -> tuple[Gathered, list[PoolRequest]]:
    read_set = tuple(ReplicaSet(f"s{n}", (f"m{n}",), (f"p{n}",)) for n in range(len(parts)))
    scatter = Scatter(Ask("q", probe, 2_000), Asker("me", read_set, 1, ScatterSettings(), latencies or Latencies()), 0)
    effects, asked = scatter.start(0), []
    while effects:
        (one, *effects) = effects
        request = one.message if isinstance(one, Send) else one.request
        assert not isinstance(one, SearchLocal)
        number = int(request.replica_set[1:])
        asked.append(request)
        pool, _, words = parts[number].pool_with_words(request.probe)
        half = np.full(len(pool), 0.5, np.float32)
        reply = PoolReply(request.query, request.replica_set, pool, EvidenceColumns(half, half, half), (), words)
        effects += scatter.take(one.to[0], reply, 1)
    assert scatter.is_done
    return scatter.gathered(), asked


@given(st.integers(8, 16), st.integers(1, 30), DEPTHS, st.booleans(), st.booleans(), st.randoms(use_true_random=False))
def test_a_question_finds_what_one_index_would(sets, each, depth, is_coherent, has_terms, chance):
    texts = texts_by_topic(chance, sets, each)
    if not is_coherent:
        every = [text for some in texts for text in some]
        chance.shuffle(every)
        texts = [every[n::sets] for n in range(sets)]
    parts = [index_of(some) for some in texts]
    probe = probe_of(f"{WORDS[0]} {chance.choice(WORDS)}", depth)
    probe = probe if has_terms else Probe((), probe.anchors, probe.vector, depth)

    found, asked = ask(parts, probe)

    assert same(found.pool, everything(parts, probe))
    assert found.completeness == 1.0
    assert all(one.probe.depth <= depth for one in asked)
    assert len(asked) <= 2 * sets
    assert len(found.asked) == sets

"""What it costs replicas to agree: taking one new fact, remembering what was removed, and rounds of gossip until all have all.

A merge is compared with putting a key into a Python dict that has as many; what is remembered with the 13 bytes of one dot, the
name of a single write; gossip with log2 of the members, the rounds in which one rumour that is told once a round reaches all.
"""

import time
from collections.abc import Callable, Iterator
from math import log2
from random import Random
from statistics import median

from benchmarks.crdt import fact_ids, packed_context
from benchmarks.figure import Figure, Means, side_by_side
from benchmarks.gossip import spread
from hive_mind.crdt.orset import ORSet

NEW, CHURNED, DOT_BYTES = 500, 100_000, 13
CROWDS = ((10, 20), (10, 100), (50, 20))


def merging(means: Means) -> Iterator[Figure]:
    """Of 10,000 and of 50,000: what depends on the delta alone costs the same in both."""
    for facts in (10_000, 50_000):
        value, peer_value, ratios = side_by_side(taking(facts), putting(facts), means.rounds)
        yield Figure(
            name=f"merge-{facts // 1000}k",
            what=f"merge of one new fact into {facts:,}, CPU",
            value=value,
            unit="ms",
            peer="one key into a dict of as many",
            peer_value=peer_value,
            ratios=ratios,
            target=0.1,
        )


def taking(facts: int) -> Callable[[], float]:
    chance = Random(facts)
    here: ORSet[str] = ORSet("here")
    here.add_all(fact_ids(facts, chance))
    other: ORSet[str] = ORSet("other")

    def round_ms() -> float:
        deltas = [other.add(fact_id) for fact_id in fact_ids(NEW, chance)]
        began_ns = time.process_time_ns()
        for delta in deltas:
            here.apply(delta)
        return (time.process_time_ns() - began_ns) / 1e6 / NEW

    return round_ms


def putting(facts: int) -> Callable[[], float]:
    chance = Random(facts)
    held = dict.fromkeys(fact_ids(facts, chance), True)

    def round_ms() -> float:
        new = fact_ids(NEW, chance)
        began_ns = time.process_time_ns()
        for fact_id in new:
            held[fact_id] = True
        return (time.process_time_ns() - began_ns) / 1e6 / NEW

    return round_ms


def removing(means: Means) -> Iterator[Figure]:
    """No chance in it: one round says it."""
    del means
    churned: ORSet[str] = ORSet("churned")
    ids = fact_ids(1_000, Random(20))
    for number in range(CHURNED):
        churned.add(ids[number % len(ids)])
        churned.remove(ids[number % len(ids)])
    kept = len(packed_context(churned.context))
    yield Figure(
        name="orset-removed",
        what=f"OR-Set after {CHURNED:,} adds and removals, kept",
        value=kept,
        unit="B",
        peer="one dot",
        peer_value=DOT_BYTES,
        ratios=(kept / DOT_BYTES,),
        target=1_000,
        is_exact=True,
    )


def gossiping(means: Means) -> Iterator[Figure]:
    """Virtual time and seeds: the same on every machine. A crowd that never agrees has infinitely many rounds."""
    for members, facts_each in CROWDS:
        rows = [spread(members, facts_each, seed) for seed in range(means.rounds)]
        yield Figure(
            name=f"gossip-{members}x{facts_each}",
            what=f"gossip at defaults, {members} members × {facts_each} facts, until all have 100 %",
            value=median(row.rounds for row in rows),
            unit="rounds",
            peer="log2 of the members",
            peer_value=log2(members),
            ratios=tuple(row.rounds / log2(members) for row in rows),
            target=rows[0].bound,
            is_exact=True,
        )

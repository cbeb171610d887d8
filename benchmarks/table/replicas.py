"""What it costs replicas to agree: taking one new fact, remembering what was removed, and rounds of gossip until all have all.

A merge is compared with putting a key into a Python dict that has as many; what is remembered with the 13 bytes of one dot, the
name of a single write; gossip with log2 of the members, the rounds in which one rumour that is told once a round reaches all.
"""

import time
from collections.abc import Callable, Iterator
from math import log2
from random import Random
from statistics import median

from benchmarks.crdt import churned_bytes, fact_ids
from benchmarks.figure import Figure, Means, beside, once, side_by_side
from benchmarks.gossip import spread
from hive_mind.crdt.orset import ORSet

NEW, CHURNED, DOT_BYTES = 500, 100_000, 13
CROWDS = ((10, 20), (10, 100), (50, 20))


def merging(means: Means) -> Iterator[Figure]:
    """Of 10,000 and of 50,000: what depends on the delta alone costs the same in both."""
    for facts in (10_000, 50_000):
        sides = side_by_side(taking(facts), putting(facts), means.rounds)
        what = f"merge of one new fact into {facts:,}, CPU"
        yield beside(f"merge-{facts // 1000}k", what, "ms", "one key into a dict of as many", sides, 0.1)


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
    kept = churned_bytes(CHURNED, Random(20))
    what = f"OR-Set after {CHURNED:,} adds and removals, kept"
    yield once("orset-removed", what, kept, "B", "one dot", DOT_BYTES, 1_000, is_exact=True)


def gossiping(means: Means) -> Iterator[Figure]:
    """Virtual time and seeds: the same on every machine. A crowd that never agrees has infinitely many rounds."""
    for members, facts_each in CROWDS:
        rows = [spread(members, facts_each, seed) for seed in range(means.rounds)]
        what, least = f"gossip at defaults, {members} members × {facts_each} facts, until all have 100 %", log2(members)
        sides = median(row.rounds for row in rows), least, tuple(row.rounds / least for row in rows)
        name = f"gossip-{members}x{facts_each}"
        yield beside(name, what, "rounds", "log2 of the members", sides, rows[0].bound, is_exact=True)

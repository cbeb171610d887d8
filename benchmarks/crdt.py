"""What does it cost replicas to agree?

CPU time of merging two replicas of 100,000 facts and of one new fact, what a set remembers of all that was ever removed, what
one change takes on the wire, and bytes and messages of finding the differences of two large sets.

    python -m benchmarks.crdt [--facts 100000] [--dots 1000000] [--output json]
"""

import gc
import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

import msgspec

from benchmarks.harness import Row, cpu_ms, figure, shown
from hive_mind.crdt.context import Context, pack
from hive_mind.crdt.orset import Delta, ORSet
from hive_mind.crdt.reconcile import DotIndex, reconcile, whole
from hive_mind.model.evidence import dot
from hive_mind.model.messages import Span

RUNS = 15
ACTORS = 20
KEY = bytes(range(16))

_encoded = msgspec.msgpack.Encoder().encode


def bounded(what: str, value: float, unit: str, bound: float) -> Row:
    """A figure and what it must not exceed."""
    return figure(f"{what}; at most {bound:,}", value, unit)


def fact_ids(count: int, chance: Random) -> list[str]:
    return [f"{chance.getrandbits(128):032x}" for _ in range(count)]


def as_received(replica: ORSet[str], actor: str) -> ORSet[str]:
    """The same set as another process has it: equal dots and elements that are not the same objects."""
    return ORSet.from_dict(json.loads(json.dumps(replica.to_dict())), actor)


def merge_rows(count: int, chance: Random) -> Iterator[Row]:
    here: ORSet[str] = ORSet("here")
    here.add_all(fact_ids(count, chance))
    twin = as_received(here, "twin")
    yield bounded(f"merge, {count:,} each, identical", cpu_ms(here.merge, [twin] * RUNS), "ms CPU", 5)
    yield bounded("merge, 2 % different", merging(here, changed(twin, count // 100, chance)), "ms CPU", 8)
    other: ORSet[str] = ORSet("other")
    other.add_all(fact_ids(count, chance))
    yield bounded("merge, nothing in common", merging(here, other), "ms CPU", 70)
    yield bounded("apply one new fact", cpu_ms(here.apply, [other.add(f"new {n}") for n in range(200)]), "ms CPU", 0.1)


def merging(here: ORSet[str], other: ORSet[str]) -> float:
    return cpu_ms(lambda replica: replica.merge(other), (here.copy("replica") for _ in range(RUNS)))


def changed(replica: ORSet[str], count: int, chance: Random) -> ORSet[str]:
    """As many facts new as were removed."""
    for fact_id in chance.sample(sorted(replica), count):
        replica.remove(fact_id)
    replica.add_all(fact_ids(count, chance))
    return replica


def size_rows(count: int, chance: Random) -> Iterator[Row]:
    yield bounded(f"metadata after {count:,} adds and removals, packed", churned_bytes(count, chance), "B", 100)
    replica: ORSet[str] = ORSet("replica")
    replica.add_all(fact_ids(count, chance))
    (fact_id,) = fact_ids(1, chance)
    add, remove = packed_delta(replica.add(fact_id)), packed_delta(replica.remove(fact_id))
    yield bounded("one add, with the 16 bytes of the fact's id", len(add), "B", 40)
    yield bounded("one removal", len(remove), "B", 16)


def churned_bytes(count: int, chance: Random) -> int:
    """What a set remembers of as many adds and removals."""
    churned: ORSet[str] = ORSet("churned")
    ids = fact_ids(1_000, chance)
    for number in range(count):
        churned.add(ids[number % len(ids)])
        churned.remove(ids[number % len(ids)])
    return len(packed_context(churned.context))


def packed_context(context: Context) -> bytes:
    return _encoded((tuple(context.last.values()), pack(context.beyond)))


def packed_delta(delta: Delta[str]) -> bytes:
    """The least a change takes: its dots and, for what was added, ids of 16 bytes each."""
    ids = b"".join(bytes.fromhex(delta.added[added]) for added in sorted(delta.added))
    return _encoded((pack(delta.added), ids) if ids else pack(delta.removed))


def sync_rows(count: int, chance: Random) -> Iterator[Row]:
    """Live dots of several actors with a tenth of them removed here and there."""
    actors = [chance.randbytes(8) for _ in range(ACTORS)]
    each = count * 10 // 9 // ACTORS
    dots = [dot(actor, number) for actor in actors for number in range(1, each + 1) if chance.random() < 0.9]
    chance.shuffle(dots)
    fresh = [dot(actors[3], each + 1 + number) for number in range(1_000)]
    spread = [dot(actor, each + 1 + number) for actor in actors for number in range(1_000 // ACTORS)]
    lost = set(chance.sample(dots, 1_000))
    for what, here, there in (
        ("1,000 fresh of one actor; at most 15,000", [*dots, *fresh], dots),
        (f"1,000 fresh of {ACTORS} actors; at most 15,000", [*dots, *spread], dots),
        ("1,000 anywhere", dots, [known for known in dots if known not in lost]),
    ):
        messages, size = exchange(DotIndex(here, KEY), DotIndex(there, KEY))
        yield figure(f"of {len(dots):,}, differing in {what}", size, "B")
        yield figure("  messages, one way, all of them", messages, "")


def exchange(here: DotIndex, there: DotIndex) -> tuple[int, int]:
    """Messages and bytes: the offer with its two fingerprints, all spans, what is wanted, and the dots of what is then sent."""
    messages, size = 1, 2 * 16
    spans: tuple[Span, ...] = whole(there)
    asked, answering = there, here
    while spans:
        messages, size = messages + 1, size + len(_encoded(spans))
        step = reconcile(answering, spans)
        spans = step.spans
        # Once as "I want these" or with the assertions that go out, whichever side has them.
        size += len(pack(step.only_here)) + len(pack(step.only_there))
        asked, answering = answering, asked
    # The last answer (assertions and wants), then what was wanted.
    return messages + 2, size


async def measured(_: Path, facts: int, dots: int) -> list[Row]:
    gc.freeze()
    chance = Random(20)
    return [*merge_rows(facts, chance), *size_rows(facts, chance), *sync_rows(dots, chance)]


if __name__ == "__main__":
    shown(__doc__, measured, facts=100_000, dots=1_000_000)

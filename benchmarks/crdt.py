"""What does it cost replicas to agree?

CPU time of merging two replicas of 100,000 facts and of one new fact, what a set remembers of all that was ever removed, what
one change takes on the wire, and bytes and messages of finding the differences of two large sets.

    python -m benchmarks.crdt [--facts 100000] [--dots 1000000] [--json FILE]
"""

import gc
import json
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from random import Random

import msgspec

from benchmarks.harness import parser_of, tell, write
from hive_mind.crdt.context import Context, pack
from hive_mind.crdt.orset import Delta, ORSet
from hive_mind.crdt.reconcile import DotIndex, reconcile, whole
from hive_mind.model.evidence import Dot, dot
from hive_mind.model.messages import Span

RUNS = 15
ACTORS = 20
KEY = bytes(range(16))

_encoded = msgspec.msgpack.Encoder().encode


@dataclass(frozen=True)
class Row:
    """One figure and what it must not exceed (None: no bound was set)."""

    what: str
    figure: float
    unit: str
    bound: float | None = None


def cpu_ms(work: Callable[[], object]) -> float:
    started = time.process_time_ns()
    work()
    return (time.process_time_ns() - started) / 1e6


def p50_ms(prepare: Callable[[], Callable[[], object]], runs: int = RUNS) -> float:
    """`prepare` makes what one run works on; only the run counts."""
    return statistics.median(cpu_ms(prepare()) for _ in range(runs))


def fact_ids(count: int, chance: Random) -> list[str]:
    return [f"{chance.getrandbits(128):032x}" for _ in range(count)]


def as_received(replica: ORSet[str], actor: str) -> ORSet[str]:
    """The same set as another process has it: equal dots and elements that are not the same objects."""
    return ORSet.from_dict(json.loads(json.dumps(replica.to_dict())), actor)


# ── merging ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def merge_rows(count: int, chance: Random) -> Iterator[Row]:
    here: ORSet[str] = ORSet("here")
    here.add_all(fact_ids(count, chance))
    twin = as_received(here, "twin")
    yield Row(f"merge, {count:,} each, identical", p50_ms(lambda: lambda: here.merge(twin)), "ms CPU", 5)
    yield Row("merge, 2 % different", merging(here, changed(twin, count // 100, chance)), "ms CPU", 8)
    other: ORSet[str] = ORSet("other")
    other.add_all(fact_ids(count, chance))
    yield Row("merge, nothing in common", merging(here, other), "ms CPU", 70)
    yield Row("apply one new fact", one_new(here, other, 200), "ms CPU", 0.1)
    yield Row("add one fact", p50_ms(lambda: lambda: here.add("new"), 200), "ms CPU")


def merging(here: ORSet[str], other: ORSet[str]) -> float:
    def prepare() -> Callable[[], object]:
        replica = here.copy("replica")
        return lambda: replica.merge(other)

    return p50_ms(prepare)


def changed(replica: ORSet[str], count: int, chance: Random) -> ORSet[str]:
    """As many facts new as were removed."""
    for fact_id in chance.sample(sorted(replica), count):
        replica.remove(fact_id)
    replica.add_all(fact_ids(count, chance))
    return replica


def one_new(here: ORSet[str], other: ORSet[str], runs: int) -> float:
    deltas = iter([other.add(f"new {number}") for number in range(runs)])

    def prepare() -> Callable[[], object]:
        delta = next(deltas)
        return lambda: here.apply(delta)

    return p50_ms(prepare, runs)


# ── bytes ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def size_rows(count: int, chance: Random) -> Iterator[Row]:
    churned: ORSet[str] = ORSet("churned")
    ids = fact_ids(1_000, chance)
    for number in range(count):
        churned.add(ids[number % len(ids)])
        churned.remove(ids[number % len(ids)])
    yield Row(f"metadata after {count:,} adds and removals, packed", len(packed_context(churned.context)), "B", 100)
    yield Row("the same as JSON, with everything else", len(json.dumps(churned.to_dict())), "B")
    replica: ORSet[str] = ORSet("replica")
    replica.add_all(fact_ids(count, chance))
    (fact_id,) = fact_ids(1, chance)
    add, remove = packed_delta(replica.add(fact_id)), packed_delta(replica.remove(fact_id))
    yield Row("one add, with the 16 bytes of the fact's id", len(add), "B", 40)
    yield Row("one removal", len(remove), "B", 16)
    full = len(packed_delta(Delta(replica.live))) + len(packed_context(replica.context))
    yield Row(f"full state of {count:,} for each byte of an add", full / len(add), "B")


def packed_context(context: Context) -> bytes:
    return _encoded((tuple(context.last.values()), pack(context.beyond)))


def packed_delta(delta: Delta[str]) -> bytes:
    """The least a change takes: its dots and, for what was added, ids of 16 bytes each."""
    ids = b"".join(bytes.fromhex(delta.added[added]) for added in sorted(delta.added))
    return _encoded((pack(delta.added), ids) if ids else pack(delta.removed))


# ── reconciliation ────────────────────────────────────────────────────────────────────────────────────────────────────


def sync_rows(count: int, chance: Random) -> Iterator[Row]:
    """Live dots of several actors with a tenth of them removed here and there."""
    actors = [chance.randbytes(8) for _ in range(ACTORS)]
    each = count * 10 // 9 // ACTORS
    dots = [dot(actor, number) for actor in actors for number in range(1, each + 1) if chance.random() < 0.9]
    chance.shuffle(dots)
    yield Row(f"sort {len(dots):,} dots for reconciliation", p50_ms(lambda: lambda: DotIndex(dots, KEY), 5), "ms CPU")
    few = dots[:100]
    yield Row("fingerprint of 100 dots", p50_ms(lambda: lambda: DotIndex(few, KEY).fingerprint(), 200), "ms CPU")
    fresh = [dot(actors[3], each + 1 + number) for number in range(1_000)]
    spread = [dot(actor, each + 1 + number) for actor in actors for number in range(1_000 // ACTORS)]
    lost = set(chance.sample(dots, 1_000))
    yield from exchange_rows("1,000 fresh of one actor", [*dots, *fresh], dots, 15_000)
    yield from exchange_rows(f"1,000 fresh of {ACTORS} actors", [*dots, *spread], dots, 15_000)
    yield from exchange_rows(f"500 fresh on each side of {ACTORS} actors", [*dots, *spread[::2]], [*dots, *spread[1::2]], 15_000)
    yield from exchange_rows("1,000 anywhere", dots, [found for found in dots if found not in lost], None)
    yield from exchange_rows("one", [*dots, fresh[0]], dots, None)


def exchange_rows(what: str, here: Sequence[Dot], there: Sequence[Dot], bytes_max: float | None) -> Iterator[Row]:
    sides = DotIndex(here, KEY), DotIndex(there, KEY)
    started = time.process_time_ns()
    messages, size = exchange(*sides)
    spent_ms = (time.process_time_ns() - started) / 1e6
    yield Row(f"differing in {what}", size, "B", bytes_max)
    yield Row("  messages, one way, all of them", messages, "", None if bytes_max is None else 8)
    yield Row("  both sides' work on sorted dots", spent_ms, "ms CPU")


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


def measure(facts: int, dots: int) -> Iterator[Row]:
    chance = Random(20)
    yield from merge_rows(facts, chance)
    yield from size_rows(facts, chance)
    for count in sorted({100_000, dots}):
        yield from sync_rows(count, chance)


def main() -> None:
    options = parser_of(__doc__, "json", facts=100_000, dots=1_000_000).parse_args()
    gc.freeze()
    results = []
    for row in measure(options.facts, options.dots):
        results.append(asdict(row))
        tell(results[-1])
    write(options.json, {"rows": results})


if __name__ == "__main__":
    main()

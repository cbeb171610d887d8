"""How evenly does a sharded hive lie, what do joins and leaves move, and what does a lookup cost?

A copy is one partition on one node. The ideal of a leave is what a node holds on average, R · partitions / N: that has to be
copied to somebody. The ideal of a join is what the joiner should hold then, R · partitions / (N + 1). Aligned sets can't reach
them one by one: a joiner is a spare and costs nothing until R of them form a set and take a share each, and a leave without a
spare moves a whole set's partitions but makes spares for the next leaves. So both are also summed over R in a row, and over a
long mixed run.

Beside it the same sets with a table made anew each time (rendezvous under a cap, the stateless way), and the time of lookups.

    python -m benchmarks.placement [--sizes 10 50 100 1000] [--json FILE]
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from itertools import pairwise
from math import ceil
from random import Random

from benchmarks.harness import parser_of, tell, write
from hive_mind.hive.topology.base import Topology
from hive_mind.hive.topology.federated import Federated
from hive_mind.hive.topology.flat import Flat
from hive_mind.hive.topology.sharded import PARTITIONS, REPLICAS, Placement, Sharded, first_placement
from hive_mind.model.ids import fact_id

COPIES = PARTITIONS * REPLICAS


@dataclass(frozen=True)
class Row:
    """One hive size; moves as multiples of the ideal."""

    nodes: int
    sets: int
    spares: int
    copies_max_per_mean: float
    leave_with_spare: float
    leave_without_spare: float
    leaves_in_a_row: float
    joins_in_a_row: float
    mixed_run: float
    mixed_run_max_per_mean: float


@dataclass(frozen=True)
class Speed:
    """One lookup in one topology."""

    topology: str
    lookup: str
    nodes: int
    cpu_ns: float


def names(count: int) -> list[str]:
    return [f"node{number:04}" for number in range(count)]


def max_per_mean(placement: Placement) -> float:
    loads = Counter(placement.table)
    return max(loads.values()) * len(placement.nodes) / COPIES


def moves(old: Placement, new: Placement) -> list[str]:
    """The node of every copy that `new` needs and `old` did not have."""
    pairs = ((old.holders(partition), new.holders(partition)) for partition in range(len(new.table)))
    return [node for before, after in pairs for node in after if node not in before]


def cost(placements: Sequence[Placement]) -> float:
    """Copies made along the way, as a multiple of the ideal."""
    made = sum(len(moves(old, new)) for old, new in pairwise(placements))
    return made / sum(ideal(old, new) for old, new in pairwise(placements))


def ideal(old: Placement, new: Placement) -> float:
    left, joined = set(old.nodes) - set(new.nodes), set(new.nodes) - set(old.nodes)
    return COPIES * len(left) / len(old.nodes) + COPIES * len(joined) / len(new.nodes)


def mean(figures: Sequence[float]) -> float:
    return sum(figures) / len(figures)


def leaving(placement: Placement, count: int, seed: int) -> list[Placement]:
    chance, found = Random(seed), [placement]
    for _ in range(count):
        holders = [node for members in found[-1].sets for node in members]
        found.append(found[-1].with_nodes(set(found[-1].nodes) - {chance.choice(holders)}))
    return found


def joining(placement: Placement, count: int) -> list[Placement]:
    found = [placement]
    for number in range(count):
        found.append(found[-1].with_nodes([*found[-1].nodes, f"joiner{number}"]))
    return found


def mixed(placement: Placement, steps: int) -> list[Placement]:
    """Joins and leaves in equal parts, seeded."""
    chance, found = Random(1), [placement]
    for number in range(steps):
        nodes = list(found[-1].nodes)
        if chance.random() < 0.5 or len(nodes) == 1:
            nodes.append(f"new{number}")
        else:
            nodes.remove(chance.choice(nodes))
        found.append(found[-1].with_nodes(nodes))
    return found


def measure(count: int) -> Row:
    placement = first_placement(names(count))
    full = first_placement(names(count // REPLICAS * REPLICAS))
    one_spare = first_placement(names(len(full.nodes) + 1))
    run = mixed(placement, 200)
    return Row(
        nodes=count,
        sets=len(placement.sets),
        spares=len(placement.spares),
        copies_max_per_mean=max_per_mean(placement),
        leave_with_spare=mean([cost(leaving(one_spare, 1, seed)) for seed in range(20)]),
        leave_without_spare=mean([cost(leaving(full, 1, seed)) for seed in range(20)]),
        leaves_in_a_row=mean([cost(leaving(full, REPLICAS, seed)) for seed in range(20)]),
        joins_in_a_row=cost(joining(placement, REPLICAS)),
        mixed_run=cost(run),
        mixed_run_max_per_mean=max(map(max_per_mean, run)),
    )


# ── the stateless way, for comparison ─────────────────────────────────────────────────────────────────────────────────


def stateless(sets: Sequence[tuple[str, ...]], slack: float) -> list[tuple[str, ...]]:
    """Rendezvous under a cap, from nothing but the sets."""
    room = {n: ceil(slack * PARTITIONS / len(sets)) for n in range(len(sets))}
    table = []
    for partition in range(PARTITIONS):
        best = max((n for n in room if room[n]), key=lambda n: score(sets[n][0], partition))
        room[best] -= 1
        table.append(sets[best])
    return table


def score(name: str, partition: int) -> bytes:
    return blake2b(f"{name} {partition}".encode(), digest_size=8).digest()


def compare(count: int) -> None:
    sets = [tuple(f"{number}.{member}" for member in range(REPLICAS)) for number in range(count // REPLICAS)]
    print(f"\n{len(sets)} sets, table made anew: max/mean over sets, moved when a set comes or goes (ideal 1)")
    for slack in (9.0, 1.15, 1.05, 1.0):
        before, fewer, more = (stateless(some, slack) for some in (sets, sets[:-1], [*sets, ("x", "y", "z")]))
        print(f"  cap {slack:<10}{compared(before, fewer, more, len(sets))}")
    start = first_placement(names(len(sets) * REPLICAS))
    fewer_nodes, more_nodes = start.with_nodes(start.nodes[:-1]), start.with_nodes([*start.nodes, "x", "y", "z"])
    print(f"  remembered    {compared(start.table, fewer_nodes.table, more_nodes.table, len(sets))}")


def compared(before: Sequence[object], fewer: Sequence[object], more: Sequence[object], sets: int) -> str:
    gone = sum(a != b for a, b in zip(before, fewer, strict=True)) * sets / PARTITIONS
    come = sum(a != b for a, b in zip(before, more, strict=True)) * (sets + 1) / PARTITIONS
    return f"{max(Counter(before).values()) * sets / PARTITIONS:>8.2f}{come:>8.2f} come{gone:>8.2f} gone"


# ── lookups ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def topologies(count: int) -> list[Topology]:
    nodes = names(count)
    groups = {f"group{n}": nodes[n :: ceil(count / 5)] for n in range(ceil(count / 5))}
    return [Flat(tuple(nodes)), Federated(groups), Sharded(first_placement(nodes))]


def per_call_ns(call: Callable[[], object], count: int = 20_000) -> float:
    call()
    started = time.process_time_ns()
    for _ in range(count):
        call()
    return (time.process_time_ns() - started) / count


def speeds(count: int) -> list[Speed]:
    id, node, rows = fact_id("a fact"), names(count)[count // 2], []
    for topology in topologies(count):
        home = topology.home(id, node)
        calls: dict[str, Callable[[], object]] = {
            "home": lambda t=topology: t.home(id, node),
            "holders": lambda t=topology, h=home: t.holders(h),
            "write_set": lambda t=topology: t.write_set(id, node, 0.5),
        }
        rows += [Speed(topology.name, name, count, per_call_ns(call)) for name, call in calls.items()]
        rows.append(Speed(topology.name, "read_set", count, per_call_ns(lambda t=topology: t.read_set(node), 500)))
    return rows


def main() -> None:
    parser = parser_of(__doc__, "json")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 50, 100, 1000])
    options = parser.parse_args()
    results: list[Mapping[str, object]] = []
    print("copies: max/mean over all nodes; the rest: copies made / ideal")
    for size in options.sizes:
        results.append(asdict(measure(size)))
        tell(results[-1])
    compare(50)
    print("\nCPU per lookup")
    for speed in (speed for size in options.sizes for speed in speeds(size)):
        results.append(asdict(speed))
        tell(results[-1])
    write(options.json, {"rows": results})


if __name__ == "__main__":
    main()

"""How evenly does a sharded hive lie, what do joins and leaves move, and what does a lookup cost?

A copy is one partition on one node. The ideal of a leave is what a node holds on average, R · partitions / N: that has to be
copied to somebody. The ideal of a join is what the joiner should hold then, R · partitions / (N + 1). Aligned sets can't reach
them one by one: a joiner is a spare and costs nothing until R of them form a set and take a share each, and a leave without a
spare moves a whole set's partitions but makes spares for the next leaves. So both are also summed over R in a row, and over a
long mixed run.

    python -m benchmarks.placement [--sizes 10 50 100 1000] [--json FILE]
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from statistics import mean

from benchmarks.harness import parser_of, told
from hive_mind.hive.topology.sharded import PARTITIONS, REPLICAS, Placement, first_placement

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


def main() -> None:
    parser = parser_of(__doc__, "json")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 50, 100, 1000])
    options = parser.parse_args()
    print("copies: max/mean over all nodes; the rest: copies made / ideal")
    told(map(measure, options.sizes), options.json)


if __name__ == "__main__":
    main()

"""How many partitions each member of a hive keeps, and what its death costs. Pure.

A sharded hive has replica sets of exactly R members; those left over keep nothing until one leaves, or R of them make another
set. In a small hive that is a large share of its members, and a person should see it.
"""

from collections.abc import Collection

import msgspec

from hive_mind.hive.topology.base import Topology


class Holding(msgspec.Struct, frozen=True):
    """Of one member. `last`: partitions of which it has the last copy; `copies`: the fewest that any other of its has without
    it.

    A spare keeps no partition.
    """

    node: str
    partitions: int
    last: int
    copies: int


def holdings(topology: Topology, dead: Collection[str] = ()) -> tuple[Holding, ...]:
    """Of every member but those that are dead already, which are no copies any more."""
    return tuple(holding_of(topology, node, dead) for node in topology.nodes if node not in dead)


def holding_of(topology: Topology, node: str, dead: Collection[str] = ()) -> Holding:
    partitions = topology.held_by(node)
    copies = [
        sum(1 for holder in topology.holders(partition) if holder != node and holder not in dead) for partition in partitions
    ]
    return Holding(node, len(partitions), copies.count(0), min(filter(None, copies), default=0))

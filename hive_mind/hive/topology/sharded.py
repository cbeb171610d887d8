"""Sharded: a fact lies where its id says, on one replica set of R nodes; a question goes to one member of each set.

The placement decides the sets' members and partitions; here they are only looked up.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

from hive_mind.hive.topology.base import NO_WISHES, AskingOrder, ReplicaSet
from hive_mind.hive.topology.placement import Placement, partition_name

# 32 bits of an id choose its partition. For a power of two that is exactly even, for any other count of partitions nearly.
_ID_DIGITS = 8


@dataclass(frozen=True)
class Sharded:
    """A placement, ready to be asked."""

    placement: Placement
    name: ClassVar[str] = "sharded"

    @property
    def epoch(self) -> int:
        return self.placement.epoch

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        """All nodes, sorted; spares too."""
        return self.placement.nodes

    def with_nodes(self, nodes: Iterable[str], wishes: Mapping[str, str] = NO_WISHES) -> "Sharded":  # noqa: ARG002
        placement = self.placement.with_nodes(nodes)
        return self if placement is self.placement else Sharded(placement)

    def with_epoch(self, epoch: int) -> "Sharded":
        return Sharded(replace(self.placement, epoch=epoch))

    def home(self, fact_id: str, node: str) -> str:  # noqa: ARG002
        """The partition that the id's first bits name; the author does not matter. `fact_id` is hexadecimal."""
        return self._names[int(fact_id[:_ID_DIGITS], 16) % len(self._names)]

    def copies(self, fact_id: str, node: str, confidence: float) -> tuple[str, ...]:  # noqa: ARG002
        """None: a sharded hive has no place that all can see."""
        return ()

    def holders(self, partition: str) -> tuple[str, ...]:
        """The members of its replica set; nobody for a partition that is not ours."""
        return self._holders.get(partition, ())

    def held_by(self, node: str) -> tuple[str, ...]:
        """The partitions of its set; none for a spare."""
        return self._partitions[self._set_of[node]] if node in self._set_of else ()

    def write_set(self, fact_id: str, node: str, confidence: float) -> frozenset[str]:  # noqa: ARG002
        """The members of the home's replica set."""
        return self._members[self.home(fact_id, node)]

    def read_set(self, node: str, domains: tuple[str, ...] = ()) -> tuple[ReplicaSet, ...]:  # noqa: ARG002
        """All sets that hold something, the asker's own first."""
        own_set, partitions_of_sets = self._set_of.get(node), self._partitions
        order = sorted((n for n, partitions in enumerate(partitions_of_sets) if partitions), key=lambda n: n != own_set)
        sets = self.placement.sets
        return tuple([ReplicaSet(f"set{n}", self._asking.of(sets[n], node), partitions_of_sets[n]) for n in order])

    def favoured(self, words: tuple[str, ...]) -> frozenset[str]:  # noqa: ARG002
        """None: here facts do not lie by domain."""
        return frozenset()

    def peers(self, node: str) -> tuple[str, ...]:
        """The other members of its set, if that holds something."""
        if not self.held_by(node):
            return ()
        return tuple([peer for peer in self.placement.sets[self._set_of[node]] if peer != node])

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(map(partition_name, range(len(self.placement.table))))

    @cached_property
    def _holders(self) -> dict[str, tuple[str, ...]]:
        return {name: self.placement.holders(number) for number, name in enumerate(self._names)}

    @cached_property
    def _members(self) -> dict[str, frozenset[str]]:
        sets = tuple(map(frozenset, self.placement.sets))
        return {name: sets[number] for name, number in zip(self._names, self.placement.table, strict=True)}

    @cached_property
    def _set_of(self) -> dict[str, int]:
        return {node: number for number, members in enumerate(self.placement.sets) for node in members}

    @cached_property
    def _partitions(self) -> tuple[tuple[str, ...], ...]:
        """By the number of the set, sorted."""
        names_of_sets: list[list[str]] = [[] for _ in self.placement.sets]
        for name, number in zip(self._names, self.placement.table, strict=True):
            names_of_sets[number].append(name)
        return tuple(tuple(sorted(names)) for names in names_of_sets)

    @cached_property
    def _asking(self) -> AskingOrder:
        return AskingOrder(self.nodes)

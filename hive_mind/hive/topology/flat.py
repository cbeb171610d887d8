"""Flat: every node keeps everything, so any one of them can answer and an asker answers itself."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

from hive_mind.errors import InvalidInput
from hive_mind.hive.topology.base import NO_WISHES, AskingOrder, ReplicaSet

ALL = "all"


@dataclass(frozen=True)
class Flat:
    """One partition, held by all."""

    nodes: tuple[str, ...]
    epoch: int = 1
    name: ClassVar[str] = "flat"

    def __post_init__(self) -> None:
        if not self.nodes:
            raise InvalidInput("a hive needs at least one node")
        object.__setattr__(self, "nodes", tuple(sorted(set(self.nodes))))

    def with_nodes(self, nodes: Iterable[str], wishes: Mapping[str, str] = NO_WISHES) -> "Flat":  # noqa: ARG002
        names = tuple(sorted(set(nodes)))
        return self if names == self.nodes else Flat(names, self.epoch + 1)

    def with_epoch(self, epoch: int) -> "Flat":
        return replace(self, epoch=epoch)

    def home(self, fact_id: str, node: str) -> str:  # noqa: ARG002
        return ALL

    def copies(self, fact_id: str, node: str, confidence: float) -> tuple[str, ...]:  # noqa: ARG002
        """None: everybody has it already."""
        return ()

    def holders(self, partition: str) -> tuple[str, ...]:
        """All nodes; nobody for a partition that is not ours."""
        return self.nodes if partition == ALL else ()

    def held_by(self, node: str) -> tuple[str, ...]:
        return (ALL,) if node in self._everyone else ()

    def write_set(self, fact_id: str, node: str, confidence: float) -> frozenset[str]:  # noqa: ARG002
        return self._everyone

    def read_set(self, node: str, domains: tuple[str, ...] = ()) -> tuple[ReplicaSet, ...]:  # noqa: ARG002
        """One replica set of all nodes, the asker first."""
        return (ReplicaSet(ALL, self._asking.of(self.nodes, node), (ALL,)),)

    def favoured(self, words: tuple[str, ...]) -> frozenset[str]:  # noqa: ARG002
        """None: here facts do not lie by domain."""
        return frozenset()

    def peers(self, node: str) -> tuple[str, ...]:
        return tuple([peer for peer in self.nodes if peer != node]) if node in self._everyone else ()

    @cached_property
    def _everyone(self) -> frozenset[str]:
        return frozenset(self.nodes)

    @cached_property
    def _asking(self) -> AskingOrder:
        return AskingOrder(self.nodes)

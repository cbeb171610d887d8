"""A topology is three small pure functions: where a fact is kept, which members are asked, which peers exchange.

Facts are kept by *partition*: facts of one partition have the same holders. Flat has one partition, federated one per group and
one for what every group has, sharded 1,024. A *replica set* is some nodes that hold the same partitions, so one of them can
answer for all.

The law (tests/laws/test_topology.py): for every fact an asker may see, any cover of the read set meets its write set.

`AskingOrder` lets askers together load every member of a replica set alike.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from types import MappingProxyType
from typing import ClassVar, Protocol

from hive_mind.errors import InvalidInput

NO_WISHES: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ReplicaSet:
    """Nodes that hold the same partitions. `members` are in the order in which the asker should try them."""

    name: str
    members: tuple[str, ...]
    partitions: tuple[str, ...]


class Topology(Protocol):
    """One version of the placement. Immutable; a change of members makes another one with a higher epoch."""

    @property
    def name(self) -> str:
        """As it is registered in `spec`."""

    @property
    def epoch(self) -> int:
        """Which version this is; of two, the higher one counts."""

    @property
    def nodes(self) -> tuple[str, ...]:
        """All nodes, sorted."""

    def with_nodes(self, nodes: Iterable[str], wishes: Mapping[str, str] = NO_WISHES) -> "Topology":
        """The next version, for these nodes; this one where they are the same. `wishes`: the groups that joiners ask for."""

    def with_epoch(self, epoch: int) -> "Topology":
        """The same under another epoch."""

    def home(self, fact_id: str, node: str) -> str:
        """The one partition where a fact promoted at `node` counts."""

    def copies(self, fact_id: str, node: str, confidence: float) -> tuple[str, ...]:
        """Partitions with an extra copy: found by local questions, counted nowhere."""

    def holders(self, partition: str) -> tuple[str, ...]:
        """The nodes that keep a partition, sorted."""

    def held_by(self, node: str) -> tuple[str, ...]:
        """The partitions a node keeps, sorted; none for a node that only asks."""

    def write_set(self, fact_id: str, node: str, confidence: float) -> frozenset[str]:
        """Every node that keeps a fact promoted at `node`: the holders of its home and of its copies."""

    def read_set(self, node: str, domains: tuple[str, ...] = ()) -> tuple[ReplicaSet, ...]:
        """The replica sets `node` must ask: one member of each, which cover every home partition once. Those to be asked first
        come first."""

    def favoured(self, words: tuple[str, ...]) -> frozenset[str]:
        """Names of the replica sets of a domain that matches these words: asked first, and for more."""

    def peers(self, node: str) -> tuple[str, ...]:
        """Nodes to exchange with: those that keep a partition this one keeps, sorted, without itself."""


class AskingOrder:
    """Orders for the askers of one hive. Nodes are numbered in their order, which spreads them evenly; strangers by a hash."""

    def __init__(self, nodes: Sequence[str]) -> None:
        self._numbers = {node: number for number, node in enumerate(nodes)}

    def of(self, members: tuple[str, ...], asker: str) -> tuple[str, ...]:
        """The asker itself first where it is a member, then round the ring from there; others begin where their number says.

        Every other round of numbers goes the other way, so that the askers of a silent member turn to both of its neighbours
        and not all to the next one.
        """
        number = self._number(asker)
        start = members.index(asker) if asker in members else number % len(members)
        ring = members[start:] + members[:start]
        is_backwards = number // len(members) % 2 == 1
        return ring[:1] + ring[:0:-1] if is_backwards else ring

    def _number(self, asker: str) -> int:
        if (number := self._numbers.get(asker)) is not None:
            return number
        return int.from_bytes(blake2b(asker.encode("utf-8", "surrogatepass"), digest_size=4).digest(), "big")


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
        return ()

    def holders(self, partition: str) -> tuple[str, ...]:
        """All nodes; nobody for a partition that is not ours."""
        return self.nodes if partition == ALL else ()

    def held_by(self, node: str) -> tuple[str, ...]:
        return (ALL,) if node in self._everyone else ()

    def write_set(self, fact_id: str, node: str, confidence: float) -> frozenset[str]:  # noqa: ARG002
        return self._everyone

    def read_set(self, node: str, domains: tuple[str, ...] = ()) -> tuple[ReplicaSet, ...]:  # noqa: ARG002
        return (ReplicaSet(ALL, self._asking.of(self.nodes, node), (ALL,)),)

    def favoured(self, words: tuple[str, ...]) -> frozenset[str]:  # noqa: ARG002
        return frozenset()

    def peers(self, node: str) -> tuple[str, ...]:
        return tuple([peer for peer in self.nodes if peer != node]) if node in self._everyone else ()

    @cached_property
    def _everyone(self) -> frozenset[str]:
        return frozenset(self.nodes)

    @cached_property
    def _asking(self) -> AskingOrder:
        return AskingOrder(self.nodes)

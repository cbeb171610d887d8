"""A topology as a value that can travel and be kept, and back.

Input from a journal, a file or another member is checked as a whole: an accepted topology works for every part of the hive, and
everything else is refused.
"""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from math import isfinite

import msgspec

from hive_mind.errors import InvalidInput, WireError
from hive_mind.hive.topology.base import Topology
from hive_mind.hive.topology.federated import Federated
from hive_mind.hive.topology.flat import Flat
from hive_mind.hive.topology.placement import Placement
from hive_mind.hive.topology.sharded import Sharded
from hive_mind.model.decoding import msgpack_decoder

TOPOLOGY_BYTES_MAX = 1 << 20
NODES_MAX = 10_000
PARTITIONS_MAX = 1 << 16
NAME_CHARACTERS_MAX = 200
EPOCH_MAX = (1 << 53) - 1
"""The largest integer that every JSON reader keeps exact."""

EVERYBODY = "*"
"""No name of a node: to a bus it means all of them."""


class _Flat(msgspec.Struct, frozen=True, tag_field="topology", tag="flat", forbid_unknown_fields=True):
    epoch: int
    nodes: tuple[str, ...]

    def made(self) -> Topology:
        _check_names(self.nodes)
        return Flat(self.nodes, self.epoch)


class _Federated(
    msgspec.Struct, frozen=True, tag_field="topology", tag="federated", forbid_unknown_fields=True, omit_defaults=True
):
    epoch: int
    groups: dict[str, tuple[str, ...]]
    domains: dict[str, tuple[str, ...]]
    root: str | None
    broadcast_threshold: float
    # Left out where there is none, so that members of an older version understand all others.
    group_thresholds: dict[str, float] = {}

    def made(self) -> Topology:
        members = [node for nodes in self.groups.values() for node in nodes]
        _check_names([*members, *([self.root] if self.root is not None and self.root not in members else [])])
        _check_words(self.groups)
        if not isfinite(self.broadcast_threshold):
            raise InvalidInput("broadcast_threshold must be finite")
        return Federated(self.groups, self.domains, self.root, self.broadcast_threshold, self.epoch, self.group_thresholds)


class _Sharded(msgspec.Struct, frozen=True, tag_field="topology", tag="sharded", forbid_unknown_fields=True):
    epoch: int
    sets: tuple[tuple[str, ...], ...]
    spares: tuple[str, ...]
    table: tuple[int, ...]
    replicas: int

    def made(self) -> Topology:
        _check_names([*self.spares, *(node for members in self.sets for node in members)])
        if not 1 <= self.replicas <= NODES_MAX or any(len(members) > self.replicas for members in self.sets):
            raise InvalidInput(f"no replica set has more than {self.replicas} members here")
        if any(list(members) != sorted(members) for members in (*self.sets, self.spares)):
            raise InvalidInput("replica set members must be sorted")
        if not 1 <= len(self.table) <= PARTITIONS_MAX:
            raise InvalidInput(f"there are between 1 and {PARTITIONS_MAX} partitions, not {len(self.table)}")
        if not all(0 <= number < len(self.sets) and self.sets[number] for number in set(self.table)):
            raise InvalidInput("a partition maps to an empty replica set")
        return Sharded(Placement(self.sets, self.spares, self.table, self.replicas, self.epoch))


_Plain = _Flat | _Federated | _Sharded
_encode = msgspec.msgpack.Encoder().encode
_decode = msgpack_decoder(_Plain)


def pack(topology: Topology) -> bytes:
    """Its bytes; the same for equal topologies."""
    return _encode(_plain(topology))


def unpack(data: bytes) -> Topology:
    """The topology of some bytes. Raises `WireError`."""
    if len(data) > TOPOLOGY_BYTES_MAX:
        raise WireError(f"a topology has at most {TOPOLOGY_BYTES_MAX} bytes, not {len(data)}")
    try:
        return _made(_decode(data))
    except (ValueError, RecursionError, InvalidInput) as error:
        raise WireError(f"invalid topology: {error}") from error


def digest_of(packed: bytes) -> bytes:
    """8 bytes that differ wherever topologies do."""
    return blake2b(packed, digest_size=8).digest()


def is_name(name: str) -> bool:
    """Whether a node may be called so."""
    return 0 < len(name) <= NAME_CHARACTERS_MAX and name.isprintable() and name != EVERYBODY


def _plain(topology: Topology) -> _Plain:
    match topology:
        case Flat(nodes, epoch):
            return _Flat(epoch, nodes)
        case Federated():
            groups = {group: tuple(nodes) for group, nodes in topology.groups.items()}
            domains = {group: tuple(words) for group, words in topology.domains.items()}
            least = topology.broadcast_threshold
            return _Federated(topology.epoch, groups, domains, topology.root, least, dict(topology.group_thresholds))
        case Sharded(placement):
            return _Sharded(placement.epoch, placement.sets, placement.spares, placement.table, placement.replicas)
    raise InvalidInput(f"a topology of kind {topology.name!r} has no wire form: add it here")


def _made(plain: _Plain) -> Topology:
    if not 1 <= plain.epoch <= EPOCH_MAX:
        raise InvalidInput(f"an epoch is between 1 and {EPOCH_MAX}, not {plain.epoch}")
    return plain.made()


def _check_names(nodes: Sequence[str]) -> None:
    if not 0 < len(nodes) <= NODES_MAX:
        raise InvalidInput(f"a hive has between 1 and {NODES_MAX} nodes, not {len(nodes)}")
    if len(set(nodes)) < len(nodes):
        raise InvalidInput("duplicate node name")
    _check_words(nodes)


def _check_words(names: Iterable[str]) -> None:
    bad = next((name for name in names if not is_name(name)), None)
    if bad is not None:
        raise InvalidInput(
            f"invalid node name {bad[:NAME_CHARACTERS_MAX]!r}: 1 to {NAME_CHARACTERS_MAX} printable characters, not '*'"
        )

"""The current topology and its predecessors, so that a member that missed some can follow; and each as bytes that travel.

The place of a fact follows from its former holders. A node that came to the present topology without knowing those between could
not tell which members it has to hear before it has everything.

Any member may make the next one (joins, leaves, members that are gone), and of two, the higher epoch wins. That one
member does it, and only where more than half of the hive can be heard, spares facts from moving to and fro.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from math import isfinite

import msgspec

from hive_mind.errors import InvalidInput, WireError
from hive_mind.hive.heartbeats import Heartbeats
from hive_mind.hive.policy import SEAL_BYTES_MAX, Seal, is_sealed_topology
from hive_mind.hive.topology import Flat, Topology
from hive_mind.hive.topology.federated import Federated
from hive_mind.hive.topology.sharded import Placement, Sharded
from hive_mind.model.decoding import msgpack_decoder
from hive_mind.model.messages import AnnouncedTopology, TopologyUpdate

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
_decode_topology = msgpack_decoder(_Plain)


def pack(topology: Topology) -> bytes:
    return _encode(_plain(topology))


def unpack(data: bytes) -> Topology:
    """The topology of some bytes. Raises `WireError`."""
    if len(data) > TOPOLOGY_BYTES_MAX:
        raise WireError(f"a topology has at most {TOPOLOGY_BYTES_MAX} bytes, not {len(data)}")
    try:
        plain: _Plain = _decode_topology(data)
        if not 1 <= plain.epoch <= EPOCH_MAX:
            raise InvalidInput(f"an epoch is between 1 and {EPOCH_MAX}, not {plain.epoch}")
        return plain.made()
    except (ValueError, RecursionError, InvalidInput) as error:
        raise WireError(f"invalid topology: {error}") from error


def digest_of(packed: bytes) -> bytes:
    """8 bytes that differ wherever topologies do."""
    return blake2b(packed, digest_size=8).digest()


def is_name(name: str) -> bool:
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


# A member that missed more needs a full copy.
STEPS_MAX = 8

_decode = msgpack_decoder(tuple[AnnouncedTopology, ...])

Names = frozenset[str]

# The lower bits of an epoch tell its makers apart; the bits above them count.
_MAKER_BITS = 16

# No member misses that many. A forger that names the largest epoch would end all change.
_MISSED_MAX = 1 << 20


@dataclass(frozen=True, slots=True)
class Step:
    """A topology that came to hold, and whether nothing lay between the one before and this one."""

    topology: Topology
    is_next: bool


@dataclass(frozen=True, slots=True)
class TopologyVersion:
    """A topology and its announcement, sealed by its maker."""

    topology: Topology
    announced: AnnouncedTopology

    @staticmethod
    def of(announced: AnnouncedTopology) -> "TopologyVersion":
        """Raises `WireError` for an invalid topology."""
        if len(announced.by) > NAME_CHARACTERS_MAX or len(announced.seal) > SEAL_BYTES_MAX:
            raise WireError("the maker's name or the seal of a topology is too long")
        return TopologyVersion(unpack(announced.topology), announced)


@dataclass(frozen=True)
class TopologyLog:
    """Topologies, oldest first; each was made from the one before it. Empty where none is known."""

    steps: tuple[TopologyVersion, ...] = ()

    @staticmethod
    def of(data: bytes) -> "TopologyLog":
        """The log of `packed`. Raises `WireError`."""
        try:
            return TopologyLog(tuple(TopologyVersion.of(announced) for announced in _decode(data)))
        except ValueError as error:
            raise WireError(f"invalid topology log: {error}") from error

    @property
    def topology(self) -> Topology | None:
        return self.steps[-1].topology if self.steps else None

    @property
    def epoch(self) -> int:
        return self.steps[-1].topology.epoch if self.steps else 0

    @cached_property
    def digest(self) -> bytes:
        return digest_of(self.steps[-1].announced.topology) if self.steps else b""

    @cached_property
    def members(self) -> frozenset[str]:
        return frozenset(self.steps[-1].topology.nodes if self.steps else ())

    def packed(self) -> bytes:
        return _encode([step.announced for step in self.steps])

    def followed_by(self, version: TopologyVersion, *, is_next: bool) -> "TopologyLog":
        """After another one came to hold. The steps to a topology that was not the next are not known."""
        before = self.steps if is_next else ()
        return TopologyLog((*before, version)[-STEPS_MAX:])

    def since(self, epoch: int) -> TopologyUpdate:
        epoches = [step.topology.epoch for step in self.steps]
        if epoch not in epoches:
            return TopologyUpdate(self.epoch, (self.steps[-1].announced,))
        later = tuple(version.announced for version in self.steps[epoches.index(epoch) + 1 :])
        is_short = sum(len(announced.topology) for announced in later) <= TOPOLOGY_BYTES_MAX
        return TopologyUpdate(self.epoch, later if is_short else later[-1:], epoch if is_short else 0)

    def at(self, epoch: int) -> Topology | None:
        return next((step.topology for step in self.steps if step.topology.epoch == epoch), None)


def steps_of(update: TopologyUpdate) -> Sequence[TopologyVersion]:
    """The announced versions. Raises `WireError` where they don't lead to the announced epoch."""
    if not 1 <= len(update.steps) <= STEPS_MAX:
        raise WireError(f"an update has 1 to {STEPS_MAX} steps, not {len(update.steps)}")
    steps = [TopologyVersion.of(step) for step in update.steps]
    epochs = [version.topology.epoch for version in steps]
    follows = [version.announced.follows for version in steps]
    is_whole = follows[1:] == epochs[:-1] and update.follows in (0, follows[0]) and follows[0] >= 0
    if not is_whole or epochs[-1] != update.epoch or any(b <= a for a, b in zip([follows[0], *epochs], epochs, strict=False)):
        raise WireError(f"topologies of the epochs {epochs} do not lead from {update.follows} to {update.epoch}")
    return steps


def is_believed(seal: Seal, hive: str, past: TopologyLog, steps: Sequence[TopologyVersion], heartbeats: Heartbeats) -> bool:
    """Whether a member of each preceding version sealed the next. Relays need no seal."""
    if not seal.is_on:
        return True
    before = past.at(steps[0].announced.follows)
    for step in steps:
        has_say = step.announced.by in before.nodes if before is not None else _has_say(past, step, heartbeats)
        if not has_say or not is_sealed_topology(seal, hive, step.announced):
            return False
        before = step.topology
    return True


def _has_say(past: TopologyLog, version: TopologyVersion, heartbeats: Heartbeats) -> bool:
    """Whether a topology is believed although its predecessor is unknown here.

    A node that knows no topology has to believe it: it trusts every holder of a key to be of the hive. All others believe it if a
    member they know made it, or beats by it: its heartbeats are sealed too.
    """
    digest = digest_of(version.announced.topology)
    beats = (heartbeat.beat for name in past.members if (heartbeat := heartbeats.get(name)) is not None)
    live_by_it = any((beat.epoch, beat.digest) == (version.topology.epoch, digest) for beat in beats)
    return not past.steps or version.announced.by in past.members or live_by_it


def is_to_propose(name: str, members: Names, suspects: Names, heartbeats: Heartbeats, now_ms: int) -> bool:
    """Whether it is this member's turn: no unsuspected one has a smaller name, and enough of them are heard."""
    if name not in members or name != min(members - suspects):
        return False
    present = {member for member in members if heartbeats.is_present(member, now_ms)}
    # Of two halves it is that of the first name, so that one of two can still go on.
    return 2 * len(present) > len(members) or (2 * len(present) == len(members) and min(members) in present)


def wanted(members: Names, dismissed: Iterable[str], heartbeats: Heartbeats, now_ms: int) -> Names:
    """The members wanted next. Never empty: the last member has no one to hand over to."""
    known_heartbeats = {name: heartbeat.beat for name in heartbeats.names() if (heartbeat := heartbeats.get(name)) is not None}
    joining = {name for name, beat in known_heartbeats.items() if beat.wants_in and heartbeats.is_present(name, now_ms)}
    leaving = {name for name, beat in known_heartbeats.items() if beat.is_leaving}
    return ((members | joining) - leaving - frozenset(dismissed)) or members


def next_epoch(epoch: int, name: str, incarnation: bytes) -> int:
    """Higher than this one, and another than anybody else would make."""
    maker = blake2b(incarnation + name.encode(), digest_size=_MAKER_BITS // 8).digest()
    return ((epoch >> _MAKER_BITS) + 1 << _MAKER_BITS) | int.from_bytes(maker, "big")


def is_too_far(epoch: int, former_epoch: int) -> bool:
    """Whether no hive gets there from the epoch this node knows. From none (0) anywhere."""
    return former_epoch > 0 and (epoch >> _MAKER_BITS) - (former_epoch >> _MAKER_BITS) > _MISSED_MAX


def successor(topology: Topology, nodes: Names, epoch: int, heartbeats: Heartbeats) -> Topology:
    """The next one, for these nodes. Raises `WireError` for one that others would refuse, such as of too many."""
    beats = {name: heartbeat.beat for name in nodes if (heartbeat := heartbeats.get(name)) is not None}
    wishes = {name: beat.group for name, beat in beats.items() if is_name(beat.group)}
    return unpack(pack(topology.with_nodes(nodes, wishes).with_epoch(epoch)))

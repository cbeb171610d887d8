"""Which topology comes after one, and who makes it: joins, leaves, and members that are gone.

Anybody may make the next one, and whatever two have made, the higher epoch wins. That one member does it, and only where more
than half of the hive can be heard, spares facts from moving to and fro.
"""

from collections.abc import Iterable
from hashlib import blake2b

from hive_mind.hive.membership.heartbeats import Heartbeats
from hive_mind.hive.topology.base import Topology
from hive_mind.hive.topology.codec import is_name, pack, unpack

Names = frozenset[str]

# The lower bits of an epoch tell apart who made it; what is above them counts.
_MAKER_BITS = 16

# No member misses that many. A forger that names the largest epoch would end all change.
_MISSED_MAX = 1 << 20


def is_to_propose(name: str, members: Names, suspects: Names, heartbeats: Heartbeats, now_ms: int) -> bool:
    """Whether it is this member's turn: no unsuspected one has a smaller name, and enough of them are heard."""
    if name not in members or name != min(members - suspects):
        return False
    heard = {member for member in members if heartbeats.is_heard(member, now_ms)}
    # Of two halves it is that of the first name, so that one of two can still go on.
    return 2 * len(heard) > len(members) or (2 * len(heard) == len(members) and min(members) in heard)


def wanted(members: Names, gone: Iterable[str], heartbeats: Heartbeats, now_ms: int) -> Names:
    """The members wanted next. Never empty: the last member has no one to hand over to."""
    known = {name: heard.beat for name in heartbeats.names() if (heard := heartbeats.get(name)) is not None}
    joining = {name for name, beat in known.items() if beat.wants_in and heartbeats.is_heard(name, now_ms)}
    leaving = {name for name, beat in known.items() if beat.is_leaving}
    return ((members | joining) - leaving - frozenset(gone)) or members


def next_epoch(epoch: int, name: str, incarnation: bytes) -> int:
    """Higher than this one, and another than anybody else would make."""
    maker = blake2b(incarnation + name.encode(), digest_size=_MAKER_BITS // 8).digest()
    return ((epoch >> _MAKER_BITS) + 1 << _MAKER_BITS) | int.from_bytes(maker, "big")


def is_too_far(epoch: int, known: int) -> bool:
    """Whether no hive gets there from the epoch this node knows. From none (0) anywhere."""
    return known > 0 and (epoch >> _MAKER_BITS) - (known >> _MAKER_BITS) > _MISSED_MAX


def successor(topology: Topology, nodes: Names, epoch: int, heartbeats: Heartbeats) -> Topology:
    """The next one, for these nodes. Raises `WireError` for one that others would refuse, such as of too many."""
    beats = {name: heard.beat for name in nodes if (heard := heartbeats.get(name)) is not None}
    wishes = {name: beat.group for name, beat in beats.items() if is_name(beat.group)}
    return unpack(pack(topology.with_nodes(nodes, wishes).with_epoch(epoch)))

"""The members of a hive, as one of its nodes sees them, and intended holders of each partition: to inspect, or evict."""

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from hive_mind.hive.effects import Now
    from hive_mind.hive.member import Member


class MemberSeen(msgspec.Struct, frozen=True):
    """One of them. `silent_ms` is None where it was never heard; `state` as `hive.membership.heartbeats` has it."""

    name: str
    state: str
    is_member: bool
    silent_ms: int | None = None
    epoch: int = 0
    group: str = ""


class MembersSeen(msgspec.Struct, frozen=True):
    """By one node. `lacking` are partitions that it is to hold and has not copied from others yet."""

    node: str
    epoch: int = 0
    is_in: bool = False
    members: tuple[MemberSeen, ...] = ()
    holders: dict[str, tuple[str, ...]] = {}
    """The nodes that hold a partition, by partition."""
    lacking: tuple[str, ...] = ()


def members_seen(member: "Member", now: "Now") -> MembersSeen:
    """The view of a node at this moment."""
    topology = member.membership.topology
    if topology is None:
        return MembersSeen(member.name)
    members = tuple(
        MemberSeen(state.name, state.state, state.is_member, state.silent_ms, state.epoch, state.group)
        for state in member.membership.view(now)
    )
    partitions = sorted({name for node in topology.nodes for name in topology.held_by(node)})
    holders = {name: tuple(topology.holders(name)) for name in partitions}
    shares = member.node.partitions.shares if member.is_ready else {}
    lacking = tuple(sorted(name for name, share in shares.items() if share.is_holder and not share.is_complete))
    return MembersSeen(member.name, topology.epoch, member.membership.is_in, members, holders, lacking)

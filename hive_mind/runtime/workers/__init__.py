"""A worker: the nodes and agents of one configuration, as a process.

Here is what it reports: its status with the room on its disks, and since when things are so, and the members that its nodes see.
"""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from hive_mind.counted import counted
from hive_mind.model.decoding import json_decoder

if TYPE_CHECKING:
    from hive_mind.hive.effects import Now
    from hive_mind.hive.member import Member


class MemberSeen(msgspec.Struct, frozen=True):
    """One of them. `silent_ms` is None where it was never heard; `state` as `hive.heartbeats` has it."""

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


class Room(msgspec.Struct, frozen=True):
    """Of one disk, as far as this user may fill it. `files_left` is -1 where a file system sets no limit."""

    path: str
    free_bytes: int
    total_bytes: int
    files_left: int = -1


def rooms(folders: Iterable[Path]) -> tuple[Room, ...]:
    """Each disk once, under the first folder that is on it. A folder that is not there yet counts as the nearest above it."""
    found_rooms: dict[int, Room] = {}
    for folder in folders:
        try:
            path = next(ancestor for ancestor in (folder, *folder.parents) if ancestor.exists())
            device, disk = path.stat().st_dev, os.statvfs(path)
        except (OSError, StopIteration):
            # A write there reports what is wrong; it is no matter of free space.
            continue
        left = disk.f_favail if disk.f_files else -1
        found_rooms.setdefault(device, Room(str(folder), disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize, left))
    return tuple(found_rooms.values())


Phase = Literal["starting", "ready", "draining", "failed"]
AgentPhase = Literal["starting", "learning", "ready", "asleep", "failed"]


class NodeStatus(msgspec.Struct, frozen=True):
    """One node. `outbox` counts batches not confirmed yet, `lag` dots that peers lacked when they last compared.

    Each `…_since_ms` is the wall time of the last change of that (0: not known).
    """

    name: str
    group: str = ""
    is_ready: bool = False
    is_busy: bool = False
    epoch: int = 0
    members: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    late: tuple[str, ...] = ()
    """Members that are heard, and whose answers come too late for a question, or not at all."""
    facts: int = 0
    outbox: int = 0
    lag: int = 0
    is_connected: bool = True
    messages: int = 0
    """Handled since it was started."""
    findings: tuple[str, ...] = ()
    error: str = ""
    ready_since_ms: int = 0
    connected_since_ms: int = 0
    heard_since_ms: int = 0
    """Since when there is somebody silent or late, or nobody."""
    even_since_ms: int = 0
    """Since when there is something on its way, or nothing."""
    damaged: int = 0
    """Records of its journal that were set aside when it was started."""
    identity: str = "off"
    unproven: dict[str, int] = {}
    """Messages not proven to be from whom they say, or not encrypted for it, by reason, since it was started."""
    set_aside: dict[str, int] = {}
    """Messages that it could not handle, dead letters mostly, by what is wrong with them, since it was started."""
    limited: dict[str, int] = {}
    """Entries forgotten of members that send more than any honest one does, by limit, since it was started."""
    secret_epoch: int = 0
    """Number of the newest epoch it heard of, in which it encrypts unless it is `keyless`; 0: it encrypts nothing."""
    keyless: str = ""
    """Why it can't encrypt, and so sends nothing; "" while it can, or need not."""
    refusal: str = ""
    """Why what it writes, to its journal or to the bus, is not taken; "" while it is."""
    broker_used_bytes: int = 0
    broker_limit_bytes: int = 0
    """0: the broker doesn't say."""
    ahead_of_members_ms: int = 0
    """By how much the clock of this machine is ahead of those of the other members; behind where it is negative."""
    ahead_of_broker_ms: int = 0
    partitions: int = -1
    """How many it keeps; -1: not known."""
    last_copies: int = 0
    """Partitions that it keeps and no member that was heard lately."""

    @property
    def notice(self) -> str:
        """The notice of it for a person, about what stops nothing, or ""."""
        notices = []
        if self.damaged:
            damage = "a damaged record" if self.damaged == 1 else f"{self.damaged} damaged records"
            notices.append(
                f"the journal of {self.name} had {damage}, set aside and asked of other nodes again; its log names them"
            )
        if not self.partitions:
            notices.append(f"{self.name} keeps no partition: it is a spare, which takes the place of a member that leaves")
        if self.last_copies and len(self.members) > 1:
            notices.append(f"{self.name} has the last copy of {counted(self.last_copies, 'partition')} that anybody can reach")
        return "; ".join(notices)


class AgentStatus(msgspec.Struct, frozen=True):
    """One agent. `pending`: facts that the hive has not confirmed. `learned`: digests by path.

    `refusal`: why its memory can't be written, "" while it can.
    """

    name: str
    node: str = ""
    domain: str = ""
    group: str = ""
    phase: AgentPhase = "starting"
    facts: int = 0
    pending: int = 0
    learned: dict[str, str] = {}
    error: str = ""
    since_ms: int = 0
    """When its phase began."""
    refusal: str = ""


class WorkerStatus(msgspec.Struct, frozen=True):
    """A worker at one moment. `since_ms` is wall time in milliseconds; `config` is the SHA-256 of its configuration file."""

    process: str
    pid: int
    config: str
    hive: str
    phase: Phase
    since_ms: int
    nodes: tuple[NodeStatus, ...] = ()
    agents: tuple[AgentStatus, ...] = ()
    memory_bytes: int = 0
    cpu_s: float = 0.0
    error: str = ""
    notices: tuple[str, ...] = ()
    """Notices for a person, about what stops nothing."""
    rooms: tuple[Room, ...] = ()

    @property
    def is_ready(self) -> bool:
        return (
            self.phase == "ready"
            and all(node.is_ready for node in self.nodes)
            and all(agent.phase in ("ready", "asleep") for agent in self.agents)
        )


HANGS_AFTER_S = 60.0
"""A process under load answers and beats late. One that runs and does neither for this time hangs."""


class Contact(msgspec.Struct, frozen=True):
    """How to reach a worker: `run/<process>.json`, readable by its owner alone. `started` is the process's own start time.

    `version` is that of the package it runs, and `answering` how readily it answers; "" for one from before it was noted.
    """

    process: str
    pid: int
    started: float
    port: int
    token: str
    config: str
    version: str = ""
    answering: str = ""


def contact_in(file: Path) -> Contact | None:
    """The contact in a file of `run`; None for one that is being written or taken away, or is something else."""
    try:
        return json_decoder(Contact)(file.read_bytes())
    except (OSError, ValueError, msgspec.DecodeError):
        return None


class Transitions:
    """`clock` gives wall time in milliseconds."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._changes: dict[tuple[str, str], tuple[object, int]] = {}

    def since_ms(self, whose: str, aspect: str, now: object) -> int:
        """When this was first seen to be as it is now; at the first look that is now."""
        last_change = self._changes.get((whose, aspect))
        if last_change is None or last_change[0] != now:
            last_change = self._changes[whose, aspect] = now, self._clock()
        return last_change[1]

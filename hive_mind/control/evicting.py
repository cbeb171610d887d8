"""Putting a member out of a hive: the members, as all nodes that answer see them, and the facts that would be lost with one of
them.

A member that can be heard would ask to be taken in again; and of a partition that nobody else has, what the member
held is gone unless it comes back, so both need a person's word. Members are asked
of all processes of the fleet that answer, and one of these puts out.

The remains that a hive can be founded again from, when members lost their homes, or their knowledge of each other is damaged.

Founding it again is a move to its own topology: see `planning.resettling` and `relocation`. Here is only the state before.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from hive_mind.control.platforms import Platform, Running
from hive_mind.control.state import FleetState
from hive_mind.counted import counted
from hive_mind.errors import BackendError, HiveError, InvalidInput
from hive_mind.hive.settings import HiveSettings
from hive_mind.hive.topology.spec import is_shared
from hive_mind.runtime.workers import MemberSeen, MembersSeen

_ABSENT = "suspected"
_NAMED = 5

_PATIENCE_S = 5.0
_POLL_S = 0.2

Views = Mapping[str, tuple[MembersSeen, ...]]
"""By process."""


class EvictionRefused(HiveError):
    """It would do harm, or do nothing, and nobody has said that this is wanted."""


class HiveMember(msgspec.Struct, frozen=True):
    """One member, or one that beats and is none. `last_heard_s`: by the member that heard it last, None by none."""

    name: str
    state: str
    is_member: bool
    last_heard_s: float | None
    epoch: int
    """Of the topology it says it knows."""
    group: str = ""
    partitions: int = 0
    """How many it is to hold."""
    only_holder_of: tuple[str, ...] = ()
    """Those of them that no other reachable node holds."""


class Evicted(msgspec.Struct, frozen=True):
    """The result of an eviction."""

    member: str
    by: str
    """The process that did it."""
    epoch: int
    lost: tuple[str, ...] = ()
    """Partitions that nobody has now who can be heard."""
    waiting_for: tuple[str, ...] = ()
    """Nodes that have not heard of it yet."""


def hive_members(views: Sequence[MembersSeen]) -> list[HiveMember]:
    """Everybody that any node knows of, by name; the members are those of the newest topology."""
    newest = _newest(views)
    if newest is None:
        return []
    members = {name for holders in newest.holders.values() for name in holders} | {
        member.name for member in newest.members if member.is_member
    }
    names = sorted(members | {member.name for view in views for member in view.members})
    return [_member(name, views, newest, is_member=name in members) for name in names]


def lost_with(name: str, views: Sequence[MembersSeen]) -> list[str]:
    """Partitions that a member holds, and of all that can be heard it alone has wholly."""
    newest = _newest(views)
    if newest is None:
        return []
    lacking = {view.node: frozenset(view.lacking) for view in views}
    heard_names = {
        member for member in {name for holders in newest.holders.values() for name in holders} if _is_heard(member, views)
    }

    def has(holder: str, partition: str) -> bool:
        return holder != name and holder in heard_names and partition not in lacking.get(holder, ())

    partitions = (partition for partition, holders in newest.holders.items() if name in holders)
    return sorted(
        partition for partition in partitions if not any(has(member, partition) for member in newest.holders[partition])
    )


def refuse_harm(name: str, views: Sequence[MembersSeen], process: str, *, is_forced: bool) -> list[str]:
    """The losses with a member, if its eviction is forced. Raises `InvalidInput` or `EvictionRefused`."""
    views = [view for view in views if view.node != name] or views
    if _newest(views) is None:
        raise EvictionRefused("no node of this fleet answers and is a member, so nobody can put another out: hive-mind status")
    members = [member.name for member in hive_members(views) if member.is_member]
    if name not in members:
        raise InvalidInput(f"{name} is not a member of this hive; its members are {', '.join(members)}")
    lost = lost_with(name, views)
    if is_forced:
        return lost
    if _is_heard(name, views):
        key = process or name
        raise EvictionRefused(
            f"{name} is alive and would rejoin: stop it (hive-mind drain {key}), or, if it is hostile, "
            f"revoke its key (hive-mind keys revoke {key}); --force puts it out all the same"
        )
    if lost:
        raise EvictionRefused(
            f"no reachable node holds {_listed(lost)}: facts that {name} held there are lost unless it comes back, and answers "
            f"go on saying that it is missing. Start {name} again, or say --force"
        )
    return []


def evictor(name: str, views: Sequence[MembersSeen]) -> str:
    """The node that is to do it: a member that knows the newest topology. Raises `EvictionRefused`."""
    able = [view for view in views if view.is_in and view.node != name]
    if not able:
        raise EvictionRefused(f"no other node of this fleet answers and is a member, so nobody can put {name} out")
    return max(able, key=lambda view: (view.epoch, view.node)).node


def still_to_hear(name: str, views: Sequence[MembersSeen]) -> tuple[str, ...]:
    return tuple(
        view.node
        for view in views
        if view.node != name and any(member.name == name and member.is_member for member in view.members)
    )


def _newest(views: Sequence[MembersSeen]) -> MembersSeen | None:
    return max((view for view in views if view.is_in), key=lambda view: view.epoch, default=None)


def _member(name: str, views: Sequence[MembersSeen], newest: MembersSeen, *, is_member: bool) -> HiveMember:
    last_heard = _last_heard(name, views)
    silent_s = None if last_heard is None or last_heard.silent_ms is None else last_heard.silent_ms / 1000
    state = "suspected" if last_heard is None else last_heard.state
    partitions = sum(name in holders for holders in newest.holders.values())
    alone = tuple(lost_with(name, views)) if partitions else ()
    group = last_heard.group if last_heard is not None else ""
    # Its own report is newer than its last beat.
    epoches = [view.epoch for view in views if view.node == name]
    epoch = max([*epoches, last_heard.epoch if last_heard is not None else 0])
    return HiveMember(name, state, is_member, silent_s, epoch, group, partitions, alone)


def _last_heard(name: str, views: Sequence[MembersSeen]) -> MemberSeen | None:
    """As the member saw it that heard it last. A member hears itself; where no other is asked, that counts."""
    other_views = [view for view in views if view.node != name] or views
    members = [member for view in other_views for member in view.members if member.name == name]
    return min(members, key=lambda one: (one.silent_ms is None, one.silent_ms or 0), default=None)


def _is_heard(name: str, views: Sequence[MembersSeen]) -> bool:
    last_heard = _last_heard(name, views)
    return last_heard is not None and last_heard.silent_ms is not None and last_heard.state != _ABSENT


def _listed(partitions: Sequence[str]) -> str:
    partition_names = ", ".join(partitions[:_NAMED])
    return (
        partition_names
        if len(partitions) <= _NAMED
        else f"{partition_names} and {counted(len(partitions) - _NAMED, 'more partition')}"
    )


class Members:
    """Of a fleet on a platform. `now` is a clock in seconds."""

    def __init__(self, platform: Platform, now: Callable[[], float]) -> None:
        self._platform, self._now = platform, now

    async def seen(self, processes: Mapping[str, Running]) -> Views:
        """The views of the processes that answer; others are left out."""
        names = [name for name, process in processes.items() if process.is_alive]
        questions = (self._platform.members(name, _PATIENCE_S) for name in names)
        answers = await asyncio.gather(*questions, return_exceptions=True)
        views: dict[str, tuple[MembersSeen, ...]] = {}
        for name, answer in zip(names, answers, strict=True):
            if isinstance(answer, BaseException):
                if not isinstance(answer, BackendError):
                    raise answer
                continue
            views[name] = answer
        return views

    async def evict(
        self, member: str, processes: Mapping[str, Running], process: str, *, is_forced: bool, timeout_s: float
    ) -> Evicted:
        """Put a member out, and wait until all that answer know. `process` is where it runs or ran, "" where nobody knows.

        Raises `HiveError` where nothing was done.
        """
        last_heard = await self.seen(processes)
        lost = refuse_harm(member, _all(last_heard), process, is_forced=is_forced)
        node = evictor(member, _all(last_heard))
        by = next(name for name, views in last_heard.items() if any(view.node == node for view in views))
        await self._platform.evict(by, member, timeout_s)
        until_s = self._now() + timeout_s
        while (waiting := still_to_hear(member, _all(last_heard := await self.seen(processes)))) and self._now() < until_s:  # noqa: ASYNC110
            await asyncio.sleep(_POLL_S)
        epoch = max((view.epoch for view in _all(last_heard)), default=0)
        return Evicted(member, by, epoch, tuple(lost), waiting)


def _all(views: Views) -> list[MembersSeen]:
    return [view for member_views in views.values() for view in member_views]


class Remains(msgspec.Struct, frozen=True):
    """The journals that are there, of which nodes; what they hold together; and what none of them has, by node."""

    hive: str
    journals: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    facts: int = 0
    lost: dict[str, int] = {}
    """Writes that are known to have been made."""


async def remains(home: Path, state: FleetState) -> Remains:
    """As it is now, also while nodes run. Raises `InvalidInput` where nothing is shared or left, else as reading does."""
    from hive_mind.runtime.members.generations import snapshot_of

    hive = state.last_hive
    if hive is None or state.hive is None or not is_shared(state.hive.topology):
        raise InvalidInput("its agents share nothing, so there is no hive to found again: every agent has its own memory")
    snapshot = await snapshot_of(home, hive, state.nodes, HiveSettings(), while_open=True)
    if not snapshot.own:
        raise InvalidInput(
            f"{home / 'hives' / hive.id} has no journal: bring one back, or apply the manifest to begin with nothing"
        )
    facts = len({claim.assertion.fact_id for claim in snapshot.vouched})
    missing = tuple(node for node in state.nodes if node not in snapshot.own)
    return Remains(hive.id, tuple(sorted(snapshot.own)), missing, facts, dict(snapshot.lost))

"""What a node knows of the others, for people."""

from dataclasses import dataclass
from typing import Literal

from hive_mind.hive.membership.heartbeats import Heartbeats
from hive_mind.model.messages import Beat

State = Literal["alive", "suspected", "joining", "leaving", "stranger"]


@dataclass(frozen=True, slots=True)
class MemberState:
    """One of them, or the node itself."""

    name: str
    state: State
    is_member: bool
    silent_ms: int | None
    """None: it was never heard."""
    epoch: int
    incarnation: str
    group: str
    has_twin: bool


def state_of(name: str, heartbeats: Heartbeats, now_ms: int, *, is_member: bool, is_suspect: bool) -> MemberState:
    """What there is to say of one."""
    heard = heartbeats.get(name)
    if heard is None:
        return MemberState(name, "suspected" if is_suspect else "alive", is_member, None, 0, "", "", has_twin=False)
    beat, silent_ms = heard.beat, 0 if name == heartbeats.name else now_ms - heard.heard_ms
    state = "suspected" if is_suspect else _wish(beat, is_member=is_member, is_heard=heartbeats.is_heard(name, now_ms))
    has_twin = heartbeats.has_twin(name, now_ms)
    return MemberState(name, state, is_member, silent_ms, beat.epoch, beat.incarnation.hex(), beat.group, has_twin)


def _wish(beat: Beat, *, is_member: bool, is_heard: bool) -> State:
    if beat.is_leaving:
        return "leaving"
    if is_member:
        return "alive"
    return "joining" if beat.wants_in and is_heard else "stranger"

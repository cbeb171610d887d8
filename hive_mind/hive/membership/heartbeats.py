"""Heartbeats a node has heard, and when: those of the others, and what they report of each other's boots.

Counts only its own monotonic clock. A boot that was followed by another of the same name is not believed any more; if it goes on
beating, two processes have the same name, which is reported to a person.

A seal is good for ever, so what a boot once said can be kept by a stranger and said again later.

A boot is believed once it has answered: its answer names a beat of this boot, of the time since it was first asked or later. From
then on the numbers of its beats tell a new one from one that was kept; after a silence it has to answer again, for of those that
were lost meanwhile nobody knows when they were said.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Literal

from hive_mind.hive.policy.seal import SEAL_BYTES_MAX
from hive_mind.model.messages import Heartbeat

# Boots of a name that are remembered; beats of older ones come late by hours.
_FORMER_MAX = 4
# A hive of strangers could otherwise fill the memory.
_NAMES_MAX = 20_000
# Beats of a former boot, after it should have been silent for long, until they mean anything: one may just have come late.
_TWINS_AT = 2


# Of what a beat says in bytes: several times what ours need. And of a group's name, which is as long as a node's at most.
_WORD_MAX, _GROUP_CHARACTERS_MAX = 64, 200

State = Literal["alive", "suspected", "joining", "leaving", "stranger"]

_NUMBER_BYTES = 8
# Boots that were asked and have not answered: only of names with a key, as their seals are good.
_ASKED_MAX = 1_000


def is_short(beat: Heartbeat) -> bool:
    """Whether it takes no more than beats do."""
    words = max(len(beat.incarnation), len(beat.digest), len(beat.answers))
    return words <= _WORD_MAX and len(beat.seal) <= SEAL_BYTES_MAX and len(beat.group) <= _GROUP_CHARACTERS_MAX


@dataclass(slots=True)
class LastHeartbeat:
    """The last beat of the boot that counts, and how far the others of this name got."""

    beat: Heartbeat
    received_ms: int
    since_ms: int
    """When this boot was first heard."""
    former: dict[bytes, int] = field(default_factory=dict)
    """Numbers of the last beats of boots before it."""
    strays: int = 0
    """Beats of these that came when they should have ended."""
    twin_ms: int | None = None
    """When it last was certain that two are called so."""


class Heartbeats:
    """Names and what was heard of them. Of this node's own name only another process could say anything."""

    def __init__(self, name: str, silence_ms: int) -> None:
        self.name, self._silence_ms = name, silence_ms
        self._last: dict[str, LastHeartbeat] = {}

    def __getitem__(self, name: str) -> LastHeartbeat:
        return self._last[name]

    def get(self, name: str) -> LastHeartbeat | None:
        """The last heartbeat of a name."""
        return self._last.get(name)

    def names(self) -> list[str]:
        """All that were heard, sorted; this node too."""
        return sorted(self._last)

    def touch(self, beat: Heartbeat, now_ms: int) -> None:
        if (heartbeat := self._last.get(self.name)) is None:
            self._last[self.name] = LastHeartbeat(beat, now_ms, now_ms)
        else:
            heartbeat.beat, heartbeat.received_ms = beat, now_ms

    def record(self, name: str, beat: Heartbeat, now_ms: int) -> bool:
        """A beat came; whether it counts. One that was repeated, came late or is of a former boot does not."""
        last = self._last.get(name)
        if last is None:
            if len(self._last) < _NAMES_MAX:
                self._last[name] = LastHeartbeat(beat, now_ms, now_ms)
            return name in self._last
        if beat.incarnation != last.beat.incarnation:
            return self._record_other_boot(name, last, beat, now_ms)
        if beat.number <= last.beat.number or name == self.name:
            return False
        last.beat, last.received_ms = beat, now_ms
        return True

    def is_present(self, name: str, now_ms: int) -> bool:
        """Whether it has beaten lately."""
        last = self._last.get(name)
        return last is not None and now_ms - last.received_ms <= self._silence_ms

    def fresh(self, now_ms: int) -> list[Heartbeat]:
        """The last beats of all that have beaten lately."""
        return [last.beat for last in self._last.values() if now_ms - last.received_ms <= self._silence_ms]

    def has_twin(self, name: str, now_ms: int) -> bool:
        """Whether two processes have this name."""
        last = self._last.get(name)
        return last is not None and last.twin_ms is not None and now_ms - last.twin_ms <= 2 * self._silence_ms

    def forget(self, stay: Collection[str], before_ms: int) -> None:
        """Forget nodes last heard before that time, except these and this node."""
        names = [name for name, last in self._last.items() if last.received_ms < before_ms and name not in stay]
        for name in names:
            if name != self.name:
                del self._last[name]

    def excuse(self, slept_ms: int) -> None:
        """This node slept and could hear nothing for that time: it counts as nobody's silence."""
        for last in self._last.values():
            last.received_ms += slept_ms

    def _record_other_boot(self, name: str, last: LastHeartbeat, beat: Heartbeat, now_ms: int) -> bool:
        number = last.former.get(beat.incarnation, -1)
        if beat.number <= number:
            return False
        is_new = number < 0 and name != self.name
        # Or the one that counted was itself a late echo.
        if is_new or now_ms - last.received_ms > self._silence_ms:
            former = {**last.former, last.beat.incarnation: last.beat.number}
            former.pop(beat.incarnation, None)
            former_boots = dict(list(former.items())[-_FORMER_MAX:])
            self._last[name] = LastHeartbeat(beat, now_ms, now_ms, former_boots, twin_ms=last.twin_ms)
            return True
        last.former[beat.incarnation] = beat.number
        if now_ms - last.since_ms > self._silence_ms:
            last.strays += 1
            if last.strays >= _TWINS_AT:
                last.twin_ms = now_ms
        return False


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
    last = heartbeats.get(name)
    if last is None:
        return MemberState(name, "suspected" if is_suspect else "alive", is_member, None, 0, "", "", has_twin=False)
    beat, silent_ms = last.beat, 0 if name == heartbeats.name else now_ms - last.received_ms
    state = "suspected" if is_suspect else _wish(beat, is_member=is_member, is_present=heartbeats.is_present(name, now_ms))
    has_twin = heartbeats.has_twin(name, now_ms)
    return MemberState(name, state, is_member, silent_ms, beat.epoch, beat.incarnation.hex(), beat.group, has_twin)


def _wish(beat: Heartbeat, *, is_member: bool, is_present: bool) -> State:
    if beat.is_leaving:
        return "leaving"
    if is_member:
        return "alive"
    return "joining" if beat.wants_in and is_present else "stranger"


def mark_of(beat: Heartbeat) -> bytes:
    """The mark that an answer to this beat names."""
    return beat.incarnation + beat.number.to_bytes(_NUMBER_BYTES, "big")


class LivingBoots:
    """As one boot knows them; `incarnation` is its own, drawn anew each time, so no answer to an earlier boot is one to it."""

    def __init__(self, incarnation: bytes) -> None:
        self._incarnation = incarnation
        self._living: dict[str, bytes] = {}
        self._asked_boots: dict[tuple[str, bytes], tuple[int, int]] = {}
        """By name and incarnation: the number of the first beat that asked, and when it was asked last."""

    def note_answer(self, name: str, beat: Heartbeat, *, is_present: bool) -> bool:
        """Take in a beat's answers; whether the boot that sent it answers, by this beat or, if heard lately, by an earlier."""
        if is_present and self._living.get(name) == beat.incarnation:
            return True
        first, _ = self._asked_boots.get((name, beat.incarnation), (None, 0))
        boot, number = beat.answers[:-_NUMBER_BYTES], int.from_bytes(beat.answers[-_NUMBER_BYTES:], "big")
        if first is None or boot != self._incarnation or number < first:
            return False
        self._living[name] = beat.incarnation
        del self._asked_boots[name, beat.incarnation]
        return True

    def ask_if_due(self, name: str, beat: Heartbeat, number: int, now_ms: int, every_ms: int) -> bool:
        """Note that the beat of this number asks that boot, if that is due; whether it is. No more often than `every_ms`."""
        boot = name, beat.incarnation
        first, asked_ms = self._asked_boots.pop(boot, (number, now_ms - every_ms))
        is_due = now_ms - asked_ms >= every_ms
        self._asked_boots[boot] = first, now_ms if is_due else asked_ms
        if len(self._asked_boots) > _ASKED_MAX:
            del self._asked_boots[next(iter(self._asked_boots))]
        return is_due

"""The hive's clock: this machine's, corrected by what most members say. One clock that is ten years off forgets nothing early.

It only computes; `vote` says when the offset moved, and the node keeps it. Votes are compared on the monotonic clock, so a wall
clock that steps does not take hive time along: it would forget everything between the step and the next vote.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from hive_mind.hive.effects import Now
from hive_mind.hive.policy import SEAL_BYTES_MAX
from hive_mind.model.messages import ClockSample, Heartbeat

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
        if beat.number <= last.beat.number or name == self.name:
            return False
        last.beat, last.received_ms = beat, now_ms
        return True

    def is_present(self, name: str, now_ms: int) -> bool:
        last = self._last.get(name)
        return last is not None and now_ms - last.received_ms <= self._silence_ms

    def fresh(self, now_ms: int) -> list[Heartbeat]:
        return [last.beat for last in self._last.values() if now_ms - last.received_ms <= self._silence_ms]

    def has_twin(self, name: str, now_ms: int) -> bool:
        last = self._last.get(name)
        return last is not None and last.twin_ms is not None and now_ms - last.twin_ms <= 2 * self._silence_ms

    def forget(self, stay: Collection[str], before_ms: int) -> None:
        names = [name for name, last in self._last.items() if last.received_ms < before_ms and name not in stay]
        for name in names:
            if name != self.name:
                del self._last[name]

    def excuse(self, slept_ms: int) -> None:
        """This node slept and could hear nothing for that time: it counts as nobody's silence."""
        for last in self._last.values():
            last.received_ms += slept_ms


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


# A sample is only as good as its round trip: one delayed by a stall of two hours would be an hour off.
_ROUND_TRIP_MAX_MS = 10_000
# A quartz clock drifts by a tenth of a second in an hour.
_SAMPLE_AGE_MAX_MS = 3_600_000
STEP_MIN_MS = 15_000
"""Smaller differences change nothing a hive decides (grace is 15 minutes, drift one), and each move is a durable write."""


class _Vote(NamedTuple):
    offset_ms: int
    """Peer's wall minus this one's, when it was taken."""
    phase_ms: int
    """This wall minus the monotonic clock, when it was taken."""
    mono_ms: int


class HiveClock:
    """Hive time of one node. `members` is how many nodes the hive has, this one counted; votes are taken of members only.

    Of an even number of votes any time between the two in the middle is their median. Where hive time was there, it stays: half
    of those that speak can't move it. At first the earlier counts: to forget too late is harmless, too early loses facts. Right
    as long as fewer than half of the votes are wrong.
    """

    def __init__(self, members: int = 1, offset_ms: int | None = None) -> None:
        self._members = members
        self._votes: dict[str, _Vote] = {}
        self._offset_ms = offset_ms or 0
        # The wall clock may have been set while the node was down, so a kept offset is a good guess but no quorum.
        self._phase_ms: int | None = None

    @property
    def is_synced(self) -> bool:
        """Whether most members have spoken since this start. Until then nothing is judged by hive time."""
        return self._members <= 1 or self._phase_ms is not None

    @property
    def offset_ms(self) -> int:
        """The value to keep: hive time minus this machine's wall clock, as of the last vote that moved it."""
        return self._offset_ms

    def now_ms(self, now: Now) -> int:
        """Hive time; while `is_synced` is false, only the best guess."""
        if self._members <= 1:
            return now.wall_ms
        return now.wall_ms + self._offset_at(now)

    def trusted_ms(self, now: Now) -> int | None:
        """Hive time, or None while too few members have spoken."""
        return self.now_ms(now) if self.is_synced else None

    def is_disputed(self, now: Now) -> bool:
        """Whether the votes are split evenly while a member has not voted yet."""
        offsets = self._offsets(now)
        lower, upper = _middle(offsets)
        return len(offsets) < self._members and upper - lower > STEP_MIN_MS

    def ahead_ms(self, now: Now) -> int:
        """By how much this machine's wall clock is ahead of those of the others, negative where it is behind.

        0 while nobody has spoken, and where this clock is between the two in the middle of an even number.
        """
        offsets = self._offsets(now)
        offsets.remove(0)
        if not offsets:
            return 0
        lower, upper = _middle(offsets)
        return -(lower if lower > 0 else min(upper, 0))

    def vote(self, peer: str, sample: ClockSample, now: Now) -> bool:
        """Take a member's sample; whether `offset_ms` changed and must be kept."""
        round_trip_ms = now.mono_ms - sample.answers_mono_ms
        if not sample.answers_mono_ms or not 0 <= round_trip_ms <= _ROUND_TRIP_MAX_MS:
            return False
        offset_ms = sample.wall_ms - (now.wall_ms - round_trip_ms // 2)
        self._votes[peer] = _Vote(offset_ms, now.wall_ms - now.mono_ms, now.mono_ms)
        return self._move(now)

    def _move(self, now: Now) -> bool:
        offsets = self._offsets(now)
        if 2 * len(offsets) <= self._members:
            return False
        lower, upper = _middle(offsets)
        was_synced, current = self._phase_ms is not None, self._offset_at(now)
        median = min(max(current, lower), upper) if was_synced else lower
        if was_synced and abs(median - current) <= STEP_MIN_MS:
            return False
        changed = median != self._offset_ms
        self._offset_ms, self._phase_ms = median, now.wall_ms - now.mono_ms
        return changed

    def rearrange(self, members: Iterable[str]) -> None:
        """The hive has other members, this node among them; those that left have no vote."""
        present = frozenset(members)
        self._members = len(present)
        self._votes = {peer: vote for peer, vote in self._votes.items() if peer in present}

    def _offsets(self, now: Now) -> list[int]:
        """Every vote that still counts, this machine's own (0) among them, as offsets to the wall clock of now; sorted."""
        oldest_ms, phase_ms = now.mono_ms - _SAMPLE_AGE_MAX_MS, now.wall_ms - now.mono_ms
        self._votes = {peer: vote for peer, vote in self._votes.items() if vote.mono_ms > oldest_ms}
        return sorted([0, *(vote.offset_ms + vote.phase_ms - phase_ms for vote in self._votes.values())])

    def _offset_at(self, now: Now) -> int:
        """The offset to the wall clock of now: where that has stepped since the vote, the step is taken back."""
        if self._phase_ms is None:
            return self._offset_ms
        stepped_ms = now.wall_ms - now.mono_ms - self._phase_ms
        # Less is the wall clock being slewed by NTP, which knows better than the monotonic clock.
        return self._offset_ms - stepped_ms if abs(stepped_ms) > STEP_MIN_MS else self._offset_ms


def _middle(offsets: Sequence[int]) -> tuple[int, int]:
    """The two in the middle of what is sorted; the same twice where there is one."""
    return offsets[(len(offsets) - 1) // 2], offsets[len(offsets) // 2]

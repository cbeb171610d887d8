"""The hive's clock: this machine's, corrected by what most members say. One clock that is ten years off forgets nothing early.

It only computes; `vote` says when the offset moved, and the node keeps it. Votes are compared on the monotonic clock, so a wall
clock that steps does not take hive time along: it would forget everything between the step and the next vote.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hive_mind.hive.effects import Now
from hive_mind.model.messages import ClockSample


@dataclass(frozen=True, slots=True)
class HiveClockSettings:
    """When a sample is good enough, and when hive time moves."""

    round_trip_max_ms: int = 10_000
    """A sample is only as good as its round trip: one delayed by a stall of two hours would be an hour off."""
    sample_age_max_ms: int = 3_600_000
    """Raise it for members that exchange rarely; a quartz clock drifts by a tenth of a second in an hour."""
    step_min_ms: int = 15_000
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

    def __init__(self, members: int = 1, offset_ms: int | None = None, settings: HiveClockSettings = HiveClockSettings()) -> None:
        self._members = members
        self._settings = settings
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
        return len(offsets) < self._members and upper - lower > self._settings.step_min_ms

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
        if not sample.answers_mono_ms or not 0 <= round_trip_ms <= self._settings.round_trip_max_ms:
            return False
        offset_ms = sample.wall_ms - (now.wall_ms - round_trip_ms // 2)
        self._votes[peer] = _Vote(offset_ms, now.wall_ms - now.mono_ms, now.mono_ms)
        return self._move(now)

    def rearrange(self, members: Iterable[str]) -> None:
        """The hive has other members, this node among them; those that left have no vote."""
        present = frozenset(members)
        self._members = len(present)
        self._votes = {peer: vote for peer, vote in self._votes.items() if peer in present}

    def _move(self, now: Now) -> bool:
        offsets = self._offsets(now)
        if 2 * len(offsets) <= self._members:
            return False
        lower, upper = _middle(offsets)
        was_synced, current = self._phase_ms is not None, self._offset_at(now)
        median = min(max(current, lower), upper) if was_synced else lower
        if was_synced and abs(median - current) <= self._settings.step_min_ms:
            return False
        changed = median != self._offset_ms
        self._offset_ms, self._phase_ms = median, now.wall_ms - now.mono_ms
        return changed

    def _offsets(self, now: Now) -> list[int]:
        """Every vote that still counts, this machine's own (0) among them, as offsets to the wall clock of now; sorted."""
        oldest_ms, phase_ms = now.mono_ms - self._settings.sample_age_max_ms, now.wall_ms - now.mono_ms
        self._votes = {peer: vote for peer, vote in self._votes.items() if vote.mono_ms > oldest_ms}
        return sorted([0, *(vote.offset_ms + vote.phase_ms - phase_ms for vote in self._votes.values())])

    def _offset_at(self, now: Now) -> int:
        """The offset to the wall clock of now: where that has stepped since the vote, the step is taken back."""
        if self._phase_ms is None:
            return self._offset_ms
        stepped_ms = now.wall_ms - now.mono_ms - self._phase_ms
        # Less is the wall clock being slewed by NTP, which knows better than the monotonic clock.
        return self._offset_ms - stepped_ms if abs(stepped_ms) > self._settings.step_min_ms else self._offset_ms


def _middle(offsets: Sequence[int]) -> tuple[int, int]:
    """The two in the middle of what is sorted; the same twice where there is one."""
    return offsets[(len(offsets) - 1) // 2], offsets[len(offsets) // 2]

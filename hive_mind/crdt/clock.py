"""A hybrid logical clock: time that never goes back and never ties, however wall clocks are set.

Kulkarni et al., "Logical Physical Clocks", 2014. One per node. It follows the wall clock, and others' stamps when those are
ahead, but only so far: a node that believed every stamp would let one broken clock win for ever.
"""

from threading import Lock

from hive_mind.model.evidence import Actor, Stamp

DRIFT_MS = 60_000
"""How far ahead of the wall clock a stamp is believed: far more than clocks set by NTP differ, far less than a wrong one."""

# More than one process can write within a millisecond; the clock borrows from the next one rather than count further.
COUNTER_MAX = 0xFFFF
# Stamps travel as 64-bit integers and through JSON: further than this a number is not the same on the other side.
MS_MAX = 2**53 - 1

_BEGINNING = Stamp(0)


class HybridClock:
    """Gives out stamps, each greater than everything it gave or took. `last` is where it was when it was last kept."""

    def __init__(self, actor: Actor, last: Stamp = _BEGINNING) -> None:
        self._actor = actor
        self._last = last
        self._lock = Lock()

    @property
    def last(self) -> Stamp:
        """The greatest stamp given or taken."""
        return self._last

    def tick(self, wall_ms: int) -> Stamp:
        """A new stamp: the wall's time, or the next after the last one where that is ahead."""
        with self._lock:
            self._last = self._after(self._last, wall_ms)
            return self._last

    def take(self, stamp: Stamp, wall_ms: int, drift_ms: int | None = DRIFT_MS) -> bool:
        """Move up to a stamp seen elsewhere. False, and unmoved, for one further ahead than `drift_ms` (None: however far)."""
        if not is_believable(stamp, None if drift_ms is None else wall_ms + drift_ms):
            return False
        with self._lock:
            self._last = max(self._last, stamp)
        return True

    def pull_back(self, wall_ms: int, drift_ms: int = DRIFT_MS) -> None:
        """Return to a wall clock that was put right, if this one is further ahead. Stamps given meanwhile stay greater."""
        with self._lock:
            if self._last.ms > wall_ms + drift_ms:
                self._last = Stamp(wall_ms, 0, self._actor)

    def _after(self, last: Stamp, wall_ms: int) -> Stamp:
        if wall_ms > last.ms:
            return Stamp(wall_ms, 0, self._actor)
        if last.counter < COUNTER_MAX:
            return Stamp(last.ms, last.counter + 1, self._actor)
        return Stamp(last.ms + 1, 0, self._actor)


def is_believable(stamp: Stamp, not_after_ms: int | None) -> bool:
    """Whether some honest clock can have given this stamp by `not_after_ms` (None: at any time)."""
    latest_ms = MS_MAX if not_after_ms is None else min(not_after_ms, MS_MAX)
    return 0 <= stamp.ms <= latest_ms and 0 <= stamp.counter <= COUNTER_MAX

"""Replicated data types that converge however messages are delayed, lost, repeated or reordered.

Here is a hybrid logical clock: time that never goes back and never ties, however wall clocks are set.

Kulkarni et al., "Logical Physical Clocks", 2014. One per node. It follows the wall clock, and others' stamps when those are
ahead, but only so far: a node that believed every stamp would let one broken clock win for ever.

A register by it: of its values the last one written counts, by time, then the counter within it, then the actor. Times are handed
in; a caller that takes them from a `HybridClock` that has seen the replaced value writes later than that, whatever its wall clock
says. Values stamped too far in the future can be left out (`not_after_ms`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite
from threading import Lock
from typing import Any, Generic, TypeVar

import msgspec

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


V = TypeVar("V")
Timestamp = float | Stamp
"""Seconds since 1970, or a stamp of a hybrid clock."""


@dataclass(frozen=True, slots=True, order=True)
class Moment:
    """When something was written, as it is compared."""

    ms: float
    counter: int = 0
    actor: Actor = b""


@dataclass(frozen=True, slots=True)
class LwwEntry(Generic[V]):
    """A value and when it was written."""

    at: Moment
    value: V


class LWWRegister(Generic[V]):
    """A replica of one value. `actor` names its writes where a write does not name its writer."""

    def __init__(self, actor: str | Actor = "") -> None:
        self._actor = actor
        self._entry: LwwEntry[V] | None = None
        self._lock = Lock()

    def set(self, value: V, timestamp: Timestamp, actor: str | Actor = "") -> bool:
        """Write. False, and no change, if something later is there. Of one writer's two writes at one time the second counts."""
        with self._lock:
            entry = _written(value, timestamp, _writer(timestamp, actor, self._actor), self._entry)
            return self._keep(entry)

    def get(self) -> V | None:
        entry = self._entry
        return None if entry is None else entry.value

    def merge(self, other: "LWWRegister[V]", not_after_ms: float | None = None) -> bool:
        """Take the other's value if it was written later than this one, but not after `not_after_ms`. Whether it was taken."""
        theirs = other._entry  # noqa: SLF001 - one read, so that no thread ever holds two locks
        if theirs is None or (not_after_ms is not None and (theirs.at.ms > not_after_ms or theirs.at.counter > COUNTER_MAX)):
            return False
        with self._lock:
            return self._keep(theirs)

    def _keep(self, entry: LwwEntry[V]) -> bool:
        is_later = self._entry is None or _is_later(entry, self._entry)
        if is_later:
            self._entry = entry
        return is_later

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LWWRegister) and self._entry == other._entry

    __hash__ = None  # type: ignore[assignment]

    def to_dict(self) -> dict[str, Any]:
        """As JSON takes it (if it takes the value)."""
        if (entry := self._entry) is None:
            return {}
        return {"value": entry.value, "ms": entry.at.ms, "counter": entry.at.counter, "actor": entry.at.actor.hex()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], actor: str | Actor = "") -> "LWWRegister[V]":
        register: LWWRegister[V] = cls(actor)
        if data:
            if not isfinite(data["ms"]):
                raise ValueError(f"{data['ms']} is not a timestamp")
            at = Moment(data["ms"], data["counter"], bytes.fromhex(data["actor"]))
            register._entry = LwwEntry(at, data["value"])
        return register


def _written(value: V, timestamp: Timestamp, actor: Actor, former: LwwEntry[V] | None) -> LwwEntry[V]:
    """The entry of a write. Without a hybrid clock one may write twice at one time: then one counts on from one's own write."""
    at = _moment(timestamp, actor)
    if former is None or isinstance(timestamp, Stamp) or (former.at.ms, former.at.actor) != (at.ms, at.actor):
        return LwwEntry(at, value)
    return LwwEntry(replace(former.at, counter=former.at.counter + (value != former.value)), value)


def _moment(timestamp: Timestamp, actor: Actor) -> Moment:
    """ValueError for a time that can't be compared or that nothing could follow."""
    if isinstance(timestamp, Stamp):
        return Moment(timestamp.ms, timestamp.counter, actor)
    if not isfinite(timestamp):
        raise ValueError(f"{timestamp} is not a timestamp")
    return Moment(timestamp * 1000, 0, actor)


def _writer(timestamp: Timestamp, actor: str | Actor, default: str | Actor) -> Actor:
    """The writer named with the write, or else the stamp's, or else the replica's."""
    taker = timestamp.actor if isinstance(timestamp, Stamp) else b""
    name = actor or taker or default
    return name.encode() if isinstance(name, str) else name


def _is_later(entry: LwwEntry[V], former: LwwEntry[V]) -> bool:
    if entry.at != former.at:
        return entry.at > former.at
    # Two writers go by one name, or by none. Which one counts means nothing then, but every replica must choose the same.
    return _text(entry.value) > _text(former.value)


def _text(value: object) -> bytes:
    return msgspec.json.encode(value, order="deterministic")

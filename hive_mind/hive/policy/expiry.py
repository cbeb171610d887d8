"""Forgetting: facts fade with age and are dropped when they are too old. Off unless a hive turns it on.

Only decides. The node turns decisions into effects; the stored confidence is never changed, so asking twice can't make a fact
fade twice. When an assertion expires is part of it and never changes: a refresh is a new assertion, which the removal of the
old one does not touch.
"""

from dataclasses import dataclass
from math import exp
from typing import Annotated

from hive_mind.hive.effects import Now
from hive_mind.model.evidence import Assertion, Stamp
from hive_mind.model.setting import SHARE, Setting

HOUR_MS = 3_600_000
DECAY_PER_HOUR = 0.01
MAX_AGE_HOURS = 24.0
# A year. Longer means "never" to any reader, and sums with it stay far from any limit.
TTL_MAX_MS = 366 * 24 * HOUR_MS


@dataclass(frozen=True)
class ExpirySettings:
    """Whether and how fast a hive forgets. Off by default: a day would take a fleet's knowledge with it."""

    is_on: Annotated[bool, Setting("forget")] = False
    """Whether facts fade and expire at all. Times to live are kept in any case, for when it is turned on."""
    max_age_hours: Annotated[float, Setting("ttl_hours", gt=0, le=TTL_MAX_MS // HOUR_MS)] = MAX_AGE_HOURS
    """How long a fact that names no time of its own is found."""
    decay_per_hour: Annotated[float, SHARE] = DECAY_PER_HOUR
    """How fast confidence fades: 0.01 leaves 79 % after a day."""
    grace_ms: int = 900_000
    """Between expired (not found any more) and collected: a refresh under way is not taken for a new fact, and clocks of
    members may differ by as much. Raise it for members that exchange rarely; costs the space of what is expired."""


@dataclass(frozen=True, slots=True)
class Lifetime:
    """Expiry fields of an assertion, by its author: how long, and until when in hive time (0: it had no trusted clock)."""

    ttl_ms: int = 0
    expires_ms: int = 0


@dataclass(frozen=True, slots=True)
class FactTTL:
    """004's record of one fact's age: fading and expiry from when it was created, by the hive's clock."""

    created_ms: int
    max_age_hours: float = MAX_AGE_HOURS
    decay_per_hour: float = DECAY_PER_HOUR

    def confidence(self, original: float, now_ms: int) -> float:
        """The rest of the confidence it was created with."""
        return decayed(original, self.age_hours(now_ms), self.decay_per_hour)

    def age_hours(self, now_ms: int) -> float:
        """Never negative: a fact from the future is new."""
        return max(0, now_ms - self.created_ms) / HOUR_MS

    def is_expired(self, now_ms: int) -> bool:
        """Whether it is older than it may become."""
        return self.age_hours(now_ms) >= self.max_age_hours


def decayed(confidence: float, age_hours: float, rate_per_hour: float = DECAY_PER_HOUR) -> float:
    """The confidence left at an age; a negative age counts as 0."""
    return confidence * exp(-rate_per_hour * max(0.0, age_hours))


def confidence_now(confidence: float, stamp: Stamp, hive_now_ms: int | None, settings: ExpirySettings) -> float:
    """Confidence as it is shown now. Without a trusted clock nothing fades."""
    if not settings.is_on or hive_now_ms is None:
        return confidence
    return decayed(confidence, (hive_now_ms - stamp.ms) / HOUR_MS, settings.decay_per_hour)


def lifetime(ttl_ms: int, hive_now_ms: int | None, settings: ExpirySettings) -> Lifetime:
    """The expiry fields of a new assertion: its own time to live, else the hive's where that is on."""
    if ttl_ms <= 0:
        ttl_ms = round(settings.max_age_hours * HOUR_MS) if settings.is_on else 0
    ttl_ms = min(ttl_ms, TTL_MAX_MS)
    return Lifetime(ttl_ms, hive_now_ms + ttl_ms if ttl_ms and hive_now_ms is not None else 0)


def is_expired(assertion: Assertion, first_seen_mono_ms: int, hive_now_ms: int | None, now: Now, grace_ms: int = 0) -> bool:
    """Whether an assertion's time has passed, and `grace_ms` more; the hive's settings for forgetting play no part.

    By the author's moment where both it and this node have a trusted clock (`hive_now_ms`); otherwise by its time to live,
    counted on the monotonic clock from when this replica first saw it. That is later, never earlier.
    """
    if assertion.expires_ms > 0 and hive_now_ms is not None:
        return assertion.expires_ms + grace_ms <= hive_now_ms
    return 0 < assertion.ttl_ms <= now.mono_ms - first_seen_mono_ms - grace_ms


def is_hidden(assertion: Assertion, first_seen_mono_ms: int, hive_now_ms: int | None, now: Now, settings: ExpirySettings) -> bool:
    """Whether searches pass over it."""
    return settings.is_on and is_expired(assertion, first_seen_mono_ms, hive_now_ms, now)

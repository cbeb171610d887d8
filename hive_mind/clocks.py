"""The wall clock of this machine, read at one place: whatever depends on time is given it. And how people read a moment."""

import time
from datetime import UTC, datetime

NOTICE_FIRST_S, NOTICE_EVERY_S = 5.0, 30.0
"""Of what is answered as usual nothing is said; later a line says that it is waited for, and then now and again."""

LEAVE_S, FINISH_S = 60.0, 10.0
"""The time that a member has to hand over what it holds, and requests under way when a process ends."""


def wall_clock_ms() -> int:
    """Milliseconds since 1970, UTC; may be wrong, and step."""
    return time.time_ns() // 1_000_000


def utc(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def time_text(ms: int) -> str:
    """A moment in UTC, to the second."""
    return utc(ms / 1_000).isoformat(timespec="seconds").replace("+00:00", "Z")

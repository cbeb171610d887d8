"""The wall clock of this machine, read at one place: whatever depends on time is given it."""

import time


def wall_clock_ms() -> int:
    """Milliseconds since 1970, UTC; may be wrong, and step."""
    return time.time_ns() // 1_000_000

"""Times and sizes in few characters, as they stand in a table."""

import time

_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86_400


def ago(then_ms: int, now_ms: int | None = None) -> str:
    """How long ago, such as 5s, 12m, 3h or 2d; "" for never."""
    if not then_ms:
        return ""
    return span((now_ms if now_ms is not None else int(time.time() * 1000)) / 1000 - then_ms / 1000)


def span(seconds: float) -> str:
    """A length of time, of which only the largest unit counts."""
    seconds = max(seconds, 0.0)
    if seconds < _MINUTE_S:
        return f"{seconds:.0f}s"
    if seconds < _HOUR_S:
        return f"{seconds // _MINUTE_S:.0f}m"
    if seconds < 2 * _DAY_S:
        return f"{seconds // _HOUR_S:.0f}h"
    return f"{seconds // _DAY_S:.0f}d"


def megabytes(count: int) -> str:
    """A number of bytes; "" where unknown."""
    return f"{count / 1e6:.0f} MB" if count else ""

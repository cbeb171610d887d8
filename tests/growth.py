"""Whether work takes time in proportion to the length of a text."""

import time
from collections.abc import Callable, Iterable

# Of a few milliseconds nothing can be told.
_SLACK_S = 0.02
# Four times the text takes four times as long; sixteen times, where time grows with its square.
_TIMES_MAX = 10


def costly(work: Callable[[str], object], pieces: Iterable[str], chars: int) -> list[str]:
    """The pieces of which a text of four times as many characters takes ten times as long."""
    return [piece for piece in pieces if _is_costly(work, piece, chars)]


def _is_costly(work: Callable[[str], object], piece: str, chars: int) -> bool:
    small, large = ((piece * size)[:size] for size in (chars, 4 * chars))
    taken = _cpu_s(work, large)
    if taken < _SLACK_S:
        return False
    most = _TIMES_MAX * min(_cpu_s(work, small) for _ in range(2))
    # Again, because another process on this machine may have made it dear.
    return taken >= most and _cpu_s(work, large) >= most


def _cpu_s(work: Callable[[str], object], text: str) -> float:
    begun = time.process_time()
    work(text)
    return time.process_time() - begun

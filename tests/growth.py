"""Whether work takes time in proportion to the length of a text."""

import time
from collections.abc import Callable, Iterable

from hive_mind.remembered import forget_texts

# Of a few milliseconds nothing can be told.
_SLACK_S = 0.02
# Four times the text takes four times as long; sixteen times, where time grows with its square.
_TIMES_MAX = 10
_TRIES_MAX = 5


def costly(work: Callable[[str], object], pieces: Iterable[str], chars: int) -> list[str]:
    """The pieces of which a text of four times as many characters takes ten times as long."""
    return [piece for piece in pieces if _is_costly(work, piece, chars)]


def _is_costly(work: Callable[[str], object], piece: str, chars: int) -> bool:
    small, large = ((piece * size)[:size] for size in (chars, 4 * chars))
    took_s = _cpu_s(work, large)
    if took_s < _SLACK_S:
        return False
    # Again and again, because another process on this machine may make it dear;
    # what is cheap is so at last.
    for left in reversed(range(_TRIES_MAX)):
        if took_s < _TIMES_MAX * _cpu_s(work, small):
            return False
        if left:
            took_s = _cpu_s(work, large)
    return True


def _cpu_s(work: Callable[[str], object], text: str) -> float:
    """With nothing remembered of the text."""
    forget_texts()
    begun = time.process_time()
    work(text)
    return time.process_time() - begun

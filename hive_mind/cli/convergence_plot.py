"""Agreement of simulated hives over virtual time, as a picture.

The line is the median over runs, the area below it reaches down to the worst run.
"""

from collections import defaultdict
from collections.abc import Sequence
from math import floor, log10
from statistics import median
from typing import NamedTuple

from hive_mind.svg import SERIES_MAX, Frame, document, mark, text

_SHARES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
_TICKS_MAX = 8


class Curve(NamedTuple):
    """A name, and points of minute, median and worst share."""

    name: str
    points: tuple[tuple[float, float, float], ...]


def curve(name: str, runs: Sequence[Sequence[tuple[float, float]]]) -> Curve:
    """The curve of runs of (minute, share). Their clocks agree but for stalls: what lies further than most is left out."""
    shares: defaultdict[float, list[float]] = defaultdict(list)
    for run in runs:
        for minute, share in run:
            shares[round(minute * 2) / 2].append(share)
    # A run that slept for hours has points where no other has any.
    common = sorted(minute for minute, some in shares.items() if 2 * len(some) >= len(runs))
    return Curve(name, tuple((minute, median(shares[minute]), min(shares[minute])) for minute in common))


def drawn(curves: Sequence[Curve]) -> str:
    """The picture."""
    last = max((points[-1][0] for _, points in curves if points), default=1.0) or 1.0
    frame = Frame(64, 70, 700, 300, (0.0, last), (0.0, 1.0))
    title = "Share of facts that all their holders hold"
    parts = frame.axes(title, "minutes of virtual time", "median, and down to the worst run", ticks(last), _SHARES)
    for number, one in enumerate(one for one in curves if one.points):
        colour, y = number % SERIES_MAX, 340 - 20 * number
        upper = [(minute, share) for minute, share, _ in one.points]
        lower = [(minute, worst) for minute, _, worst in reversed(one.points)]
        parts += [frame.area([*upper, *lower], f"area{colour}"), frame.line(upper, f"line{colour}")]
        parts += [mark(colour, 640, y - 4, 5, f"mark{colour}"), text(654, y, one.name)]
    return document(800, 430, title, parts)


def ticks(last: float) -> list[float]:
    """Round numbers from 0 to `last` at even distances, at most nine."""
    tenfold = 10.0 ** floor(log10(last))
    step = next(size for size in (tenfold * part for part in (0.1, 0.2, 0.5, 1, 2)) if last / size <= _TICKS_MAX)
    return [round(number * step, 6) for number in range(int(last / step + 1e-9) + 1)]

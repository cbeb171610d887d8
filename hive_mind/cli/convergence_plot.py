"""Agreement of simulated hives over virtual time, as a picture.

The line is the median over runs, the area below it reaches down to the worst run.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from hive_mind.drawing.palette import COLOURS, MARKERS

# Of a line; more of them hide it.
_MARKS = 12


@dataclass(frozen=True, slots=True)
class Curve:
    """A topology, and points of minute, median and worst share."""

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


def drawn(curves: Sequence[Curve], kind: str = "svg") -> bytes:
    """The picture as "svg" or "png". Needs the extra `plots`."""
    from hive_mind.drawing.pictures import as_file, canvas, entitle

    title, caption = "Share of facts that all their holders hold", "median, and down to the worst run"
    with canvas(4.3, 8) as figure:
        axes = figure.subplots()
        entitle(axes, title, caption)
        for one in filter(lambda one: one.points, curves):
            minutes, middle, worst = zip(*one.points, strict=True)
            colour, every = COLOURS[one.name].light, max(1, len(minutes) // _MARKS)
            axes.fill_between(minutes, worst, middle, color=colour, alpha=0.12, linewidth=0)
            axes.plot(minutes, middle, MARKERS[one.name], color=colour, linestyle="-", markevery=every, label=one.name)
        axes.set(xlabel="minutes of virtual time", ylim=(0, 1.02))
        if axes.lines:
            axes.legend(loc="lower right")
        return as_file(figure, kind, title, caption)

"""Agreement of simulated hives over virtual time, as a picture: an SVG written by hand, for which a few lines are enough.

The line is the median over runs, the area below it reaches down to the worst run.
"""

from collections import defaultdict
from collections.abc import Sequence
from html import escape
from math import floor, log10
from statistics import median
from typing import NamedTuple

_WIDTH, _HEIGHT = 800, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 20, 40, 50
_COLOURS = ("#1b6ca8", "#c8553d", "#588157", "#7b4b94")
_STEPS, _TICKS_MAX = 5, 8


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
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        f'<text x="{_LEFT}" y="22" font-size="15">Share of facts that all their holders hold (median, worst run)</text>',
        *_axes(last),
    ]
    for number, one in enumerate(curves):
        parts += _line(one, last, _COLOURS[number % len(_COLOURS)], number)
    return "\n".join([*parts, "</svg>", ""])


def _axes(last: float) -> list[str]:
    lines = []
    for step in range(_STEPS + 1):
        y = _y(step / _STEPS)
        lines.append(f'<path d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}" stroke="#ddd"/>')
        lines.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{step / _STEPS:.0%}</text>')
    y = _HEIGHT - _BOTTOM + 18
    lines += [f'<text x="{_x(minute, last):.1f}" y="{y}" text-anchor="middle">{minute:g}</text>' for minute in ticks(last)]
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    return [*lines, f'<text x="{middle:.0f}" y="{_HEIGHT - 10}" text-anchor="middle">minutes of virtual time</text>']


def ticks(last: float) -> list[float]:
    """Round numbers from 0 to `last` at even distances, at most nine."""
    tenfold = 10.0 ** floor(log10(last))
    step = next(size for size in (tenfold * part for part in (0.1, 0.2, 0.5, 1, 2)) if last / size <= _TICKS_MAX)
    return [round(number * step, 6) for number in range(int(last / step + 1e-9) + 1)]


def _line(one: Curve, last: float, colour: str, number: int) -> list[str]:
    if not one.points:
        return []
    upper = [f"{_x(minute, last):.1f},{_y(share):.1f}" for minute, share, _ in one.points]
    lower = [f"{_x(minute, last):.1f},{_y(worst):.1f}" for minute, _, worst in reversed(one.points)]
    x, y = _WIDTH - _RIGHT - 110, _HEIGHT - _BOTTOM - 20 - 18 * number
    return [
        f'<polygon points="{" ".join(upper + lower)}" fill="{colour}" fill-opacity="0.12"/>',
        f'<polyline points="{" ".join(upper)}" fill="none" stroke="{colour}" stroke-width="2"/>',
        f'<path d="M{x} {y}h22" stroke="{colour}" stroke-width="3"/>',
        f'<text x="{x + 28}" y="{y + 4}">{escape(one.name)}</text>',
    ]


def _x(minute: float, last: float) -> float:
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * minute / last


def _y(share: float) -> float:
    return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * share

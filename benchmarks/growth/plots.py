"""The plots: lines of points, under what they were measured, and each as a small SVG file, in light and dark.

The same figures give the same bytes. What is kept can be read without matplotlib.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from hive_mind.drawing import COLOURS, SERIES

_FAINT = COLOURS["faint"].light


class Line(msgspec.Struct, frozen=True):
    """One line of a panel; `y` belongs to `x` by position. A peer or a limit is drawn thinner."""

    panel: str
    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    is_peer: bool = False


class Plot(msgspec.Struct, frozen=True):
    """One picture; `x` names what grows, and panels stand side by side in the order of their lines."""

    name: str
    title: str
    x: str
    lines: tuple[Line, ...]
    command: str
    machine: str
    date: str
    is_log: bool = True


def lines_of(rows: Sequence[tuple[float, dict[tuple[str, str], float]]], peers: frozenset[str] = frozenset()) -> tuple[Line, ...]:
    """From what each x gave, by panel and name."""
    keys = dict.fromkeys(key for _, values in rows for key in values)
    made = []
    for panel, name in keys:
        points = [(x, values[panel, name]) for x, values in rows if (panel, name) in values]
        made.append(Line(panel, name, tuple(x for x, _ in points), tuple(y for _, y in points), name in peers))
    return tuple(made)


def draw(plot: Plot, folder: Path) -> Path:
    """Gives where it is."""
    from hive_mind.drawing import as_file, canvas

    panels = list(dict.fromkeys(line.panel for line in plot.lines))
    told = f"{plot.command}\n{plot.machine}, {plot.date}"
    with canvas(4.0, 4.6 * len(panels)) as figure:
        axes = figure.subplots(1, len(panels), squeeze=False)[0]
        for panel, axis in zip(panels, axes, strict=True):
            _draw_panel(axis, panel, plot)
        figure.suptitle(plot.title)
        figure.supxlabel(told, fontsize=7.5, color=_FAINT)
        path = folder / f"{plot.name}.svg"
        path.write_bytes(as_file(figure, "svg", plot.title, told))
    return path


def _draw_panel(axis: Any, panel: str, plot: Plot) -> None:
    lines = [line for line in plot.lines if line.panel == panel]
    ours, peers = ([line for line in lines if line.is_peer is wanted] for wanted in (False, True))
    for line, (marker, colour) in zip(ours, SERIES, strict=False):
        axis.plot(line.x, line.y, color=colour.light, marker=marker, markersize=4, label=line.name)
    for line, marker in zip(peers, "x+", strict=False):
        axis.plot(line.x, line.y, color=_FAINT, marker=marker, markersize=4, linewidth=1, linestyle="--", label=line.name)
    if plot.is_log:
        axis.set_xscale("log")
        axis.set_xticks(lines[0].x, [f"{x:,.0f}" for x in lines[0].x], minor=False)
        axis.set_xticks([], minor=True)
        if _spans(lines) > 30:
            axis.set_yscale("log")
            axis.yaxis.set_major_formatter("{x:g}")
    if axis.get_yscale() != "log":
        axis.set_ylim(0, 1.1 * max(y for line in lines for y in line.y))
    axis.set_xlabel(plot.x)
    axis.set_title(panel, fontsize=10)
    axis.legend(fontsize=9)


def _spans(lines: list[Line]) -> float:
    values = [y for line in lines for y in line.y if y > 0]
    return max(values) / min(values) if values else 1.0

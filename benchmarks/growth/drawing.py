"""A plot as a small SVG file. The same figures give the same bytes."""

from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.growth.points import Line, Plot

# Told apart without colours too: each has its own marker.
_STYLES = (("#0b6e99", "o"), ("#c2410c", "s"), ("#4d7c0f", "^"), ("#7e22ce", "D"))
_PEER_STYLES = (("#6b7280", "x"), ("#9ca3af", "+"))


def draw(plot: Plot, folder: Path) -> Path:
    """Gives where it is."""
    panels = list(dict.fromkeys(line.panel for line in plot.lines))
    with mpl.rc_context({"svg.hashsalt": "hive-mind", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(4.2 * len(panels), 3.6), layout="constrained")
        axes = figure.subplots(1, len(panels), squeeze=False)[0]
        for panel, axis in zip(panels, axes, strict=True):
            _draw_panel(axis, panel, plot)
        figure.suptitle(plot.title)
        figure.supxlabel(f"{plot.command}\n{plot.machine}, {plot.date}", fontsize=7, color="#4b5563")
        path = folder / f"{plot.name}.svg"
        figure.savefig(path, metadata={"Date": None, "Creator": None, "Title": plot.title}, facecolor="white")
    return path


def _draw_panel(axis: Axes, panel: str, plot: Plot) -> None:
    lines = [line for line in plot.lines if line.panel == panel]
    ours, peers = ([line for line in lines if line.is_peer is wanted] for wanted in (False, True))
    for line, (colour, marker) in zip(ours, _STYLES, strict=False):
        axis.plot(line.x, line.y, color=colour, marker=marker, markersize=4, label=line.name)
    for line, (colour, marker) in zip(peers, _PEER_STYLES, strict=False):
        axis.plot(line.x, line.y, color=colour, marker=marker, markersize=4, linewidth=1, linestyle="--", label=line.name)
    if plot.is_log:
        axis.set_xscale("log")
        axis.set_xticks(lines[0].x, [f"{x:,.0f}" for x in lines[0].x], minor=False)
        axis.set_xticks([], minor=True)
        if _spans(lines) > 30:
            axis.set_yscale("log")
    if axis.get_yscale() != "log":
        axis.set_ylim(0, 1.1 * max(y for line in lines for y in line.y))
    axis.set_xlabel(plot.x)
    axis.set_title(panel, fontsize=9)
    axis.grid(visible=True, color="#e5e7eb")
    axis.legend(frameon=False, fontsize=8)


def _spans(lines: list[Line]) -> float:
    values = [y for line in lines for y in line.y if y > 0]
    return max(values) / min(values) if values else 1.0

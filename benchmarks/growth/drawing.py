"""A plot as a small SVG file, in light and dark. The same figures give the same bytes."""

from pathlib import Path

from matplotlib.axes import Axes

from benchmarks.growth.points import Line, Plot
from hive_mind.drawing import COLOURS, SERIES
from hive_mind.drawing.pictures import as_file, canvas

_FAINT = COLOURS["faint"].light


def draw(plot: Plot, folder: Path) -> Path:
    """Gives where it is."""
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


def _draw_panel(axis: Axes, panel: str, plot: Plot) -> None:
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

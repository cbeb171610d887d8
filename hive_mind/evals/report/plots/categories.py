"""Bars per category with their intervals: where an arm is good, and where another is better."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from hive_mind.drawing.palette import COLOURS
from hive_mind.drawing.pictures import canvas
from hive_mind.evals.report.figures import counted
from hive_mind.evals.report.material import Plot
from hive_mind.evals.report.naming import cell_name, metric_name
from hive_mind.evals.report.plots.drawing import finished, key, line_style
from hive_mind.evals.report.selecting import Setting, categories_of, shown_by_category
from hive_mind.evals.scorecards.card import CellCard

# Inches.
_BAR = 0.15
_GAP = 0.16
_EDGES = 0.7
_NAME_MAX = 24


def by_category(setting: Setting, metric: str, name: str) -> Plot | None:
    """A few arms at every category. Nothing where questions have fewer than two."""
    cells, categories = shown_by_category(setting), categories_of(setting, metric)
    if len(categories) < 2:
        return None
    title = f"{metric_name(metric)} by category: {setting.name}"
    step = _BAR * len(cells) + _GAP
    with canvas(_EDGES + step * len(categories)) as figure:
        axes = figure.subplots()
        for place, cell in enumerate(cells):
            _bars(axes, cell, categories, metric, [step * n + _BAR * (place + 0.5) for n in range(len(categories))])
        axes.set_yticks([step * n + _BAR * len(cells) / 2 for n in range(len(categories))], [_short(one) for one in categories])
        axes.set_ylim(step * len(categories), -_GAP)
        axes.set_xlim(0, 1.03)
        axes.grid(visible=False, axis="y")
        axes.set_xlabel(metric_name(metric))
        key(figure, [(cell_name(cell, with_seed=setting.has_seeds), cell.arm.kind, cell.arm.place) for cell in cells])
        return finished(figure, name, title, _caption(title, cells, categories))


def _bars(axes: Axes, cell: CellCard, categories: Sequence[str], metric: str, places: Sequence[float]) -> None:
    colour, style = COLOURS[cell.arm.kind].light, line_style(cell.arm.kind)
    for category, place in zip(categories, places, strict=True):
        estimate = cell.by.get("category", {}).get(category, {}).get(metric)
        if estimate is None:
            continue
        axes.barh(place, estimate.mean, height=_BAR * 0.9, color=colour, alpha=0.3)
        axes.plot([estimate.low, estimate.high], [place, place], color=colour, linewidth=1.4)
        axes.plot([estimate.mean], [place], **{**style, "markersize": 4.5, "linestyle": "none"})


def _caption(title: str, cells: Sequence[CellCard], categories: Sequence[str]) -> str:
    arms = ", ".join(cell_name(cell) for cell in cells)
    return f"{title}. Bars with 95 % intervals of {arms} for {counted(len(categories), 'category', 'categories')}."


def _short(name: str) -> str:
    return name if len(name) <= _NAME_MAX else f"{name[: _NAME_MAX - 1]}…"

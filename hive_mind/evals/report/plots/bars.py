"""Drawings with a line for each thing: bars per category with their intervals, which show where an arm is good and where another
is better; and what learning a fact and asking a question cost a hive, in messages and in bytes.

Here too is what all drawings of a report have in common: a part of the page and a file each, and how an arm's place is shown.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from hive_mind.drawing.palette import COLOURS, MARKERS
from hive_mind.drawing.pictures import as_part, as_png, canvas
from hive_mind.evals.metrics import metric_name
from hive_mind.evals.report.figures import cell_name, counted, number, size
from hive_mind.evals.report.selecting import Plot, Setting, categories_of, shown_by_category
from hive_mind.evals.scorecard import CellCard, System
from hive_mind.measure.intervals import Estimate
from hive_mind.printable import in_one_line

_LEGEND_LINE = 0.21
_FILLS = {"in-process": "full", "redis": "bottom", "simulator": "none"}
_LINES = {"in-process": "-", "redis": "--", "simulator": ":"}
# Characters of a legend of which two stand side by side.
_SHORT = 29


def finished(figure: Figure, name: str, title: str, caption: str) -> Plot:
    return Plot(name, title, caption, as_png(figure, title, caption), as_part(figure, name, title, caption))


def key(figure: Figure, entries: Sequence[tuple[str, str, str]]) -> None:
    """A legend under the figure: the words, the role, and where it ran."""
    marks = [Line2D([], [], label=in_one_line(words), **line_style(role, place)) for words, role, place in entries]
    if marks:
        columns = 2 if max(len(words) for words, _, _ in entries) <= _SHORT else 1
        figure.set_figheight(figure.get_figheight() + _LEGEND_LINE * -(-len(marks) // columns))
        figure.legend(handles=marks, loc="outside lower left", ncols=columns, handlelength=2.2, columnspacing=1.4)


def line_style(role: str, place: str = "in-process") -> dict[str, Any]:
    """Colour, shape and line of a role: full where it ran in process, half over Redis, hollow in the simulator."""
    colour, marker = COLOURS[role].light, MARKERS[role]
    shape = {"marker": marker, "markersize": 11 if marker == "*" else 7, "fillstyle": _FILLS[place], "markerfacecoloralt": "none"}
    return {"color": colour, "linestyle": _LINES[place], "linewidth": 1.6, **shape}


# Inches.
_BAR = 0.15
_GAP = 0.16
_CATEGORY_EDGES = 0.7
_NAME_MAX = 24


def by_category(setting: Setting, metric: str, name: str) -> Plot | None:
    """A few arms at every category. Nothing where questions have fewer than two."""
    cells, categories = shown_by_category(setting), categories_of(setting, metric)
    if len(categories) < 2:
        return None
    title = f"{metric_name(metric)} by category: {setting.name}"
    step = _BAR * len(cells) + _GAP
    with canvas(_CATEGORY_EDGES + step * len(categories)) as figure:
        axes = figure.subplots()
        for place, cell in enumerate(cells):
            _bars(axes, cell, categories, metric, [step * n + _BAR * (place + 0.5) for n in range(len(categories))])
        axes.set_yticks(
            [step * n + _BAR * len(cells) / 2 for n in range(len(categories))], [_short(category) for category in categories]
        )
        axes.set_ylim(step * len(categories), -_GAP)
        axes.set_xlim(0, 1.03)
        axes.grid(visible=False, axis="y")
        axes.set_xlabel(metric_name(metric))
        key(figure, [(cell_name(cell, with_seed=setting.has_seeds), cell.arm.kind, cell.arm.place) for cell in cells])
        return finished(figure, name, title, _caption_of_categories(title, cells, categories))


def _bars(axes: Axes, cell: CellCard, categories: Sequence[str], metric: str, places: Sequence[float]) -> None:
    colour, style = COLOURS[cell.arm.kind].light, line_style(cell.arm.kind)
    for category, place in zip(categories, places, strict=True):
        estimate = cell.by.get("category", {}).get(category, {}).get(metric)
        if estimate is None:
            continue
        axes.barh(place, estimate.mean, height=_BAR * 0.9, color=colour, alpha=0.3)
        axes.plot([estimate.low, estimate.high], [place, place], color=colour, linewidth=1.4)
        axes.plot([estimate.mean], [place], **{**style, "markersize": 4.5, "linestyle": "none"})


def _caption_of_categories(title: str, cells: Sequence[CellCard], categories: Sequence[str]) -> str:
    arms = ", ".join(cell_name(cell) for cell in cells)
    return f"{title}. Bars with 95 % intervals of {arms} for {counted(len(categories), 'category', 'categories')}."


def _short(name: str) -> str:
    return name if len(name) <= _NAME_MAX else f"{name[: _NAME_MAX - 1]}…"


# Inches for each arm, and for the rest.
_LINE = 0.38
_EDGES = 1.1


@dataclass(frozen=True, slots=True)
class _Spent:
    """Cost of an arm. None: not measured."""

    arm: str
    per_fact: float | None
    per_query: float


def costs(setting: Setting, name: str) -> list[Plot]:
    """One drawing for messages, one for bytes. Nothing where nothing was sent."""
    drawn = (
        _drawn(
            setting, "messages", f"messages-{name}", lambda system: (system.learning.messages_per_fact, system.messages), number
        ),
        _drawn(setting, "bytes", f"bytes-{name}", lambda system: (system.learning.bytes_per_fact, system.bytes), size),
    )
    return [plot for plot in drawn if plot]


def _drawn(
    setting: Setting,
    unit: str,
    name: str,
    spent: Callable[[System], tuple[float | None, Estimate]],
    format_value: Callable[[float | None], str],
) -> Plot | None:
    arms = [cost for cell in setting.healthy if (cost := _spent(cell, spent, setting.has_seeds))]
    if not arms:
        return None
    title = f"{unit.capitalize()} per learned fact and per query: {setting.name}"
    with canvas(_EDGES + _LINE * len(arms)) as figure:
        axes = figure.subplots()
        axes.set_xscale("symlog", linthresh=1, linscale=0.3)
        _lines(axes, arms)
        axes.set_xlim(-0.2, max(max(arm.per_fact or 0, arm.per_query, 1) for arm in arms) * 2)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: format_value(value)))
        axes.set_xlabel(f"{unit}, each step tenfold")
        figure.legend(loc="outside lower left", ncols=2)
        return finished(figure, name, title, _caption(title, arms))


def _lines(axes: Axes, arms: Sequence[_Spent]) -> None:
    for place, spent in enumerate(arms):
        ends = [value for value in (spent.per_fact, spent.per_query) if value is not None]
        axes.plot([min(ends), max(ends)], [place, place], color=COLOURS["line"].light, linewidth=3)
        axes.annotate(spent.arm, (0, place), (0, 6), textcoords="offset points", fontsize=8.5)
    per_fact = [(cost.per_fact, place) for place, cost in enumerate(arms) if cost.per_fact is not None]
    per_query = [(cost.per_query, place) for place, cost in enumerate(arms)]
    _points(axes, per_fact, "o", "flat", "per learned fact")
    _points(axes, per_query, "^", "sharded", "per query")
    axes.set_yticks([])
    axes.set_ylim(len(arms) - 0.6, -0.8)
    axes.spines["left"].set_visible(False)


def _points(axes: Axes, places: Sequence[tuple[float, int]], marker: str, role: str, words: str) -> None:
    colour = COLOURS[role].light
    axes.plot([x for x, _ in places], [y for _, y in places], marker, color=colour, label=words, linestyle="none", markersize=7)


def _spent(cell: CellCard, spent: Callable[[System], tuple[float | None, Estimate]], with_seed: bool) -> _Spent | None:
    """None for an arm that sends nothing."""
    if cell.system is None:
        return None
    per_fact, per_query = spent(cell.system)
    if not per_fact and not per_query.mean:
        return None
    return _Spent(cell_name(cell, with_seed=with_seed), per_fact, per_query.mean)


def _caption(title: str, arms: Sequence[_Spent]) -> str:
    def value(number: float | None) -> str:
        return "not measured" if number is None else f"{number:.3g}"

    return f"{title}. " + "; ".join(
        f"{arm.arm}: {value(arm.per_fact)} per fact, {value(arm.per_query)} per query" for arm in arms
    )

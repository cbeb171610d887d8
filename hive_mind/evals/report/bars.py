"""Drawings with a line for each thing: bars per category with their intervals, which show where an arm is good and where another
is better; and what learning a fact and asking a question cost a hive, in messages and in bytes.

Here too is what all drawings of a report have in common: a part of the page and a file each, and how an arm's place is shown.
"""

from collections.abc import Callable, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from hive_mind.counted import in_one_line
from hive_mind.drawing import COLOURS, MARKERS, as_part, as_png, canvas
from hive_mind.evals.metrics import metric_name
from hive_mind.evals.report.selecting import Plot, Setting, categories_of, cell_name, counted, number, shown_by_category, size
from hive_mind.evals.scorecard import CellCard

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


_Spent = tuple[str, float | None, float]
"""An arm, and its cost per fact (None: not measured) and per query."""


def costs(setting: Setting, name: str) -> list[Plot]:
    """One drawing for messages, one for bytes. Nothing where nothing was sent."""
    drawn = (_costs(setting, unit, f"{unit}-{name}", write) for unit, write in (("messages", number), ("bytes", size)))
    return [plot for plot in drawn if plot]


def _costs(setting: Setting, unit: str, name: str, write: Callable[[float | None], str]) -> Plot | None:
    arms = [cost for cell in setting.healthy if (cost := _spent(cell, unit, setting.has_seeds))]
    if not arms:
        return None
    title = f"{unit.capitalize()} per learned fact and per query: {setting.name}"
    with canvas(_EDGES + _LINE * len(arms)) as figure:
        axes = figure.subplots()
        axes.set_xscale("symlog", linthresh=1, linscale=0.3)
        _lines(axes, arms)
        axes.set_xlim(-0.2, max(max(per_fact or 0, per_query, 1) for _, per_fact, per_query in arms) * 2)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: write(value)))
        axes.set_xlabel(f"{unit}, each step tenfold")
        figure.legend(loc="outside lower left", ncols=2)
        return finished(figure, name, title, _caption(title, arms))


def _lines(axes: Axes, arms: Sequence[_Spent]) -> None:
    for place, (arm, per_fact, per_query) in enumerate(arms):
        ends = [value for value in (per_fact, per_query) if value is not None]
        axes.plot([min(ends), max(ends)], [place, place], color=COLOURS["line"].light, linewidth=3)
        axes.annotate(arm, (0, place), (0, 6), textcoords="offset points", fontsize=8.5)
    per_facts = {place: per_fact for place, (_, per_fact, _) in enumerate(arms) if per_fact is not None}
    per_queries = {place: per_query for place, (_, _, per_query) in enumerate(arms)}
    for costs, marker, role, words in ((per_facts, "o", "flat", "per learned fact"), (per_queries, "^", "sharded", "per query")):
        style: dict[str, Any] = {"color": COLOURS[role].light, "label": words, "linestyle": "none", "markersize": 7}
        axes.plot(list(costs.values()), list(costs), marker, **style)
    axes.set_yticks([])
    axes.set_ylim(len(arms) - 0.6, -0.8)
    axes.spines["left"].set_visible(False)


def _spent(cell: CellCard, unit: str, with_seed: bool) -> _Spent | None:
    """None for an arm that sends nothing."""
    if cell.system is None:
        return None
    per_fact, per_query = getattr(cell.system.learning, f"{unit}_per_fact"), getattr(cell.system, unit).mean
    return (cell_name(cell, with_seed=with_seed), per_fact, per_query) if per_fact or per_query else None


def _caption(title: str, arms: Sequence[_Spent]) -> str:
    parts = (
        f"{arm}: {'not measured' if per_fact is None else f'{per_fact:.3g}'} per fact, {per_query:.3g} per query"
        for arm, per_fact, per_query in arms
    )
    return f"{title}. " + "; ".join(parts)

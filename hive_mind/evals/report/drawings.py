"""The drawings of a report, by matplotlib: each a file beside the page and, as SVG, a part of it.

Quality against what it costs in messages, quality and latency against the number of agents, and what failures leave: series with
intervals on one pair of axes are the form of most. Others have a line for each thing: bars per category, which show where an arm
is good and where another is better; and what learning a fact and asking a question cost a hive, in messages and in bytes. Needs
the extra `plots`; importing this without it raises `ModuleNotFoundError`, and the page has its tables.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from statistics import fmean
from typing import Any, Literal, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator
from matplotlib.transforms import ScaledTranslation

from hive_mind.drawing import COLOURS, as_part, as_png, canvas, key, lay_out, line_style
from hive_mind.evals.experiments import Arm, Fault
from hive_mind.evals.metrics import metric_name
from hive_mind.evals.report.selecting import (
    BASELINES,
    KINDS,
    PLACES,
    Drawings,
    Plot,
    Setting,
    arm_name,
    categories_of,
    cell_name,
    counted,
    number,
    quality_metric,
    settings_of,
    shown_by_category,
    size,
)
from hive_mind.evals.scorecard import CellCard, Scorecard
from hive_mind.measure import Estimate, Middle


def finished(figure: Figure, name: str, title: str, caption: str) -> Plot:
    return Plot(name, title, caption, as_png(figure, title, caption), as_part(figure, name, title, caption))


# Inches.
_BAR = 0.15
_GAP = 0.16
_CATEGORY_EDGES = 0.7
_CATEGORY_MAX = 24


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
            [step * n + _BAR * len(cells) / 2 for n in range(len(categories))],
            [name if len(name) <= _CATEGORY_MAX else f"{name[: _CATEGORY_MAX - 1]}…" for name in categories],
        )
        axes.set_ylim(step * len(categories), -_GAP)
        axes.set_xlim(0, 1.03)
        axes.grid(visible=False, axis="y")
        axes.set_xlabel(metric_name(metric))
        key(figure, [(cell_name(cell, with_seed=setting.has_seeds), cell.arm.kind, cell.arm.place) for cell in cells])
        arms = ", ".join(cell_name(cell) for cell in cells)
        caption = f"{title}. Bars with 95 % intervals of {arms} for {counted(len(categories), 'category', 'categories')}."
        return finished(figure, name, title, caption)


def _bars(axes: Axes, cell: CellCard, categories: Sequence[str], metric: str, places: Sequence[float]) -> None:
    colour, style = COLOURS[cell.arm.kind].light, line_style(cell.arm.kind)
    for category, place in zip(categories, places, strict=True):
        estimate = cell.by.get("category", {}).get(category, {}).get(metric)
        if estimate is None:
            continue
        axes.barh(place, estimate.mean, height=_BAR * 0.9, color=colour, alpha=0.3)
        axes.plot([estimate.low, estimate.high], [place, place], color=colour, linewidth=1.4)
        axes.plot([estimate.mean], [place], **{**style, "markersize": 4.5, "linestyle": "none"})


# Inches for each arm, and for the rest.
_ARM = 0.38
_EDGES = 1.1


_Spent = tuple[str, float | None, float]
"""An arm, and its cost per fact (None: not measured) and per query."""


def costs(setting: Setting, name: str) -> list[Plot]:
    """One drawing for messages, one for bytes. Nothing where nothing was sent."""
    drawn = (_costs(setting, unit, f"{unit}-{name}", write) for unit, write in (("messages", number), ("bytes", size)))
    return [plot for plot in drawn if plot]


def _costs(setting: Setting, unit: str, name: str, write: Callable[[float | None], str]) -> Plot | None:
    arms: list[_Spent] = []
    for cell in setting.healthy:
        if cell.system is not None:
            per_fact, per_query = getattr(cell.system.learning, f"{unit}_per_fact"), getattr(cell.system, unit).mean
            # An arm that sends nothing has no place here.
            arms += [(cell_name(cell, with_seed=setting.has_seeds), per_fact, per_query)] if per_fact or per_query else []
    if not arms:
        return None
    title = f"{unit.capitalize()} per learned fact and per query: {setting.name}"
    with canvas(_EDGES + _ARM * len(arms)) as figure:
        axes = figure.subplots()
        axes.set_xscale("symlog", linthresh=1, linscale=0.3)
        _lines(axes, arms)
        axes.set_xlim(-0.2, max(max(per_fact or 0, per_query, 1) for _, per_fact, per_query in arms) * 2)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: write(value)))
        axes.set_xlabel(f"{unit}, each step tenfold")
        figure.legend(loc="outside lower left", ncols=2)
        parts = (
            f"{arm}: {'not measured' if per_fact is None else f'{per_fact:.3g}'} per fact, {per_query:.3g} per query"
            for arm, per_fact, per_query in arms
        )
        return finished(figure, name, title, f"{title}. {'; '.join(parts)}")


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


Across = Literal["even", "tenfold", "tenfold and zero"]
Value = Callable[[CellCard], Estimate | Middle | None]
# Points by which series stand beside each other, so that equal ones don't hide each other; and the most for all of them.
_ASIDE = 4.0
_ASIDE_MAX = 20.0
# In pixels of the drawing: the size of one place, a letter's width, a line's height, and where beside a point words may stand.
_SAME_PLACE = 6.0
_LETTER = 7.5
_LINE = 13
_BESIDE = (8, -14, 22, -28, 36)


@dataclass(frozen=True, slots=True)
class Point:
    """A cell in a drawing, with its interval where there is one. `mark` is written beside it."""

    x: float
    y: float
    low: float
    high: float
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Series:
    """Points from left to right. `kind` is what the legend says; several series may be of one."""

    name: str
    kind: str
    role: str
    place: str
    points: tuple[Point, ...]

    @property
    def means(self) -> list[tuple[float, float]]:
        """From left to right; where several seeds share a place, the mean of theirs."""
        return [(x, fmean(point.y for point in same)) for x, same in groupby(self.points, key=lambda point: point.x)]


def by_kind(cells: Iterable[CellCard], point: Callable[[CellCard], Point | None]) -> list[Series]:
    return _grouped(cells, point, lambda cell: KINDS[cell.arm.kind])


def at(x: float, y: Estimate | Middle | None, mark: str = "") -> Point | None:
    """A point with its interval; None where nothing was measured."""
    if y is None:
        return None
    middle = y.mean if isinstance(y, Estimate) else y.median
    return Point(x, middle, middle if y.low is None else y.low, middle if y.high is None else y.high, mark)


def size_mark(arm: Arm) -> str:
    """How large an arm is, as short as it can be: "10 in 5" are ten agents in five groups, "3/10" three asked of ten."""
    if arm.agents < 2:
        return ""
    if arm.groups:
        return f"{arm.agents} in {arm.groups}"
    return f"{arm.fan_out}/{arm.agents}" if arm.fan_out else str(arm.agents)


def _grouped(
    cells: Iterable[CellCard], point: Callable[[CellCard], Point | None], name: Callable[[CellCard], str]
) -> list[Series]:
    points_by_group: dict[tuple[str, str, str], list[Point]] = {}
    for cell in cells:
        if (cell_point := point(cell)) is not None:
            points_by_group.setdefault((name(cell), cell.arm.kind, cell.arm.place), []).append(cell_point)
    series = []
    for (group, kind, place), points in points_by_group.items():
        label = KINDS[kind] if place == "in-process" else f"{KINDS[kind]}, {PLACES[place].split(',')[0]}"
        series.append(Series(group, label, kind, place, tuple(sorted(points, key=lambda point: (point.x, point.y)))))
    return series


def draw(
    figure: Figure,
    series: Sequence[Series],
    words: tuple[str, str],
    across: Across,
    *,
    is_joined: bool = True,
    highest: float | None = None,
) -> None:
    """Points with their intervals, upwards from zero so that a small difference looks small; joined by a line through means.

    `words` are what stands beside the axes.
    """
    axes = figure.subplots()
    axes.set_xlabel(words[0])
    axes.set_ylabel(words[1])
    _scale(axes, [point.x for curve in series for point in curve.points], across)
    top = max((point.high for curve in series for point in curve.points), default=1.0)
    axes.set_ylim(0, min(highest or float("inf"), max(top, 1e-9)) * 1.08)
    step = min(_ASIDE, _ASIDE_MAX / len(series)) if series else 0.0
    for place, one in enumerate(series):
        _series(figure, axes, one, step * (place - (len(series) - 1) / 2) if is_joined else 0.0, is_joined=is_joined)
    key(figure, list(dict.fromkeys((curve.kind, curve.role, curve.place) for curve in series)))
    # Only a figure that is laid out knows what lies where.
    lay_out(figure)
    _marks(axes, [point for curve in series for point in curve.points if point.mark])


def _series(figure: Figure, axes: Axes, series: Series, aside: float, *, is_joined: bool) -> None:
    style = line_style(series.role, series.place)
    where: dict[str, Any] = {"transform": axes.transData + ScaledTranslation(aside / 72, 0, figure.dpi_scale_trans)}
    for point in series.points:
        axes.plot([point.x, point.x], [point.low, point.high], color=COLOURS[series.role].light, linewidth=1.2, **where)
    axes.plot([p.x for p in series.points], [p.y for p in series.points], **{**style, **where, "linestyle": "none"})
    if is_joined:
        axes.plot(*zip(*series.means, strict=True), **{**style, **where, "marker": ""})


def _scale(axes: Axes, xs: Sequence[float], across: Across) -> None:
    if across == "tenfold and zero":
        # Below one the axis is even, above it each step is tenfold: no message at all is a place too.
        axes.set_xscale("symlog", linthresh=1, linscale=0.4)
        axes.set_xlim(-0.2, max(1.0, *xs) * 1.6)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
        return
    if across == "tenfold":
        axes.set_xscale("log")
        axes.set_xlim(min(xs) / 1.5, max(xs) * 1.7)
    else:
        # One place alone needs some room around it too.
        width = (max(xs) - min(xs)) or 1.0
        axes.set_xlim(min(xs) - 0.08 * width, max(xs) + 0.16 * width)
    axes.set_xticks(sorted(set(xs)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))


def _marks(axes: Axes, points: Sequence[Point]) -> None:
    """Words beside points; those of one place are written together, and none over another."""
    places: dict[tuple[float, float], list[Point]] = {}
    for point in points:
        x, y = (
            round(float(coordinate) / _SAME_PLACE) * _SAME_PLACE for coordinate in axes.transData.transform((point.x, point.y))
        )
        places.setdefault((x, y), []).append(point)
    lines_placed: list[_Line] = []
    for (x, y), same in places.items():
        words = ", ".join(dict.fromkeys(point.mark for point in same))
        is_last = x + _LETTER * len(words) > axes.bbox.x1
        left = x - _LETTER * len(words) if is_last else x
        lines = (_Line(left, left + _LETTER * len(words), y + aside) for aside in _BESIDE)
        if free := next((line for line in lines if not any(line.hides(placed) for placed in lines_placed)), None):
            lines_placed.append(free)
            where = (same[0].x, same[0].y), (-7.0 if is_last else 7.0, (free.y - y) * 0.72 - 3)
            side = "right" if is_last else "left"
            axes.annotate(words, *where, textcoords="offset points", fontsize=8.5, horizontalalignment=side)


class _Line(NamedTuple):
    """Where words would stand, in pixels of the drawing."""

    left: float
    right: float
    y: float

    def hides(self, line: "_Line") -> bool:
        return self.left < line.right and line.left < self.right and abs(self.y - line.y) < _LINE


def by_messages(setting: Setting, metric: str, name: str) -> Plot | None:
    """Quality by messages. Nothing where no cell sent one."""
    series = by_kind(
        setting.healthy,
        lambda cell: at(cell.system.messages.mean, cell.metrics.get(metric), size_mark(cell.arm)) if cell.system else None,
    )
    if not any(point.x > 0 for curve in series for point in curve.points):
        return None
    title = f"{metric_name(metric)} against messages per query: {setting.name}"
    words = "messages per query, replies included", metric_name(metric)
    return _plot(name, title, series, words, "tenfold and zero", is_joined=False, highest=1.0)


def _against_agents(
    setting: Setting, name: str, title: str, upwards: str, value: Value, *, highest: float | None = None
) -> Plot | None:
    """Quality when more agents hold the same facts, or the time of a question, without embedding it."""
    cells = [cell for cell in setting.healthy if cell.arm.kind not in BASELINES]
    series = by_kind(cells, lambda cell: at(cell.arm.agents, value(cell)))
    if len({point.x for curve in series for point in curve.points}) < 2:
        return None
    return _plot(name, title, series, ("agents", upwards), "tenfold", highest=highest)


def _latency(cell: CellCard) -> Middle | None:
    return cell.system.wall_ms if cell.system else None


_ACROSS = {"down": "nodes down", "loss": "share of messages lost", "slow": "slow members"}


def by_failure(setting: Setting, metric: str, name: str) -> Iterator[Plot]:
    """Drawings for every sort of fault that was tried. Slow members cost time, the others quality."""
    for fault in _ACROSS:
        # Cells with this sort of fault only, and the same arms without any.
        ill = [cell for cell in setting.faulty if replace(cell.fault, **{fault: 0, "slow_ms": 0}) == Fault()]
        arms = {cell.arm for cell in ill}
        cells = [cell for cell in setting.healthy if cell.arm in arms] + ill
        values: list[tuple[str, str, Value]] = [
            ("completeness", "completeness", lambda cell: cell.system.completeness if cell.system else None),
            ("latency", "median ms per query", _latency)
            if fault == "slow"
            else ("quality", metric_name(metric), lambda cell: cell.metrics.get(metric)),
        ]
        for kind, upwards, value in values:
            yield from _fault_plot(cells, fault, setting, f"{kind}-by-{fault}-{name}", upwards, value)


def _fault_plot(cells: list[CellCard], fault: str, setting: Setting, name: str, upwards: str, value: Value) -> Iterator[Plot]:
    # A series for each arm and place, with its size written at its end.
    curves = _grouped(cells, lambda cell: at(getattr(cell.fault, fault), value(cell)), lambda cell: arm_name(cell.arm))
    sizes = {arm_name(cell.arm): size_mark(cell.arm) for cell in cells}
    series = [replace(curve, points=(*curve.points[:-1], replace(curve.points[-1], mark=sizes[curve.name]))) for curve in curves]
    if series:
        title = f"{upwards} by {_ACROSS[fault]}: {setting.name}"
        title = title if "@" in upwards else title[0].upper() + title[1:]
        words, highest = (_ACROSS[fault], upwards), None if value is _latency else 1.0
        yield _plot(name, title, series, words, "even", highest=highest)


def _plot(
    name: str,
    title: str,
    series: list[Series],
    words: tuple[str, str],
    across: Across,
    *,
    is_joined: bool = True,
    highest: float | None = None,
) -> Plot:
    """Its caption says what it shows to readers that don't see it: each series with its first and last point."""
    caption = f"{title}. " + "; ".join(f"{curve.name}: {_ends(curve)}" for curve in series) + ". The figures are in the tables."
    with canvas() as figure:
        draw(figure, series, words, across, is_joined=is_joined, highest=highest)
        return finished(figure, name, title, caption)


def _ends(series: Series) -> str:
    (first, low), (last, high) = series.means[0], series.means[-1]
    return f"{low:.3g}" if first == last else f"{low:.3g} at {first:.3g}, {high:.3g} at {last:.3g}"


_NAME_MAX = 40


def drawn(card: Scorecard) -> Drawings:
    metric, settings = quality_metric(card), list(_named(settings_of(card)))
    return Drawings(
        tuple(tuple(plot for plot in _own(setting, metric, name) if plot) for setting, name in settings),
        tuple(plot for setting, name in settings for plot in by_failure(setting, metric, name)),
        tuple(plot for setting, name in settings for plot in costs(setting, name)),
    )


def _own(setting: Setting, metric: str, name: str) -> Iterator[Plot | None]:
    yield by_messages(setting, metric, f"quality-by-messages-{name}")
    title, quality = f"against number of agents: {setting.name}", metric_name(metric)
    yield _against_agents(
        setting, f"quality-by-agents-{name}", f"{quality} {title}", quality, lambda cell: cell.metrics.get(metric), highest=1.0
    )
    yield _against_agents(setting, f"latency-by-agents-{name}", f"Latency {title}", "median ms per query", _latency)
    yield by_category(setting, metric, f"by-category-{name}")


def _named(settings: list[Setting]) -> Iterator[tuple[Setting, str]]:
    """Each with a name that is safe in a file's name and nobody else's."""
    names: set[str] = set()
    for setting in settings:
        plain = re.sub(r"[^a-z0-9]+", "-", setting.name.lower()).strip("-")[:_NAME_MAX] or "data"
        name, number = plain, 2
        while name in names:
            name, number = f"{plain}-{number}", number + 1
        names.add(name)
        yield setting, name

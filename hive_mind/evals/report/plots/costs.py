"""Cost of learning a fact and of asking a question to a hive, in messages and in bytes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from hive_mind.drawing.palette import COLOURS
from hive_mind.drawing.pictures import canvas
from hive_mind.evals.report.figures import number, size
from hive_mind.evals.report.material import Plot
from hive_mind.evals.report.naming import cell_name
from hive_mind.evals.report.plots.drawing import finished
from hive_mind.evals.report.selecting import Setting
from hive_mind.evals.scorecards.card import CellCard, System
from hive_mind.measure.intervals import Estimate

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
        _drawn(setting, "messages", f"messages-{name}", lambda one: (one.learning.messages_per_fact, one.messages), number),
        _drawn(setting, "bytes", f"bytes-{name}", lambda one: (one.learning.bytes_per_fact, one.bytes), size),
    )
    return [plot for plot in drawn if plot]


def _drawn(
    setting: Setting,
    unit: str,
    name: str,
    spent: Callable[[System], tuple[float | None, Estimate]],
    written: Callable[[float | None], str],
) -> Plot | None:
    arms = [one for cell in setting.healthy if (one := _spent(cell, spent, setting.has_seeds))]
    if not arms:
        return None
    title = f"{unit.capitalize()} per learned fact and per query: {setting.name}"
    with canvas(_EDGES + _LINE * len(arms)) as figure:
        axes = figure.subplots()
        axes.set_xscale("symlog", linthresh=1, linscale=0.3)
        _lines(axes, arms)
        axes.set_xlim(-0.2, max(max(arm.per_fact or 0, arm.per_query, 1) for arm in arms) * 2)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: written(value)))
        axes.set_xlabel(f"{unit}, each step tenfold")
        figure.legend(loc="outside lower left", ncols=2)
        return finished(figure, name, title, _caption(title, arms))


def _lines(axes: Axes, arms: Sequence[_Spent]) -> None:
    for place, spent in enumerate(arms):
        ends = [value for value in (spent.per_fact, spent.per_query) if value is not None]
        axes.plot([min(ends), max(ends)], [place, place], color=COLOURS["line"].light, linewidth=3)
        axes.annotate(spent.arm, (0, place), (0, 6), textcoords="offset points", fontsize=8.5)
    known = [(one.per_fact, place) for place, one in enumerate(arms) if one.per_fact is not None]
    asked = [(one.per_query, place) for place, one in enumerate(arms)]
    _points(axes, known, "o", "flat", "per learned fact")
    _points(axes, asked, "^", "sharded", "per query")
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
    def value(one: float | None) -> str:
        return "not measured" if one is None else f"{one:.3g}"

    return f"{title}. " + "; ".join(
        f"{arm.arm}: {value(arm.per_fact)} per fact, {value(arm.per_query)} per query" for arm in arms
    )

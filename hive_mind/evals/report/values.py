"""Measured values as they stand in a table: the figure, its interval beside it, and whether a difference is real."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar

from hive_mind.evals.report import figures
from hive_mind.evals.report.markup import Column, Content, Markup, joined, tag, trusted, words
from hive_mind.evals.report.material import Plot
from hive_mind.evals.report.naming import PLACES, cell_name, metric_name
from hive_mind.evals.report.selecting import Setting
from hive_mind.evals.scorecards.card import CellCard, System
from hive_mind.hive.topology.spec import SINGLE
from hive_mind.measure.differences import Difference, sense_of
from hive_mind.measure.intervals import Estimate, Middle

CellColumn = Column[CellCard]
Spent = TypeVar("Spent")


def arm(setting: Setting) -> CellColumn:
    return Column("arm", lambda cell: cell_name(cell, with_seed=setting.has_seeds))


def means(metrics: Iterable[str]) -> list[CellColumn]:
    """A column for each metric: its mean with the interval."""
    return [Column(metric_name(metric), partial(_mean, metric)) for metric in metrics]


def beside_single(metrics: Iterable[str]) -> list[CellColumn]:
    """A column for each metric: how far from the single memory."""
    return [Column(f"{metric_name(metric)} beside single", partial(against, metric=metric)) for metric in metrics]


def spent(name: str, written: Callable[[Spent], Content], of: Callable[[System], Spent], hint: str = "") -> CellColumn:
    """Something that answering took; a dash where nothing was answered."""
    return Column(name, lambda cell: written(of(cell.system)) if cell.system else figures.NOTHING, hint=hint)


MESSAGES = spent("messages per query", figures.number, lambda one: one.messages.mean)
RAN: CellColumn = words("ran", lambda cell: PLACES[cell.arm.place])


def _mean(metric: str, cell: CellCard) -> Markup:
    return estimate(cell.metrics.get(metric))


def estimate(one: Estimate | None) -> Markup:
    if one is None:
        return joined(figures.NOTHING)
    return joined(figures.score(one.mean), " ", tag("span", figures.between(one.low, one.high), class_="interval"))


def difference(one: Difference | None, metric: str) -> Markup:
    """How far from the single memory, with its interval and a word that says whether that is more than chance."""
    if one is None:
        return joined(figures.NOTHING)
    if one.difference == one.low == one.high == 0:
        return verdict(one, metric)
    interval = tag("span", figures.between(one.low, one.high, is_change=True), class_="interval")
    return joined(figures.change(one.difference), " ", interval, " ", verdict(one, metric))


def verdict(one: Difference, metric: str) -> Markup:
    """ "better", "worse" (or "higher", "lower"), "equal", or why nothing can be said."""
    if one.difference == one.low == one.high == 0:
        return tag("span", "equal", class_="verdict")
    if not one.is_real:
        return tag("span", "too few questions" if one.has_too_few_questions else "may be chance", class_="verdict")
    sense = sense_of(metric)
    if sense == "neither":
        return tag("span", "higher" if one.difference > 0 else "lower", class_="verdict")
    is_better = (one.difference > 0) == (sense == "better")
    return tag("span", "better" if is_better else "worse", class_="verdict good" if is_better else "verdict bad")


def against(cell: CellCard, metric: str) -> Markup:
    """A cell beside the single memory."""
    if cell.against_single is None:
        return joined("reference" if cell.arm.kind == SINGLE else figures.NOTHING)
    return difference(cell.against_single.metrics.get(metric), metric)


def identical(cell: CellCard) -> Markup:
    """Share of questions with the same facts in the same order."""
    if cell.against_single is None:
        return joined(figures.NOTHING)
    identical_top_k = cell.against_single.identical_top_k
    return joined(figures.share(identical_top_k.mean, digits=2) if identical_top_k else figures.NOTHING)


def middle(one: Middle | None) -> Markup:
    """A median time, and its interval where there are enough questions for one."""
    if one is None:
        return joined(figures.NOTHING)
    if one.low is None or one.high is None:
        return joined(figures.milliseconds(one.median))
    interval = f"{figures.milliseconds(one.low)} to {figures.milliseconds(one.high)}"
    return joined(figures.milliseconds(one.median), " ", tag("span", interval, class_="interval"))


def drawing(plot: Plot) -> Markup:
    """A drawing with its caption and the file it is also in."""
    file = tag("span", f"plots/{plot.name}.png", class_="note")
    return tag("figure", trusted(plot.svg), tag("figcaption", plot.title, " ", file))


def drawings(plots: tuple[Plot, ...]) -> Markup:
    return tag("div", (drawing(plot) for plot in plots), class_="plots") if plots else Markup()


def section(id: str, title: str, *content: Markup | str) -> Markup:
    """A part of the page that can be linked to. Nothing where it has no content."""
    body = joined(*content)
    return tag("section", tag("h2", title, id=f"{id}-title"), body, id=id, aria_labelledby=f"{id}-title") if body else Markup()


def paragraph(*content: Markup | str) -> Markup:
    return tag("p", *content)

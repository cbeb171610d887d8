"""Each data set: quality with intervals, cost of answering, drawings, and every measure broken out."""

from functools import partial
from operator import itemgetter

from hive_mind.evals.report import figures
from hive_mind.evals.report.markup import Column, Markup, joined, table, tag
from hive_mind.evals.report.material import Material
from hive_mind.evals.report.naming import cell_name, metric_name
from hive_mind.evals.report.selecting import Setting, shown_by_category
from hive_mind.evals.report.values import MESSAGES, RAN, arm, beside_single, drawings, estimate, identical, means, section, spent
from hive_mind.evals.scorecards.card import CellCard
from hive_mind.measure.intervals import Estimate

_Measured = tuple[str, list[Estimate | None]]
"""A category, or the like, and what each arm reaches there."""

PARTS = {"category": "category", "intent": "intent", "source": "source"}


def results(material: Material) -> Markup:
    """All data sets, one after another."""
    return joined(_of_setting(material, setting, number) for number, setting in enumerate(material.settings, 1))


def _of_setting(material: Material, setting: Setting, number: int) -> Markup:
    return section(
        f"results-{number}",
        f"Results: {setting.name}",
        tag("p", f"{setting.extent}."),
        _quality(material, setting),
        drawings(material.plots(setting)),
        _everything(setting),
        *(_broken_out(material, setting, part) for part in PARTS),
    )


def _quality(material: Material, setting: Setting) -> Markup:
    columns = (
        arm(setting),
        *means(material.measures),
        *beside_single(material.measures),
        Column(f"identical top {material.card.limit}", identical),
        MESSAGES,
        spent("median time", figures.milliseconds, lambda one: one.wall_ms.median),
        RAN,
    )
    return table(f"Quality, {setting.name}", columns, setting.healthy, note="95 % intervals beside each mean")


def _everything(setting: Setting) -> Markup:
    names = list(dict.fromkeys(metric for cell in setting.healthy for metric in cell.metrics))
    of_cells = list(dict.fromkeys(name for cell in setting.healthy for name in cell.figures))
    of_cell = [Column(metric_name(name), partial(_figure, name)) for name in of_cells]
    columns = (arm(setting), *means(names), *of_cell)
    return _folded("All measures", table(f"All measures, {setting.name}", columns, setting.healthy))


def _figure(name: str, cell: CellCard) -> str:
    return figures.score(cell.figures.get(name))


def _broken_out(material: Material, setting: Setting, part: str) -> Markup:
    """One measure by category, intent or source; a row for each value, a column for each of a few arms."""
    cells = shown_by_category(setting)
    values = list(dict.fromkeys(value for cell in cells for value in cell.by.get(part, {})))
    if len(values) < 2:
        return Markup()
    found, names = [], [cell_name(cell, with_seed=setting.has_seeds) for cell in cells]
    for metric in material.measures:
        measured = [(value, [cell.by.get(part, {}).get(value, {}).get(metric) for cell in cells]) for value in values]
        columns: list[Column[_Measured]] = [Column(PARTS[part], itemgetter(0)), Column("questions", _asked)]
        columns += [Column(name, partial(_nth, place)) for place, name in enumerate(names)]
        rows = [row for row in measured if any(row[1])]
        found.append(table(f"{metric_name(metric)} by {PARTS[part]}, {setting.name}", columns, rows))
    return _folded(f"By {PARTS[part]}", *found)


def _asked(row: _Measured) -> str:
    return figures.number(max((one.n for one in row[1] if one), default=0))


def _nth(place: int, row: _Measured) -> Markup:
    return estimate(row[1][place])


def _folded(title: str, *content: Markup) -> Markup:
    return tag("details", tag("summary", title), *content) if any(content) else Markup()

"""Each data set: quality with intervals, what answering took, drawings, and every measure broken out."""

from hive_mind.evals.report import figures
from hive_mind.evals.report.markup import Column, Content, Markup, joined, table, tag
from hive_mind.evals.report.material import Material
from hive_mind.evals.report.naming import PLACES, cell_name, metric_name
from hive_mind.evals.report.selecting import Setting, shown_by_category
from hive_mind.evals.report.values import against, drawings, estimate, identical, section
from hive_mind.evals.scorecards.card import CellCard

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
        Column("arm"),
        *(Column(metric_name(metric)) for metric in material.measures),
        *(Column(f"{metric_name(metric)} beside single") for metric in material.measures),
        Column(f"identical top {material.card.limit}"),
        Column("messages per query"),
        Column("median time"),
        Column("ran", is_number=False),
    )
    rows = [_quality_row(material, setting, cell) for cell in setting.healthy]
    return table(f"Quality, {setting.name}", columns, rows, note="95 % intervals beside each mean")


def _quality_row(material: Material, setting: Setting, cell: CellCard) -> list[Content]:
    means = [estimate(cell.metrics.get(metric)) for metric in material.measures]
    beside = [against(cell, metric) for metric in material.measures]
    sent, time = (cell.system.messages.mean, cell.system.wall_ms.median) if cell.system else (None, None)
    name = cell_name(cell, with_seed=setting.has_seeds)
    last = (identical(cell), figures.number(sent), figures.milliseconds(time))
    return [name, *means, *beside, *last, PLACES[cell.arm.place]]


def _everything(setting: Setting) -> Markup:
    """All measures of all healthy arms."""
    names = list(dict.fromkeys(metric for cell in setting.healthy for metric in cell.metrics))
    of_cells = list(dict.fromkeys(name for cell in setting.healthy for name in cell.figures))
    columns = (Column("arm"), *(Column(metric_name(name)) for name in (*names, *of_cells)))
    rows = [
        [
            cell_name(cell, with_seed=setting.has_seeds),
            *(estimate(cell.metrics.get(name)) for name in names),
            *(figures.score(cell.figures.get(name)) for name in of_cells),
        ]
        for cell in setting.healthy
    ]
    return _folded("All measures", table(f"All measures, {setting.name}", columns, rows))


def _broken_out(material: Material, setting: Setting, part: str) -> Markup:
    """One measure by category, intent or source; a row for each value, a column for each of a few arms."""
    cells = shown_by_category(setting)
    values = list(dict.fromkeys(value for cell in cells for value in cell.by.get(part, {})))
    if len(values) < 2:
        return Markup()
    found, names = [], [cell_name(cell, with_seed=setting.has_seeds) for cell in cells]
    for metric in material.measures:
        columns = (Column(PARTS[part]), Column("questions"), *map(Column, names))
        rows = [_part_row(cells, part, value, metric) for value in values if _is_measured(cells, part, value, metric)]
        found.append(table(f"{metric_name(metric)} by {PARTS[part]}, {setting.name}", columns, rows))
    return _folded(f"By {PARTS[part]}", *found)


def _part_row(cells: list[CellCard], part: str, value: str, metric: str) -> list[Content]:
    measured = [cell.by.get(part, {}).get(value, {}).get(metric) for cell in cells]
    asked = max((one.n for one in measured if one), default=0)
    return [value, figures.number(asked), *(estimate(one) for one in measured)]


def _is_measured(cells: list[CellCard], part: str, value: str, metric: str) -> bool:
    return any(metric in cell.by.get(part, {}).get(value, {}) for cell in cells)


def _folded(title: str, *content: Markup) -> Markup:
    return tag("details", tag("summary", title), *content) if any(content) else Markup()

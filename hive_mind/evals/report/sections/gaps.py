"""Parts missing from the figures: cells that failed, questions without a result, and input left out of each data set."""

from hive_mind.evals.report import figures
from hive_mind.evals.report.markup import Column, Markup, table, tag, words
from hive_mind.evals.report.material import Material
from hive_mind.evals.report.naming import cell_name
from hive_mind.evals.report.selecting import data_name
from hive_mind.evals.report.values import paragraph, section
from hive_mind.evals.scorecards.card import CellCard


def failed(material: Material) -> Markup:
    """Every cell without figures, with its reason; and questions that have no result in a cell that is done."""
    columns: tuple[Column[CellCard], ...] = (
        words("arm", _name),
        words("data", lambda cell: data_name(material.card, cell.data)),
        words("ranking", lambda cell: cell.retrieval.name),
        words("status", lambda cell: cell.status),
        words("why", lambda cell: cell.why),
        words("cell", _id),
    )
    cells = table("Cells without figures", columns, material.card.without_figures)
    markup = cells or paragraph("Every cell that was planned was finished.")
    return section("failed", "What failed", markup, _errors(material))


def left_out(material: Material) -> Markup:
    """Counts by reason, for each data set."""
    found: dict[str, dict[str, int]] = {}
    for cell in material.card.cells:
        reasons = found.setdefault(data_name(material.card, cell.data), {})
        for reason, count in cell.left_out.items():
            reasons[reason] = max(count, reasons.get(reason, 0))
    rows = [(name, reason, count) for name, reasons in found.items() for reason, count in reasons.items()]
    columns: tuple[Column[tuple[str, str, int]], ...] = (
        Column("data", lambda row: row[0]),
        words("what was left out, and why", lambda row: row[1]),
        Column("how many", lambda row: figures.number(row[2])),
    )
    absent = material.card.environment.get("absent")
    gone = (
        paragraph(f"Not asked, because not there or without a question of those asked: {', '.join(str(one) for one in absent)}.")
        if absent and isinstance(absent, list)
        else ""
    )
    names = [name for name, reasons in found.items() if not reasons]
    none = paragraph(f"Nothing was left out of {', '.join(names)}.") if names else Markup()
    return section("left-out", "What was left out of the data", gone, table("Left out", columns, rows), none)


def _errors(material: Material) -> Markup:
    rows = [(cell, reason, count) for cell in material.card.done for reason, count in cell.errors.items()]
    columns: tuple[Column[tuple[CellCard, str, int]], ...] = (
        Column("arm", lambda row: _name(row[0])),
        words("data", lambda row: data_name(material.card, row[0].data)),
        words("why", lambda row: row[1]),
        Column("questions", lambda row: figures.number(row[2])),
        words("cell", lambda row: _id(row[0])),
    )
    return table("Questions without a result", columns, rows, note="they are part of no mean")


def _name(cell: CellCard) -> str:
    return cell_name(cell, with_seed=True)


def _id(cell: CellCard) -> Markup:
    return tag("code", cell.id)

"""What is not in the figures: cells that failed, questions without a result, and what was left out of each data set."""

from hive_mind.evals.report import figures
from hive_mind.evals.report.markup import Column, Markup, joined, table, tag
from hive_mind.evals.report.material import Material
from hive_mind.evals.report.naming import cell_name
from hive_mind.evals.report.selecting import data_name
from hive_mind.evals.report.values import paragraph, section
from hive_mind.evals.scorecards.card import CellCard


def failed(material: Material) -> Markup:
    """Every cell without figures, with its reason; and questions that have no result in a cell that is done."""
    cells = [
        [
            cell_name(cell, with_seed=True),
            data_name(material.card, cell.data),
            cell.retrieval.name,
            cell.status,
            cell.why,
            _id(cell),
        ]
        for cell in material.card.without_figures
    ]
    columns = [Column(name, is_number=False) for name in ("arm", "data", "ranking", "status", "why", "cell")]
    shown = table("Cells without figures", columns, cells) or paragraph("Every cell that was planned was finished.")
    return section("failed", "What failed", shown, _errors(material))


def left_out(material: Material) -> Markup:
    """Counts by reason, for each data set."""
    found: dict[str, dict[str, int]] = {}
    for cell in material.card.cells:
        reasons = found.setdefault(data_name(material.card, cell.data), {})
        for reason, count in cell.left_out.items():
            reasons[reason] = max(count, reasons.get(reason, 0))
    rows = [[name, reason, figures.number(count)] for name, reasons in found.items() for reason, count in reasons.items()]
    columns = (Column("data"), Column("what was left out, and why", is_number=False), Column("how many"))
    absent = material.card.environment.get("absent")
    gone = (
        paragraph(f"Not asked, because not there or without a question of those asked: {', '.join(str(one) for one in absent)}.")
        if absent and isinstance(absent, list)
        else ""
    )
    whole = [name for name, reasons in found.items() if not reasons]
    words = paragraph(f"Nothing was left out of {', '.join(whole)}.") if whole else Markup()
    return section("left-out", "What was left out of the data", gone, table("Left out", columns, rows), words)


def _errors(material: Material) -> Markup:
    rows = [
        [cell_name(cell, with_seed=True), data_name(material.card, cell.data), reason, figures.number(count), _id(cell)]
        for cell in material.card.done
        for reason, count in cell.errors.items()
    ]
    columns = (
        Column("arm"),
        Column("data", is_number=False),
        Column("why", is_number=False),
        Column("questions"),
        Column("cell", False),
    )
    return joined(table("Questions without a result", columns, rows, note="they are part of no mean"))


def _id(cell: CellCard) -> Markup:
    return tag("code", cell.id)

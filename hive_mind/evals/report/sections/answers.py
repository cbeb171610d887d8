"""The answers: how good they are by their keywords, at a glance, and three of them to read.

A figure about answers means little without examples. So the page shows one answer that has its keywords, one that lacks them and
one that was declined, where there are such; always the first, so that none are picked by hand.
"""

from collections.abc import Sequence

from hive_mind.evals.report import figures
from hive_mind.evals.report.markup import Column, Markup, joined, table, words
from hive_mind.evals.report.material import Material
from hive_mind.evals.report.naming import KINDS, cell_name
from hive_mind.evals.report.selecting import ANSWERS, Setting, representatives
from hive_mind.evals.report.values import means, paragraph, section
from hive_mind.evals.rows import Row

_SHOWN = 3
_CHARACTERS_MAX = 400


def at_a_glance(material: Material) -> Markup:
    """Answers of one arm of each kind, a table for each setting in which somebody answered."""
    return joined(_of_setting(setting) for setting in material.settings)


def examples(material: Material) -> Markup:
    """Three questions with their answers, of the first cell that has answers."""
    for setting in material.settings:
        for cell in setting.healthy:
            rows = [row for row in material.run.cell(cell.id).rows.values() if row.answer]
            if rows:
                name = cell_name(cell, with_seed=setting.has_seeds)
                introduction = f"Of {name} on {setting.name}, answered by {cell.answerer or 'nobody'}."
                columns: tuple[Column[Row], ...] = (
                    words("question", lambda row: row.asked or row.question),
                    words("answer", lambda row: _clipped(row.answer)),
                    words("by its labels", lambda row: _verdict(row) or "not labelled"),
                )
                markup = table("Three questions", columns, chosen(rows))
                return section("answers", "Questions and their answers", paragraph(introduction), markup)
    return Markup()


def chosen(rows: Sequence[Row]) -> list[Row]:
    """The first that has its keywords, the first that lacks them, the first that was declined; others where one is missing."""
    kinds = ("has its keywords", "lacks its keywords", "declined")
    firsts = [next((row for row in rows if _verdict(row) == kind), None) for kind in kinds]
    found_rows = [row for row in firsts if row is not None]
    return [*found_rows, *(row for row in rows if row not in found_rows)][:_SHOWN]


def _of_setting(setting: Setting) -> Markup:
    cells = representatives(setting.healthy, tuple(KINDS))
    names = [name for name in ANSWERS if any(name in cell.metrics for cell in cells)]
    if not names:
        return Markup()
    answered = [cell for cell in cells if any(name in cell.metrics for name in names)]
    who = ", ".join(dict.fromkeys(cell.answerer for cell in cells if cell.answerer)) or "nobody"
    columns = (Column("arm", lambda cell: KINDS[cell.arm.kind]), *means(names))
    return table(
        f"Answers at a glance, {setting.name}", columns, answered, note=f"answered by {who}; by keywords, where labelled"
    )


def _verdict(row: Row) -> str:
    """The labels' verdict on an answer; "" where nothing is labelled."""
    if row.metrics.get("abstained"):
        return "declined"
    if any(row.metrics.get(name) for name in ("forbidden_hit", "stale")):
        return "lacks its keywords"
    hits = [hit for name in ("keyword_hit", "required_hit") if (hit := row.metrics.get(name)) is not None]
    return ("has its keywords" if all(hits) else "lacks its keywords") if hits else ""


def _clipped(text: str) -> str:
    return text if len(text) <= _CHARACTERS_MAX else f"{text[: _CHARACTERS_MAX - 1]}{figures.MORE}"

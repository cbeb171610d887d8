"""Arms beside one memory: does a topology find the same, what does merging by rank lose, what does asking fewer cost, and what do
baselines find."""

from collections.abc import Callable

from hive_mind.counted import first_of
from hive_mind.evals.report import figures, values
from hive_mind.evals.report.markup import Column, Markup, table, words
from hive_mind.evals.report.material import Material
from hive_mind.evals.report.naming import BASELINES, PLACES, arm_name
from hive_mind.evals.report.selecting import EXACT, Setting
from hive_mind.evals.report.values import MESSAGES, arm, identical, means, paragraph, section, spent
from hive_mind.evals.scorecards.card import CellCard
from hive_mind.hive.topology.spec import SINGLE
from hive_mind.measure.intervals import share_ruled_out


def parity(material: Material) -> Markup:
    """Identical top-k against single: share, larger shares ruled out, and which questions differ."""
    k = material.card.limit
    rows = [_Parity(material, setting, cell) for setting in material.settings for cell in setting.of_kind(*EXACT)]
    columns: tuple[Column[_Parity], ...] = (
        Column("arm", lambda row: arm_name(row.cell.arm) + (f", seed {row.cell.seed}" if row.setting.has_seeds else "")),
        words("data", lambda row: row.setting.name),
        Column(f"identical top {k}", lambda row: identical(row.cell)),
        Column("questions", lambda row: figures.number(row.compared)),
        Column("differ", lambda row: figures.number(len(row.differing) if row.compared else None)),
        Column("more than this is ruled out", _ruled_out, hint="share of questions that could differ, at 95 %"),
        words("which differ", lambda row: row.named),
        words("ran", lambda row: PLACES[row.cell.arm.place]),
    )
    introduction = "The same facts in the same order as one memory that holds everything. Facts are compared, not documents."
    return (
        section("parity", "Parity", paragraph(introduction), table(f"Identical top {k} against single", columns, rows))
        if rows
        else Markup()
    )


def merged_by_rank(material: Material) -> Markup:
    """The arm of the first design, with its loss."""
    introduction = (
        "The design that hive-mind began with (document 004) merges what groups found by reciprocal rank fusion of a keyword "
        "list and a list ordered by confidence. It runs here as an arm of its own (seed-federated), on the same facts and "
        "questions. Beside single:"
    )
    return beside_single(material, ("seed-federated",), "merged-by-rank", "What merging lists by rank loses", introduction)


def baselines(material: Material) -> Markup:
    introduction = (
        "No figure stands alone: keywords over one memory, a draw by chance, and, where a model answers, everything as its "
        "context, which ranks nothing. Beside single:"
    )
    return beside_single(material, BASELINES, "baselines", "Baselines", introduction)


def beside_single(
    material: Material,
    kinds: tuple[str, ...],
    id: str,
    title: str,
    introduction: str,
    *,
    wanted: Callable[[CellCard, Setting], bool] = lambda _cell, _setting: True,
    more: Markup | str = "",
) -> Markup:
    """A section with a table for each setting: single, and the cells of these kinds that are wanted, beside it."""
    found = []
    for setting in material.settings:
        cells = [cell for cell in setting.of_kind(*kinds) if wanted(cell, setting)]
        columns = (
            arm(setting),
            *means(material.measures),
            *values.beside_single(material.measures),
            Column(f"identical top {material.card.limit}", identical),
            spent("nodes asked", figures.number, lambda one: one.fan_out.mean),
            MESSAGES,
        )
        found.append(table(f"Beside single, {setting.name}", columns, (*setting.of_kind(SINGLE), *cells) if cells else ()))
    return section(id, title, paragraph(introduction), *found, more) if any(found) else Markup()


class _Parity:
    """A topology beside the single memory. `compared` are questions, None where there is no single."""

    def __init__(self, material: Material, setting: Setting, cell: CellCard) -> None:
        estimate = cell.against_single.identical_top_k if cell.against_single else None
        self.setting, self.cell, self.compared = setting, cell, estimate.n if estimate else None
        self.differing = material.differing(cell)
        self.named = (first_of(self.differing, 5) or "none") if estimate else "there is no single to compare with"


def _ruled_out(row: _Parity) -> str:
    return figures.share(share_ruled_out(len(row.differing), row.compared), digits=2) if row.compared else figures.NOTHING

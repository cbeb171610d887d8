"""Arms beside one memory: does a topology find the same, what does merging by rank lose, what does asking fewer cost, and what do
baselines find."""

from collections.abc import Callable

from hive_mind.evals.report import figures
from hive_mind.evals.report.markup import Column, Content, Markup, joined, table
from hive_mind.evals.report.material import Material
from hive_mind.evals.report.naming import BASELINES, PLACES, arm_name, cell_name, metric_name
from hive_mind.evals.report.selecting import EXACT, Setting
from hive_mind.evals.report.values import against, estimate, identical, paragraph, section
from hive_mind.evals.scorecards.card import CellCard
from hive_mind.hive.topology.spec import SINGLE
from hive_mind.measure.statistics import share_ruled_out

_NAMED_MAX = 5


def parity(material: Material) -> Markup:
    """Identical top-k against single: share, what is ruled out, and which questions differ."""
    k = material.card.limit
    columns = (
        Column("arm"),
        Column("data", is_number=False),
        Column(f"identical top {k}"),
        Column("questions"),
        Column("differ"),
        Column("more than this is ruled out", hint="share of questions that could differ, at 95 %"),
        Column("which differ", is_number=False),
        Column("ran", is_number=False),
    )
    rows = [_parity_row(material, setting, cell) for setting in material.settings for cell in setting.of_kind(*EXACT)]
    words = "The same facts in the same order as one memory that holds everything. Facts are compared, not documents."
    shown = table(f"Identical top {k} against single", columns, rows)
    return section("parity", "Parity", paragraph(words), shown) if rows else Markup()


def merged_by_rank(material: Material) -> Markup:
    """The arm of the first design, with its loss."""
    words = (
        "The design that hive-mind began with (document 004) merges what groups found by reciprocal rank fusion of a keyword "
        "list and a list ordered by confidence. It runs here as an arm of its own (seed-federated), on the same facts and "
        "questions. Beside single:"
    )
    return beside_single(material, ("seed-federated",), "merged-by-rank", "What merging lists by rank loses", words)


def baselines(material: Material) -> Markup:
    """What the same questions get without any of this."""
    words = (
        "No figure stands alone: keywords over one memory, a draw by chance, and, where a model answers, everything as its "
        "context, which ranks nothing. Beside single:"
    )
    return beside_single(material, BASELINES, "baselines", "Baselines", words)


def beside_single(
    material: Material,
    kinds: tuple[str, ...],
    id: str,
    title: str,
    words: str,
    *,
    wanted: Callable[[CellCard, Setting], bool] = lambda _cell, _setting: True,
    more: Markup | str = "",
) -> Markup:
    """A section with a table for each setting: single, and the cells of these kinds that are wanted, beside it."""
    found = []
    for setting in material.settings:
        cells = [cell for cell in setting.of_kind(*kinds) if wanted(cell, setting)]
        columns = (
            Column("arm"),
            *(Column(metric_name(metric)) for metric in material.measures),
            *(Column(f"{metric_name(metric)} beside single") for metric in material.measures),
            Column(f"identical top {material.card.limit}"),
            Column("nodes asked"),
            Column("messages per query"),
        )
        rows = [_row(material, cell, setting.has_seeds) for cell in (*setting.of_kind(SINGLE), *cells)] if cells else []
        found.append(table(f"Beside single, {setting.name}", columns, rows))
    return section(id, title, paragraph(words), *found, more) if any(found) else Markup()


def _row(material: Material, cell: CellCard, with_seed: bool) -> list[Content]:
    means = [estimate(cell.metrics.get(metric)) for metric in material.measures]
    beside = [against(cell, metric) for metric in material.measures]
    asked, sent = (cell.system.fan_out.mean, cell.system.messages.mean) if cell.system else (None, None)
    name = cell_name(cell, with_seed=with_seed)
    return [name, *means, *beside, identical(cell), figures.number(asked), figures.number(sent)]


def _parity_row(material: Material, setting: Setting, cell: CellCard) -> list[Content]:
    compared = cell.against_single.identical_top_k if cell.against_single else None
    differing = material.differing(cell)
    seed = f", seed {cell.seed}" if setting.has_seeds else ""
    start: list[Content] = [arm_name(cell.arm) + seed, setting.name, identical(cell)]
    ran = PLACES[cell.arm.place]
    if compared is None:
        return [*start, figures.NOTHING, figures.NOTHING, figures.NOTHING, "there is no single to compare with", ran]
    return [
        *start,
        figures.number(compared.n),
        figures.number(len(differing)),
        figures.share(share_ruled_out(len(differing), compared.n), digits=2),
        _named(differing),
        ran,
    ]


def _named(questions: list[str]) -> Markup:
    more = len(questions) - _NAMED_MAX
    return joined(", ".join(questions[:_NAMED_MAX]) or "none", f" and {more} more" if more > 0 else "")

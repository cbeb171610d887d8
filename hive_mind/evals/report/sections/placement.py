"""What asking only a few agents gives up, and what placing together what belongs together gives back."""

from dataclasses import replace

from hive_mind.evals.experiments.values import Arm
from hive_mind.evals.report import figures
from hive_mind.evals.report.markup import Column, Content, Markup, table
from hive_mind.evals.report.material import Material
from hive_mind.evals.report.naming import arm_name, metric_name
from hive_mind.evals.report.sections.topologies import beside_single
from hive_mind.evals.report.selecting import EXACT, Setting
from hive_mind.evals.report.values import difference
from hive_mind.evals.scorecards.card import CellCard

_APART = Arm().deal


def fan_out(material: Material) -> Markup:
    """Beside single; and each coherent placement beside the same arm dealt round robin."""
    words = (
        "A coordinator (the arm routed) asks only the agents whose facts are nearest to the question by their centroid. Where "
        "related facts lie together (dealt by session, speaker or topic), few agents know the answer and are found; dealt round "
        "robin, everyone knows a little. The exact topologies under the same dealing stand beside it. Beside single:"
    )
    kinds = ("routed", *EXACT)
    title = "Asking the nearest agents only, and placing together what belongs together"
    return beside_single(material, kinds, "fan-out", title, words, wanted=_is_about_placement, more=_coherent(material))


def _is_about_placement(cell: CellCard, setting: Setting) -> bool:
    """Of the exact topologies, those that are dealt coherently, or as a routed one is that has as many agents."""
    routed = {(one.arm.agents, one.arm.deal) for one in setting.of_kind("routed")}
    return cell.arm.kind == "routed" or cell.arm.deal != _APART or (cell.arm.agents, cell.arm.deal) in routed


def _coherent(material: Material) -> Markup:
    """Paired by question, from the rows; a family of comparisons of its own."""
    pairs = [(setting, *pair) for setting in material.settings for pair in _pairs(setting)]
    found = material.beside([(together, apart) for _, together, apart in pairs])
    columns = (
        Column("placed together"),
        Column("data", is_number=False),
        *(Column(f"{metric_name(metric)} beside the same dealt {_APART.replace('-', ' ')}") for metric in material.measures),
        Column("messages per query, beside"),
    )
    rows = []
    for (setting, together, apart), measured in zip(pairs, found, strict=True):
        beside = [difference(one, metric) for one, metric in zip(measured, material.measures, strict=True)]
        row: list[Content] = [arm_name(together.arm), setting.name, *beside, _messages(together, apart)]
        rows.append(row)
    return table("Coherent placement beside round robin", columns, rows)


def _pairs(setting: Setting) -> list[tuple[CellCard, CellCard]]:
    """Cells that differ in how facts were dealt, and in nothing else."""
    apart = {(cell.arm, cell.seed): cell for cell in setting.of_kind("routed", *EXACT) if cell.arm.deal == _APART}
    together = [cell for cell in setting.of_kind("routed", *EXACT) if cell.arm.deal != _APART]
    found = [(cell, apart.get((replace(cell.arm, deal=_APART), cell.seed))) for cell in together]
    return [(cell, other) for cell, other in found if other is not None]


def _messages(together: CellCard, apart: CellCard) -> str:
    if together.system is None or apart.system is None:
        return figures.NOTHING
    return f"{figures.number(together.system.messages.mean)}, {figures.number(apart.system.messages.mean)}"

"""The loss from asking only a few agents, and the gain from placing together the facts that belong together."""

from dataclasses import replace
from functools import partial

from hive_mind.evals.experiments.values import Arm
from hive_mind.evals.report import figures
from hive_mind.evals.report.markup import Column, Markup, table, words
from hive_mind.evals.report.material import Material
from hive_mind.evals.report.naming import arm_name, metric_name
from hive_mind.evals.report.sections.topologies import beside_single
from hive_mind.evals.report.selecting import EXACT, Setting
from hive_mind.evals.report.values import difference
from hive_mind.evals.scorecards.card import CellCard
from hive_mind.measure.differences import Difference

_APART = Arm().deal
_Row = tuple[Setting, CellCard, CellCard, list[Difference | None]]
"""Cells that are dealt coherently and round robin, and how far apart they are by each measure."""


def fan_out(material: Material) -> Markup:
    """Beside single; and each coherent placement beside the same arm dealt round robin."""
    introduction = (
        "A coordinator (the arm routed) asks only the agents whose facts are nearest to the question by their centroid. Where "
        "related facts lie together (dealt by session, speaker or topic), few agents know the answer and are found; dealt round "
        "robin, everyone knows a little. The exact topologies under the same dealing stand beside it. Beside single:"
    )
    kinds = ("routed", *EXACT)
    title = "Asking the nearest agents only, and placing together what belongs together"
    return beside_single(material, kinds, "fan-out", title, introduction, wanted=_is_about_placement, more=_coherent(material))


def _is_about_placement(cell: CellCard, setting: Setting) -> bool:
    """Of the exact topologies, those that are dealt coherently, or as a routed one is that has as many agents."""
    routed = {(card.arm.agents, card.arm.deal) for card in setting.of_kind("routed")}
    return cell.arm.kind == "routed" or cell.arm.deal != _APART or (cell.arm.agents, cell.arm.deal) in routed


def _coherent(material: Material) -> Markup:
    """Paired by question, from the rows; a family of comparisons of its own."""
    pairs = [(setting, *pair) for setting in material.settings for pair in _pairs(setting)]
    found = material.beside([(together, apart) for _, together, apart in pairs])
    rows = [(*pair, measured) for pair, measured in zip(pairs, found, strict=True)]
    columns: list[Column[_Row]] = [
        Column("placed together", lambda row: arm_name(row[1].arm)),
        words("data", lambda row: row[0].name),
        *(
            Column(f"{metric_name(one)} beside the same dealt {_APART.replace('-', ' ')}", partial(_moved, place, one))
            for place, one in enumerate(material.measures)
        ),
        Column("messages per query, beside", lambda row: _messages(row[1], row[2])),
    ]
    return table("Coherent placement beside round robin", columns, rows)


def _moved(place: int, metric: str, row: _Row) -> Markup:
    return difference(row[3][place], metric)


def _pairs(setting: Setting) -> list[tuple[CellCard, CellCard]]:
    """Cells that differ in how facts were dealt, and in nothing else."""
    apart = {(cell.arm, cell.seed): cell for cell in setting.of_kind("routed", *EXACT) if cell.arm.deal == _APART}
    together = [cell for cell in setting.of_kind("routed", *EXACT) if cell.arm.deal != _APART]
    found = [(cell, apart.get((replace(cell.arm, deal=_APART), cell.seed))) for cell in together]
    return [(cell, card) for cell, card in found if card is not None]


def _messages(together: CellCard, apart: CellCard) -> str:
    if together.system is None or apart.system is None:
        return figures.NOTHING
    return f"{figures.number(together.system.messages.mean)}, {figures.number(apart.system.messages.mean)}"

"""What an arm costs, to learn a fact and to answer: messages, bytes, processor, memory and time; tokens and money of a model."""

from collections.abc import Sequence

from hive_mind.evals.report import figures
from hive_mind.evals.report.markup import Column, Content, Markup, table
from hive_mind.evals.report.material import Material
from hive_mind.evals.report.naming import PLACES, cell_name
from hive_mind.evals.report.selecting import Setting
from hive_mind.evals.report.values import drawings, middle, paragraph, section
from hive_mind.evals.scorecards.card import CellCard, System


def cost(material: Material) -> Markup:
    """Learning, asking, and the model."""
    words = (
        "A dash means: not measured in this place. In process all members share one processor time; times in the simulator are "
        "virtual. A message counts once, when it is sent; replies count. Embedding a question is in none of the times. In "
        "process nothing is waited for: where a question takes longer than its CPU time, other programs had the processor. "
        "Memory per agent is what learning added to the process; of real processes it is all that they take."
    )
    found = [part for setting in material.settings for part in (_learning(setting), _asking(setting), _model(setting))]
    return section("cost", "Cost", paragraph(words), drawings(material.drawings.costs), *found) if any(found) else Markup()


def _learning(setting: Setting) -> Markup:
    columns = (
        Column("arm"),
        Column("facts"),
        Column("messages per fact", hint="that learning causes; what nodes say because it is time is left out"),
        Column("bytes per fact"),
        Column("replica lag", hint="from the last fact kept to the last replica written"),
        Column("CPU"),
        Column("wall time"),
        Column("memory per agent", hint="in process what learning added, of real processes all that they take"),
        Column("ran", is_number=False),
    )
    return table(f"Learning, {setting.name}", columns, [_learned(*one) for one in _named(setting, setting.healthy)])


def _learned(name: str, ran: str, one: System) -> list[Content]:
    learning = one.learning
    return [
        name,
        figures.number(learning.facts),
        figures.number(learning.messages_per_fact),
        figures.size(learning.bytes_per_fact),
        figures.seconds(learning.replica_lag_s),
        figures.seconds(learning.cpu_s),
        figures.seconds(learning.wall_s),
        figures.size(learning.memory_per_agent_bytes),
        ran,
    ]


def _asking(setting: Setting) -> Markup:
    columns = (
        Column("arm"),
        Column("messages per query"),
        Column("bytes per query"),
        Column("nodes asked"),
        Column("completeness"),
        Column("CPU, median"),
        Column("time, median"),
        Column("time, 95th percentile"),
        Column("ran", is_number=False),
    )
    return table(f"Asking, {setting.name}", columns, [_asked(*one) for one in _named(setting, setting.healthy)])


def _asked(name: str, ran: str, one: System) -> list[Content]:
    return [
        name,
        figures.number(one.messages.mean),
        figures.size(one.bytes.mean),
        figures.number(one.fan_out.mean),
        figures.share(one.completeness.mean),
        middle(one.cpu_ms),
        middle(one.wall_ms),
        figures.milliseconds(one.wall_ms.p95),
        ran,
    ]


def _model(setting: Setting) -> Markup:
    """Only where a model was called."""
    called = [one for one in _named(setting, setting.cells) if one[2].tokens_in_total + one[2].tokens_out_total]
    columns = (
        Column("arm"),
        Column("tokens in"),
        Column("tokens out"),
        Column("money"),
        Column("money per query"),
        Column("ran", is_number=False),
    )
    judged = " and judged" if any(cell.judge not in ("", "none") for cell in setting.cells) else ""
    return table(f"The model that answered{judged}, {setting.name}", columns, [_spent(*one) for one in called])


def _spent(name: str, ran: str, one: System) -> list[Content]:
    tokens = (figures.number(one.tokens_in_total), figures.number(one.tokens_out_total))
    money = (figures.money(one.usd_total), figures.money(one.usd))
    return [name, *tokens, *money, ran]


def _named(setting: Setting, cells: Sequence[CellCard]) -> list[tuple[str, str, System]]:
    """Cells that answered anything: what each is called, where it ran, what it took."""
    return [
        (cell_name(cell, with_seed=setting.has_seeds), PLACES[cell.arm.place], cell.system)
        for cell in cells
        if cell.system is not None
    ]

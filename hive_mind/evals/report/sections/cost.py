"""Cost of an arm, to learn a fact and to answer: messages, bytes, processor, memory and time; tokens and money of a model."""

from collections.abc import Sequence

from hive_mind.evals.report import figures
from hive_mind.evals.report.markup import Markup, table
from hive_mind.evals.report.material import Material
from hive_mind.evals.report.selecting import Setting
from hive_mind.evals.report.values import MESSAGES, RAN, arm, drawings, middle, paragraph, section, spent
from hive_mind.evals.scorecards.card import CellCard


def cost(material: Material) -> Markup:
    """Learning, asking, and the model."""
    words = (
        "A dash means: not measured in this place. In process all members share one processor time; times in the simulator are "
        "virtual. A message counts once, when it is sent; replies count. Embedding a question is in none of the times. In "
        "process nothing is waited for: where a question takes longer than its CPU time, other programs had the processor. "
        "Memory per agent is what learning added to the process; of real processes it is all that they take."
    )
    markups = [part for setting in material.settings for part in (_learning(setting), _asking(setting), _model(setting))]
    return section("cost", "Cost", paragraph(words), drawings(material.drawings.costs), *markups) if any(markups) else Markup()


def _learning(setting: Setting) -> Markup:
    columns = (
        arm(setting),
        spent("facts", figures.number, lambda one: one.learning.facts),
        spent(
            "messages per fact",
            figures.number,
            lambda one: one.learning.messages_per_fact,
            "that learning causes; what nodes say because it is time is left out",
        ),
        spent("bytes per fact", figures.size, lambda one: one.learning.bytes_per_fact),
        spent(
            "replica lag",
            figures.seconds,
            lambda one: one.learning.replica_lag_s,
            "from the last fact kept to the last replica written",
        ),
        spent("CPU", figures.seconds, lambda one: one.learning.cpu_s),
        spent("wall time", figures.seconds, lambda one: one.learning.wall_s),
        spent(
            "memory per agent",
            figures.size,
            lambda one: one.learning.memory_per_agent_bytes,
            "in process what learning added, of real processes all that they take",
        ),
        RAN,
    )
    return table(f"Learning, {setting.name}", columns, _answered(setting.healthy))


def _asking(setting: Setting) -> Markup:
    columns = (
        arm(setting),
        MESSAGES,
        spent("bytes per query", figures.size, lambda one: one.bytes.mean),
        spent("nodes asked", figures.number, lambda one: one.fan_out.mean),
        spent("completeness", figures.share, lambda one: one.completeness.mean),
        spent("CPU, median", middle, lambda one: one.cpu_ms),
        spent("time, median", middle, lambda one: one.wall_ms),
        spent("time, 95th percentile", figures.milliseconds, lambda one: one.wall_ms.p95),
        RAN,
    )
    return table(f"Asking, {setting.name}", columns, _answered(setting.healthy))


def _model(setting: Setting) -> Markup:
    called = [cell for cell in setting.cells if cell.system and cell.system.tokens_in_total + cell.system.tokens_out_total]
    columns = (
        arm(setting),
        spent("tokens in", figures.number, lambda one: one.tokens_in_total),
        spent("tokens out", figures.number, lambda one: one.tokens_out_total),
        spent("money", figures.money, lambda one: one.usd_total),
        spent("money per query", figures.money, lambda one: one.usd),
        RAN,
    )
    judged = " and judged" if any(cell.judge not in ("", "none") for cell in setting.cells) else ""
    return table(f"The model that answered{judged}, {setting.name}", columns, called)


def _answered(cells: Sequence[CellCard]) -> list[CellCard]:
    return [cell for cell in cells if cell.system is not None]

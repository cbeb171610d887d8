"""What is left when nodes are down, messages are lost or members are slow."""

from hive_mind.evals.report import figures
from hive_mind.evals.report.markup import Column, Content, Markup, table
from hive_mind.evals.report.material import Material
from hive_mind.evals.report.naming import PLACES, arm_name, fault_name, metric_name
from hive_mind.evals.report.selecting import Setting
from hive_mind.evals.report.values import against, drawings, estimate, middle, paragraph, section
from hive_mind.evals.scorecards.card import CellCard


def failures(material: Material) -> Markup:
    """Completeness and quality with faults, beside the single memory without any."""
    words = (
        "Everything was learned before anything failed. Completeness is the share of the hive that an answer says it reached; "
        "lost messages and slow members are simulated, so their times are virtual."
    )
    found = [_of_setting(material, setting) for setting in material.settings]
    return (
        section("failures", "Under failures", paragraph(words), drawings(material.drawings.failures), *found)
        if any(found)
        else Markup()
    )


def _of_setting(material: Material, setting: Setting) -> Markup:
    metric = material.quality
    columns = (
        Column("arm"),
        Column("fault", is_number=False),
        Column("completeness"),
        Column(metric_name(metric)),
        Column("beside single without faults"),
        Column("messages per query"),
        Column("median time"),
        Column("ran", is_number=False),
    )
    return table(f"Under failures, {setting.name}", columns, [_row(cell, setting, metric) for cell in setting.faulty])


def _row(cell: CellCard, setting: Setting, metric: str) -> list[Content]:
    system = cell.system
    name = arm_name(cell.arm) + (f", seed {cell.seed}" if setting.has_seeds else "")
    return [
        name,
        fault_name(cell.fault),
        figures.share(system.completeness.mean) if system else figures.NOTHING,
        estimate(cell.metrics.get(metric)),
        against(cell, metric),
        figures.number(system.messages.mean if system else None),
        middle(system.wall_ms if system else None),
        PLACES[cell.arm.place],
    ]

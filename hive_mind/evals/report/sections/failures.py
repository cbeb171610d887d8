"""The quality left when nodes are down, messages are lost or members are slow."""

from hive_mind.evals.report import figures
from hive_mind.evals.report.markup import Column, Markup, table, words
from hive_mind.evals.report.material import Material
from hive_mind.evals.report.naming import arm_name, fault_name
from hive_mind.evals.report.selecting import Setting
from hive_mind.evals.report.values import MESSAGES, RAN, against, drawings, means, middle, paragraph, section, spent


def failures(material: Material) -> Markup:
    """Completeness and quality with faults, beside the single memory without any."""
    introduction = (
        "Everything was learned before anything failed. Completeness is the share of the hive that an answer says it reached; "
        "lost messages and slow members are simulated, so their times are virtual."
    )
    markups = [_of_setting(material, setting) for setting in material.settings]
    return (
        section("failures", "Under failures", paragraph(introduction), drawings(material.drawings.failures), *markups)
        if any(markups)
        else Markup()
    )


def _of_setting(material: Material, setting: Setting) -> Markup:
    metric = material.quality
    columns = (
        Column("arm", lambda cell: arm_name(cell.arm) + (f", seed {cell.seed}" if setting.has_seeds else "")),
        words("fault", lambda cell: fault_name(cell.fault)),
        spent("completeness", figures.share, lambda one: one.completeness.mean),
        *means([metric]),
        Column("beside single without faults", lambda cell: against(cell, metric)),
        MESSAGES,
        spent("median time", middle, lambda one: one.wall_ms),
        RAN,
    )
    return table(f"Under failures, {setting.name}", columns, setting.faulty)

"""The drawings of a report, by matplotlib: each a file beside the page and, as SVG, a part of it.

Needs the extra `plots`; importing this without it raises `ModuleNotFoundError`, and the page has its tables.
"""

import re
from collections.abc import Iterator

from hive_mind.evals.report.plots.bars import by_category, costs
from hive_mind.evals.report.plots.quality import by_agents, by_failure, by_messages, latency_by_agents
from hive_mind.evals.report.selecting import Drawings, Plot, Setting, quality_metric, settings_of
from hive_mind.evals.scorecard import Scorecard

__all__ = ["drawn"]


_NAME_MAX = 40


def drawn(card: Scorecard) -> Drawings:
    metric, settings = quality_metric(card), list(_named(settings_of(card)))
    return Drawings(
        tuple(tuple(plot for plot in _own(setting, metric, name) if plot) for setting, name in settings),
        tuple(plot for setting, name in settings for plot in by_failure(setting, metric, name)),
        tuple(plot for setting, name in settings for plot in costs(setting, name)),
    )


def _own(setting: Setting, metric: str, name: str) -> Iterator[Plot | None]:
    yield by_messages(setting, metric, f"quality-by-messages-{name}")
    yield by_agents(setting, metric, f"quality-by-agents-{name}")
    yield latency_by_agents(setting, f"latency-by-agents-{name}")
    yield by_category(setting, metric, f"by-category-{name}")


def _named(settings: list[Setting]) -> Iterator[tuple[Setting, str]]:
    """Each with a name that is safe in a file's name and nobody else's."""
    names: set[str] = set()
    for setting in settings:
        plain = re.sub(r"[^a-z0-9]+", "-", setting.name.lower()).strip("-")[:_NAME_MAX] or "data"
        name, number = plain, 2
        while name in names:
            name, number = f"{plain}-{number}", number + 1
        names.add(name)
        yield setting, name

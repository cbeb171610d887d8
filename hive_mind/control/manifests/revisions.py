"""Another number of agents, written into a manifest that was applied before."""

from typing import Any

import yaml

from hive_mind.control.manifests.expansion import names_of
from hive_mind.control.manifests.reading import Source
from hive_mind.errors import InvalidInput

_COMMENT = "# Written by `hive-mind scale`: comments of the manifest it was made from are lost.\n"


def scaled(source: Source, name: str | None, count: int) -> str:
    """The manifest's text with another `count`. `name`: a template, or one of its agents; None where there is only one template.

    Raises `InvalidInput`.
    """
    agents = source.manifest.spec.agents
    templates = {at: agent for at, agent in enumerate(agents) if agent.count is not None}
    known = ", ".join(agent.name for agent in templates.values()) or "none"
    if not templates:
        raise InvalidInput("no agent of this manifest has a count, so there is nothing to scale: add agents to it and apply it")
    if name is None:
        if len(templates) > 1:
            raise InvalidInput(f"say which to scale: {known}")
        return _with_count(source, next(iter(templates)), count)
    for at, agent in templates.items():
        if name in {agent.name, agent.name.replace("-{n}", ""), *names_of(agent)}:
            return _with_count(source, at, count)
    raise InvalidInput(f"there is no template {name!r} to scale; there are: {known}")


def _with_count(source: Source, at: int, count: int) -> str:
    data: Any = yaml.safe_load(source.text)
    data["spec"]["agents"][at]["count"] = count
    text: str = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=120)
    return _COMMENT + text

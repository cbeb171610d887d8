"""Which names of agents can't be. Pure.

A name becomes a folder and a member of the hive, so it must not lead out of a folder, and two must not be one on a disk that
takes capital and small letters for the same.
"""

import re
from collections.abc import Iterable, Iterator

from hive_mind.control.manifests.expansion import names_of
from hive_mind.control.manifests.manifest import NAME, Agent, HiveManifest
from hive_mind.forms.tree import Finding, Path
from hive_mind.regex import regex

# The capacity of this machine; a manifest that asks for more is a slip of the finger.
AGENTS_MAX = 10_000

_PLAIN = regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_AGENTS: Path = ("spec", "agents")


def number_of_agents(manifest: HiveManifest) -> int:
    """How many agents the entries stand for."""
    return sum(agent.count or 1 for agent in manifest.spec.agents)


def name_findings(manifest: HiveManifest) -> Iterator[Finding]:
    """Mistakes in names of agents."""
    agents = manifest.spec.agents
    if number_of_agents(manifest) > AGENTS_MAX:
        yield Finding(_AGENTS, f"{number_of_agents(manifest):,} agents are more than {AGENTS_MAX:,}; lower `count`")
        return
    for number, agent in enumerate(agents):
        yield from _findings(agent, (*_AGENTS, number, "name"))
    yield from _clashes((name, number) for number, agent in enumerate(agents) for name in names_of(agent))


def _findings(agent: Agent, path: Path) -> Iterator[Finding]:
    is_pattern = "{n}" in agent.name
    if agent.count is not None and not is_pattern:
        yield Finding(path, f"stands for {agent.count} agents by one name; put {{n}} into it: {agent.name}-{{n}}")
    elif agent.count is None and is_pattern:
        message = "has {n} in it but the entry has no count; add count, or leave {n} out"
        yield Finding(path, message, rests_on=((*path[:-1], "count"),))
    elif not _PLAIN.fullmatch(longest := names_of(agent)[-1]):
        yield Finding(path, _refused(longest))


def _refused(name: str) -> str:
    if "/" in name or "\\" in name or name.startswith("."):
        return "would lead out of the folder of agents; use letters, digits, dots, dashes and underscores, no dot first"
    if len(name) > 64:
        return "is longer than 64 characters; shorten it"
    return "has to be letters, digits, dots, dashes and underscores, a letter or digit first"


def _clashes(names: Iterable[tuple[str, int]]) -> Iterator[Finding]:
    """One report per entry is enough: a template clashes with itself a thousand times."""
    first: dict[str, tuple[str, int]] = {}
    reported: set[int] = set()
    for name, number in names:
        known, where = first.setdefault(name.lower(), (name, number))
        if (known, where) == (name, number) or number in reported or where == number:
            continue
        reported.add(number)
        same = "is also the name of" if known == name else f"({name}) differs only by capital letters from {known} of"
        yield Finding((*_AGENTS, number, "name"), f"{same} spec.agents[{where}]; choose another", ((*_AGENTS, where, "name"),))


def platform_findings(manifest: HiveManifest) -> Iterator[Finding]:
    """Names that a cloud does not take."""
    if manifest.spec.platform.kind not in ("compose", "kubernetes", "containerapps"):
        return
    for number, agent in enumerate(manifest.spec.agents):
        if not re.fullmatch(NAME, names_of(agent)[-1]) and _PLAIN.fullmatch(names_of(agent)[-1]):
            where = f"on {manifest.spec.platform.kind}"
            yield Finding(
                (*_AGENTS, number, "name"),
                f"has to be lower-case letters, digits and dashes, at most 52 of them, {where}",
                (("spec", "platform", "kind"),),
            )

"""From the agents as a person wrote them to the agents there will be: templates counted out, groups dealt, defaults filled in.

An agent of a federated hive that names no group is dealt to the smallest; one that was in a group before stays there, so that
another agent more or less changes nobody else's group.

Which names of agents can't be. Pure.

A name becomes a folder and a member of the hive, so it must not lead out of a folder, and two must not be one on a disk that
takes capital and small letters for the same.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from hive_mind.control.manifests import NAME, Agent, HiveManifest
from hive_mind.forms import Finding, Path
from hive_mind.hive.topology.spec import reads
from hive_mind.regex import regex

NUMBER = "{n}"
_NONE: Mapping[str, str] = MappingProxyType({})


def env_key(agent: Agent) -> tuple[tuple[str, str], ...]:
    """Equal for agents that may share a process."""
    return tuple(sorted(agent.env.items()))


def expanded(manifest: HiveManifest, groups_before: Mapping[str, str] = _NONE) -> tuple[Agent, ...]:
    """All agents in the manifest's order. `groups_before`: in which groups they were, by name."""
    agents = tuple(spec for agent in manifest.spec.agents for spec in _counted(agent, manifest.spec.llm.llm))
    if not reads(manifest.spec.topology.kind, "groups"):
        return tuple(_in_group(agent, "") for agent in agents)
    return _dealt(agents, group_names(manifest), groups_before)


def group_names(manifest: HiveManifest) -> tuple[str, ...]:
    """Groups of a federated hive: those declared, then those only agents name; one called like the fleet where there are none."""
    declared = [group.name for group in manifest.spec.topology.groups]
    groups = [agent.group for agent in manifest.spec.agents if agent.group]
    return tuple(dict.fromkeys([*declared, *groups])) or (manifest.metadata.name,)


def names_of(agent: Agent) -> tuple[str, ...]:
    """The names of the agents an entry stands for."""
    if agent.count is None:
        return (agent.name,)
    pattern = agent.name if NUMBER in agent.name else f"{agent.name}-{NUMBER}"
    return tuple(pattern.replace(NUMBER, str(number)) for number in range(1, agent.count + 1))


def _counted(agent: Agent, model: str) -> Iterator[Agent]:
    for name in names_of(agent):
        yield agent.model_copy(update={"name": name, "count": None, "model": agent.model or model})


def _dealt(agents: Sequence[Agent], groups: tuple[str, ...], before: Mapping[str, str]) -> tuple[Agent, ...]:
    names = {agent.name for agent in agents if not agent.group}
    still = {name: group for name, group in before.items() if group in groups}
    settled = [agent if agent.group else _in_group(agent, still.get(agent.name, "")) for agent in agents]
    sizes = Counter(agent.group for agent in settled if agent.group)
    for number, agent in enumerate(settled):
        if not agent.group:
            smallest = min(groups, key=lambda group: (sizes[group], groups.index(group)))
            settled[number] = _in_group(agent, smallest)
            sizes[smallest] += 1
    # A new group is there to be filled, though all stay where they were.
    for empty in (group for group in groups if not sizes[group]):
        free = [number for number, agent in enumerate(settled) if agent.name in names and sizes[agent.group] > 1]
        if not free:
            break
        number = max(free, key=lambda place: (sizes[settled[place].group], place))
        sizes.subtract([settled[number].group])
        settled[number] = _in_group(settled[number], empty)
        sizes[empty] += 1
    return tuple(settled)


def _in_group(agent: Agent, group: str) -> Agent:
    return agent.model_copy(update={"group": group})


# The capacity of this machine; a manifest that asks for more is a slip of the finger.
AGENTS_MAX = 10_000

_PLAIN = regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_AGENTS: Path = ("spec", "agents")


def number_of_agents(manifest: HiveManifest) -> int:
    return sum(agent.count or 1 for agent in manifest.spec.agents)


def name_findings(manifest: HiveManifest) -> Iterator[Finding]:
    """Mistakes in names of agents."""
    agents = manifest.spec.agents
    if number_of_agents(manifest) > AGENTS_MAX:
        yield Finding(_AGENTS, f"{number_of_agents(manifest):,} agents are more than {AGENTS_MAX:,}; lower `count`")
        return
    for number, agent in enumerate(agents):
        path = (*_AGENTS, number, "name")
        is_pattern = "{n}" in agent.name
        if agent.count is not None and not is_pattern:
            yield Finding(path, f"stands for {agent.count} agents by one name; put {{n}} into it: {agent.name}-{{n}}")
        elif agent.count is None and is_pattern:
            message = "has {n} in it but the entry has no count; add count, or leave {n} out"
            yield Finding(path, message, rests_on=((*path[:-1], "count"),))
        elif not _PLAIN.fullmatch(longest := names_of(agent)[-1]):
            yield Finding(path, _refused(longest))
    first: dict[str, tuple[str, int]] = {}
    reported: set[int] = set()
    for name, number in ((name, number) for number, agent in enumerate(agents) for name in names_of(agent)):
        first_name, where = first.setdefault(name.lower(), (name, number))
        if (first_name, where) == (name, number) or number in reported or where == number:
            continue
        # One report per entry is enough: a template clashes with itself a thousand times.
        reported.add(number)
        same = "is also the name of" if first_name == name else f"({name}) differs only by capital letters from {first_name} of"
        yield Finding((*_AGENTS, number, "name"), f"{same} spec.agents[{where}]; choose another", ((*_AGENTS, where, "name"),))


def _refused(name: str) -> str:
    if "/" in name or "\\" in name or name.startswith("."):
        return "would lead out of the folder of agents; use letters, digits, dots, dashes and underscores, no dot first"
    if len(name) > 64:
        return "is longer than 64 characters; shorten it"
    return "has to be letters, digits, dots, dashes and underscores, a letter or digit first"


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

"""From the agents as a person wrote them to the agents there will be: templates counted out, groups dealt, defaults filled in.

An agent of a federated hive that names no group is dealt to the smallest; one that was in a group before stays there, so that
another agent more or less changes nobody else's group.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from hive_mind.control.manifests.manifest import Agent, HiveManifest
from hive_mind.hive.topology.spec import reads

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
    settled = [agent if agent.group else _in_group(agent, _still(agent, groups, before)) for agent in agents]
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


def _still(agent: Agent, groups: tuple[str, ...], before: Mapping[str, str]) -> str:
    return group if (group := before.get(agent.name, "")) in groups else ""

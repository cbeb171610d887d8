"""From the agents as a person wrote them to the agents there will be: templates counted out, groups dealt, defaults filled in.

An agent of a federated hive that names no group is dealt to the smallest; one that was in a group before stays there, so that
another agent more or less changes nobody else's group.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from hive_mind.control.manifests.manifest import Agent, HiveManifest, Trigger
from hive_mind.hive.topology.spec import reads

NUMBER = "{n}"
_NONE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """One agent. `sources` are patterns still; texts may hold references."""

    name: str
    domain: str = ""
    group: str = ""
    prompt: str = ""
    model: str = ""
    sources: tuple[str, ...] = ()
    worker: str = ""
    """The text of a worker file, once it was read."""
    tools: tuple[str, ...] = ()
    limits: Mapping[str, float] = field(default_factory=dict)
    triggers: tuple[Trigger, ...] = ()
    sleep_after_s: float = 0.0
    memory_mb: int = 0
    cpu: float = 0.0
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def env_key(self) -> tuple[tuple[str, str], ...]:
        """Equal for agents that may share a process."""
        return tuple(sorted(self.env.items()))


def expanded(manifest: HiveManifest, groups_before: Mapping[str, str] = _NONE) -> tuple[AgentSpec, ...]:
    """All agents in the manifest's order. `groups_before`: in which groups they were, by name."""
    agents = tuple(spec for agent in manifest.spec.agents for spec in _counted(agent, manifest.spec.llm.model))
    if not reads(manifest.spec.topology.kind, "groups"):
        return tuple(replace(agent, group="") for agent in agents)
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


def _counted(agent: Agent, model: str) -> Iterator[AgentSpec]:
    for name in names_of(agent):
        yield AgentSpec(
            name=name,
            domain=agent.domain,
            group=agent.group,
            prompt=agent.prompt,
            model=agent.model or model,
            sources=tuple(agent.sources),
            worker=agent.worker,
            tools=tuple(agent.tools),
            limits=agent.limits.model_dump(exclude_none=True),
            triggers=tuple(agent.triggers),
            sleep_after_s=agent.resources.sleep_after_s,
            memory_mb=agent.resources.memory_mb or 0,
            cpu=agent.resources.cpu or 0.0,
            env=dict(agent.env),
        )


def _dealt(agents: Sequence[AgentSpec], groups: tuple[str, ...], before: Mapping[str, str]) -> tuple[AgentSpec, ...]:
    names = {agent.name for agent in agents if not agent.group}
    settled = [agent if agent.group else replace(agent, group=_still(agent, groups, before)) for agent in agents]
    sizes = Counter(agent.group for agent in settled if agent.group)
    for number, agent in enumerate(settled):
        if not agent.group:
            smallest = min(groups, key=lambda group: (sizes[group], groups.index(group)))
            settled[number] = replace(agent, group=smallest)
            sizes[smallest] += 1
    # A new group is there to be filled, though all stay where they were.
    for empty in (group for group in groups if not sizes[group]):
        free = [number for number, agent in enumerate(settled) if agent.name in names and sizes[agent.group] > 1]
        if not free:
            break
        number = max(free, key=lambda place: (sizes[settled[place].group], place))
        sizes.subtract([settled[number].group])
        settled[number] = replace(settled[number], group=empty)
        sizes[empty] += 1
    return tuple(settled)


def _still(agent: AgentSpec, groups: tuple[str, ...], before: Mapping[str, str]) -> str:
    return group if (group := before.get(agent.name, "")) in groups else ""

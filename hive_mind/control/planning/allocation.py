"""Which process runs which agents, at which nodes of the hive, and when facts have to move to another generation of it.

Agents stay where they are as long as they may be there: then another agent more or less concerns one process, and no other is
restarted. Agents of one process have the same variables, and in a federated hive the same group, unless there is only one
process. A process that gives an agent away takes none in the same step, so that one of two can always go first.

A node joins or leaves while the others run. The foundation of a hive does not change: its topology, the groups of its nodes,
their domains, the copies of a fact. And a node leaves in order only from a process of its own, towards others that stay.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import msgspec

from hive_mind.control.manifests import Agent, HiveManifest
from hive_mind.control.manifests.expansion import env_key
from hive_mind.control.platforms import Running
from hive_mind.control.state import FleetState, hosts_in
from hive_mind.errors import ManifestError, Problem
from hive_mind.hive.topology.spec import SINGLE, has_node_per, is_shared
from hive_mind.regex import regex
from hive_mind.runtime.workers.config import HiveConfig, NodeConfig

Placed = Mapping[str, Mapping[str, Sequence[str]]]
"""Agents by node by process."""
_NOTHING: Placed = MappingProxyType({})
Room = dict[str, list[str]]
"""Agents by place: a process, or a node of the only one."""
_FINAL_DIGITS = regex(r"(?<!\d)\d+$")


class Allocation(msgspec.Struct, frozen=True):
    """Agents by node by process; names in their order. `processes` is what a state keeps and the next `allocate` is given."""

    processes: dict[str, dict[str, tuple[str, ...]]] = {}

    @property
    def nodes(self) -> dict[str, str]:
        return {node: process for process, nodes in self.processes.items() for node in nodes}

    @property
    def attached(self) -> dict[str, str]:
        return {agent: node for nodes in self.processes.values() for node, agents in nodes.items() for agent in agents}

    @property
    def hosts(self) -> dict[str, str]:
        return hosts_in(self.processes)

    def beside(self, before: Placed) -> dict[str, dict[str, tuple[str, ...]]]:
        """Processes to keep until all is done: besides these, those that are still to leave, with nodes but no agents."""
        removed: dict[str, dict[str, tuple[str, ...]]] = {
            name: dict.fromkeys(nodes, ()) for name, nodes in before.items() if name not in self.processes
        }
        return {**removed, **self.processes}


def allocate(agents: Sequence[Agent], manifest: HiveManifest, previous: Placed = _NOTHING) -> Allocation:
    """The place of every agent. Raises `ManifestError` where one process would have to run agents with different variables."""
    if is_one_process(agents, manifest):
        if len({env_key(agent) for agent in agents}) > 1:
            problem = "agents of one process have the same variables; give all the same env, or name a bus that joins processes"
            raise ManifestError([Problem("spec.agents", 0, problem)])
        fleet, topology = manifest.metadata.name, manifest.spec.topology
        if has_node_per(topology.kind, "agent"):
            # Two replica sets are enough for many to see that there are shards; more nodes cost memory and gain nothing here.
            count = _shards(manifest, len(agents)) or min(len(agents), 2 * topology.replicas)
            before = {node: list(names) for nodes_of_process in previous.values() for node, names in nodes_of_process.items()}
            nodes = _placed(agents, manifest, before, count)
        else:
            nodes = {}
            for agent in agents:
                nodes.setdefault(agent.group if has_node_per(topology.kind, "group") else fleet, []).append(agent.name)
        return Allocation({fleet: {node: tuple(sorted(nodes[node])) for node in sorted(nodes)}})
    if manifest.spec.platform.agents_per_process == 1 and _shards(manifest, len(agents)) is None:
        return Allocation({agent.name: {agent.name: (agent.name,)} for agent in sorted(agents, key=lambda agent: agent.name)})
    before = {process: [agent for names in nodes.values() for agent in names] for process, nodes in previous.items()}
    placed = _placed(agents, manifest, before, _shards(manifest, len(agents)))
    return Allocation({process: {process: tuple(sorted(placed[process]))} for process in sorted(placed)})


def is_one_process(agents: Sequence[Agent], manifest: HiveManifest) -> bool:
    """Whether nothing may be in another process. Agents that share nothing need none of what a bus is for."""
    spec = manifest.spec
    if spec.platform.kind == "inprocess":
        return True
    if not is_shared(spec.topology.kind):
        is_alike = len({env_key(agent) for agent in agents}) == 1
        return is_alike and spec.platform.agents_per_process >= max(len(agents), 2)
    return spec.bus.url.partition(":")[0] == "memory"


def _shards(manifest: HiveManifest, agents_count: int) -> int | None:
    """How many places there must be; None: as many as it takes."""
    topology = manifest.spec.topology
    if not has_node_per(topology.kind, "agent") or topology.shards is None:
        return None
    return min(topology.shards, agents_count)


def _placed(agents: Sequence[Agent], manifest: HiveManifest, before: Mapping[str, Sequence[str]], count: int | None) -> Room:
    dealing = _Dealing(agents, manifest, count)
    dealing.keep(before)
    dealing.give_up()
    dealing.settle()
    dealing.split()
    return dealing.places


class _Dealing:
    """One allocation under way. `count`: how many places there are to be, or None for as many as the limit makes."""

    def __init__(self, agents: Sequence[Agent], manifest: HiveManifest, count: int | None) -> None:
        self._agents = {agent.name: agent for agent in agents}
        self._fleet = manifest.metadata.name
        self._kinds = {self._kind(agent) for agent in agents}
        self._count = None if count is None else max(count, len(self._kinds))
        self._limit = manifest.spec.platform.agents_per_process if count is None else len(agents)
        self.places: Room = {}
        self._giving: set[str] = set()

    def keep(self, before: Mapping[str, Sequence[str]]) -> None:
        taken_names: set[str] = set()
        for place in sorted(before, key=_natural):
            specs = [self._agents[name] for name in sorted(before[place]) if name in self._agents and name not in taken_names]
            fitting = [agent for agent in specs if _is_named(place, self._prefix(agent))]
            env = _commonest(env_key(agent) for agent in fitting)
            staying = [agent.name for agent in fitting if env_key(agent) == env][: self._limit]
            taken_names.update(staying)
            if len(staying) < len(specs):
                self._giving.add(place)
            if staying:
                self.places[place] = staying

    def give_up(self) -> None:
        """Where there are to be fewer places, the emptiest end; but none that is the only one for its agents' variables."""
        while self._count is not None and len(self.places) + len(self._homeless_kinds()) > self._count:
            kinds = Counter(self._kind(self._first(place)) for place in self.places)
            spare = [place for place in self.places if kinds[self._kind(self._first(place))] > 1]
            if not spare:
                return
            place = min(spare, key=lambda name: (len(self.places[name]), [-part for part in _number(name)]))
            del self.places[place]
            self._giving.add(place)

    def settle(self) -> None:
        settled = {name for names in self.places.values() for name in names}
        for agent in self._agents.values():
            if agent.name not in settled:
                self.places[self._place_for(agent)].append(agent.name)

    def split(self) -> None:
        """Where there are to be more places, each new one takes its even share from the fullest."""
        while self._count is not None and len(self.places) < self._count:
            giver = self._fullest(self.places)
            kind, share = self._kind(self._agents[giver[0]]), len(self._agents) // self._count
            taken_names = self.places[self._opened(self._agents[giver[-1]])]
            while len(taken_names) < max(share, 1) and len(giver) > max(len(taken_names), 1):
                taken_names.append(giver.pop())
                giver = self._fullest(
                    place for place, names in self.places.items() if names and self._kind(self._first(place)) == kind
                )

    def _place_for(self, agent: Agent) -> str:
        kind = self._kind(agent)
        same = [place for place, names in self.places.items() if names and self._kind(self._first(place)) == kind]
        free = [place for place in same if len(self.places[place]) < self._limit]
        calm = [place for place in free if place not in self._giving]
        other_kinds = self._homeless_kinds() - {kind}
        wants_more = self._count is not None and len(self.places) + len(other_kinds) < self._count
        choice = calm or (free if self._count is not None else [])
        if wants_more or not choice:
            return self._opened(agent)
        return min(choice, key=lambda place: (len(self.places[place]), _natural(place)))

    def _opened(self, agent: Agent) -> str:
        """A new place, of the lowest number that is free; one that gives agents away is not taken again in the same step."""
        prefix, number = self._prefix(agent), 0
        while (place := f"{prefix}-{number}") in self.places or place in self._giving:
            number += 1
        self.places[place] = []
        return place

    def _fullest(self, places: Iterable[str]) -> list[str]:
        return max((self.places[place] for place in sorted(places, key=_natural)), key=len)

    def _homeless_kinds(self) -> set[object]:
        return self._kinds - {self._kind(self._first(place)) for place, names in self.places.items() if names}

    def _first(self, place: str) -> Agent:
        return self._agents[self.places[place][0]]

    def _prefix(self, agent: Agent) -> str:
        return agent.group or self._fleet

    def _kind(self, agent: Agent) -> object:
        return agent.group, env_key(agent)


def _commonest(keys: Iterable[tuple[tuple[str, str], ...]]) -> tuple[tuple[str, str], ...] | None:
    counts = Counter(keys)
    return min(counts, key=lambda key: (-counts[key], key)) if counts else None


def _is_named(place: str, prefix: str) -> bool:
    return re.fullmatch(re.escape(prefix) + r"-\d+", place) is not None


def _number(place: str) -> list[int]:
    return [int(digits) for digits in _FINAL_DIGITS.findall(place)]


def _natural(place: str) -> tuple[str, list[int]]:
    return _FINAL_DIGITS.sub("", place), _number(place)


@dataclass(frozen=True, slots=True)
class Hives:
    """The hive as remembered, and the one that would be founded now, with the place of each agent."""

    state: FleetState
    wanted: HiveConfig
    allocation: Allocation
    running: Mapping[str, Running]

    @property
    def places(self) -> dict[str, str]:
        allocated = {node: process for process, nodes in self.state.allocation.items() for node in nodes}
        founded = founders_of(self.state.hive)
        joined = self.state.nodes if self.state.hive == self.state.last_hive else ()
        all_nodes = {node: allocated.get(node, node) for node in [*founded, *allocated, *joined]}
        # One that left and came back is there for its agents again.
        back = {node for nodes in self.state.allocation.values() for node, agents in nodes.items() if agents}
        return {node: process for node, process in all_nodes.items() if node in back or node not in self.state.left}

    @property
    def groups_before(self) -> dict[str, str]:
        """The group of every such node, as far as it is known."""
        hive = self.state.hive
        # A founder that left may have come back into another group.
        groups = founders_of(hive) | {node.name: node.group for node in _running_nodes(hive, self.running)}
        return {node: groups[node] for node in self.places if node in groups}


def why_to_move(hives: Hives) -> tuple[str, ...]:
    """Clauses; none where everything can be done with the hive there is."""
    old, new = hives.state.hive, hives.wanted
    if old is None:
        return ()
    if old.topology != new.topology:
        if hives.state.is_stopped and not hives.state.allocation:
            return ("it was restored from an archive, so its hive is founded anew",)
        return (f"the topology changes from {old.topology} to {new.topology}",)
    if new.topology == SINGLE:
        return ()
    wish = ("it is founded again, from the journals there are",) if hives.state.is_refounding else ()
    return (*wish, *_of_founding(old, new), *_of_groups(hives), *_of_nodes(hives))


def founders_of(hive: HiveConfig | None) -> dict[str, str]:
    return {node: group for group, nodes in hive.founders.items() for node in nodes} if hive else {}


def _of_founding(old: HiveConfig, new: HiveConfig) -> Iterator[str]:
    if old.is_sealed != new.is_sealed:
        unproven = "nobody has to prove anything any more, so write access to the bus is full control of the hive"
        yield "every fact is to bear its author's seal" if new.is_sealed else unproven
    if old.replicas != new.replicas:
        yield f"every fact had {old.replicas} copies and is to have {new.replicas}"
    if old.broadcast_threshold != new.broadcast_threshold:
        yield f"facts go to all groups from confidence {new.broadcast_threshold:g} on, not {old.broadcast_threshold:g}"
    if changed := [group for group in sorted(new.founders) if old.domains.get(group) != new.domains.get(group)]:
        yield f"other domains for {', '.join(changed)}"


def _of_groups(hives: Hives) -> Iterator[str]:
    before, now = hives.groups_before, founders_of(hives.wanted)
    # An agent's facts lie with the group of its node, and so would not follow it.
    had = before | {agent: before[node] for node, agent in _attached(hives.state.allocation) if node in before}
    has = now | {agent: now[node] for node, agent in _attached(hives.allocation.processes)}
    for name in sorted(had.keys() & has.keys()):
        if had[name] != has[name]:
            yield f"{name} moves from group {had[name]} to {has[name]}"
    if groups_gone := sorted({*before.values()} - {*now.values()}):
        yield f"nobody is left in {', '.join(groups_gone)}"


def _of_nodes(hives: Hives) -> Iterator[str]:
    before, now = hives.places, hives.allocation.nodes
    if before and not before.keys() & now.keys():
        yield "all nodes are to be others"
        return
    for node, process in sorted(before.items()):
        if now.get(node, process) != process:
            yield f"node {node} moves from process {process} to {now[node]}"
        elif node not in now and process in hives.allocation.processes:
            yield f"node {node} is to go and its process {process} to stay"
    if lost := _nobodys(hives):
        yield f"nobody runs {', '.join(lost)}, so it can't leave in order"


def _attached(placed: Placed) -> Iterator[tuple[str, str]]:
    return ((node, agent) for nodes in placed.values() for node, agents in nodes.items() for agent in agents)


def _nobodys(hives: Hives) -> list[str]:
    """Members that are to go and that no process could let go."""
    if not hives.running and not hives.state.is_stopped:
        return []
    names = {node.name for node in _running_nodes(hives.state.hive, hives.running)}
    unread = {name for name, process in hives.running.items() if process.config is None}
    staying = hives.allocation.nodes
    drained = hives.state.drained
    return sorted(n for n, p in hives.places.items() if not (n in staying or n in names or p in unread or p in drained))


def _running_nodes(hive: HiveConfig | None, running: Mapping[str, Running]) -> Iterator[NodeConfig]:
    for process in running.values():
        if process.config is not None and hive is not None and process.config.hive.id == hive.id:
            yield from process.config.nodes

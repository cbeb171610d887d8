"""When facts have to move to another generation of their hive, and why, in words.

A node joins or leaves while the others run. The foundation of a hive does not change: its topology, the groups of its nodes,
their domains, the copies of a fact. And a node leaves in order only from a process of its own, towards others that stay.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hive_mind.control.planning.allocation import Allocation, Placed
from hive_mind.control.platforms.base import Running
from hive_mind.control.state import FleetState
from hive_mind.hive.topology.spec import SINGLE
from hive_mind.runtime.workers.config import HiveConfig, NodeConfig


@dataclass(frozen=True, slots=True)
class Hives:
    """The hive as remembered, and the one that would be founded now, with the place of each agent."""

    state: FleetState
    wanted: HiveConfig
    allocation: Allocation
    running: Mapping[str, Running]

    @property
    def places(self) -> dict[str, str]:
        """The process of every node that was a member before and has not left."""
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

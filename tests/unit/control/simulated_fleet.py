"""A fleet without processes: takes the actions of plans, one after another, and keeps an eye on what may not happen.

It remembers as a controller does. Facts are kept in the simplest way a hive could: every node has some, who leaves hands its own
over to a member that stays where such facts may be, and a move deals all of them anew.
"""

from dataclasses import dataclass, field, replace

import msgspec

from hive_mind.control.manifests import HiveManifest
from hive_mind.control.planning import Action, Plan, plan
from hive_mind.control.planning.desired import Desired, desired
from hive_mind.control.platforms import Running
from hive_mind.control.state import FleetState
from hive_mind.runtime.workers import AgentStatus, NodeStatus, WorkerStatus
from hive_mind.runtime.workers.config import SourceConfig, WorkerConfig

ROUNDS_MAX = 5


def status_of(config: WorkerConfig, facts: int = 3, pending: int = 0) -> WorkerStatus:
    """Of a process that is well and has learned its sources."""
    nodes = tuple(NodeStatus(node.name, node.group, is_ready=True, facts=facts) for node in config.nodes)
    agents = tuple(
        AgentStatus(
            agent.name,
            group=agent.group,
            phase="ready",
            facts=facts,
            pending=pending,
            learned={source.path: source.digest for source in agent.sources},
        )
        for agent in config.agents
    )
    return WorkerStatus(config.process, 1, "", config.hive.id, "ready", 0, nodes, agents)


def as_running(config: WorkerConfig, facts: int = 3, pending: int = 0) -> Running:
    """A process that runs it."""
    return Running(config.process, pid=1, config=config, status=status_of(config, facts, pending))


@dataclass
class SimulatedFleet:
    """Give it manifests with `apply`."""

    sources: dict[str, tuple[SourceConfig, ...]] = field(default_factory=dict)
    state: FleetState = field(default_factory=FleetState)
    running: dict[str, Running] = field(default_factory=dict)
    members: dict[str, WorkerConfig] = field(default_factory=dict)
    facts: dict[str, set[str]] = field(default_factory=dict)
    """By node of the present hive."""
    archive: set[str] = field(default_factory=set)
    """In the journals of the last hive that was one."""

    def desired(self, manifest: HiveManifest) -> Desired:
        """What should be."""
        return desired(manifest, "/manifests", "/home", self.state, self.sources, running=self.seen())

    def plan(self, manifest: HiveManifest) -> Plan:
        """What is to be done."""
        wanted = self.desired(manifest)
        return plan(wanted, self.seen(wanted), self.state)

    def seen(self, wanted: Desired | None = None) -> dict[str, Running]:
        """What runs, and members that do not run and are not wanted."""
        lost = {name: Running(name, config=config) for name, config in self.members.items()}
        names = wanted.processes if wanted else ()
        return {name: one for name, one in lost.items() if name not in names} | self.running

    def apply(self, manifest: HiveManifest, stop_after: int | None = None) -> list[Action]:
        """Plans and acts until nothing is to do; or is killed after so many actions."""
        done: list[Action] = []
        for _ in range(ROUNDS_MAX):
            wanted, found = self.desired(manifest), self.plan(manifest)
            if not found:
                self.state = msgspec.structs.replace(self.state, allocation=dict(wanted.allocation.processes))
                return done
            if wanted.needs_redis and not self.state.redis_port:
                self.state = msgspec.structs.replace(self.state, redis_port=7777)
                continue
            if not wanted.move:
                self._intend(wanted)
            for action in found.actions:
                if stop_after is not None and len(done) >= stop_after:
                    return done
                done.append(action)
                self._take(action, wanted)
                if action.kind == "move":
                    break
        raise AssertionError(f"still not done: {self.plan(manifest).actions}")

    def crash(self, process: str) -> None:
        """It dies; its configuration stays."""
        self.running[process] = replace(self.running[process], pid=0, status=None, error="it was killed")

    def live(self) -> list[WorkerConfig]:
        """Configurations of what runs."""
        return [one.config for one in self.running.values() if one.is_alive and one.config is not None]

    def known(self) -> set[str]:
        """All facts that somebody has."""
        return {fact for some in self.facts.values() for fact in some} | self.archive

    def _take(self, action: Action, wanted: Desired) -> None:
        name = action.subject
        match action.kind:
            case "move":
                self._move(wanted)
            case "delete":
                self._delete(name, wanted)
            case "learn":
                self._learn(name, wanted)
            case _:
                self.running.pop(name, None)
                self._start(wanted.processes[name])

    def _start(self, config: WorkerConfig) -> None:
        here = {agent.name for agent in config.agents}
        for other in self.live():
            twice = here & {agent.name for agent in other.agents}
            assert not twice, f"{twice} in {other.process} and {config.process}"
        self.running[config.process] = as_running(config)
        if config.hive.topology != "single":
            for node in config.nodes:
                self.facts.setdefault(node.name, set()).add(f"said at {node.name} of {config.hive.id}")

    def _delete(self, name: str, wanted: Desired) -> None:
        config = self.members.get(name) or self.running[name].config
        assert config is not None
        if config.hive.id == wanted.hive.id and config.hive.topology != "single":
            for node in config.nodes:
                self._hand_over(node.name, node.group, name)
            self.state = msgspec.structs.replace(self.state, left=(*self.state.left, *(node.name for node in config.nodes)))
        self.running.pop(name, None)
        self.members.pop(name, None)
        allocation = {process: nodes for process, nodes in self.state.allocation.items() if process != name}
        self.state = msgspec.structs.replace(self.state, allocation=allocation)

    def _hand_over(self, node: str, group: str, process: str) -> None:
        others = [one for config in self.live() for one in config.nodes if config.process != process]
        takers = [one.name for one in others if one.group == group]
        assert takers, f"{node} leaves and nobody of {group or 'the hive'} is there to take what it holds"
        self.facts.setdefault(takers[0], set()).update(self.facts.pop(node, set()))

    def _move(self, wanted: Desired) -> None:
        everything = self.known()
        self.running = {name: replace(one, pid=0, status=None) for name, one in self.running.items() if one.config is not None}
        self.members, self.facts = {}, {}
        self.archive = everything
        self.state = msgspec.structs.replace(self.state, left=(), allocation={})
        self._intend(wanted)
        if wanted.hive.topology != "single":
            self.facts[next(iter(wanted.allocation.nodes))], self.archive = everything, set()

    def _learn(self, agent: str, wanted: Desired) -> None:
        process = wanted.allocation.hosts[agent]
        self.running[process] = replace(self.running[process], status=status_of(wanted.processes[process]))

    def _intend(self, wanted: Desired) -> None:
        is_shared = wanted.hive.topology != "single"
        self.members |= wanted.processes
        self.state = msgspec.structs.replace(
            self.state,
            generation=wanted.generation,
            hive=wanted.hive,
            last_hive=wanted.hive if is_shared else self.state.last_hive,
            allocation=wanted.allocation.beside(self.state.allocation),
        )

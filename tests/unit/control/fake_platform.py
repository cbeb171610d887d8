"""A machine with processes that exist only here: hives, journals and agents as sets, and a kill at any step.

It keeps the promises that real parts keep (an agent's database has one owner, a node leaves towards others that live, a started
process stays as it is) and notes whoever asks for something that would break them.
"""

import functools
import hashlib
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hive_mind.control.platforms import OBSERVE_S, Platform, Running
from hive_mind.control.state import FleetFolder
from hive_mind.control.surroundings import Surroundings
from hive_mind.errors import BackendTimeout, BackendUnavailable
from hive_mind.runtime.members.generations import Move, Moved
from hive_mind.runtime.workers import AgentStatus, MembersSeen, NodeStatus, WorkerStatus
from hive_mind.runtime.workers.config import BusConfig, HiveConfig, NodeConfig, WorkerConfig
from tests.builders import run


class Killed(BaseException):
    """The controller was killed here."""


@dataclass
class Process:
    pid: int
    config: WorkerConfig
    error: str = ""
    is_silent: bool = False
    learned: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def is_alive(self) -> bool:
        return self.pid > 0


@dataclass
class World:
    """Everything outside the controller; it outlives any number of them."""

    processes: dict[str, Process] = field(default_factory=dict)
    journals: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    members: dict[str, set[str]] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    """Agents whose process can't start."""
    failed: set[str] = field(default_factory=set)
    """Agents that can't be opened in theirs."""
    unreadable: set[str] = field(default_factory=set)
    violations: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    kill_at: int = 0
    steps: int = 0
    now_s: float = 1_000_000.0
    redis_port: int = 0
    _pids: int = 100

    def step(self, what: str) -> None:
        """A controller may be killed before and after everything it does."""
        self.steps += 1
        if self.steps == self.kill_at:
            raise Killed(what)

    @property
    def alive(self) -> dict[str, Process]:
        return {name: one for name, one in self.processes.items() if one.is_alive}

    def crash(self, name: str, error: str = "killed") -> None:
        self.processes[name].pid, self.processes[name].error = 0, error

    def learn(self, process: str, fact: str) -> None:
        """An agent of this process learns, and the hive confirms."""
        config = self.alive[process].config
        for node in config.nodes:
            self.journals[config.hive.id, node.name].add(fact)
        self._replicate(config.hive.id)

    def facts(self, hive: str) -> set[str]:
        """What its members hold, whether they run or not."""
        found = (facts for (id, node), facts in self.journals.items() if id == hive and node in self.members.get(hive, ()))
        return set().union(*found)

    def start(self, config: WorkerConfig) -> None:
        there = self.processes.get(config.process)
        if there is not None and there.is_alive:
            return
        error = self._refusal(config)
        self._pids += 1
        self.processes[config.process] = Process(0 if error else self._pids, config, error)
        if error or config.hive.topology == "single":
            return
        for node in config.nodes:
            self._enter(config.hive, node)
        self._replicate(config.hive.id)

    def leave(self, name: str) -> None:
        config = self.alive[name].config
        nodes = {node.name for node in config.nodes}
        others = self.members[config.hive.id] - nodes
        if others and not others & self._nodes_alive(config.hive.id):
            raise BackendTimeout("hive", "nobody takes it")
        held = set().union(*(self.journals[config.hive.id, node] for node in nodes & self.members[config.hive.id]))
        for node in others & self._nodes_alive(config.hive.id):
            self.journals[config.hive.id, node] |= held
        if others:
            self.members[config.hive.id] -= nodes

    def status(self, one: Process) -> WorkerStatus:
        config = one.config
        members = tuple(sorted(self.members.get(config.hive.id, ())))
        is_single = config.hive.topology == "single"
        nodes = () if is_single else tuple(NodeStatus(n.name, is_ready=n.name in members, members=members) for n in config.nodes)
        at = {agent: node.name for node in config.nodes for agent in node.agents}
        agents = tuple(
            AgentStatus(
                *(a.name, at.get(a.name, "")),
                phase="failed" if a.name in self.failed else "ready",
                learned=one.learned.get(a.name, {}),
            )
            for a in config.agents
        )
        return WorkerStatus(config.process, one.pid, "", config.hive.id, "ready", 0, nodes, agents)

    def _refusal(self, config: WorkerConfig) -> str:
        if broken := sorted(agent.name for agent in config.agents if agent.name in self.broken):
            return f"no such model for {broken[0]}"
        elsewhere = {agent.name for one in self.alive.values() for agent in one.config.agents}
        if twice := sorted(elsewhere & {agent.name for agent in config.agents}):
            self.violations.append(f"{twice[0]} would run twice")
            return f"{twice[0]}: the database is open elsewhere"
        return ""

    def _enter(self, hive: HiveConfig, node: NodeConfig) -> None:
        founders = {name for names in hive.founders.values() for name in names}
        key = (hive.id, node.name)
        members = self.members.setdefault(hive.id, set(founders))
        is_new = key not in self.journals
        self.journals.setdefault(key, set())
        if node.is_joining or (is_new and node.name not in founders):
            members.add(node.name)

    def _nodes_alive(self, hive: str) -> set[str]:
        configs = [one.config for one in self.alive.values()]
        return {node.name for config in configs if config.hive.id == hive for node in config.nodes}

    def _replicate(self, hive: str) -> None:
        here = self._nodes_alive(hive) & self.members[hive]
        held = set().union(*(self.journals[hive, node] for node in here))
        for node in here:
            self.journals[hive, node] |= held


class FakePlatform:
    """See `platform.Platform`."""

    def __init__(self, world: World) -> None:
        self.world = world

    async def observe(self, *, patience_s: float = OBSERVE_S) -> Mapping[str, Running]:
        del patience_s
        return {name: self._seen(name, one) for name, one in sorted(self.world.processes.items())}

    async def start(self, config: WorkerConfig) -> None:
        self._step(f"start {config.process}")
        self.world.start(config)
        self._step("started")

    async def stop(self, process: str, timeout_s: float) -> None:
        del timeout_s
        self._step(f"stop {process}")
        self.world.processes.pop(process, None)
        self._step("stopped")

    async def call(self, process: str, agent: str, what: str, *, timeout_s: float = 60.0, **fields: object) -> Any:
        del timeout_s
        self._step(f"call {process} {agent} {what}")
        one = self.world.alive.get(process)
        if one is None:
            raise BackendUnavailable(process, "it is not running")
        if what == "learn_files":
            paths = [str(path) for path in _listed(fields["paths"])]
            readable = [path for path in paths if path not in self.world.unreadable]
            one.learned.setdefault(agent, {}).update({path: _digest(path) for path in readable})
            return {"skipped": [{"file": path, "reason": "is no text"} for path in paths if path not in readable]}
        return {"did": what, **fields}

    async def leave(self, process: str, timeout_s: float) -> None:
        del timeout_s
        self._step(f"leave {process}")
        if process not in self.world.alive:
            raise BackendUnavailable(process, "it is not running")
        self.world.leave(process)
        self._step("left")

    async def members(self, process: str, timeout_s: float) -> tuple[MembersSeen, ...]:
        del process, timeout_s
        return ()

    async def evict(self, process: str, member: str, timeout_s: float) -> None:
        del timeout_s
        self._step(f"evict {member} by {process}")

    async def close(self) -> None:
        pass

    def _seen(self, name: str, one: Process) -> Running:
        if not one.is_alive:
            return Running(name, config=one.config, error=one.error)
        if one.is_silent:
            return Running(name, one.pid, one.config, error="no answer")
        return Running(name, one.pid, one.config, self.world.status(one))

    def _step(self, what: str) -> None:
        self.world.calls.append(what)
        self.world.step(what)


def surroundings(world: World) -> Surroundings:
    """A controller's surroundings in that world: time passes only where it waits."""

    async def open_platform(kind: str, folder: FleetFolder) -> Platform:
        del kind, folder
        return FakePlatform(world)

    async def move(asked: Move) -> Moved:
        old, new, attached = asked.old, asked.new, asked.attached
        world.step("move")
        if world.alive:
            world.violations.append("facts move while processes run")
        known = {node for hive, node in world.journals if hive == old.id}
        if known - set(asked.old_nodes):
            world.violations.append(f"journals of {known - set(asked.old_nodes)} are forgotten")
        held = set().union(*(facts for (hive, _), facts in world.journals.items() if hive == old.id))
        founders = {name for names in new.founders.values() for name in names}
        if unknown := set(attached.values()) - founders:
            world.violations.append(f"attached to {unknown}")
        world.members[new.id] = set(founders)
        for node in founders:
            world.journals[new.id, node] = set(held)
        world.step("moved")
        return Moved(len(held))

    async def sleep(seconds: float) -> None:
        world.now_s += seconds

    async def ensure_bus(_: Path) -> int:
        world.redis_port = 6400
        return 6400

    async def stop_bus(_: Path) -> None:
        world.redis_port = 0

    async def purge_bus(bus: BusConfig, hives: Sequence[str], home: Path) -> list[str]:
        del bus, hives, home
        return []

    async def reach_bus(bus: BusConfig, home: Path) -> None:
        del bus, home

    return Surroundings(
        open_platform=open_platform,
        ensure_bus=ensure_bus,
        has_bus=lambda _: bool(world.redis_port),
        stop_bus=stop_bus,
        move=move,
        reach_bus=reach_bus,
        purge_bus=purge_bus,
        now_ms=lambda: int(world.now_s * 1000),
        monotonic=lambda: world.now_s,
        sleep=sleep,
        rng=random.Random(5),
        lock_wait_s=0.0,
    )


def played(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """A test that waits, as one that pytest can run. What hangs fails."""

    @functools.wraps(test)
    def whole(*given: Any, **named: Any) -> None:
        run(test(*given, **named))

    return whole


def _listed(paths: object) -> list[object]:
    return list(paths) if isinstance(paths, list | tuple) else []


def _digest(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()

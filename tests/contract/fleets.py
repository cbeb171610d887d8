"""Agents of one hive in this process, whose nodes can be stopped and started again; and time that passes only when all wait."""

import asyncio
import random
import selectors
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hive_mind import backends
from hive_mind.bus.memory import MemoryBus
from hive_mind.embed import Embedder
from hive_mind.embed.none import NoEmbedder
from hive_mind.hive.effects import Held, Now, Promotion
from hive_mind.hive.node import HiveNode
from hive_mind.hive.topology.spec import SPECS, TopologyName
from hive_mind.journal import Journal
from hive_mind.journal.memory import MemoryJournal
from hive_mind.memory.distributed import DistributedCognitiveMemory
from hive_mind.ranking.vector import ExactVectors
from hive_mind.runtime.members.fleet import FleetPlan
from hive_mind.runtime.node import RunnerSettings, system_clock
from hive_mind.runtime.node.runner import NodeRunner
from tests.builders import BagOfWords, Home
from tests.contract.late_hives import EndsWithItsHive, LateHive
from tests.contract.process_homes import ProcessHome
from tests.contract.wires import WIRES
from tests.sampled import thorough

SHARING: tuple[TopologyName, ...] = tuple(spec.name for spec in SPECS.values())
# Every store alone, and one hive over real files: `test_memory_topologies` and its neighbours show the other topologies.
HOMES = (
    *(f"single over {store}" for store in backends.known("store")),
    "sharded over sqlite",
    *(thorough(f"{one} over memory") for one in SHARING),
)
# Four processes, of which three only hold facts and answer questions: see `process_homes`. To connect takes longer than a whole
# test elsewhere, most of all over AMQP: `test_memory_processes` shows each time that agents recall over it what others learned.
# Each kind of request to a hive goes over Redis in the tests that are `BETWEEN_PROCESSES`, and what others do there is the same.
_WIRED = ("flat over redis", "federated over redis", "sharded over servicebus and eventhubs")
ALL_HOMES = (*HOMES, *map(thorough, ("sharded over redis", *_WIRED)))
BETWEEN_PROCESSES = pytest.mark.parametrize(
    "home", [*HOMES, pytest.param("sharded over redis", marks=pytest.mark.slow), *map(thorough, _WIRED)], indirect=True
)
AGENTS = ("ada", "ben", "cleo", "dan", "eve", "finn", "gil", "hana")


def plan_of(topology: TopologyName, agents: int = 4, **options: Any) -> FleetPlan:
    """Agents in pairs: a group each, or replicas of the same facts."""
    return FleetPlan(topology, AGENTS[:agents], **{"group_size": 2, "replicas": 2, "partitions": 64, **options})


class HostedNode:
    """A node without members beside it that it would have to hear of, what runs it, and memories that hear of their facts."""

    def __init__(self, node: HiveNode, runner: NodeRunner) -> None:
        self.node, self.runner = node, runner
        self._notices: set[asyncio.Task[None]] = set()

    def attach(self, memory: DistributedCognitiveMemory) -> None:
        self.runner.on_shared(lambda fact_ids: self._notices.add(asyncio.ensure_future(memory.on_shared(fact_ids))))

    @property
    def is_busy(self) -> bool:
        is_notifying = any(not notice.done() for notice in self._notices)
        return bool(len(self.node.outbox) or is_notifying or self.runner.is_busy or self.node.replica.is_behind)

    async def stop(self) -> None:
        await self.runner.close()
        await asyncio.gather(*self._notices)


class Members:
    """The nodes of a hive over one bus. They begin when the first agent says something, from what their journals kept."""

    def __init__(self, plan: FleetPlan, folder: Path | None = None, embedder: Embedder | None = None) -> None:
        topology = plan.build_topology()
        assert topology is not None
        self.plan, self.topology, self.bus = plan, topology, MemoryBus()
        self.embedder = embedder or BagOfWords()
        self.hosted: dict[str, HostedNode] = {}
        self.clock = system_clock
        self._folder = folder
        self._journals: dict[str, MemoryJournal] = {}
        self._memories: dict[str, list[DistributedCognitiveMemory]] = {}
        self._beginning: asyncio.Task[None] | None = None
        self._boots = 0

    async def begin(self) -> None:
        """Start all; once, whoever asks first, and however often."""
        self._beginning = self._beginning or asyncio.ensure_future(self._begin())
        await asyncio.shield(self._beginning)

    async def start(self, name: str) -> None:
        """Start one over its journal."""
        self._boots += 1
        node = HiveNode(
            name,
            self.topology,
            chance=random.Random(f"{id(self)} {self._boots}"),
            settings=replace(self.plan.hive, model=self.embedder.model),
            new_arm=lambda: ExactVectors(self.embedder.dimension) if self.embedder.dimension else None,
        )
        runner = NodeRunner(node, await self._journal(name), self.bus, clock=self.clock, settings=self.plan.runner)
        await runner.start()
        self.hosted[name] = hosted = HostedNode(node, runner)
        for memory in self._memories.get(name, ()):
            hosted.attach(memory)

    async def stop(self, *names: str) -> None:
        """As if their machines went away."""
        await asyncio.gather(*(self.hosted[name].stop() for name in names))

    async def settled(self) -> None:
        """Return when everything that was written is where it belongs, and its authors know."""
        while any(hosted.is_busy for hosted in self.hosted.values()):  # noqa: ASYNC110
            await asyncio.sleep(0.001)

    async def close(self) -> None:
        if self._beginning is not None:
            await self.begin()
            await self.stop(*self.hosted)
        await self.bus.close(drain_s=0)

    def memory(self, agent: str, home: Home | None = None, **options: Any) -> DistributedCognitiveMemory:
        """An agent's memory, attached to its node."""
        name = self.plan.node_of(agent)
        local = (home or Home()).memory(self.embedder, **options)
        forgets = self.plan.hive.standing.expiry.is_on
        memory = DistributedCognitiveMemory(local, Door(self, name), agent=agent, gate=self.plan.gate, forgets=forgets)
        self._memories.setdefault(name, []).append(memory)
        if name in self.hosted:
            self.hosted[name].attach(memory)
        return memory

    async def _begin(self) -> None:
        for name in self.topology.nodes:
            await self.start(name)

    async def _journal(self, name: str) -> Journal:
        if self._folder is not None:
            return await backends.load("journal", "sqlite").open(self._folder / f"{name}.sqlite")
        former = self._journals.get(name)
        self._journals[name] = MemoryJournal(former._records.values() if former else ())
        return self._journals[name]


class Door(LateHive):
    """The `Hive` of those attached to a node, whichever boot of it."""

    def __init__(self, members: Members, name: str) -> None:
        self._members, self._name = members, name

    async def _runner(self) -> NodeRunner:
        await self._members.begin()
        return self._members.hosted[self._name].runner


class PatientDoor(Door):
    """Says of a fact that others can find it, not that they will: so what was stored stays as it is."""

    async def promote(self, promotions: Sequence[Promotion]) -> Sequence[Held]:
        held = await super().promote(promotions)
        while self._members.hosted[self._name].node.outbox:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        return [replace(one, is_shared=not one.refused) for one in held]


class HiveHome(Home):
    """Where one memory and the hive behind it live: opened again, all have what they had. The other agents are silent."""

    def __init__(self, topology: TopologyName, back_end: str = "memory", path: Path | None = None) -> None:
        super().__init__(back_end, path)
        # Nobody here is silent, so a busy machine must not look like one who is.
        self._plan = plan_of(topology, runner=RunnerSettings(ask_deadline_ms=30_000, fetch_deadline_ms=30_000))
        self._former: Members | None = None
        self._folder = path.parent / "nodes" if path and back_end != "memory" else None

    def memory(self, embedder: Embedder | None = None, **options: Any) -> "InHive":
        members = Members(self._plan, self._folder, embedder or NoEmbedder())
        if self._former is not None:
            members._journals = self._former._journals
        self._former = members
        return InHive(super().memory(embedder, **options), members, self._plan)


def home_for(name: str, folder: Path) -> Home:
    """One of `HOMES`."""
    topology, store = name.split(" over ")
    path = folder / "memory.db"
    if store in WIRES:
        return ProcessHome(topology, store, path)
    return Home(store, path) if topology == "single" else HiveHome(topology, store, path)  # type: ignore[arg-type]


class InHive(EndsWithItsHive):
    """A memory whose hive ends with it."""

    def __init__(self, local: Any, members: Members, plan: FleetPlan) -> None:
        agent = plan.agents[0]
        super().__init__(local, PatientDoor(members, plan.node_of(agent)), agent=agent, gate=plan.gate)
        self._ends = members.close


class Leaping(asyncio.SelectorEventLoop):
    """A loop whose time leaps over every wait, so that what takes seconds takes none and a busy machine changes nothing."""

    def __init__(self) -> None:
        self.now_s = 0.0
        super().__init__(_LeapingSelector(self))

    def time(self) -> float:
        return self.now_s

    def clock(self) -> Now:
        """For nodes: its time on both clocks."""
        now_ms = round(self.now_s * 1000)
        return Now(1_700_000_000_000 + now_ms, now_ms)


class _LeapingSelector(selectors.SelectSelector):
    def __init__(self, loop: Leaping) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if not ready and timeout is None:
            raise RuntimeError("everybody waits, and nothing will ever happen")
        if not ready and timeout:
            self._loop.now_s += timeout
        return ready

"""Arms with nodes in virtual time: hives of sizes no laptop holds, and faults that a real network has when it likes.

A node for each agent, whatever the topology, as where every agent is a process of its own. The agents' memories, their ranking
and the nodes are those of production; the network is simulated. So messages, bytes, fan-out and completeness are exact and the
same each time. Wall times are those of virtual time, CPU times are real.

A hive of production nodes in virtual time, as the agents at its nodes see it: questions are answered before time goes on.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from typing import get_args

from hive_mind import backends
from hive_mind.errors import BackendTimeout
from hive_mind.evals.arms import ArmResult, Cost, Means, keep, lessons
from hive_mind.evals.arms.costs import is_caused, prepare, weight_of
from hive_mind.evals.arms.node_per_agent import ANOTHER_MOMENT_MS, PerAgentArm, down_of, refuse, slow_of, topology_of
from hive_mind.evals.datasets import LabelledQuestion, Scope
from hive_mind.evals.experiments import Cell, Fault, Learned
from hive_mind.hive.effects import Effect, Event, Now, Outcome, Received, Tick
from hive_mind.hive.node import HiveNode
from hive_mind.hive.performer import Performer, Ports
from hive_mind.hive.query import Latencies
from hive_mind.hive.settings import HiveSettings
from hive_mind.hive.topology import Topology
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.memory.distributed import DistributedCognitiveMemory
from hive_mind.memory.gate import PromotionSettings
from hive_mind.model.gathered import SearchResult
from hive_mind.model.messages import Message, Replicate, SearchReply, SearchRequest
from hive_mind.ranking.vector import VectorArm
from hive_mind.runtime.members.host import Borrowed
from hive_mind.runtime.node import RunnerSettings
from hive_mind.runtime.node.intake import Requests
from hive_mind.runtime.wiring import vector_arms
from hive_mind.sim import Weather
from hive_mind.sim.machine import START_MS, Fate, Network, Packet, Schedule

DELAY_MS = 2
"""Mean time of a message. With it, a question takes about as long here as among processes over a Redis server beside them."""

_REQUESTS = get_args(SearchRequest)
_SEARCHES = _REQUESTS + get_args(SearchReply)
_DEADLINES = RunnerSettings()
_STEP_MS = 20
# Writes that are lost here are repeated for a minute; nothing is lost while agents learn, so it takes a fraction of a second.
_SETTLED_WITHIN_MS = 600_000


@dataclass(slots=True)
class Traffic:
    """Messages sent since `begin`: one message to two nodes is two."""

    is_weighed: bool = True
    messages: int = 0
    bytes: int = 0
    asked: set[str] = field(default_factory=set)
    """Nodes that were sent a request."""

    def count(self, to: Sequence[str], message: Message) -> None:
        if not self.is_weighed or not is_caused(message):
            return
        self.messages += len(to)
        self.bytes += len(to) * weight_of(message)
        if isinstance(message, _REQUESTS):
            self.asked.update(to)


class VirtualNode(Requests):
    """One node; an agent's memory takes it for its hive."""

    def __init__(self, node: HiveNode, hive: "VirtualHive") -> None:
        super().__init__(node.name, _DEADLINES.ask_deadline_ms, _DEADLINES.fetch_deadline_ms)
        self.node, self._hive = node, hive
        self.shared: list[str] = []
        """Facts that others keep now, and that the agents here have not heard of yet."""
        self.is_down = False
        self.tick_ms = -1
        """Virtual time of its next tick; -1: not planned."""
        self.begin_anew()

    def begin_anew(self) -> None:
        """Name requests from the start again: equal names have equal bytes."""
        self._ids = (f"{self._name} {number:06}" for number in count())

    async def _answer(self, request: str, event: Event, effects_after: Sequence[Effect] = ()) -> Outcome:
        del effects_after
        return self._hive.answered(self, request, event)


class VirtualHive(Ports[VirtualNode]):
    """Nodes of one topology. `settle` once everything was promoted; then `spoil` it; then `ask`."""

    def __init__(
        self, topology: Topology, settings: HiveSettings, new_arm: Callable[[], VectorArm | None], seed: int, fault: Fault
    ) -> None:
        self.schedule, self.traffic = Schedule(), Traffic()
        self.topology, self._settings, self._seed, self._fault = topology, settings, seed, fault
        self._chance = _chance(seed, "questions")
        self._calm = Network(self.schedule, _chance(seed, "writes"), Weather(delay_ms=DELAY_MS), self._deliver)
        weather = Weather(delay_ms=DELAY_MS, loss=fault.loss)
        self._spoilt = Network(self.schedule, self._chance, weather, self._deliver)
        self._performer, self._done = Performer(self), dict[str, Outcome]()
        self._is_learning, self._replica_ms = True, 0
        self._slow: frozenset[str] = frozenset()
        self._down: frozenset[str] = frozenset()
        self.nodes = {
            name: VirtualNode(
                HiveNode(name, topology, chance=_chance(seed, f"node {name}"), settings=settings, new_arm=new_arm), self
            )
            for name in topology.nodes
        }
        for node in self.nodes.values():
            self._follow(node, node.node.start((), self._now))

    def time_us(self) -> int:
        return 1000 * (START_MS + self.schedule.now_ms)

    def settle(self) -> int:
        """Run until every holder has what was promoted; how long that took after the last promotion. Raises `BackendTimeout`."""
        began_ms = self.schedule.now_ms
        while any(len(node.node.outbox) for node in self.nodes.values()):
            if self.schedule.now_ms - began_ms > _SETTLED_WITHIN_MS:
                raise BackendTimeout("simulator", f"replicas were not written within {_SETTLED_WITHIN_MS / 1000:g} virtual s")
            self.schedule.run(_STEP_MS, lambda: False)
        return max(0, self._replica_ms - began_ms)

    def spoil(self, down: frozenset[str], slow: frozenset[str]) -> None:
        """Learning is over; faults hold from now on.

        Nodes that are down have been so for long enough that all know, as members do a few seconds after a last beat.
        """
        self._is_learning, self._down, self._slow = False, down, slow
        for name, node in self.nodes.items():
            node.is_down, node.tick_ms = name in down, -1
        self.rest()

    def rest(self) -> None:
        """Let everything that is under way arrive."""
        longest_ms = _DEADLINES.ask_deadline_ms + _DEADLINES.fetch_deadline_ms + self._fault.slow_ms
        self.schedule.run(2 * longest_ms, lambda: False)

    def begin(self, asker: str, question: str, *, is_weighed: bool) -> None:
        """A question begins, as if it were the first: same name, same fate."""
        self._chance.seed(f"{self._seed} {question}")
        node = self.nodes[asker]
        node.begin_anew()
        node.node.questions.latencies = Latencies(self._settings.scatter)
        node.node.questions.latencies.suspects = self._down
        self.traffic = Traffic(is_weighed)

    def answered(self, asker: VirtualNode, request: str, event: Event) -> Outcome:
        """Tell a node of a request and let time pass until it has answered."""
        self._handle(asker, event)
        self.schedule.run(_SETTLED_WITHIN_MS, lambda: request in self._done)
        if request not in self._done:
            raise BackendTimeout("simulator", f"{asker.node.name} did not answer {type(event).__name__} {request}")
        return self._done.pop(request)

    @property
    def _now(self) -> Now:
        return Now(START_MS + self.schedule.now_ms, self.schedule.now_ms)

    def _handle(self, node: VirtualNode, event: Event) -> None:
        self._follow(node, node.node.handle(event, self._now))

    def _follow(self, node: VirtualNode, effects: Sequence[Effect]) -> None:
        self._performer.take(effects, node)
        self._plan_tick(node)

    def done(self, request: str, outcome: Outcome, cause: VirtualNode) -> None:
        del cause
        self._done[request] = outcome

    def shared(self, fact_ids: tuple[str, ...], cause: VirtualNode) -> None:
        cause.shared += fact_ids

    def send(self, to: tuple[str, ...], message: Message, cause: VirtualNode) -> None:
        is_search = isinstance(message, _SEARCHES)
        # Anti-entropy rests while questions are asked: it would find nothing new, and its timetable depends on what was before.
        if not is_search and not self._is_learning:
            return
        self.traffic.count(to, message)
        network = self._spoilt if is_search else self._calm
        for name in to:
            network.send(cause.node.name, name, message)

    def search(self, request: SearchRequest, reply_to: str, cause: VirtualNode) -> None:
        if (reply := cause.node.search(request, self._now)) is None:
            return
        if reply_to == (name := cause.node.name):
            self.schedule.after(0, lambda: self._handle(cause, Received(name, reply)))
        elif name in self._slow:
            self.schedule.after(self._fault.slow_ms, lambda: self.send((reply_to,), reply, cause))
        else:
            self.send((reply_to,), reply, cause)

    def _deliver(self, packet: Packet) -> Fate:
        node = self.nodes[packet.to]
        if node.is_down:
            return Fate.AWAY
        if isinstance(packet.message, Replicate):
            self._replica_ms = self.schedule.now_ms
        self._handle(node, Received(packet.sender, packet.message))
        return Fate.TAKEN

    def _plan_tick(self, node: VirtualNode) -> None:
        """While questions are asked only these need one: so nothing is left to happen when a question is over."""
        due_ms = node.node.wake_at_ms(self._now) if self._is_learning else node.node.questions.wake_at_ms()
        if due_ms is None or (0 <= node.tick_ms <= due_ms):
            return
        node.tick_ms = due_ms = max(due_ms, self.schedule.now_ms + 1)
        was_learning = self._is_learning
        self.schedule.after(due_ms - self.schedule.now_ms, lambda: self._tick(node, due_ms, was_learning=was_learning))

    def _tick(self, node: VirtualNode, due_ms: int, *, was_learning: bool) -> None:
        if node.tick_ms == due_ms and was_learning == self._is_learning and not node.is_down:
            node.tick_ms = -1
            self._handle(node, Tick())


def _chance(seed: int, purpose: str) -> Random:
    return Random(f"{seed} {purpose}")  # noqa: S311 - chance of a simulation, which has to be the same again


_GATE = PromotionSettings(is_open=True)


class SimulatedArm(PerAgentArm):
    """Agents with a node each, in virtual time. They learn in `open_arm`."""

    def __init__(self, cell: Cell, scope: Scope, means: Means) -> None:
        new_arm, dimension = vector_arms(means.settings), means.embedder.dimension
        super().__init__(cell, scope, means)
        self._hive = VirtualHive(
            topology_of(cell.arm),
            HiveSettings(model=means.embedder.model),
            lambda: new_arm(dimension) if dimension else None,
            cell.seed,
            cell.fault,
        )
        self._memories = {name: self._memory(name) for name in self._names}

    async def learn(self) -> None:
        """Everybody learns its part and shares it; then what is to be wrong is wrong."""
        await prepare(self._scope, self._means.settings, self._means.embedder)
        began_s, hive = time.process_time(), self._hive
        memories = list(self._memories.values())
        for agent, scope in lessons(self._cell, self._scope, self._means.progress):
            self._hive.schedule.run(ANOTHER_MOMENT_MS, lambda: False)
            await keep(memories[agent], scope, None)
        lag_ms = hive.settle()
        # Agents hear that others keep their facts, and then search their own no more.
        for name, node in self._hive.nodes.items():
            shared, node.shared = node.shared, []
            if shared:
                await self._memories[name].on_shared(shared)
        # Times but the CPU's are virtual.
        self.learned = Learned(
            facts=len(self.documents),
            messages=hive.traffic.messages,
            bytes=hive.traffic.bytes,
            replica_lag_s=lag_ms / 1000,
            cpu_s=time.process_time() - began_s,
            wall_s=hive.schedule.now_ms / 1000,
        )
        hive.spoil(down_of(self._cell), slow_of(self._cell))

    async def ask(self, question: LabelledQuestion, limit: int) -> ArmResult:
        """Ask twice, with the same fate: once to weigh messages and to fill indexes and caches, once to measure time."""
        asker = self._askers[question.id]
        weighed, _ = await self._search(asker, question, limit, is_weighed=True)
        traffic = self._hive.traffic
        began_s, began_ms = time.process_time(), self._hive.schedule.now_ms
        hits, answered_ms = await self._search(asker, question, limit, is_weighed=False)
        cpu_s = time.process_time() - began_s
        cost = Cost(traffic.messages, traffic.bytes, len(traffic.asked), weighed.completeness)
        return ArmResult(tuple(hits), cost, cpu_s, (answered_ms - began_ms) / 1000)

    async def close(self) -> None:
        for memory in self._memories.values():
            await memory.close()

    def _memory(self, name: str) -> DistributedCognitiveMemory:
        local = CognitiveMemory(
            partial(backends.load("store", "memory").open, Path(name)),
            Borrowed(self._means.embedder),
            ranking=self._cell.retrieval.ranking,
            new_arm=vector_arms(self._means.settings),
            clock=self._hive.time_us,
        )
        return DistributedCognitiveMemory(local, self._hive.nodes[name], agent=name, gate=_GATE)

    async def _search(self, asker: str, question: LabelledQuestion, limit: int, *, is_weighed: bool) -> tuple[SearchResult, int]:
        """The results, and their time; afterwards nothing of the question is under way any more."""
        self._hive.begin(asker, question.id, is_weighed=is_weighed)
        hits = await self._find(self._memories[asker], question.text, limit)
        answered_ms = self._hive.schedule.now_ms
        self._hive.rest()
        return hits, answered_ms


async def open_arm(cell: Cell, scope: Scope, means: Means) -> SimulatedArm:
    """A hive that has learned a scope. Raises `InvalidInput` for an arm without a hive, and for impossible faults."""
    refuse(cell, means)
    arm = SimulatedArm(cell, scope, means)
    try:
        await arm.learn()
    except BaseException:
        await arm.close()
        raise
    return arm

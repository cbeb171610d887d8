"""Questions to a hive over every bus: every request reaches its node, every reply its request, and what is missing is named."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest

from hive_mind import backends
from hive_mind.bus import Envelope, EventBus
from hive_mind.hive.node import HiveNode
from hive_mind.hive.topology import Topology
from hive_mind.journal.memory import MemoryJournal
from hive_mind.model.gathered import EvidenceColumns, Gathered, Occurrences, Pool
from hive_mind.model.ids import fact_id
from hive_mind.model.messages import PoolReply, PoolRequest
from hive_mind.model.query import TermStatistics
from hive_mind.runtime.node import RunnerSettings
from hive_mind.runtime.node.runner import NodeRunner
from tests.contract.bus_builders import Listener, Scenario, World
from tests.hives import flat, probe, promotion, ranked, settings, sharded
from tests.sampled import usually
from tests.waiting import until

Run = Callable[[Scenario], None]

# Nobody should need it, but the machine may be busy.
_PATIENT_MS = 60_000
_SUBJECTS = 30
# Over AMQP ten members answer ten questions at once, and each has its own answer.
WHERE_QUICK = usually(backends.known("bus"), "memory", "redis")


class Counted:
    """A bus that remembers what was published."""

    def __init__(self, bus: EventBus) -> None:
        self._bus = bus
        self.published: list[Envelope] = []

    async def publish(self, envelopes: Sequence[Envelope], *, timeout_s: float = 10.0) -> None:
        self.published += envelopes
        await self._bus.publish(envelopes, timeout_s=timeout_s)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bus, name)


class Hive:
    """Nodes of one hive over one bus."""

    def __init__(self, world: World, topology: Topology, deadline_ms: int) -> None:
        self.world, self.topology = world, topology
        self.bus: Any = Counted(world.bus)
        self.nodes: dict[str, HiveNode] = {}
        self.runners: dict[str, NodeRunner] = {}
        self._settings = RunnerSettings(world.hive, ask_deadline_ms=deadline_ms, fetch_deadline_ms=deadline_ms)

    async def start(self, name: str) -> None:
        self.world.harness.provide(self.world.hive, name)
        node = HiveNode(name, self.topology, chance=random.Random(name), settings=settings())
        self.nodes[name] = node
        self.runners[name] = NodeRunner(node, MemoryJournal(), self.bus, settings=self._settings)
        await self.runners[name].start()

    async def learn(self) -> None:
        """Each node says something about some subjects; returns when it is where it belongs."""
        names = sorted(self.runners)
        for number in range(_SUBJECTS):
            await self.runners[names[number % len(names)]].promote([promotion(subject(number))])
        await until(self._is_settled, within_s=40)

    async def ask(self, name: str, number: int) -> Gathered:
        return await self.runners[name].ask(probe(f"subject{number}"))

    async def _is_settled(self) -> bool:
        busy = any(runner.is_busy for runner in self.runners.values())
        return not busy and not any(len(node.outbox) or node.replica.is_behind for node in self.nodes.values())


@asynccontextmanager
async def started(world: World, topology: Topology, *, without: str = "", deadline_ms: int = _PATIENT_MS) -> AsyncIterator[Hive]:
    hive = Hive(world, topology, deadline_ms)
    try:
        for name in topology.nodes:
            if name != without:
                await hive.start(name)
        yield hive
    finally:
        await asyncio.gather(*(runner.close(drain_s=0.1) for runner in hive.runners.values()))


def subject(number: int) -> str:
    return f"What is known of subject{number}."


def found(gathered: Gathered, number: int) -> bool:
    return ranked(gathered)[:1] == [fact_id(subject(number))]


@pytest.mark.parametrize("started_broker", WHERE_QUICK, indirect=True)
async def test_many_questions_at_once_get_their_own_answers(world: World) -> None:
    async with started(world, sharded(4, replicas=2)) as hive:
        await hive.learn()
        rng, count = random.Random(7), 200 if world.harness.opens_quickly else 20
        asked = [(f"n{rng.randrange(4)}", rng.randrange(_SUBJECTS)) for _ in range(count)]
        answers = await asyncio.gather(*(hive.ask(name, number) for name, number in asked))

        assert all(answer.completeness == 1.0 for answer in answers)
        assert [found(answer, number) for answer, (_, number) in zip(answers, asked, strict=True)] == [True] * count


async def test_every_question_reaches_all_of_ten_members_however_few_lanes_the_bus_has(world: World) -> None:
    async with started(world, sharded(10, replicas=1, partitions=40)) as hive:
        await hive.learn()
        answers = await asyncio.gather(*(hive.ask(f"n{number}", number) for number in range(10)))

        assert [answer.silent for answer in answers] == [()] * 10
        assert [len(answer.asked) for answer in answers] == [9] * 10
        assert all(found(answer, number) for number, answer in enumerate(answers))


async def test_a_member_that_is_gone_is_named_and_the_others_answer(world: World) -> None:
    world.harness.provide(world.hive, "n2")
    async with started(world, sharded(4, replicas=1), without="n2", deadline_ms=1500) as hive:
        gathered = await hive.ask("n0", 1)

        assert gathered.silent == ("n2",)
        assert set(gathered.missing) == set(hive.topology.held_by("n2"))
        assert gathered.completeness == 1 - len(gathered.missing) / gathered.partitions


async def test_a_reply_that_comes_too_late_finds_nobody_and_leaves_nothing(world: World) -> None:
    async with started(world, sharded(2, replicas=1), without="n1", deadline_ms=700) as hive:
        slow: Listener = await world.listener("n1")
        assert (await hive.ask("n0", 1)).silent == ("n1",)
        (late,) = await slow.take()
        while not isinstance(request := late.envelope.message, PoolRequest):
            await late.ack()
            (late,) = await slow.take()
        pool = Pool((), *[np.empty(0, np.float32)] * 3)
        words = Occurrences(TermStatistics(1, 1.0, {"subject1": 1}, 1.0))
        reply = PoolReply(request.query, request.replica_set, pool, EvidenceColumns(), (), words)
        await world.bus.publish([world.envelope(reply, "n0", sender="n1")])
        await late.ack()

        assert (await hive.ask("n0", 1)).silent == ("n1",)
        runner = hive.runners["n0"]
        await until(lambda: not runner.is_busy)
        assert runner.failure is None
        assert not runner._executor.requests


@pytest.mark.parametrize("started_broker", WHERE_QUICK, indirect=True)
async def test_what_a_node_keeps_itself_it_asks_nobody_for(world: World) -> None:
    async with started(world, flat("n0", "n1")) as hive:
        await hive.learn()
        hive.bus.published.clear()
        answers = await asyncio.gather(*(hive.ask("n0", number) for number in range(_SUBJECTS)))
        asked = [one for one in hive.bus.published if "?" in one.type]

        assert all(found(answer, number) for number, answer in enumerate(answers))
        assert asked == []
    async with started(world, sharded(3, replicas=1)) as hive:
        await hive.ask("n0", 1)
        assert [one for one in hive.bus.published if one.sender in one.target] == []
        assert {name for one in hive.bus.published if "?" in one.type for name in one.target} == {"n1", "n2"}

"""Answers forged over every broker by somebody who reads along: under the right names and ids, and always there first.

Of none anything is taken in, all are counted, and the honest answer still arrives.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from hive_mind import backends
from hive_mind.bus import Envelope, EventBus
from hive_mind.embed.none import NoEmbedder
from hive_mind.hive.membership import MembershipSettings
from hive_mind.hive.replication import GossipSettings
from hive_mind.hive.settings import HiveSettings
from hive_mind.identity.epochs import Signing
from hive_mind.model.evidence import HiveFact
from hive_mind.model.gathered import EvidenceColumns, Pool
from hive_mind.model.messages import FactsReply, ListReply, Message, PoolReply, Replicate, SyncState, SyncStep
from hive_mind.runtime.keys import KeyFolder, Proof
from hive_mind.runtime.members import MemberPlan
from hive_mind.runtime.members.host import open_member
from hive_mind.runtime.members.member import RunningMember
from hive_mind.runtime.node import RunnerSettings
from hive_mind.runtime.settings import Settings
from tests.attacking import FALSE, comes_to, known_to
from tests.contract.bus_builders import Scenario, World, harness_of, run
from tests.sampled import usually
from tests.waiting import until

pytestmark = pytest.mark.slow

BUSES = backends.known("bus")
ANSWERS = (PoolReply, FactsReply, ListReply, SyncState, SyncStep)
TRUE = tuple(f"Pump 4 was looked at by fitter {number}." for number in range(8))
# Everybody has time, however slow the machine is.
PATIENT = RunnerSettings(ask_deadline_ms=30_000, fetch_deadline_ms=30_000)
_NONE = np.empty(0, dtype=np.float32)


def forged(message: Message) -> Message:
    """The same answer, as somebody likes it: it says something else, or that there is nothing."""
    match message:
        case PoolReply():
            return msgspec.structs.replace(message, pool=Pool((), _NONE, _NONE, _NONE), evidence=EvidenceColumns(), missing=())
        case FactsReply() | ListReply():
            return msgspec.structs.replace(message, facts=tuple(map(_false, message.facts)))
        case SyncStep():
            return msgspec.structs.replace(message, adds=(), removals=(), spans=(), wants=b"", heads=())
        case SyncState():
            return msgspec.structs.replace(message, agrees=("",), complete=("",))
        case _:
            raise AssertionError(message)


def _false(fact: HiveFact) -> HiveFact:
    return msgspec.structs.replace(fact, statement=msgspec.structs.replace(fact.statement, content=FALSE))


@dataclass
class Racing:
    """The honest member's way to the bus. Before each answer of it come those of somebody who has read the question."""

    bus: EventBus
    signings: Sequence[Signing]
    """Of keys that are not the member's; none where nobody proves anything."""
    loses: type[Message] | None = None
    """A kind of message that gets lost, so that another has to bring it."""
    asker: RunningMember | None = None
    heard: Counter[str] = field(default_factory=Counter)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.bus, name)

    async def publish(self, envelopes: Sequence[Envelope], *, timeout_s: float = 10.0) -> None:
        for envelope in envelopes:
            if self.loses is not None and isinstance(envelope.message, self.loses):
                continue
            if self.asker is not None and isinstance(envelope.message, ANSWERS):
                await self._come_first(envelope, self.asker)
            await self.bus.publish([envelope], timeout_s=timeout_s)

    async def _come_first(self, honest: Envelope, asker: RunningMember) -> None:
        """They bear the very id of the honest one, and are dealt with before it is sent."""
        bare = msgspec.structs.replace(honest, message=forged(honest.message), seal=b"", data=b"", vouched=())
        self.heard[honest.type] += 1
        if not self.signings:
            await self.bus.publish([msgspec.structs.replace(bare, id=f"{honest.id}-before")])
            return
        before = sum(asker.runner.figures.unproven.values())
        lies = [bare, msgspec.structs.replace(bare, seal=honest.seal), *(one.signed(bare) for one in self.signings)]
        await self.bus.publish(lies)
        await until(lambda: sum(asker.runner.figures.unproven.values()) >= before + len(lies), within_s=60)


def keys_that_are_not_bobs(folder: Path) -> tuple[KeyFolder, Sequence[Signing]]:
    """The fleet's keys; and those of another member, one of bob's that was revoked, one of another hive's bob."""
    keys, others = KeyFolder(folder / "keys", "hive"), KeyFolder(folder / "others", "hive")
    for one in (keys, others):
        one.found()
        for name in ("ada", "bob", "cleo"):
            one.issue(name)
    former, stolen = keys.certificate("bob"), keys.signing("bob", "require")
    assert former is not None
    keys.revoke(former.key_id)
    keys.issue("bob")
    return keys, (keys.signing("cleo", "require"), stolen, others.signing("bob", "require"))


async def member(
    world: World, bus: EventBus, keys: KeyFolder | None, folder: Path, name: str, topology: str, stack: AsyncExitStack
) -> RunningMember:
    world.harness.provide(world.hive, name)
    plan = MemberPlan(
        name,
        "",
        hive=world.hive,
        topology=topology,
        members=("ada", "bob"),
        replicas=1,
        partitions=16,
        membership=MembershipSettings(beat_ms=300, suspect_after_ms=60_000),
        nodes=HiveSettings(gossip=GossipSettings(period_ms=300, first_ms=300, soon_ms=50)),
        runner=PATIENT,
        proof=Proof("require", keys.path, name) if keys else None,
    )
    running = await open_member(Settings(home=folder / name, store="memory", ann="exact"), plan, NoEmbedder(), bus)
    stack.push_async_callback(running.close)
    return running


def played(
    play: Callable[[RunningMember, RunningMember, Racing], Awaitable[None]],
    folder: Path,
    topology: str,
    loses: type[Message] | None = None,
    *,
    is_proven: bool = True,
) -> Scenario:
    """ada asks, bob answers, and somebody answers first."""

    async def scenario(world: World) -> None:
        keys, signings = keys_that_are_not_bobs(folder)
        async with AsyncExitStack() as stack:
            racing = Racing(world.bus, signings if is_proven else (), loses)
            proven = keys if is_proven else None
            ada = await member(world, world.bus, proven, folder, "ada", topology, stack)
            bob = await member(world, racing, proven, folder, "bob", topology, stack)  # type: ignore[arg-type]
            for one in (ada, bob):
                assert await one.until_ready(60, lambda _: None) == ()
            await play(ada, bob, racing)

    return scenario


@pytest.mark.parametrize("started_broker", usually(BUSES, "memory", "redis", "servicebus"), indirect=True)
def test_an_answer_forged_before_the_honest_one_is_not_taken_in_and_the_honest_one_is(
    with_bus: Callable[[Scenario], None], tmp_path: Path
) -> None:
    async def play(ada: RunningMember, bob: RunningMember, racing: Racing) -> None:
        for text in TRUE:
            await bob.memory.store_fact("pumps", text)
        await until(lambda: not bob.is_busy)
        racing.asker = ada
        assert {hit.fact.content for hit in await ada.memory.search_facts("pump 4", 50)} == set(TRUE)
        listed = await ada.runner.facts(concept="pumps")
        assert {fact.content for fact in listed.facts} == set(TRUE)
        assert not listed.missing
        got = await ada.runner.fetch([(fact.id, "") for fact in listed.facts])
        assert {fact.content for fact in got} == set(TRUE)
        assert {"pool", "facts", "list"} <= racing.heard.keys()
        assert ada.runner.figures.unproven.keys() == {"unsigned", "forged", "revoked", "unknown key"}

    with_bus(played(play, tmp_path, "sharded"))


@pytest.mark.parametrize("started_broker", usually(BUSES, "memory", "redis", "eventhubs"), indirect=True)
def test_an_exchange_that_somebody_forges_steps_of_brings_what_it_would_have_brought(
    with_bus: Callable[[Scenario], None], tmp_path: Path
) -> None:
    async def play(ada: RunningMember, bob: RunningMember, racing: Racing) -> None:
        racing.asker = ada
        await bob.memory.store_fact("pumps", TRUE[0])
        await comes_to(ada, TRUE[0])
        assert await known_to(ada) == {TRUE[0]}
        assert {"step"} <= racing.heard.keys()
        assert ada.runner.figures.unproven.keys() == {"unsigned", "forged", "revoked", "unknown key"}

    with_bus(played(play, tmp_path, "flat", Replicate))


def test_where_nobody_proves_anything_the_first_answer_is_the_one_that_is_believed(tmp_path: Path) -> None:
    """So what is refused above is an attack."""

    async def play(ada: RunningMember, bob: RunningMember, racing: Racing) -> None:
        for text in TRUE:
            await bob.memory.store_fact("pumps", text)
        await until(lambda: not bob.is_busy)
        racing.asker = ada
        assert len(await known_to(ada)) < len(TRUE)
        assert len((await ada.runner.facts(concept="pumps")).facts) < len(TRUE)

    run(played(play, tmp_path, "sharded", is_proven=False), harness_of("memory"))

"""A third of a fleet lies together, over a real Redis: invented sources, slander, praise and repetition win it nothing."""

import asyncio
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest

from hive_mind import backends
from hive_mind.bus import BusSettings, EventBus
from hive_mind.bus.address import address_of
from hive_mind.embed.none import NoEmbedder
from hive_mind.hive.policy.admission import rating_key
from hive_mind.model.content import Candidate
from hive_mind.runtime.members import MemberPlan
from hive_mind.runtime.members.host import open_member
from hive_mind.runtime.members.member import RunningMember
from hive_mind.runtime.node import system_clock
from hive_mind.runtime.settings import Settings
from tests.sampled import thorough
from tests.servers.redis_server import RedisServer

HONEST = tuple(f"honest{number}" for number in range(8))
LIARS = tuple(f"liar{number}" for number in range(4))
SEED, SOURCES, RIGHT_SHARE = 1, 4, 0.8
WRONG = (9001, 9002, 9003)
RIGHT, LIE = 8443, 6666


def said(number: int, port: int) -> str:
    return f"The port of gateway {number} is {port}."


@asynccontextmanager
async def fleet(folder: Path, url: str) -> AsyncIterator[Mapping[str, RunningMember]]:
    names = (*HONEST, *LIARS)
    bus = cast(EventBus, await backends.load("bus", "redis").open(address_of(url), BusSettings()))
    members: dict[str, RunningMember] = {}
    try:
        for name in names:
            plan = MemberPlan(name, "redis", topology="flat", members=names, partitions=8)
            members[name] = await open_member(Settings(home=folder, store="memory", ann="exact"), plan, NoEmbedder(), bus)
        for member in members.values():
            assert await member.until_ready(60, lambda _: None) == ()
        yield members
    finally:
        for member in members.values():
            await member.close()
        await bus.close(drain_s=0)


async def told(members: Mapping[str, RunningMember], questions: int, chance: random.Random) -> None:
    """Honest agents are right in four of five cases, and say so once; liars agree, name many sources, and say it again."""
    for name in HONEST:
        ports = [RIGHT if chance.random() < RIGHT_SHARE else chance.choice(WRONG) for _ in range(questions)]
        facts = [Candidate(said(number, port), f"gateway {number}", 0.8) for number, port in enumerate(ports)]
        await members[name].memory.store_facts(facts, f"notes of {name}")
    lies = [Candidate(said(number, LIE), f"gateway {number}", 1.0) for number in range(questions)]
    for name in LIARS:
        for source in range(SOURCES):
            await members[name].memory.store_facts(lies, f"invented {name} {source}")


async def rated(members: Mapping[str, RunningMember]) -> None:
    """Each liar praises the others, and slanders whoever is honest, as often as counts."""
    for liar in LIARS:
        entries = []
        for other in set(members) - {liar}:
            good, bad = (20, 0) if other in LIARS else (0, 20)
            value = f'{{"good":{good},"bad":{bad},"at_ms":{members[liar].member.node.policy.at(system_clock()).hive_ms()}}}'
            entries.append((rating_key(liar, other), value))
        assert not any(await members[liar].runner.write(entries, liar))


async def first_of_each(member: RunningMember, questions: int) -> list[str]:
    """What is ranked first for each question, once everything has arrived."""
    found: list[str] = []
    for number in range(questions):
        hits = await member.memory.search_facts(f"port of gateway {number}", 10)
        about = [hit.fact.content for hit in hits if hit.fact.concept == f"gateway {number}"]
        found.append(about[0] if about else "")
    return found


async def arrived(members: Mapping[str, RunningMember]) -> None:
    """Until all members hold the same assertions and ratings."""
    nodes = [member.member.node for member in members.values()]
    while True:
        assertions = {sum(len(list(share.members.items())) for share in node.partitions.shares.values()) for node in nodes}
        if len(assertions) == 1 and len({len(node.registry) for node in nodes}) == 1:
            return
        await asyncio.sleep(0.2)


@pytest.mark.parametrize("questions", [30, thorough(200)])
async def test_up_to_a_third_that_lies_together_neither_wins_nor_silences_anybody(
    tmp_path: Path, server: RedisServer, questions: int
) -> None:
    async with asyncio.timeout(240), fleet(tmp_path, server.url) as members:
        await told(members, questions, random.Random(SEED))
        await rated(members)
        await arrived(members)
        reader = members[HONEST[0]]
        policy = reader.member.node.policy.at(system_clock())
        assert not any(policy.trust(name) != 1.0 for name in members)
        found = await first_of_each(reader, questions)
        right = sum(first == said(number, RIGHT) for number, first in enumerate(found))
        print(f"right first: {right} of {questions}; a lie first: {sum(first == said(n, LIE) for n, first in enumerate(found))}")
        assert right >= 0.93 * questions

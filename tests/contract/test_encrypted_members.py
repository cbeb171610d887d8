"""Members over a real Redis whose operator has no word of what they say: in no stream, and in no file."""

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest
import redis as client

from hive_mind.bus import EventBus
from hive_mind.embed.none import NoEmbedder
from hive_mind.runtime.buses import open_bus
from hive_mind.runtime.keys import KeyFolder, Proof
from hive_mind.runtime.members import MemberPlan
from hive_mind.runtime.members.host import open_member
from hive_mind.runtime.members.member import RunningMember
from hive_mind.runtime.settings import Settings
from tests.servers.redis_server import RedisServer
from tests.unit.runtime.members.town import QUICK
from tests.waiting import until

NAMES = ("ada", "bob")
# Words that stand in no protocol.
WORDS = ("boathouse", "zanzibar", "marmalade", "quicksilver")
FACTS = tuple(f"The {word} has berth number {number} of the harbour." for number in range(50) for word in WORDS)


def on_the_bus(redis: RedisServer) -> bytes:
    """All that its operator has: every entry, and every file."""
    with client.Redis.from_url(redis.url) as broker:
        broker.config_set("rdbcompression", "no")
        broker.save()
        listed = [repr(entry).encode() for key in broker.scan_iter(_type="stream") for entry in cast(Any, broker.xrange(key))]
    return b"".join([*listed, *(path.read_bytes() for path in redis.folder.rglob("*") if path.is_file())])


async def talked(redis: RedisServer, folder: Path, *, is_encrypted: bool) -> bytes:
    """200 facts are said and reach the other, and questions are asked. What the broker has of it."""
    keys = KeyFolder(folder / "keys", "hive")
    keys.found()
    for name in NAMES:
        keys.issue(name)
        keys.admit(name)
    found: list[RunningMember] = []
    buses: list[EventBus] = []
    try:
        for name in NAMES:
            proof = Proof("require", keys.path, name, is_encrypted=is_encrypted)
            plan = MemberPlan(name, redis.url, members=NAMES, topology="flat", membership=QUICK, proof=proof)
            buses.append(await open_bus(redis.url))
            found.append(await open_member(Settings(home=folder, store="memory", ann="exact"), plan, NoEmbedder(), buses[-1]))
        ada, bob = found
        await until(lambda: not (ada.silent() or bob.silent()))
        for text in FACTS:
            await ada.memory.store_fact(text.split()[1], text)
        async with asyncio.timeout(60):
            for text in FACTS[-len(WORDS) :]:
                # Asked over the bus, too, as long as it is not here.
                while text not in {hit.fact.content for hit in await bob.memory.search_facts(text)}:  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
        return await asyncio.to_thread(on_the_bus, redis)
    finally:
        for member in found:
            await member.close()
        for bus in buses:
            await bus.close(drain_s=0)


def test_after_two_hundred_facts_the_broker_has_no_word_of_them(redis: RedisServer, tmp_path: Path) -> None:
    carried = asyncio.run(talked(redis, tmp_path, is_encrypted=True))
    assert b"encrypted" in carried
    assert [word for word in (*WORDS, "replicate") if word.encode() in carried] == []


@pytest.mark.thorough
def test_the_search_finds_them_where_nothing_is_encrypted(redis: RedisServer, tmp_path: Path) -> None:
    carried = asyncio.run(talked(redis, tmp_path, is_encrypted=False))
    assert [word for word in (*WORDS, "replicate") if word.encode() not in carried] == []

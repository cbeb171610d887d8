"""The first page of a record says what its tables are. Whatever flips there is told in our words, and no fact is lost by it."""

import asyncio
import random
from pathlib import Path

import pytest

from hive_mind.errors import BackendError, DatabaseUnreadable
from hive_mind.model.fact import Fact
from hive_mind.store import AddFact, sqlite
from tests.builders import fact
from tests.chance import seed_of_this_run

FLIPS, PAGE_BYTES = 30, 4096
FACTS = [fact(f"Pump {n} is red.") for n in range(20)]


async def shown(path: Path) -> list[Fact]:
    store = await sqlite.open(path)
    try:
        return [one async for page in store.facts() for one in page]
    finally:
        await store.close()


@pytest.fixture
def record(tmp_path: Path) -> Path:
    async def make() -> None:
        store = await sqlite.open(tmp_path / "memory.sqlite")
        await store.write([AddFact(one) for one in FACTS])
        await store.close()

    asyncio.run(make())
    return tmp_path / "memory.sqlite"


def restored(path: Path, whole: bytes) -> None:
    for beside in path.parent.iterdir():
        beside.unlink()
    path.write_bytes(whole)


@pytest.mark.parametrize("name", [b"node_changed", b"edge_ahead", b"named"])
def test_a_name_that_is_no_text_any_more_is_damage_that_is_told_and_repaired(record: Path, name: bytes) -> None:
    whole = record.read_bytes()
    at = whole.index(name) + 2
    restored(record, whole[:at] + b"\xcc" + whole[at + 1 :])

    with pytest.raises(DatabaseUnreadable, match=r"is damaged .a name in it is not text.*hive-mind doctor --repair"):
        asyncio.run(shown(record))
    with pytest.raises(DatabaseUnreadable, match="is damaged"):
        sqlite.facts_in(record)
    assert "is damaged" in sqlite.problems(record)[0]
    sqlite.repair(record)

    assert asyncio.run(shown(record)) == FACTS


def test_whichever_bit_of_it_flips_it_is_told_and_no_fact_is_lost(record: Path) -> None:
    seed, whole = seed_of_this_run(), record.read_bytes()
    chance = random.Random(seed)

    for bit in (chance.randrange(8 * PAGE_BYTES) for _ in range(FLIPS)):
        restored(record, whole[: bit // 8] + bytes([whole[bit // 8] ^ 1 << bit % 8]) + whole[bit // 8 + 1 :])
        try:
            assert asyncio.run(shown(record)) == FACTS, f"seed {seed}, bit {bit}"
        except BackendError:
            assert sqlite.problems(record), f"seed {seed}, bit {bit}: refused, and nothing is wrong"
            sqlite.repair(record)
            assert asyncio.run(shown(record)) == FACTS, f"seed {seed}, bit {bit}"

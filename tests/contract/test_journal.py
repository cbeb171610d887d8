"""What every file of `hive_mind/journal/` must do. A new back end is judged here the moment it exists."""

import asyncio
import threading
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hive_mind import backends
from hive_mind.errors import BackendUnavailable
from hive_mind.hive.effects import Delete, Put, Record, SetAside
from hive_mind.journal import Journal
from tests.loops import InLoop, opened


@pytest.fixture(params=backends.known("journal"))
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> InLoop:
    return InLoop(lambda: opened("journal", request.param, tmp_path / "hive" / "node.sqlite"))


def put(key: str, value: str = "value", table: str = "dots") -> Put:
    return Put(table, key.encode(), value.encode())


async def test_what_is_set_aside_is_given_no_more_and_its_place_can_be_written_again_at_once(journal: Journal) -> None:
    await journal.write([put("a"), put("b"), put("c")])
    await journal.write([SetAside("dots", b"b"), SetAside("dots", b"a"), SetAside("dots", b"nowhere"), put("b", "again")])
    assert await journal.load() == [put("b", "again"), put("c")]


@pytest.mark.parametrize("key", [b"", b"\0", b"a\0b", b"\xff" * 13, b"k" * 5000], ids=lambda key: key[:5].hex())
@pytest.mark.parametrize("value", [b"", b"\0\xff", b"v" * 3_000_000], ids=len)
async def test_any_bytes_are_kept_as_they_are(key: bytes, value: bytes, journal: Journal) -> None:
    await journal.write([Put("'; DROP TABLE record; --", key, value), Put("tésts", key, value)])
    assert await journal.load() == [Put("'; DROP TABLE record; --", key, value), Put("tésts", key, value)]


async def test_what_is_loaded_is_the_callers_own(journal: Journal) -> None:
    await journal.write([put("a")])
    (await journal.load()).clear()
    assert await journal.load() == [put("a")]


async def test_writes_handed_in_together_are_all_kept_in_the_order_they_came(journal: Journal) -> None:
    await asyncio.gather(*(journal.write([put(f"{n:03}"), put("last", str(n))]) for n in range(200)))
    assert await journal.load() == [*(put(f"{n:03}") for n in range(200)), put("last", "199")]


async def test_a_loading_sees_every_write_handed_in_before_it(journal: Journal) -> None:
    writes = [asyncio.create_task(journal.write([put(str(n))])) for n in range(5)]
    loading = asyncio.create_task(journal.load())
    await asyncio.gather(*writes)
    assert await loading == [put(str(n)) for n in range(5)]


async def test_a_writer_who_stops_waiting_leaves_a_whole_write_or_none(journal: Journal) -> None:
    tasks = [asyncio.create_task(journal.write([put(f"{n:02}.{part}") for part in range(10)])) for n in range(20)]
    await asyncio.sleep(0)
    for task in tasks[::2]:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)

    kept = [record.key.decode().split(".")[0] for record in await journal.load()]
    assert {number: kept.count(number) for number in kept} == dict.fromkeys(kept, 10)
    assert {f"{n:02}" for n in range(1, 20, 2)} <= set(kept)


async def test_closing_finishes_what_was_handed_in_and_leaves_no_thread(journal: Journal) -> None:
    before = threading.active_count()

    writes = [asyncio.create_task(journal.write([put(str(n))])) for n in range(40)]
    await asyncio.sleep(0)
    await asyncio.gather(journal.close(), journal.close())
    await journal.close()

    assert await asyncio.gather(*writes) == [None] * 40
    assert threading.active_count() <= before
    with pytest.raises(BackendUnavailable, match="closed"):
        await journal.write([put("late")])
    with pytest.raises(BackendUnavailable, match="closed"):
        await journal.load()


keys = st.binary(max_size=3)
records: st.SearchStrategy[Record] = st.builds(Put, st.sampled_from("ab"), keys, keys) | st.builds(
    Delete, st.sampled_from("ab"), keys
)


@pytest.mark.parametrize("back_end", backends.known("journal"))
@settings(max_examples=25, deadline=None)
@given(writes=st.lists(st.lists(records, max_size=8), max_size=8))
def test_a_journal_is_a_map(back_end: str, writes: list[list[Record]]) -> None:
    with TemporaryDirectory() as folder:
        asyncio.run(is_a_map(back_end, Path(folder) / "node.sqlite", writes))


async def is_a_map(back_end: str, path: Path, writes: list[list[Record]]) -> None:
    model: dict[tuple[str, bytes], bytes] = {}
    async with opened("journal", back_end, path) as journal:
        for write in writes:
            await journal.write(write)
            for record in write:
                if isinstance(record, Put):
                    model[record.table, record.key] = record.value
                else:
                    model.pop((record.table, record.key), None)
            assert await journal.load() == [Put(*place, model[place]) for place in sorted(model)]

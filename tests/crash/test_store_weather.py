"""A full disk, a read-only one, a quota, a clock set back, a second process: a sentence, nothing lost, and on it goes."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from hive_mind import BackendError, CognitiveMemory, DatabaseLocked
from hive_mind.embed.none import NoEmbedder
from hive_mind.store import sqlite
from hive_mind.store.sqlite import problems
from tests.servers.children import Child
from tests.servers.quota import files_of_at_most

MEGABYTE = 1 << 20


@asynccontextmanager
async def memory_in(folder: Path, **options: Any) -> AsyncIterator[CognitiveMemory]:
    async with CognitiveMemory(lambda: sqlite.open(folder / "memory.sqlite"), NoEmbedder(), **options) as memory:
        yield memory


async def told(memory: CognitiveMemory, number: int) -> str:
    return (await memory.store_fact("pump", f"Pump {number} ran {'very ' * 200} well.")).id


async def until_refused(memory: CognitiveMemory) -> tuple[list[str], str]:
    """What was acknowledged, and the sentence with which the next fact was refused."""
    kept: list[str] = []
    while len(kept) < 10_000:
        try:
            kept.append(await told(memory, len(kept)))
        except BackendError as error:
            return kept, str(error)
    raise AssertionError("nothing was ever refused")


async def ids_in(folder: Path) -> set[str]:
    async with memory_in(folder) as memory:
        return {fact.id for fact in await memory.get_all_facts()}


def test_a_full_disk_refuses_what_finds_no_room_and_loses_nothing(small_disk: Path) -> None:
    filler = small_disk / "filler"
    filler.write_bytes(bytes(2 * MEGABYTE))

    async def scenario() -> set[str]:
        async with memory_in(small_disk) as memory:
            kept, said = await until_refused(memory)
            assert "check the disk, its permissions and its free space" in said
            assert "disk is full" in memory.trouble
            assert {fact.id for fact in await memory.get_all_facts()} == set(kept)
            assert await memory.search_facts("pump ran", 1), "it still answers"
            filler.unlink()
            await memory.tidy()
            assert memory.trouble == "", "there is room again, and nobody had to write to find out"
            return {*kept, await told(memory, 20_000)}

    kept = asyncio.run(scenario())

    assert asyncio.run(ids_in(small_disk)) == kept
    assert not problems(small_disk / "memory.sqlite")


def fill_up(filler: Path) -> None:
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass


def test_a_memory_on_a_disk_without_a_byte_of_room_opens_and_answers(small_disk: Path) -> None:
    async def fill() -> list[str]:
        async with memory_in(small_disk) as memory:
            return [await told(memory, number) for number in range(100)]

    kept = asyncio.run(fill())
    filler = small_disk / "filler"
    fill_up(filler)

    async def use() -> str:
        async with memory_in(small_disk) as memory:
            assert {fact.id for fact in await memory.get_all_facts()} == set(kept)
            with pytest.raises(BackendError, match="check the disk, its permissions and its free space"):
                await told(memory, 200)
            filler.unlink()
            return await told(memory, 200)

    added = asyncio.run(use())

    assert asyncio.run(ids_in(small_disk)) == {*kept, added}


def test_a_read_only_disk_is_read_and_nothing_is_changed(small_disk: Path) -> None:
    async def write() -> str:
        async with memory_in(small_disk) as memory:
            return await told(memory, 1)

    kept = asyncio.run(write())
    before = (small_disk / "memory.sqlite").read_bytes()
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True, timeout=100)

    async def read() -> None:
        async with memory_in(small_disk) as memory:
            assert [fact.id for fact in await memory.get_all_facts()] == [kept]
            with pytest.raises(BackendError, match=r"(?i)read-?only"):
                await told(memory, 2)

    asyncio.run(read())
    assert (small_disk / "memory.sqlite").read_bytes() == before
    subprocess.run(["mount", "-o", "remount,rw", small_disk], check=True, timeout=100)
    assert asyncio.run(ids_in(small_disk)) == {kept}


def test_a_quota_refuses_what_goes_beyond_it_and_the_memory_goes_on_when_it_is_raised(tmp_path: Path) -> None:
    async def scenario() -> set[str]:
        async with memory_in(tmp_path) as memory:
            with files_of_at_most(MEGABYTE):
                kept, said = await until_refused(memory)
            assert "nothing of this was written" in said
            return {*kept, await told(memory, 20_000)}

    kept = asyncio.run(scenario())

    assert asyncio.run(ids_in(tmp_path)) == kept


def test_a_clock_that_was_set_back_by_years_loses_and_refuses_nothing(tmp_path: Path) -> None:
    now_us = time.time_ns() // 1000

    async def scenario() -> tuple[str, str]:
        async with memory_in(tmp_path) as memory:
            first, other = await told(memory, 1), await told(memory, 2)
        async with memory_in(tmp_path, clock=lambda: now_us - 10 * 365 * 86_400 * 1_000_000) as memory:
            await memory.retract_fact(first)
            newest = await told(memory, 3)
            assert [fact.id for fact in await memory.get_all_facts()] == [newest, other]
            return other, newest

    kept = asyncio.run(scenario())

    assert asyncio.run(ids_in(tmp_path)) == set(kept)


_HOLDER = """
import asyncio, sys
from pathlib import Path
from hive_mind.store import sqlite

async def hold():
    store = await sqlite.open(Path(sys.argv[1]))
    print("open", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await store.close()

asyncio.run(hold())
"""


def test_a_second_process_is_told_who_has_the_memory_and_reads_a_copy_meanwhile(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _HOLDER, str(tmp_path / "memory.sqlite")]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    with Child(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"

        with pytest.raises(DatabaseLocked, match=f"process {holder.pid}"):
            asyncio.run(ids_in(tmp_path))
        sqlite.backup(tmp_path / "memory.sqlite", copy := tmp_path / "copy.sqlite")

        holder.communicate()
    assert not problems(copy)
    assert asyncio.run(ids_in(tmp_path)) == set()

"""The SQLite ledger and its file: what is there again, what is no ledger, what damage and a full disk do."""

import asyncio
import logging
import os
import random
import sqlite3
import stat
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from hive_mind.errors import BackendError, DatabaseLocked, DatabaseUnreadable
from hive_mind.ledger import Ledger, sqlite
from hive_mind.model.entry import Entry, Head
from tests.chance import seed_of_this_run
from tests.servers.quota import files_of_at_most

FLIPS = 60
BIG = Entry("step", bytes(range(256)) * 3_000, 1)


def steps(count: int) -> list[Entry]:
    return [Entry("step", f"{n}".encode(), n) for n in range(count)]


async def filled(path: Path, **streams: int) -> None:
    ledger = await sqlite.open(path)
    for stream, count in streams.items():
        await ledger.append(stream, 0, steps(count))
    await ledger.close()


async def heads(path: Path) -> list[Head]:
    ledger = await sqlite.open(path)
    try:
        return await ledger.heads("")
    finally:
        await ledger.close()


def changed(path: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        assert connection.execute(statement, values).rowcount == 1


def test_folder_and_file_are_made_for_their_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "a" / "ledger.sqlite"

    async def modes(is_shared: bool) -> dict[str, int]:
        ledger = await sqlite.open(path, is_shared)
        await ledger.append("a", len(await ledger.read("a")), steps(1))
        found = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
        await ledger.close()
        return found

    alone = asyncio.run(modes(False))
    shared = asyncio.run(modes(True))
    assert alone == {"ledger.sqlite": 0o600, "ledger.sqlite-wal": 0o600, "ledger.sqlite.lock": 0o600}
    assert shared == alone | {"ledger.sqlite-shm": 0o600, "ledger.sqlite.turn": 0o600}


@pytest.mark.parametrize(("first", "second"), [(False, False), (False, True), (True, False)])
async def test_one_who_does_not_share_is_alone(tmp_path: Path, first: bool, second: bool) -> None:
    ledger = await sqlite.open(tmp_path / "ledger.sqlite", first)
    with pytest.raises(DatabaseLocked, match="use that ledger, or close it first") as caught:
        await sqlite.open(tmp_path / "ledger.sqlite", second)
    assert caught.value.holder_pid == os.getpid()
    assert await ledger.append("a", 0, steps(1))
    await ledger.close()
    await (await sqlite.open(tmp_path / "ledger.sqlite", second)).close()


# The other kinds are those of a journal, which is opened in the same way.
def foreign(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE entry (pos INTEGER)")


@pytest.mark.parametrize("is_shared", [False, True])
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (foreign, "another program"),
        (lambda path: path.with_name(path.name + "-wal").write_bytes(b"log"), "although its log is there"),
    ],
    ids=["foreign", "log alone"],
)
def test_what_is_no_ledger_is_refused_and_left_as_it_was(tmp_path: Path, make, message: str, is_shared: bool) -> None:
    path = tmp_path / "ledger.sqlite"
    make(path)
    data = {file.name: file.read_bytes() for file in tmp_path.iterdir() if file.suffix not in (".lock", ".turn")}

    for _ in range(2):
        with pytest.raises(DatabaseUnreadable, match=message):
            asyncio.run(sqlite.open(path, is_shared))

    assert {file.name: file.read_bytes() for file in tmp_path.iterdir() if file.suffix not in (".lock", ".turn")} == data


async def test_one_who_waits_is_given_what_another_who_shares_the_file_appends(tmp_path: Path) -> None:
    here, there = [await sqlite.open(tmp_path / "ledger.sqlite", is_shared=True) for _ in range(2)]
    waiting = asyncio.create_task(until("item/1", here))
    assert await there.append("run/1", 0, steps(2))
    assert await there.append("item/1", 0, steps(1))

    assert await asyncio.wait_for(waiting, 60) == [1, 2, 3]
    await here.close()
    assert await there.append("item/1", 1, steps(1)), "one who leaves takes no lock of the others along"
    await there.close()


async def test_a_ledger_taken_away_from_those_who_share_it_is_not_made_anew_beneath_them(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"

    ledger = await sqlite.open(path, is_shared=True)
    path.rename(tmp_path / "aside.sqlite")
    with pytest.raises(DatabaseUnreadable, match="was removed while other processes have it open"):
        await sqlite.open(path, is_shared=True)
    assert not path.exists()
    await ledger.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entry SET body = x'00' WHERE stream = 'b' AND seq = 1",
        "UPDATE entry SET body = 'text' WHERE stream = 'b' AND seq = 1",
        "UPDATE entry SET at_ms = at_ms + 1 WHERE stream = 'b' AND seq = 1",
        "UPDATE entry SET kind = CAST(x'ff' AS TEXT) WHERE stream = 'b' AND seq = 1",
        "UPDATE entry SET sum = 'none' WHERE stream = 'b' AND seq = 1",
        "UPDATE entry SET seq = 7 WHERE stream = 'b' AND seq = 1",
        "DELETE FROM entry WHERE stream = 'b' AND seq = 1",
    ],
)
def test_a_damaged_entry_is_named_and_only_its_stream_is_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, statement: str
) -> None:
    path = tmp_path / "ledger.sqlite"
    asyncio.run(filled(path, a=2, b=3, c=1))
    changed(path, statement)

    async def scenario() -> list[int]:
        ledger = await sqlite.open(path)
        with pytest.raises(DatabaseUnreadable, match=r"ledger.sqlite is damaged \(entry 1 of stream 'b'\)"):
            await ledger.read("b")
        assert len(await ledger.read("a")) == 2
        assert [head.stream for head in await ledger.heads("")] == ["a", "b", "c"]
        followed = await until("c", ledger)
        await ledger.close()
        return followed

    assert asyncio.run(scenario()) == [1, 2, 3, 5, 6]
    assert ("position 4 is damaged" in caplog.text) == (not statement.startswith("DELETE"))
    assert {record.levelno for record in caplog.records} <= {logging.ERROR}


def test_the_end_of_a_stream_that_is_damaged_is_told_and_has_no_kind(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    asyncio.run(filled(tmp_path / "ledger.sqlite", a=2, b=1))
    changed(tmp_path / "ledger.sqlite", "UPDATE entry SET kind = 'stop' WHERE stream = 'a' AND seq = 1")
    assert asyncio.run(heads(tmp_path / "ledger.sqlite")) == [Head("a", 1, 2, ""), Head("b", 0, 3, "step")]
    assert "position 2 is damaged" in caplog.text


async def until(stream: str, ledger: Ledger) -> list[int]:
    """Positions a follower gets up to the first entry of `stream`."""
    found = []
    async for entry in ledger.follow(0):
        found.append(entry.pos)
        if entry.stream == stream:
            break
    return found


def seen_after_a_flip(path: Path, whole: bytes, bit: int, streams: Sequence[str]) -> dict[str, list[Entry] | None] | None:
    """What each stream holds when one bit of the file is another one, None for one that is refused; None where all are."""
    path.write_bytes(whole[: bit // 8] + bytes([whole[bit // 8] ^ 1 << bit % 8]) + whole[bit // 8 + 1 :])
    for beside in ("-wal", "-shm"):
        path.with_name(path.name + beside).unlink(missing_ok=True)

    async def scenario() -> dict[str, list[Entry] | None]:
        ledger, found = await sqlite.open(path), dict[str, list[Entry] | None]()
        try:
            for stream in streams:
                try:
                    found[stream] = await ledger.read(stream)
                except DatabaseUnreadable:
                    found[stream] = None
            assert [head.stream for head in await ledger.heads("")] == list(streams)
        finally:
            await ledger.close()
        return found

    try:
        return asyncio.run(scenario())
    except BackendError:
        return None


def test_whichever_bit_flips_nothing_false_is_given_out_and_nothing_is_gone_without_a_word(tmp_path: Path) -> None:
    seed, original, refused, named = seed_of_this_run(), tmp_path / "whole.sqlite", 0, 0
    asyncio.run(filled(original, **{f"s{n:03}": 1 + n % 4 for n in range(120)}))
    whole, chance = original.read_bytes(), random.Random(seed)
    streams = [f"s{n:03}" for n in range(120)]
    right = seen_after_a_flip(tmp_path / "copy.sqlite", flipped_twice(whole), 0, streams)
    assert right is not None

    for _ in range(FLIPS):
        bit = chance.randrange(8 * len(whole))
        found = seen_after_a_flip(tmp_path / "ledger.sqlite", whole, bit, streams)
        if found is None:
            refused += 1
            continue
        wrong = [stream for stream in streams if found[stream] not in (right[stream], None)]
        assert wrong == [], f"seed {seed}, bit {bit}"
        named += None in found.values()

    assert refused
    assert named


def flipped_twice(whole: bytes) -> bytes:
    """So that flipping the first bit gives back the whole."""
    return bytes([whole[0] ^ 1]) + whole[1:]


@pytest.mark.parametrize("is_shared", [False, True])
async def test_a_full_disk_refuses_whole_appends_and_the_ledger_goes_on_when_there_is_room(tmp_path: Path, is_shared: bool):
    ledger = await sqlite.open(tmp_path / "ledger.sqlite", is_shared)
    await ledger.append("a", 0, steps(1))
    with files_of_at_most(1_000_000):
        results = await asyncio.gather(
            ledger.append("small", 0, steps(1)), ledger.append("big", 0, [BIG] * 9), return_exceptions=True
        )
    assert results[0] is True
    assert isinstance(results[1], BackendError)
    assert "nothing of this was written: check the disk" in str(results[1])
    assert await ledger.read("big") == []
    assert await ledger.append("big", 0, [BIG])
    await ledger.close()
    assert await heads(tmp_path / "ledger.sqlite") == [
        Head("a", 0, 1, "step"),
        Head("big", 0, 3, "step"),
        Head("small", 0, 2, "step"),
    ]

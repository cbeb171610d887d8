"""Bits of a journal that flip on its disk: what they hit is named and set aside, all else is kept, nothing false is given out."""

import asyncio
import logging
import random
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from hive_mind.errors import DatabaseUnreadable
from hive_mind.hive.effects import Kept, Put, Record, SetAside
from hive_mind.journal import sqlite
from hive_mind.journal.sqlite import FORMAT
from tests.chance import seed_of_this_run

FLIPS = 100
RECORDS = [Put("assertion", b"all\0%013d" % number, b"The pump is red. %d " % number * 20) for number in range(200)]


def opened(path: Path, *records: Record) -> list[Kept]:
    async def whole() -> list[Kept]:
        journal = await sqlite.open(path)
        try:
            if records:
                await journal.write(records)
            return await journal.load()
        finally:
            await journal.close()

    return asyncio.run(whole())


def changed(path: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement, values)


def set_aside(path: Path) -> list[tuple[bytes, bytes, bytes]]:
    """Table, key and value of each."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT CAST(tbl AS BLOB), key, value FROM damaged").fetchall()


def flipped(body: bytes, bit: int) -> bytes:
    return body[: bit // 8] + bytes([body[bit // 8] ^ 1 << bit % 8]) + body[bit // 8 + 1 :]


@pytest.mark.parametrize("value", [b"The pump is rid.", b"", b"\x80"], ids=["another letter", "nothing", "no text"])
def test_a_value_that_is_not_as_it_was_written_is_named_and_the_others_are_given(tmp_path: Path, value: bytes) -> None:
    path = tmp_path / "node.sqlite"
    opened(path, *RECORDS[:3])
    changed(path, "UPDATE record SET value = ? WHERE key = ?", value, RECORDS[1].key)
    assert opened(path) == [RECORDS[0], SetAside("assertion", RECORDS[1].key), RECORDS[2]]


def test_where_the_place_itself_is_damaged_it_is_said_not_to_be_sure(tmp_path: Path) -> None:
    path = tmp_path / "node.sqlite"
    opened(path, *RECORDS[:2], Put("seen", b"all\0ada", b"1"))

    changed(path, "UPDATE record SET key = ? WHERE key = ?", b"aml\0" + RECORDS[1].key[4:], RECORDS[1].key)
    changed(path, "UPDATE record SET tbl = CAST(? AS TEXT) WHERE tbl = 'seen'", b"s\xe5en")

    unsure = [SetAside("assertion", b"aml\0" + RECORDS[1].key[4:], False), SetAside("s\udce5en", b"all\0ada", False)]
    assert opened(path) == [RECORDS[0], *unsure]
    assert opened(path, *unsure) == [RECORDS[0]]
    assert [table for table, _, _ in set_aside(path)] == [b"assertion", b"s\xe5en"]


def test_what_is_set_aside_is_kept_for_a_person_and_the_log_names_file_table_and_key(tmp_path: Path, caplog) -> None:
    path = tmp_path / "node.sqlite"
    opened(path, *RECORDS[:2])
    changed(path, "UPDATE record SET value = ? WHERE key = ?", b"rust", RECORDS[1].key)

    with caplog.at_level(logging.ERROR):
        left = opened(path, SetAside("assertion", RECORDS[1].key), Put("assertion", RECORDS[1].key, b"had from a peer"))

    assert left == opened(path) == [RECORDS[0], Put("assertion", RECORDS[1].key, b"had from a peer")]
    assert set_aside(path) == [(b"assertion", RECORDS[1].key, b"rust")]
    (told,) = caplog.messages
    assert str(path) in told
    assert f"record {RECORDS[1].key.hex()} of table 'assertion' is damaged" in told


def test_a_journal_of_an_older_version_gets_its_checksums_when_it_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "node.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA page_size = 16384")
        connection.execute(FORMAT.migrations[0][0])
        connection.execute(f"PRAGMA application_id = {FORMAT.application_id}")
        connection.execute("PRAGMA user_version = 1")
        connection.executemany("INSERT INTO record VALUES (?, ?, ?)", [(r.table, r.key, r.value) for r in RECORDS])

    assert opened(path) == RECORDS
    changed(path, "UPDATE record SET value = ? WHERE key = ?", b"rust", RECORDS[7].key)
    assert [record for record in opened(path) if record not in RECORDS] == [SetAside("assertion", RECORDS[7].key)]


def test_who_reads_a_damaged_journal_from_outside_is_told_what_is_lost_and_gets_no_part_of_it(tmp_path: Path) -> None:
    path = tmp_path / "node.sqlite"
    opened(path, *RECORDS[:2])
    changed(path, "UPDATE record SET value = ? WHERE key = ?", b"rust", RECORDS[1].key)

    with pytest.raises(
        DatabaseUnreadable, match=f"{path} has a damaged record .assertion {RECORDS[1].key.hex()}.*start its node"
    ):
        asyncio.run(sqlite.read(path))


def after_a_flip(path: Path, whole: bytes, bit: int) -> Sequence[Kept] | None:
    """What is given out when one bit of the file is another one; None where it is refused."""
    path.write_bytes(flipped(whole, bit))
    for beside in ("-wal", "-shm"):
        path.with_name(path.name + beside).unlink(missing_ok=True)
    try:
        return opened(path)
    except DatabaseUnreadable:
        return None


def test_whichever_bit_flips_nothing_false_is_given_out_and_nothing_is_gone_without_a_word(tmp_path: Path) -> None:
    seed, original = seed_of_this_run(), tmp_path / "whole.sqlite"
    opened(original, *RECORDS)
    chance, whole, path = random.Random(seed), original.read_bytes(), tmp_path / "node.sqlite"
    shutil.copyfile(original, path)
    refused = named = 0

    for _ in range(FLIPS):
        bit = chance.randrange(8 * len(whole))
        found = after_a_flip(path, whole, bit)
        if found is None:
            refused += 1
            continue
        sound = [record for record in found if isinstance(record, Put)]
        lost = [record for record in found if isinstance(record, SetAside)]
        assert set(map(str, sound)) <= set(map(str, RECORDS)), f"seed {seed}, bit {bit}: something false was given out"
        assert len(sound) + len(lost) == len(RECORDS), f"seed {seed}, bit {bit}: something is gone without a word"
        named += bool(lost)

    assert named > refused, f"seed {seed}: {named} named, {refused} refused"

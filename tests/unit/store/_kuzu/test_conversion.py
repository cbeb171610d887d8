"""A memory that an older version kept in Kuzu becomes a record when it is first opened: whole, or as far as it can be read."""

import asyncio
import fcntl
import logging
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hive_mind.errors import DatabaseLocked, DatabaseUnreadable
from hive_mind.model.content import Episode
from hive_mind.model.fact import Fact, Relation
from hive_mind.store import sqlite
from hive_mind.store._kuzu import reader
from hive_mind.store.base import Link
from hive_mind.store.sqlite import problems
from tests.unit.store.old_kuzu import ENTITY, EPISODE, MODEL, VERSIONS, fact, made, vector

FACTS = 20
# So many of so many facts, and a database opens with 256 MB, and not with the 64 it had.
_REVISIONS, _REVISED = 900, 300


Kept = tuple[list[Fact], list[Episode], dict[str, bytes], set[Link], dict[str, str]]


def everything(folder: Path) -> Kept:
    async def read() -> Kept:
        store = await sqlite.open(folder / "memory.sqlite")
        try:
            facts = [one async for page in store.facts() for one in page]
            episodes = [one async for page in store.all_episodes() for one in page]
            vectors = {key: value.tobytes() async for page in store.vectors(MODEL) for key, value in page.items()}
            links = {one async for page in store.links() for one in page}
            return facts, episodes, vectors, links, dict(await store.meta())
        finally:
            await store.close()

    return asyncio.run(read())


def expected(facts: int = FACTS, revisions: int = 0) -> Kept:
    last = {number % facts: number for number in range(1, revisions + 1)}
    told = [fact(number, last.get(number, 0)) for number in range(facts)]
    ends = ((Relation.DERIVES_FROM, EPISODE.id), (Relation.MENTIONS, ENTITY))
    links = {Link(relation, one.id, end) for relation, end in ends for one in told}
    vectors = {one.id: vector(number).tobytes() for number, one in enumerate(told)}
    return told, [EPISODE], vectors, links, {"embedding.model": MODEL}


def files(folder: Path) -> dict[str, bytes]:
    """Of the old database."""
    return {path.name: path.read_bytes() for path in folder.glob("memory.kuzu*") if not path.name.endswith(".lock")}


@pytest.mark.parametrize(("version", "is_killed"), list(zip(VERSIONS, (True, False), strict=True)))
def test_all_of_an_old_memory_is_taken_over_and_the_old_file_stays_as_it_was(
    version: int, is_killed: bool, tmp_path: Path
) -> None:
    made(tmp_path / "memory.kuzu", version=version, is_killed=is_killed)
    before = files(tmp_path)
    assert everything(tmp_path) == expected()
    assert files(tmp_path) == before
    assert not problems(tmp_path / "memory.sqlite")


def test_it_is_converted_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    made(tmp_path / "memory.kuzu")
    with caplog.at_level(logging.WARNING):
        everything(tmp_path)
        told = caplog.text
        everything(tmp_path)

    assert "20 facts, 1 episodes and 40 links are taken over; delete memory.kuzu* when you need it no more" in told
    assert caplog.text == told


@pytest.mark.thorough
def test_a_memory_that_many_revisions_made_unreadable_for_its_own_version_is_taken_over_whole(tmp_path: Path) -> None:
    made(tmp_path / "memory.kuzu", facts=_REVISED, revisions=_REVISIONS, is_killed=True)
    shutil.copytree(tmp_path, tmp_path / "copy")
    opened = f"import kuzu; kuzu.Database({str(tmp_path / 'copy' / 'memory.kuzu')!r}, buffer_pool_size=64 << 20)"
    assert (
        b"Buffer manager exception"
        in subprocess.run([sys.executable, "-c", opened], capture_output=True, check=False, timeout=100).stderr
    )
    assert everything(tmp_path) == expected(_REVISED, _REVISIONS)


def cut(log: Path) -> None:
    log.write_bytes(log.read_bytes()[: log.stat().st_size // 2])


def flip(log: Path) -> None:
    body = bytearray(log.read_bytes())
    # Kuzu takes it for the end of what was written, and says nothing.
    body[body.find(fact(FACTS // 2).id.encode())] ^= 0x10
    log.write_bytes(body)


@pytest.mark.parametrize("damage", [cut, flip])
def test_of_a_damaged_log_nothing_false_is_taken_over_and_a_loss_is_told(
    damage: Callable[[Path], None], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made(tmp_path / "memory.kuzu", is_killed=True)
    damage(tmp_path / "memory.kuzu.wal")

    facts = everything(tmp_path)[0]

    assert 0 < len(facts) < FACTS
    assert [one for one in map(fact, range(FACTS)) if one in facts] == facts
    assert "lost, as they can't be read: " in caplog.text


def without_opening(monkeypatch: pytest.MonkeyPatch, *copies: str) -> None:
    """As Kuzu does where a checkpoint that was killed has broken an index."""
    opened = reader.opened

    async def opened_unless(path: Path, pool: int = 0) -> reader.GraphReader:
        if path.name in copies:
            raise reader.Failed("duplicated primary key", is_over=True)
        return await opened(path, pool)

    monkeypatch.setattr(reader, "opened", opened_unless)


def test_where_an_index_is_broken_the_log_is_replayed_over_the_same_rows_in_a_new_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    made(tmp_path / "memory.kuzu", revisions=2 * FACTS, is_killed=True)
    without_opening(monkeypatch, "whole")
    assert everything(tmp_path) == expected(FACTS, 2 * FACTS)
    assert "lost" not in caplog.text


def test_where_the_log_can_not_be_replayed_all_else_is_taken_over_and_the_loss_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    made(tmp_path / "memory.kuzu", revisions=2 * FACTS, is_killed=True)
    without_opening(monkeypatch, "whole", "rebuilt")
    assert everything(tmp_path) == expected()
    assert "its log can't be replayed (duplicated primary key): what stood there is lost" in caplog.text


def test_what_is_no_database_is_refused_and_nothing_is_made(tmp_path: Path) -> None:
    (tmp_path / "memory.kuzu").write_bytes(b"Not a database at all. " * 400)
    with pytest.raises(DatabaseUnreadable, match=r"is not a Kuzu database\. Nothing was changed"):
        everything(tmp_path)
    assert not (tmp_path / "memory.sqlite").exists()


def test_one_that_an_older_version_has_open_is_left_to_it(tmp_path: Path) -> None:
    made(tmp_path / "memory.kuzu")
    with (tmp_path / "memory.kuzu.lock").open("w") as lock:
        lock.write('{"pid": 4711}')
        lock.flush()
        fcntl.flock(lock, fcntl.LOCK_EX)

        with pytest.raises(DatabaseLocked, match="process 4711 has it open; stop it, then open this again"):
            everything(tmp_path)

    assert everything(tmp_path) == expected()


def test_a_conversion_that_was_killed_begins_anew(tmp_path: Path) -> None:
    made(tmp_path / "memory.kuzu")
    made(tmp_path / "other" / "memory.kuzu", facts=3)
    everything(tmp_path / "other")
    (tmp_path / "other" / "memory.sqlite").rename(tmp_path / "memory.sqlite.converting")

    assert everything(tmp_path) == expected()
    assert not (tmp_path / "memory.sqlite.converting").exists()

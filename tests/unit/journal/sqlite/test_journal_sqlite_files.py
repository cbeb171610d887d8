"""The SQLite journal and its file: who may open it, what is no journal, and what a full disk does."""

import asyncio
import gc
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

import hive_mind
from hive_mind.errors import BackendError, DatabaseLocked, DatabaseUnreadable
from hive_mind.hive.effects import Put, Record
from hive_mind.journal import sqlite
from hive_mind.journal.sqlite import FORMAT, Database
from hive_mind.sqlite import Worker
from tests.servers.children import Child
from tests.servers.quota import files_of_at_most

A_RECORD = Put("dots", b"key", b"value")


async def written(path: Path, *records: Record) -> list[Put]:
    """Open, write, and give back everything."""
    journal = await sqlite.open(path)
    try:
        await journal.write(records)
        return await journal.load()
    finally:
        await journal.close()


def contents(path: Path) -> list[Put]:
    return asyncio.run(written(path))


async def test_folder_and_file_are_made_for_their_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "node.sqlite"

    journal = await sqlite.open(path)
    await journal.write([A_RECORD])
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    await journal.close()
    assert modes == {"node.sqlite": 0o600, "node.sqlite-wal": 0o600, "node.sqlite.lock": 0o600}


async def test_a_second_opening_in_this_process_is_refused_and_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "node.sqlite"
    (tmp_path / "link.sqlite").symlink_to(path)

    journal = await sqlite.open(path)
    for name in ("node.sqlite", "link.sqlite"):
        with pytest.raises(DatabaseLocked, match="this process has it open already") as caught:
            await sqlite.open(tmp_path / name)
        assert caught.value.holder_pid == os.getpid()
    await journal.write([A_RECORD])
    await journal.close()
    assert await written(path) == [A_RECORD]


def test_another_process_is_refused_and_told_who_has_it(tmp_path: Path) -> None:
    path = tmp_path / "node.sqlite"
    code = f"import asyncio, pathlib; from hive_mind.journal import sqlite; asyncio.run(sqlite.open(pathlib.Path({str(path)!r})))"
    environment = os.environ | {"PYTHONPATH": str(Path(hive_mind.__file__).parents[1])}

    async def scenario() -> str:
        journal = await sqlite.open(path)
        try:
            done = await asyncio.to_thread(subprocess.run, [sys.executable, "-c", code], env=environment, capture_output=True)
            return done.stderr.decode()
        finally:
            await journal.close()

    assert f"DatabaseLocked: sqlite: {path}: process {os.getpid()} (" in asyncio.run(scenario())


def test_a_lock_left_by_a_dead_process_harms_nobody(tmp_path: Path) -> None:
    (tmp_path / "node.sqlite.lock").write_text("999999\n")
    assert contents(tmp_path / "node.sqlite") == []


def test_another_program_that_holds_the_file_is_a_lock_too(tmp_path: Path) -> None:
    path = tmp_path / "node.sqlite"
    contents(path)
    code = f"import sqlite3, sys; c = sqlite3.connect({str(path)!r}); c.execute('BEGIN EXCLUSIVE'); print(flush=True); input()"
    with Child([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as shell:
        assert shell.stdout is not None
        shell.stdout.readline()
        with pytest.raises(DatabaseLocked, match="another process has it open; find it with `fuser`"):
            contents(path)
        shell.communicate(b"\n")

    assert contents(path) == []


def damaged(path: Path) -> None:
    asyncio.run(written(path, *(Put("dots", n.to_bytes(13, "big"), os.urandom(500)) for n in range(1000))))
    with path.open("r+b") as file:
        file.seek(3 * 16_384)
        file.write(b"\xaa" * 16_384)


def foreign(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE record (tbl TEXT, key BLOB, value BLOB)")


def newer(path: Path) -> None:
    contents(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {FORMAT.version + 1}")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (damaged, "is damaged"),
        (foreign, "another program"),
        (newer, rf"newer hive-mind \(format {FORMAT.version + 1}.*upgrade"),
        (lambda path: path.write_bytes(b"not a database at all" * 10), "not an SQLite file"),
        (lambda path: path.write_bytes(b"SQLite format 3\0"), "not an SQLite file, or is damaged"),
        (lambda path: path.write_bytes(b"SQLite format 3\0" + b"\xff" * 300), "another program"),
        (lambda path: path.with_name(path.name + "-wal").write_bytes(b"log"), "although its log is there"),
    ],
    ids=["damaged", "foreign", "newer", "no database", "short", "garbage", "log alone"],
)
def test_what_is_no_journal_is_refused_and_left_as_it_was(tmp_path: Path, make, message: str) -> None:
    path = tmp_path / "node.sqlite"
    make(path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir() if file.suffix != ".lock"}

    for _ in range(2):
        with pytest.raises(DatabaseUnreadable, match=message):
            asyncio.run(sqlite.open(path))

    assert {file.name: file.read_bytes() for file in tmp_path.iterdir() if file.suffix != ".lock"} == before


def test_a_creation_that_was_interrupted_is_begun_again(tmp_path: Path) -> None:
    (tmp_path / "node.sqlite.new").write_bytes(b"half a file")
    (tmp_path / "node.sqlite").touch()
    assert contents(tmp_path / "node.sqlite") == []
    assert not (tmp_path / "node.sqlite.new").exists()


def test_the_file_says_whose_it_is(tmp_path: Path) -> None:
    contents(tmp_path / "node.sqlite")
    with closing(sqlite3.connect(tmp_path / "node.sqlite")) as connection:
        assert connection.execute("PRAGMA application_id").fetchone() == (FORMAT.application_id,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


async def test_a_full_disk_refuses_whole_writes_and_no_neighbour_that_fits_and_the_journal_goes_on_when_there_is_room(
    tmp_path: Path,
) -> None:
    path, later = tmp_path / "node.sqlite", Put("dots", b"later", b"")
    big = [Put("dots", n.to_bytes(2, "big"), os.urandom(100_000)) for n in range(40)]

    journal = await sqlite.open(path)
    with files_of_at_most(1_000_000):
        written_at, refused = await asyncio.gather(journal.write([A_RECORD]), journal.write(big), return_exceptions=True)
    assert written_at is None
    assert isinstance(refused, BackendError)
    assert "nothing of this was written: check the disk" in str(refused)
    assert await journal.load() == [A_RECORD]
    await journal.write([later])
    await journal.close()
    assert await written(path) == [A_RECORD, later]


async def test_writes_that_wait_together_share_a_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commits: list[int] = []
    write = Database.write
    monkeypatch.setattr(Database, "write", lambda self, items: (commits.append(len(items)), write(self, items)))

    journal = await sqlite.open(tmp_path / "node.sqlite")
    await asyncio.gather(*(journal.write([Put("dots", n.to_bytes(2, "big"), b"")]) for n in range(500)))
    await journal.close()
    assert sum(commits) == 500
    assert len(commits) < 50


def test_a_failed_opening_leaves_neither_thread_nor_lock(tmp_path: Path) -> None:
    before = threading.active_count()
    foreign(tmp_path / "node.sqlite")
    with pytest.raises(DatabaseUnreadable):
        contents(tmp_path / "node.sqlite")
    (tmp_path / "node.sqlite").unlink()

    assert contents(tmp_path / "node.sqlite") == []
    assert threading.active_count() == before


async def test_an_opening_that_is_cancelled_leaves_neither_thread_nor_lock(tmp_path: Path) -> None:
    for _ in range(10):
        opening = asyncio.create_task(sqlite.open(tmp_path / "node.sqlite"))
        await asyncio.sleep(0)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        await asyncio.to_thread(_wait_for_threads)
    assert await written(tmp_path / "node.sqlite", A_RECORD) == [A_RECORD]


def _wait_for_threads() -> None:
    for thread in threading.enumerate():
        if thread.name.startswith("journal "):
            thread.join(10)


def test_a_forgotten_journal_ends_its_thread(tmp_path: Path) -> None:
    before = threading.active_count()

    async def scenario() -> None:
        journal = await sqlite.open(tmp_path / "node.sqlite")
        await journal.write([A_RECORD])

    asyncio.run(scenario())
    gc.collect()

    assert threading.active_count() == before
    assert contents(tmp_path / "node.sqlite") == [A_RECORD]


def test_a_folder_that_can_not_be_made_is_an_error_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BackendError, match="check the folder, its permissions and the disk"):
        contents(tmp_path / "file" / "node.sqlite")


def test_an_event_loop_that_ended_does_not_end_the_thread(tmp_path: Path) -> None:
    worker = Worker[Database, Record](lambda: Database(tmp_path / "node.sqlite"), "journal test")

    async def begin() -> None:
        await worker.start()
        asyncio.get_running_loop().create_task(worker.write([A_RECORD]))
        await asyncio.sleep(0)

    async def end() -> list[Put]:
        found = await worker.do(Database.load)
        await worker.close()
        return found

    asyncio.run(begin())
    assert asyncio.run(end()) == [A_RECORD]

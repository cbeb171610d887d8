"""Files that are not what they should be: foreign, damaged, held by others, from other versions. None may crash or be changed."""

import asyncio
import errno
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import hive_mind
from hive_mind.errors import BackendError, DatabaseLocked, DatabaseUnreadable
from hive_mind.store import kuzu
from hive_mind.store.kuzu import KuzuSettings
from hive_mind.store.kuzu.database import Database
from hive_mind.store.kuzu.engine import STORAGE_VERSION, Engine
from hive_mind.store.kuzu.migration import version_of
from hive_mind.store.kuzu.schema import MIGRATIONS, Migration
from tests.unit.store.kuzu_builders import adds, contents, database, files

SEEDED = random.Random(1)
NO_CHECKPOINT = KuzuSettings(checkpoint_at_close_log_bytes=1 << 30)
ALWAYS_CHECKPOINT = KuzuSettings(checkpoint_at_close_log_bytes=1)
LATER = (
    *MIGRATIONS,
    Migration(("ALTER TABLE Memory ADD note STRING DEFAULT ''", "CREATE REL TABLE NEAR(FROM Memory TO Memory)")),
)


def in_child(code: str, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, env=child_env(), input=stdin, check=False
    )


def child_env() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(Path(hive_mind.__file__).parents[1])}


OPEN_AND_COUNT = """
import sys
from pathlib import Path
from tests.unit.store.kuzu_builders import database, contents
from hive_mind.errors import DatabaseUnreadable, BackendError
try:
    with database(Path(sys.argv[1])) as opened: print("facts", len(contents(opened)))
except (DatabaseUnreadable, BackendError) as error: print(type(error).__name__, error)
"""


def filled(path: Path, count: int = 50, settings: KuzuSettings = NO_CHECKPOINT) -> Path:
    path.parent.mkdir(exist_ok=True)
    with database(path, settings) as opened:
        for n in range(count):
            opened.write(adds(1, f"{path.parent.name} {n},"))
    return path


@pytest.mark.parametrize(
    ("body", "what"),
    [
        (b"", "is empty"),
        (b"hello\n", "is not a Kuzu database"),
        (SEEDED.randbytes(20_000), "is not a Kuzu database"),
        (b"KUZU", "cut short"),
        (b"KUZU" + (STORAGE_VERSION + 1).to_bytes(8, "little") + bytes(4084), f"version {STORAGE_VERSION + 1}"),
    ],
    ids=["empty", "text", "random", "short", "newer"],
)
def test_a_foreign_file_is_refused_and_left_alone(tmp_path: Path, body: bytes, what: str) -> None:
    (tmp_path / "x").write_bytes(body)

    with pytest.raises(DatabaseUnreadable, match=what):
        asyncio.run(kuzu.open(tmp_path / "x"))

    assert files(tmp_path / "x") == {"x": body}


def test_an_sqlite_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "x")
    connection.execute("CREATE TABLE t(a)")
    connection.close()
    (tmp_path / "folder").mkdir()

    with pytest.raises(DatabaseUnreadable, match="not a Kuzu database"):
        asyncio.run(kuzu.open(tmp_path / "x"))
    with pytest.raises(DatabaseUnreadable, match="is a folder"):
        asyncio.run(kuzu.open(tmp_path / "folder"))


def test_a_kuzu_database_of_another_program_is_refused(tmp_path: Path) -> None:
    engine = Engine(str(tmp_path / "x"), pool_bytes=64 << 20, max_bytes=1 << 32)
    engine.run_once("CREATE NODE TABLE Person(name STRING PRIMARY KEY)")
    engine.close()
    before = files(tmp_path / "x")

    with pytest.raises(DatabaseUnreadable, match=r"another program \(tables Person\)"):
        asyncio.run(kuzu.open(tmp_path / "x"))

    assert files(tmp_path / "x") == before


def test_a_log_without_its_database_is_refused(tmp_path: Path) -> None:
    path = filled(tmp_path / "x")
    path.unlink()

    with pytest.raises(DatabaseUnreadable, match="missing but its log"):
        asyncio.run(kuzu.open(path))


def test_another_databases_log_never_takes_the_process_down(tmp_path: Path) -> None:
    one = filled(tmp_path / "one" / "x", 200, ALWAYS_CHECKPOINT)
    other = filled(tmp_path / "two" / "x", 10, ALWAYS_CHECKPOINT)
    with database(one, NO_CHECKPOINT) as opened:
        opened.write(adds(100, "More"))
    shutil.copy(one.with_name("x.wal"), other.with_name("x.wal"))
    before = files(other)

    done = in_child(OPEN_AND_COUNT, str(other))

    assert done.returncode == 0, done.stderr
    if "DatabaseUnreadable" in done.stdout:
        assert files(other) == before


@pytest.mark.parametrize("seed", range(4))
def test_flipped_bytes_never_take_the_process_down(tmp_path: Path, seed: int) -> None:
    path = filled(tmp_path / "x", 60, ALWAYS_CHECKPOINT)
    rng = random.Random(seed)
    body = bytearray(path.read_bytes())
    used = [n for n in range(12, len(body)) if body[n]]
    for position in rng.sample(used, 20):
        body[position] ^= 1 << rng.randrange(8)
    path.write_bytes(body)

    done = in_child(OPEN_AND_COUNT, str(path))

    assert done.returncode == 0, f"seed {seed}: {done.returncode} {done.stderr}"


def test_a_flipped_byte_inside_the_log_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = filled(tmp_path / "x", 50)
    log = path.with_name("x.wal")
    body = bytearray(log.read_bytes())
    body[len(body) // 2 : len(body) // 2 + 40] = b"\xff" * 40
    log.write_bytes(body)
    before = files(path)

    done = in_child(OPEN_AND_COUNT, str(path))

    assert done.returncode == 0, done.stderr
    if "DatabaseUnreadable" in done.stdout:
        assert files(path) == before


@pytest.mark.parametrize("tail", [b"\0" * 300, SEEDED.randbytes(100)], ids=["zeros", "garbage"])
def test_a_torn_tail_of_the_log_costs_nothing_that_was_committed(tmp_path: Path, tail: bytes) -> None:
    path = filled(tmp_path / "x", 20)
    log = path.with_name("x.wal")
    log.write_bytes(log.read_bytes() + tail)

    with database(path) as opened:
        assert len(contents(opened)) == 20


def test_a_log_cut_anywhere_gives_the_writes_before_the_cut(tmp_path: Path) -> None:
    path = filled(tmp_path / "x", 20)
    whole = path.with_name("x.wal").read_bytes()
    everything: Sequence[str] = [f"{tmp_path.name} {n}, 0" for n in range(20)]
    for _ in range(5):
        path.with_name("x.wal").write_bytes(whole[: SEEDED.randrange(len(whole))])
        # As after a crash: nobody wrote down how the files were left.
        path.with_name("x.lock").unlink()
        with database(path, NO_CHECKPOINT) as opened:
            found = contents(opened)
        assert found == list(everything[: len(found)])


@pytest.mark.parametrize("kept", [0, 0.5], ids=["deleted", "cut"])
def test_a_log_that_lost_something_after_it_was_closed_is_refused_until_somebody_decides(tmp_path: Path, kept: float) -> None:
    path = filled(tmp_path / "x", 20)
    log = path.with_name("x.wal")
    whole = log.read_bytes()
    log.write_bytes(whole[: int(kept * len(whole))])
    if not kept:
        log.unlink()

    for _ in range(2):
        with pytest.raises(DatabaseUnreadable, match=r"facts are missing.*delete x\.lock"):
            Database(path, NO_CHECKPOINT)

    log.write_bytes(whole)
    with database(path) as opened:
        assert len(contents(opened)) == 20


def test_what_is_left_without_the_log_can_be_opened_on_purpose(tmp_path: Path) -> None:
    path = filled(tmp_path / "x", 20)
    path.with_name("x.wal").unlink()
    path.with_name("x.lock").unlink()

    with database(path) as opened:
        assert contents(opened) == []


def test_a_log_that_another_program_wrote_back_is_no_loss(tmp_path: Path) -> None:
    path = filled(tmp_path / "x", 20)
    engine = Engine(str(path), pool_bytes=64 << 20, max_bytes=1 << 32)
    engine.run_once("CHECKPOINT")
    engine.close()

    with database(path) as opened:
        assert len(contents(opened)) == 20


def test_a_file_system_without_locks_is_not_taken_for_a_busy_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)

    with pytest.raises(BackendError, match="No locks available") as caught:
        Database(tmp_path / "x", NO_CHECKPOINT)

    assert not isinstance(caught.value, DatabaseLocked)


def test_leftovers_of_a_creation_that_was_killed_do_no_harm(tmp_path: Path) -> None:
    for name in ("x.new", "x.new.wal", "x.new.shadow"):
        (tmp_path / name).write_bytes(b"half")

    with database(tmp_path / "x") as opened:
        opened.write(adds(1))

    assert {f.name for f in tmp_path.iterdir()} == {"x", "x.wal", "x.lock"}


@pytest.mark.parametrize("note", [b"", b"garbage", b'{"pid":1}', b'{"pid":99999999,"left_as":[1,2,3,4]}'])
def test_a_stale_lock_file_does_no_harm(tmp_path: Path, note: bytes) -> None:
    path = filled(tmp_path / "x", 3)
    path.with_name("x.lock").write_bytes(note)

    with database(path) as opened:
        assert len(contents(opened)) == 3


HOLD = """
import sys
from pathlib import Path
from tests.unit.store.kuzu_builders import database
with database(Path(sys.argv[1])):
    print("holding", flush=True)
    sys.stdin.read()
"""
HOLD_WITHOUT_US = """
import sys, kuzu
kept = kuzu.Database(sys.argv[1], max_db_size=1 << 32)
print("holding", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("holder", [HOLD, HOLD_WITHOUT_US], ids=["hive-mind", "another program"])
def test_a_database_another_process_holds_names_that_process(tmp_path: Path, holder: str) -> None:
    path = filled(tmp_path / "x", 3, ALWAYS_CHECKPOINT)
    command = [sys.executable, "-c", holder, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=child_env(), text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "holding\n"

        with pytest.raises(DatabaseLocked, match="stop that process") as caught:
            asyncio.run(kuzu.open(path))
        child.communicate("")

    assert caught.value.holder_pid == child.pid
    assert caught.value.retryable
    with database(path) as opened:
        assert len(contents(opened)) == 3


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_rights_is_a_clear_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(BackendError, match="rights"):
        asyncio.run(kuzu.open(tmp_path / "x"))
    tmp_path.chmod(0o700)


def test_a_database_of_a_newer_version_is_refused_naming_both_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "x"
    Database(path, NO_CHECKPOINT, LATER).close()
    before = files(path)

    with pytest.raises(DatabaseUnreadable, match=f"has version {len(LATER)} .* up to {len(MIGRATIONS)}. .*upgrade"):
        asyncio.run(kuzu.open(path))

    assert files(path) == before


@pytest.mark.parametrize("settings", [NO_CHECKPOINT, ALWAYS_CHECKPOINT], ids=["from the log", "from the file"])
def test_an_older_database_is_brought_forward_with_all_its_facts(tmp_path: Path, settings: KuzuSettings) -> None:
    path = filled(tmp_path / "x", 20, settings)

    later = Database(path, settings, LATER)
    later.write(adds(1, "After"))

    assert len(contents(later)) == 21
    assert version_of(later.engine, path) == len(LATER)
    assert {row[0] for row in later.engine.run_once("MATCH (m:Memory) RETURN m.note")} >= {""}
    later.close()


def test_a_migration_that_is_cut_short_is_as_if_it_had_not_begun(tmp_path: Path) -> None:
    path = filled(tmp_path / "x", 20)
    spoiled = (*MIGRATIONS, Migration((*LATER[-1].statements, "CREATE REL TABLE BAD(FROM Nobody TO Memory)")))

    with pytest.raises(DatabaseUnreadable, match="Nobody"):
        Database(path, NO_CHECKPOINT, spoiled)

    with database(path, NO_CHECKPOINT) as opened:
        assert version_of(opened.engine, path) == len(MIGRATIONS)
        assert len(contents(opened)) == 20
    later = Database(path, NO_CHECKPOINT, LATER)
    assert len(contents(later)) == 20
    later.close()


KILLED_INSIDE_A_MIGRATION = """
import os, signal, sys
from pathlib import Path
from hive_mind.store.kuzu import KuzuSettings
from hive_mind.store.kuzu.database import Database
from hive_mind.store.kuzu.engine import Engine
from tests.unit.store.test_store_kuzu_files import LATER
run, run_once, left = Engine.run, Engine.run_once, int(sys.argv[2])
def counted(original):
    def wrapper(self, *arguments):
        global left
        left -= 1
        if left < 0: os.kill(os.getpid(), signal.SIGKILL)
        return original(self, *arguments)
    return wrapper
Engine.run, Engine.run_once = counted(run), counted(run_once)
Database(Path(sys.argv[1]), KuzuSettings(), LATER).close()
"""


@pytest.mark.parametrize("statements", range(1, 12, 2))
def test_a_process_killed_inside_a_migration_leaves_a_database_that_can_go_on(tmp_path: Path, statements: int) -> None:
    path = filled(tmp_path / "x", 5)

    in_child(KILLED_INSIDE_A_MIGRATION, str(path), str(statements))

    later = Database(path, NO_CHECKPOINT, LATER)
    assert version_of(later.engine, path) == len(LATER)
    assert len(contents(later)) == 5
    later.close()

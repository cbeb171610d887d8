"""Journals that a generation is made of: damaged or senseless ones are refused, open and killed ones are read whole.

A move that is done again, or dies at any of its steps, or fails: nothing is changed until all of it is there.
"""

import asyncio
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hive_mind import backends
from hive_mind.errors import BackendError, DatabaseLocked, DatabaseUnreadable, InvalidInput
from hive_mind.hive.effects import Put
from hive_mind.hive.replication.partition_replica import ASSERTIONS
from hive_mind.hive.replication.resettlement import Journal
from hive_mind.runtime.members import generations
from hive_mind.runtime.members.generations import Move, move, snapshot_of
from hive_mind.runtime.workers.config import HiveConfig
from tests.builders import run
from tests.sampled import steps, thorough
from tests.unit.runtime.moving import FEDERATED, OLD, SHARDED, TUNING, all_of, begun, contents, held, hives, moved


@pytest.mark.parametrize("keep", [0, 50, 5_000])
def test_a_damaged_journal_is_an_error_that_names_it(tmp_path: Path, keep: int) -> None:
    begun(tmp_path)
    path = tmp_path / "hives" / "fleet" / "b.sqlite"
    path.write_bytes(path.read_bytes()[:keep] + b"x" * 9_000)

    with pytest.raises(DatabaseUnreadable, match=r"fleet/b\.sqlite") as failure:
        moved(tmp_path)

    assert "hive-mind-journal-" not in str(failure.value)
    assert hives(tmp_path) == ["fleet"]


def test_a_journal_that_only_its_log_is_left_of_is_an_error(tmp_path: Path) -> None:
    begun(tmp_path)
    folder = tmp_path / "hives" / "fleet"
    (folder / "b.sqlite").rename(folder / "b.sqlite-wal")
    with pytest.raises(DatabaseUnreadable, match="log is there"):
        moved(tmp_path)


def test_a_value_that_no_node_writes_is_an_error_that_names_its_file(tmp_path: Path) -> None:
    begun(tmp_path)

    async def spoil() -> None:
        journal = await backends.load("journal", "sqlite").open(tmp_path / "hives" / "fleet" / "a.sqlite")
        await journal.write([Put("assertion", b"all\0" + bytes(13), b"nonsense")])
        await journal.close()

    run(spoil())

    with pytest.raises(DatabaseUnreadable, match=r"a\.sqlite holds what no node writes"):
        moved(tmp_path)
    assert hives(tmp_path) == ["fleet"]


def test_a_hive_that_runs_is_not_moved_but_can_be_looked_at(tmp_path: Path) -> None:
    before = begun(tmp_path)

    async def play() -> None:
        journal = await backends.load("journal", "sqlite").open(tmp_path / "hives" / "fleet" / "a.sqlite")
        try:
            await journal.write([Put("app.x", b"new", b"in the log")])
            with pytest.raises(DatabaseLocked):
                await move(Move(tmp_path, OLD, (), SHARDED, {}, TUNING))
            assert await held(tmp_path, OLD, while_open=True) == before
            seen = await snapshot_of(tmp_path, OLD, (), TUNING, while_open=True)
            assert Put("app.x", b"new", b"in the log") in seen.own["a"]
        finally:
            await journal.close()

    run(play())
    assert hives(tmp_path) == ["fleet"]


def test_what_a_killed_node_left_in_its_log_goes_along(tmp_path: Path) -> None:
    begun(tmp_path)

    async def play() -> None:
        there = tmp_path / "hives" / "fleet"
        journal = await backends.load("journal", "sqlite").open(there / "a.sqlite")
        await journal.write([Put("app.x", b"new", b"in the log")])
        # As a killed process leaves it.
        shutil.copytree(there, tmp_path / "killed" / "hives" / "fleet")
        await journal.close()

    run(play())
    files = contents(tmp_path / "killed" / "hives" / "fleet")
    assert "a.sqlite-wal" in files

    moved(tmp_path / "killed")

    seen = run(snapshot_of(tmp_path / "killed", SHARDED, (), TUNING))
    assert Put("app.x", b"new", b"in the log") in seen.own["a"]
    after = contents(tmp_path / "killed" / "hives" / "fleet")
    assert {name: after[name] for name in after if not name.endswith(".lock")} == {
        name: files[name] for name in files if not name.endswith(".lock")
    }


async def test_a_journal_is_whole_however_much_is_written_while_it_is_read(tmp_path: Path) -> None:
    sqlite: Any = backends.load("journal", "sqlite")
    path, stop = tmp_path / "busy.sqlite", asyncio.Event()
    journal = await sqlite.open(path)

    async def write() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            # All of one number, or none.
            await journal.write([Put("t", bytes([row]), number.to_bytes(4, "big") * 5_000) for row in range(16)])

    writing = asyncio.create_task(write())
    seen = []
    for _ in range(15):
        found = await sqlite.read(path, while_open=True)
        assert len({put.value for put in found}) <= 1
        seen += [found[0].value[:4]] if found else []
    stop.set()
    await writing
    await journal.close()
    assert seen == sorted(seen)
    assert len(set(seen)) > 1


@pytest.mark.parametrize(
    ("new", "attached"), [(OLD, {}), (HiveConfig("fleet.g2", "ring", {"": ("a",)}), {}), (SHARDED, {"ines": "nowhere"})]
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, new: HiveConfig, attached: dict[str, str]) -> None:
    begun(tmp_path)
    with pytest.raises(InvalidInput):
        run(move(Move(tmp_path, OLD, (), new, attached, TUNING)))
    assert hives(tmp_path) == ["fleet"]


def test_journals_that_are_there_are_replaced_only_if_no_node_ever_had_them_open(tmp_path: Path) -> None:
    begun(tmp_path)
    moved(tmp_path)

    with pytest.raises(InvalidInput, match="is there already"):
        moved(tmp_path)
    assert moved(tmp_path, FEDERATED, replace=True).facts == 12

    async def begin() -> None:
        await (await backends.load("journal", "sqlite").open(tmp_path / "hives" / "fleet.g2" / "a.sqlite")).close()

    run(begin())
    with pytest.raises(InvalidInput, match="has run"):
        moved(tmp_path, replace=True)


class Killed(BaseException):
    """The process is no more."""


class Dying:
    """Lets so many steps happen; from then on nothing does, tidying up neither."""

    def __init__(self, patch: pytest.MonkeyPatch, steps: int) -> None:
        self.left = steps
        ours = ((generations, name) for name in ("sync_file", "sync_folder", "_emptied"))
        for owner, name in (*ours, (shutil, "rmtree"), (Path, "rename")):
            patch.setattr(owner, name, self._stepped(getattr(owner, name)))
        write_one = generations._write_one

        async def write(*given: Any) -> None:
            self._step()
            await write_one(*given)

        patch.setattr(generations, "_write_one", write)

    def _step(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Killed

    def _stepped(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def step(*given: Any, **options: Any) -> Any:
            self._step()
            return real(*given, **options)

        return step


def deaths(home: Path, folder: Path) -> Iterator[int]:
    """The number of steps, again and again in a copy of the home, until it is one too many."""
    for number in steps(100):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(home, folder)
        with pytest.MonkeyPatch.context() as patch:
            dying = Dying(patch, number)
            with suppress(Killed):
                moved(folder, replace=True)
            if dying.left > 0:
                return
        yield number


@pytest.mark.parametrize("is_second", [thorough(False), True])
def test_whoever_is_killed_has_changed_nothing_and_does_it_again(tmp_path: Path, is_second: bool) -> None:
    home, folder = tmp_path / "home", tmp_path / "copy"
    before = begun(home)
    if is_second:
        moved(home, FEDERATED)
    files = contents(home / "hives" / "fleet")

    died = 0
    for number in deaths(home, folder):
        died = number + 1
        assert contents(folder / "hives" / "fleet") == files
        assert all_of(folder, SHARDED) in {(), before}
        moved(folder, replace=True)
        assert all_of(folder, SHARDED) == before
        assert hives(folder) == ["fleet", "fleet.g2"]

    assert died > 10


def test_a_failure_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun(tmp_path)

    async def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(generations, "_write_one", fail)

    with pytest.raises(BackendError, match="No space"):
        moved(tmp_path)
    assert hives(tmp_path) == ["fleet"]


def test_journals_that_read_otherwise_than_they_were_written_take_no_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    before, real = begun(tmp_path), generations.Resettlement.journals

    def forgetful(work: generations.Resettlement) -> Iterator[Journal]:
        for made in real(work):
            yield replace(made, records=[one for one in made.records if not (isinstance(one, Put) and one.table == ASSERTIONS)])

    monkeypatch.setattr(generations.Resettlement, "journals", forgetful)

    with pytest.raises(BackendError, match="can't be read again"):
        moved(tmp_path)
    assert hives(tmp_path) == ["fleet"]
    assert all_of(tmp_path, OLD) == before

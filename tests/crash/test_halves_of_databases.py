"""What SQLite had beside half of a database goes with that half: a killed restoration leaves nothing that stays and grows."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from hive_mind.runtime.copies import leftovers, note_copy
from hive_mind.safe_files import remove_abandoned, replacing

BESIDE = ("-journal", "-wal", "-shm")


def left_behind(path: Path, *, has_half: bool) -> set[Path]:
    half = path.with_name(f".{path.name}.4194305-0a1b2c3d.part")
    paths = {half} if has_half else set()
    paths |= {half.with_name(half.name + ending) for ending in BESIDE}
    for left in paths:
        left.write_bytes(b"The ferry leaves at nine.")
    return paths


def write_anew(path: Path) -> None:
    with replacing(path) as unfinished:
        unfinished.write_bytes(b"new")


def copy_anew(path: Path) -> None:
    note_copy(path.parent, path, "backup", "ada")
    note_copy(path.parent, path.with_name("another.sqlite"), "backup", "ada")


@pytest.mark.parametrize("has_half", [True, False])
@pytest.mark.parametrize("do_again", [remove_abandoned, write_anew, copy_anew])
def test_it_is_named_and_removed_by_whatever_removes_halves(tmp_path: Path, do_again: Callable[[Path], object], has_half: bool):
    path = tmp_path / "memory.sqlite"
    paths = left_behind(path, has_half=has_half)

    assert {leftover.path for leftover in leftovers(tmp_path)} == paths
    do_again(path)
    assert not [left for left in paths if left.exists()]


def test_what_a_living_writer_has_beside_its_half_stays(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite"
    with replacing(path) as unfinished, sqlite3.connect(unfinished) as copy:
        copy.execute("PRAGMA journal_mode = WAL")
        copy.execute("CREATE TABLE pump (name TEXT)")
        beside = {unfinished.with_name(f"{unfinished.name}{ending}") for ending in BESIDE[1:]}
        assert all(left.exists() for left in beside)
        assert remove_abandoned(path) == []
        assert list(leftovers(tmp_path)) == []
        assert all(left.exists() for left in beside)
        copy.execute("PRAGMA journal_mode = DELETE")


@pytest.mark.parametrize("place", ["nowhere/notes.txt", "file/notes.txt", f"{'n' * 300}/notes.txt"])
def test_a_place_that_takes_no_file_is_named_as_a_person_named_it(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="txt") as refused, replacing(tmp_path / place):
        pass
    assert refused.value.filename == str(tmp_path / place)

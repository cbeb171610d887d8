"""A file that was deleted or replaced while it is open takes nothing more: nobody would find it again."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hive_mind.errors import BackendError
from hive_mind.sqlite.file import File, FileFormat

FORM = FileFormat("test", 7, (("CREATE TABLE word (text TEXT)",),), 4096, 1 << 20, "restore a copy")


def write(file: File, word: str) -> None:
    with file.writing() as connection:
        connection.execute("INSERT INTO word VALUES (?)", (word,))


def deleted(path: Path) -> None:
    path.unlink()


def replaced(path: Path) -> None:
    shutil.copyfile(path, path.with_name("copy"))
    path.with_name("copy").replace(path)


@pytest.mark.parametrize("vanish", [deleted, replaced])
def test_nothing_is_taken_that_nobody_would_find(tmp_path: Path, vanish: Callable[[Path], None]) -> None:
    path = tmp_path / "home" / "words.sqlite"
    file = File(path, FORM)
    write(file, "ferry")

    vanish(path)

    with pytest.raises(BackendError, match="was deleted or replaced while it is open"):
        write(file, "mill")
    file.close()


def test_one_that_was_moved_with_its_folder_takes_more(tmp_path: Path) -> None:
    file = File(tmp_path / "home" / "words.sqlite", FORM)
    (tmp_path / "home").rename(tmp_path / "moved")
    write(file, "ferry")
    file.close()

    found = File(tmp_path / "moved" / "words.sqlite", FORM)
    with found.reading() as connection:
        assert connection.execute("SELECT text FROM word").fetchall() == [("ferry",)]
    found.close()

"""A file where nothing can be written is read as it is: from a copy, where it has a log or an older form."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hive_mind.errors import BackendError
from hive_mind.sqlite import file, log
from hive_mind.sqlite.file import File, FileFormat

FIRST = ("CREATE TABLE word (text TEXT)", "INSERT INTO word VALUES ('ferry')")
SECOND = ("CREATE TABLE number (value INTEGER)", "INSERT INTO number VALUES (9)")


def form(*migrations: tuple[str, ...]) -> FileFormat:
    return FileFormat("test", 7, migrations, 4096, 1 << 20, "restore a copy")


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of the first version, where nothing can be made any more."""
    place = tmp_path / "home" / "words.sqlite"
    File(place, form(FIRST)).close()
    monkeypatch.setattr(file, "is_unwritable", lambda path: path == place)
    return place


def names(path: Path) -> list[str]:
    return sorted(one.name for one in path.parent.iterdir())


def words(opened: File) -> list[str]:
    with opened.reading() as connection:
        return [text for (text,) in connection.execute("SELECT text FROM word ORDER BY text")]


def test_it_is_read_and_refuses_to_be_written(path: Path) -> None:
    before = names(path)
    with closing(File(path, form(FIRST))) as opened:
        assert words(opened) == ["ferry"]
        with pytest.raises(BackendError, match="readonly"), opened.writing() as connection:
            connection.execute("INSERT INTO word VALUES ('pump')")
        with closing(File(path, form(FIRST))) as second:
            assert words(second) == ["ferry"], "readers don't exclude each other"
    assert names(path) == before


def test_an_older_version_is_read_as_the_newest(path: Path) -> None:
    before = path.read_bytes()
    with closing(File(path, form(FIRST, SECOND))) as opened, opened.reading() as connection:
        assert connection.execute("SELECT value FROM number").fetchall() == [(9,)]
    assert path.read_bytes() == before


def test_what_is_in_the_log_alone_is_read_too(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("INSERT INTO word VALUES ('pump')")
        with closing(File(path, form(FIRST))) as opened:
            assert words(opened) == ["ferry", "pump"]

        def refused(path: Path, more: str = "") -> sqlite3.Connection:
            if path.parent.name == "home":
                raise sqlite3.OperationalError("unable to open database file")
            return reading(path, more)

        reading = log.reading
        monkeypatch.setattr(log, "reading", refused)
        with closing(File(path, form(FIRST))) as opened:
            assert words(opened) == ["ferry", "pump"], "of a copy"

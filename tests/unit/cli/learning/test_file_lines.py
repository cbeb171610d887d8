"""Lines of a file that is gone through twice, whatever it is."""

import os
import threading
from pathlib import Path

import pytest

from hive_mind.cli.learning.files import lines_of
from hive_mind.cli.running import CommandError
from hive_mind.errors import InvalidInput

# The separator that Python's splitlines would cut at stays in its line.
BODY = "\ufeffone\n\ntwo\u2028three\nlast".encode()
LINES = [b"one", b"", "two\u2028three".encode(), b"last"]


def test_a_file_gives_its_lines_as_often_as_it_is_asked_without_its_mark_of_utf_8(tmp_path: Path):
    (tmp_path / "some").write_bytes(BODY)
    with lines_of(str(tmp_path / "some")) as lines:
        assert next(iter(lines())) == b"one"
        assert [list(lines()), list(lines())] == [LINES, LINES]


def test_so_does_a_pipe_that_can_be_read_once(tmp_path: Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=[BODY])
    writer.start()

    with lines_of(str(pipe)) as lines:
        writer.join()
        assert [list(lines()), list(lines())] == [LINES, LINES]


def test_what_is_not_there_or_no_file_is_told(tmp_path: Path):
    with pytest.raises(InvalidInput, match="there is no such file"):
        lines_of(str(tmp_path / "none"))
    with pytest.raises(CommandError, match="can't be read"):
        lines_of(str(tmp_path))


def test_an_empty_file_has_no_lines(tmp_path: Path):
    (tmp_path / "empty").touch()
    with lines_of(str(tmp_path / "empty")) as lines:
        assert list(lines()) == []

"""Which files a path means, and what of them is text.

Lines of a file that is gone through twice, whatever it is.
"""

import os
import threading
from pathlib import Path

import pytest

from hive_mind.cli.learning import files_of, lines_of, passed_over
from hive_mind.cli.running import CommandError
from hive_mind.errors import InvalidInput
from hive_mind.runtime.texts import Unreadable, decoded
from hive_mind.runtime.texts.text_files import FILE_BYTES_MAX, read_text

# The separator that Python's splitlines would cut at stays in its line.
BODY = "\ufeffone\n\ntwo\u2028three\nlast".encode()
LINES = [b"one", b"", "two\u2028three".encode(), b"last"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_text_is_read_in_every_encoding_that_says_what_it_is(encoding):
    assert decoded("Grüße aus Porto".encode(encoding)) == "Grüße aus Porto"


@pytest.mark.parametrize("body", [b"", b" \n\t\n", b"\xef\xbb\xbf", b"\xff\xfe"])
def test_nothing_but_white_space_is_empty(body):
    assert decoded(body) == Unreadable("is empty")


def test_a_folder_gives_its_text_files_in_order_and_leaves_out_what_is_hidden(tmp_path):
    for name in ("b.md", "a.txt", "photo.jpg", ".secret.txt", "sub/c.LOG", ".git/d.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("words")
    found = [path.relative_to(tmp_path).as_posix() for path in files_of([str(tmp_path)])]
    assert found == ["a.txt", "b.md", "sub/c.LOG"]


def test_a_named_file_is_taken_whatever_its_name_and_only_once(tmp_path):
    odd = tmp_path / "notes.odd"
    odd.write_text("words")
    assert files_of([str(odd), str(odd)]) == [odd]


def test_a_file_that_links_lead_to_is_one_file_by_its_own_name(tmp_path):
    (tmp_path / "notes.md").write_text("words")
    (tmp_path / "a-link.md").symlink_to("notes.md")
    assert files_of([str(tmp_path)]) == files_of([str(tmp_path / "notes.md"), str(tmp_path)]) == [tmp_path / "notes.md"]


def test_links_to_folders_are_not_followed_and_are_named(tmp_path):
    (tmp_path / "notes.md").write_text("words")
    for name in ("again", "again.txt"):
        (tmp_path / name).symlink_to(".")
    assert files_of([str(tmp_path)]) == [tmp_path / "notes.md"]
    assert passed_over([str(tmp_path)]) == dict.fromkeys((tmp_path / "again", tmp_path / "again.txt"), "a link to a folder")


def test_a_folder_gives_nothing_from_outside_it(tmp_path):
    (tmp_path / "secret.txt").write_text("words")
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "notes.md").write_text("words")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "photo.jpg").write_bytes(b"x")

    assert files_of([str(folder)]) == [folder / "notes.md"]
    assert passed_over([str(folder)]) == {
        folder / "link.txt": "a link out of the folder", folder / "photo.jpg": "not named as a text or document"
    }  # fmt: skip
    assert files_of([str(folder / "link.txt")]) == [folder / "link.txt"]


@pytest.mark.parametrize("name", ["missing.txt", "x" * 300, "bad\0name"])
def test_a_path_where_nothing_is_stops_before_anything_is_learned(tmp_path, name):
    with pytest.raises(InvalidInput, match="Nothing was learned"):
        files_of([str(tmp_path / name)])


def test_a_folder_without_text_says_which_files_count(tmp_path):
    with pytest.raises(InvalidInput, match=r"\.txt"):
        files_of([str(tmp_path)])


def test_a_file_of_unreasonable_size_is_not_read(tmp_path):
    huge = tmp_path / "huge.txt"
    with huge.open("wb") as file:
        file.truncate(FILE_BYTES_MAX + 1)

    result = read_text(huge)

    assert isinstance(result, Unreadable)
    assert "too large" in result.reason


def test_what_is_no_file_can_not_be_read():
    assert read_text(Path(os.devnull)) == Unreadable("is not a regular file")
    assert read_text(Path("gone.txt")) == Unreadable("is not there")


def test_a_folder_that_can_not_be_looked_into_is_named(tmp_path, monkeypatch):
    (tmp_path / "closed").mkdir()
    (tmp_path / "note.txt").write_text("words")
    scan = os.scandir

    def refuse(at):
        if Path(at).name == "closed":
            raise PermissionError(13, "Permission denied", str(at))
        return scan(at)

    # Nothing is closed to root, so rights alone would not do in a container.
    monkeypatch.setattr(os, "scandir", refuse)

    note, closed = sorted(files_of([str(tmp_path)]), reverse=True)

    assert note.name == "note.txt"
    assert read_text(closed) == Unreadable("is a folder that can't be read: check its rights")


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


def test_a_folder_gives_nothing_that_git_or_a_package_manager_keeps_out(tmp_path: Path):
    for name in ("a.md", "build/b.md", "docs/c.md", "docs/draft.md", "node_modules/d/e.md", "docs/vendor/f.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("The mill is open.")
    (tmp_path / ".gitignore").write_text("build/\n*.log\n")
    (tmp_path / "docs" / ".gitignore").write_bytes(b"draft.md\n\xff\n")
    assert [path.relative_to(tmp_path).as_posix() for path in files_of([str(tmp_path)])] == ["a.md", "docs/c.md"]

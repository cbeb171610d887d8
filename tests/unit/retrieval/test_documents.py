"""Reading a folder of documents: what each is and says about itself; and what can't be taken is told, not met with a crash."""

import os
from pathlib import Path

import pytest

from hive_mind.errors import InvalidInput
from hive_mind.retrieval.documents import DOCUMENT_BYTES_MAX, Document, Skipped, all_read, listed, parsed


def write(folder: Path, name: str, text: str | bytes = "text") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def ids(folder: Path) -> list[str]:
    return [one.id for one in listed(folder).seen]


def told(folder: Path) -> dict[str, str]:
    return {one.id: one.why for one in all_read(folder) if isinstance(one, Skipped)}


def test_a_document_is_called_by_its_path_and_its_folder_is_its_category(tmp_path: Path):
    write(tmp_path, "faqs/deep/passwords.md", "# Passwords\ntext")

    (found,) = all_read(tmp_path)

    assert isinstance(found, Document)
    assert (found.id, found.field("category"), found.title) == ("faqs/deep/passwords.md", "faqs", "Passwords")


def test_front_matter_says_what_is_known_and_is_no_text_of_the_document():
    front = "title: Named\nversion: 1.10\nanswer: no\ntags: [x, y, x]\ncategory: other"
    found = parsed("a/b.md", f"---\n{front}\n---\n# Heading\ntext\n")

    assert isinstance(found, Document)
    assert found.body == "# Heading\ntext\n"
    assert (found.title, found.fields["tags"]) == ("Named", ("x", "y"))
    assert (found.field("version"), found.field("answer"), found.field("category")) == ("1.10", "no", "other")


@pytest.mark.parametrize(
    "text", ["---\nno end", "--- \ntext", "text\n---\na: b\n---\n", "---\nx: y\n--- more\n", "----\na\n----\n"]
)
def test_a_rule_is_not_taken_for_front_matter(text: str):
    found = parsed("a.md", text)

    assert isinstance(found, Document)
    assert found.body == text


@pytest.mark.parametrize("front", ["- a list", "just words", "a: [unclosed", "a: b: c", "!!python/object:os.system x"])
def test_front_matter_that_is_no_list_of_fields_is_told(front: str):
    assert isinstance(parsed("a.md", f"---\n{front}\n---\ntext"), Skipped)


def test_front_matter_builds_no_objects_and_endless_values_are_cut():
    found = parsed("a.md", f"---\nx: !!python/name:os.system\nlong: {'y' * 10_000}\n---\ntext")

    assert isinstance(found, Document)
    assert len(found.field("long")) == 4_000


def test_escaped_halves_of_a_character_become_one_and_a_lone_half_does_no_harm():
    found = parsed("a.md", '---\nboth: "\\ud83c\\udf1f"\nhalf: "x\\ud83c"\n---\ntext')

    assert isinstance(found, Document)
    assert (found.field("both"), found.field("half")) == ("🌟", "x�")


def test_windows_line_ends_and_byte_order_marks_change_nothing(tmp_path: Path):
    write(tmp_path, "a.md", b"\xef\xbb\xbf---\r\ntitle: T\r\n---\r\n# H\r\ntext")

    (found,) = all_read(tmp_path)

    assert isinstance(found, Document)
    assert (found.title, found.body) == ("T", "# H\ntext")


def test_hidden_files_and_other_kinds_are_not_documents(tmp_path: Path):
    for name in (".git/a.md", ".hidden.md", "a.png", "b.md", "c.TXT", "noend"):
        write(tmp_path, name)

    assert ids(tmp_path) == ["b.md", "c.TXT"]


@pytest.mark.parametrize(
    ("content", "why"), [(b"a\0b", "binary"), (b"caf\xe9", "UTF-8"), (b"x" * (DOCUMENT_BYTES_MAX + 1), "split it")]
)
def test_what_is_no_text_is_skipped_and_told(tmp_path: Path, content: bytes, why: str):
    write(tmp_path, "bad.md", content)
    write(tmp_path, "good.md")

    assert why in told(tmp_path)["bad.md"]
    assert len([one for one in all_read(tmp_path) if isinstance(one, Document)]) == 1


def test_links_that_lead_out_nowhere_or_in_circles_are_skipped_and_told(tmp_path: Path):
    secret = write(tmp_path, "outside/secret.md")
    folder = tmp_path / "documents"
    good = write(folder, "good.md")
    (folder / "out.md").symlink_to(secret)
    (folder / "outdir").symlink_to(secret.parent)
    (folder / "nowhere.md").symlink_to(folder / "missing.md")
    (folder / "circle.md").symlink_to(folder / "circle.md")
    (folder / "inside.md").symlink_to(good)
    write(folder, "sub/a.md")
    (folder / "sub" / "up").symlink_to(folder)

    assert ids(folder) == ["good.md", "inside.md", "sub/a.md"]
    assert set(told(folder)) == {"out.md", "outdir", "nowhere.md", "circle.md", "sub/up"}


def test_a_pipe_is_not_waited_for(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe.md")

    assert "regular" in told(tmp_path)["pipe.md"]


def test_a_folder_that_is_not_there_is_told_with_what_to_do(tmp_path: Path):
    with pytest.raises(InvalidInput, match="documents_dir"):
        listed(tmp_path / "missing")


def test_a_file_that_vanishes_between_looking_and_reading_is_told(tmp_path: Path):
    path = write(tmp_path, "a.md")
    reading = all_read(tmp_path)
    seen = listed(tmp_path).seen
    path.unlink()

    assert seen
    assert list(reading) == []


def test_a_title_keeps_what_belongs_to_it():
    assert parsed("a.md", "# C#\n\ntext").title == "C#"
    assert parsed("a.md", "text\n\n## Closed ##\n").title == "Closed"

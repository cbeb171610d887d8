import os
from pathlib import Path

import pytest

from hive_mind.control.manifests import sources
from hive_mind.control.manifests.sources import SourceReader, roots_of
from hive_mind.errors import InvalidInput


def write(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)


def found(folder: Path, *patterns: str) -> list[str]:
    read = SourceReader().read({"ada": patterns}, folder)["ada"]
    return [str(Path(one.path).relative_to(folder)) for one in read]


def test_a_file_a_folder_and_a_glob_are_found_from_the_manifests_folder(tmp_path: Path) -> None:
    write(tmp_path, "one.md", "docs/two.md", "docs/deep/three.md", "logs/a.log", "logs/a.txt")

    assert found(tmp_path, "one.md") == ["one.md"]
    assert found(tmp_path, "docs") == ["docs/deep/three.md", "docs/two.md"]
    assert found(tmp_path, "logs/*.log") == ["logs/a.log"]
    assert found(tmp_path, "**/*.md") == ["docs/deep/three.md", "docs/two.md", "one.md"]
    assert found(tmp_path, "../" + tmp_path.name + "/one.md") == ["one.md"]


def test_a_file_that_two_patterns_name_is_learned_once(tmp_path: Path) -> None:
    write(tmp_path, "docs/two.md")
    assert found(tmp_path, "docs", "docs/two.md", "**/two.md") == ["docs/two.md"]


def test_hidden_files_are_skipped_unless_they_are_named(tmp_path: Path) -> None:
    write(tmp_path, ".env", "docs/.secret", "docs/.git/config", "docs/a.md")
    assert found(tmp_path, "docs", "*", "**") == ["docs/a.md"]
    assert found(tmp_path, ".env") == [".env"]


def test_a_link_that_leads_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    write(outside, "secret.md")
    write(inside, "a.md")
    (inside / "link.md").symlink_to(outside / "secret.md")
    (inside / "folder").symlink_to(outside)
    (inside / "again.md").symlink_to(inside / "a.md")
    (inside / "round").symlink_to(inside)

    assert found(inside, ".", "**/*.md") == ["a.md", "again.md"]
    assert found(inside, "link.md", "folder/*.md", "folder/secret.md") == []
    assert [one.path for one in SourceReader().read({"ada": [f"{outside}/*.md"]}, inside)["ada"]] == [f"{outside}/secret.md"]
    assert roots_of(["*.md", f"{outside}/*.md"], str(inside)) == (str(inside), str(outside))


def test_a_pattern_that_names_nothing_any_more_adds_nothing(tmp_path: Path) -> None:
    write(tmp_path, "a.md")
    read = SourceReader().read({"ada": ["gone.md", "gone/*.md", "a.md"], "bob": ["gone.md"]}, tmp_path)
    assert ([Path(one.path).name for one in read["ada"]], read["bob"]) == (["a.md"], ())


def test_a_digest_changes_with_the_bytes_of_the_file(tmp_path: Path) -> None:
    reader = SourceReader()
    write(tmp_path, "a.md")
    before = reader.read({"ada": ["a.md"]}, tmp_path)["ada"]

    (tmp_path / "a.md").write_text("something else")

    assert reader.read({"ada": ["a.md"]}, tmp_path)["ada"][0].digest != before[0].digest
    write(tmp_path, "a.md")
    assert reader.read({"ada": ["a.md"]}, tmp_path)["ada"] == before


def test_too_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "a.md", "b.md", "c.md")
    monkeypatch.setattr(sources, "FILES_MAX", 2)
    with pytest.raises(InvalidInput, match="3 files are more than 2"):
        found(tmp_path, ".")


def test_looking_through_a_whole_disk_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "a.md", "b.md", "c.md")
    monkeypatch.setattr(sources, "_ENTRIES_MAX", 2)
    with pytest.raises(InvalidInput, match="name a smaller one"):
        found(tmp_path, "**/*.txt")


def test_a_file_whose_name_can_not_be_kept_is_told(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"k\xfcche.txt")).write_text("The kettle is on the left.")
    with pytest.raises(InvalidInput, match=r"che\.txt: this name is no UTF-8: rename"):
        found(tmp_path, "*.txt")

"""Sources: what was learned from where, folders whose files are gone, and sources and facts that hold no longer."""

from pathlib import Path

import pytest

from tests.acceptance.hive_mind_command import HiveMind

FERRY, MILL = "The ferry to Corrin leaves at nine.", "The mill in Porto is old."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "ferry.md").write_text(FERRY)
    (folder / "mill.md").write_text(f"{MILL}\n\nWho has the key?\n")
    return folder


def known(hive_mind: HiveMind) -> list[str]:
    return sorted(fact["content"] for fact in hive_mind("facts", "list", "--output", "json").json)


def test_sources_say_how_much_was_learned_from_where_and_what_was_left_out(hive_mind: HiveMind, folder: Path) -> None:
    assert hive_mind("sources").out == "No sources yet.\n"
    hive_mind("learn", folder)
    (folder / "ferry.md").write_text(FERRY.replace("nine", "ten"))
    hive_mind("learn", folder)

    listed = hive_mind("sources", "--output", "json").json

    assert [(Path(one["source"]).name, one["facts"], one["former"], one["left_out"]) for one in listed] == [
        ("ferry.md", 1, 1, {}), ("mill.md", 1, 0, {"a question": 1})
    ]  # fmt: skip
    assert all(one["learned_at"].startswith("20") and one["digest"] for one in listed)
    assert "1 question" in hive_mind("sources", folder).out
    assert "No source begins with '/nowhere'" in hive_mind("sources", "/nowhere").out
    assert "No source begins with 'elsewhere'" in hive_mind("sources", "elsewhere").out
    assert "nothing that can be looked at here has it" in hive_mind("erase", "--source", "elsewhere").err


def test_what_only_files_said_that_are_gone_is_former_with_replace(hive_mind: HiveMind, folder: Path) -> None:
    hive_mind("learn", folder)
    (folder / "ferry.md").rename(folder / "boats.md")
    (folder / "mill.md").unlink()

    assert "2 files that were learned are gone" in hive_mind("learn", folder).err
    assert known(hive_mind) == [FERRY, MILL]

    replaced = hive_mind("learn", folder, "--replace", "--output", "json").json

    assert [(Path(one["source"]).name, one["former"]) for one in replaced["withdrawn"]] == [("ferry.md", 1), ("mill.md", 1)]
    assert known(hive_mind) == [FERRY]
    (folder / "mill.md").write_text(MILL)
    hive_mind("learn", folder)
    assert known(hive_mind) == [FERRY, MILL]
    # An empty folder says nothing any more with that alone.
    for file in folder.iterdir():
        file.unlink()
    assert hive_mind("learn", folder).code == 2
    assert hive_mind("learn", folder, "--replace").code == 0
    assert known(hive_mind) == []


def test_a_source_is_forgotten_by_its_name_or_its_path(hive_mind: HiveMind, folder: Path, monkeypatch: pytest.MonkeyPatch):
    hive_mind("learn", folder)
    hive_mind("learn", "-", "--source", "Ana", stdin=MILL)
    monkeypatch.chdir(folder)

    assert hive_mind("facts", "retract", "--source", "mill.md").code == 2
    assert "is no longer said" in hive_mind("facts", "retract", "--source", "mill.md", "--yes").out
    assert known(hive_mind) == [FERRY, MILL]
    assert hive_mind("facts", "retract", "--source", "Ana", "--yes", "--output", "json").json == {"source": "Ana", "former": 1}
    assert known(hive_mind) == [FERRY]
    unknown = hive_mind("facts", "retract", "--source", "Bo", "--yes")
    assert (unknown.code, "`hive-mind sources` lists" in unknown.err) == (2, True)


@pytest.mark.parametrize("shown", ["mill.md", "./mill.md", "{folder}/mill.md"])
def test_every_command_takes_a_source_as_it_is_shown_and_by_its_whole_path(
    hive_mind: HiveMind, folder: Path, monkeypatch: pytest.MonkeyPatch, shown: str
) -> None:
    monkeypatch.chdir(folder)
    hive_mind("learn", ".")
    source = shown.format(folder=folder)

    assert [row["source"] for row in hive_mind("sources", source, "-o", "json").json] == [str(folder.resolve() / "mill.md")]
    assert hive_mind("erase", "--source", source, "-o", "json").json["would_erase"] == [MILL]
    assert hive_mind("facts", "retract", "--source", source, "--yes", "-o", "json").json["former"] == 1
    (folder / "mill.md").unlink()
    assert hive_mind("erase", "--source", source, "--yes").code == 0
    assert MILL not in hive_mind("facts", "search", "mill", "--with-superseded").out
    assert len(hive_mind("sources", "./", "-o", "json").json) == len(known(hive_mind))


def test_a_fact_is_replaced_by_what_holds_now(hive_mind: HiveMind, folder: Path) -> None:
    hive_mind("learn", folder / "ferry.md")
    (fact,) = hive_mind("facts", "list", "--output", "json").json
    done = hive_mind("facts", "supersede", fact["id"][:8], "--by", FERRY.replace("nine", "ten"), "--output", "json").json
    assert done["replaces"] == fact["id"]
    assert known(hive_mind) == ["The ferry to Corrin leaves at ten."]

"""The tools of the bundled worker: notes are listed, learned, compared, settled, and reported with their sources."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hive_mind.agents.runs.memory_tools import incident_tools, report_of
from hive_mind.cognition.extractive import ExtractiveReader
from hive_mind.errors import InvalidInput
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.tools import Toolbox, ToolContext

BOOK, SEEN = "Sluice gate 2 closes at a water level of 3.2 m.", "Sluice gate 2 closes at a water level of 3.4 m."


def text_in(path: Path) -> str | None:
    return None if path.suffix == ".bin" else path.read_text()


async def use(memory: CognitiveMemory, name: str, *given: Any) -> Any:
    one = Toolbox(incident_tools(memory, ExtractiveReader(), "r1", text_in)).get(name)
    assert one is not None
    return await one.call(ToolContext(), dict(zip(one.spec.parameters["properties"], given, strict=False)))


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """Two notes that contradict each other, one with a password, and a file that is none."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "book.md").write_text(f"# Sluice gate 2\n{BOOK}\nThe grease is changed every spring.\n")
    (tmp_path / "deep" / "seen.md").write_text(f"# Sluice gate 2\n{SEEN}\nThe password of the gate terminal is hunter2Xy!.\n")
    (tmp_path / "picture.bin").write_bytes(b"\x00")
    return tmp_path


async def learned(memory: CognitiveMemory, notes: Path) -> Any:
    return await use(memory, "learn_notes", await use(memory, "list_notes", str(notes)))


async def test_a_folder_is_listed_with_what_can_be_read_and_what_can_not(notes: Path, memory: CognitiveMemory) -> None:
    found = await use(memory, "list_notes", str(notes))
    assert found == {"folder": str(notes), "files": ["book.md", "deep/seen.md"], "left_out": ["picture.bin"]}


async def test_a_folder_without_a_name_or_notes_or_that_is_not_there_is_told(tmp_path: Path, memory: CognitiveMemory) -> None:
    (tmp_path / "picture.bin").write_bytes(b"\x00")
    there = re.escape(str(Path.cwd()))
    for folder, told in (
        ("no/notes", rf"'{there}/no/notes' is not a folder; give the whole path"),
        ("", "the folder has no name; give the whole path"),
        (" ", "the folder has no name; give the whole path"),
        (str(tmp_path / "nothing"), "is not a folder"),
        (str(tmp_path), "has no notes that can be read"),
    ):
        with pytest.raises(InvalidInput, match=told):
            await use(memory, "list_notes", folder)


async def test_each_note_vouches_for_its_facts_what_is_held_back_is_counted_and_again_changes_nothing(
    notes: Path, memory: CognitiveMemory
) -> None:
    found = await learned(memory, notes)
    assert {(one["text"], *one["sources"]) for one in found["facts"]} >= {(BOOK, "book.md"), (SEEN, "deep/seen.md")}
    assert found["count"] == len(found["facts"])
    assert sum(found["held_back"].values()) == 1
    assert "hunter2" not in str(found)
    before = await memory.get_statistics()
    assert await learned(memory, notes) == found
    assert await memory.get_statistics() == before


async def test_each_contradiction_is_found_once_and_with_both_sources(notes: Path, memory: CognitiveMemory) -> None:
    (one,) = await use(memory, "compare", await learned(memory, notes))
    assert {one["notes"], one["rival"]} == {BOOK, SEEN}
    assert {*one["sources"], *one["rival_sources"]} == {"book.md", "deep/seen.md"}


async def test_what_contradicts_and_is_held_back_is_not_shown(tmp_path: Path, memory: CognitiveMemory) -> None:
    (tmp_path / "note.md").write_text("# Gate terminal\nThe password of the gate terminal is hunter2Xy!.\n")
    await memory.store_fact("Gate terminal", "The password of the gate terminal is Tulip9zz!.", source="old.md")
    assert "Tulip" not in str(await use(memory, "compare", await learned(memory, tmp_path)))


async def conflicts(memory: CognitiveMemory, notes: Path) -> Sequence[Any]:
    found: Sequence[Any] = await use(memory, "compare", await learned(memory, notes))
    return found


@pytest.mark.parametrize(("word", "loser"), [("notes", "rival_id"), ("memory", "id")])
async def test_what_a_person_decided_against_is_former_also_when_it_is_done_twice(
    word: str, loser: str, notes: Path, memory: CognitiveMemory
) -> None:
    found = await conflicts(memory, notes)
    (settled,) = await use(memory, "settle", found, word)
    lost = await memory.get_fact(found[0][loser])
    assert settled["changed"]
    assert lost is not None
    assert not lost.is_current
    before = await memory.get_statistics()
    assert await use(memory, "settle", found, word) == [settled]
    assert await memory.get_statistics() == before


async def test_a_decision_that_is_none_is_told_with_what_would_be_one_and_who_leaves_both_changes_nothing(
    notes: Path, memory: CognitiveMemory
) -> None:
    found = await conflicts(memory, notes)
    before = await memory.get_statistics()
    for decision in ("", "perhaps", "notes memory", "notes, both, both", "notes or memory"):
        with pytest.raises(InvalidInput, match='answer with "notes", "memory" or "both", once or 1 times'):
            await use(memory, "settle", found, decision)
    (settled,) = await use(memory, "settle", found, "both")
    assert not settled["changed"]
    assert await memory.get_statistics() == before


async def test_a_word_for_each_conflict_is_taken_in_their_order(memory: CognitiveMemory) -> None:
    found = [{"id": str(number), "rival_id": "x", "notes": "n", "rival": "r"} for number in range(2)]
    settled = await use(memory, "settle", found, "Both, notes")
    assert [(one["decision"], one["changed"]) for one in settled] == [("both", False), ("notes", False)]


async def test_every_line_of_a_report_is_a_heading_or_names_its_source(notes: Path, memory: CognitiveMemory) -> None:
    known = await learned(memory, notes)
    found = await use(memory, "compare", known)
    report = await use(memory, "write_report", known, found, await use(memory, "settle", found, "notes"))
    lines = report.split("\n")
    assert all(line.startswith("#") or "[" in line for line in lines)
    assert "## Contradictions: 1" in lines
    assert sum("a person decided: notes" in line for line in lines) == 1
    stated = [line for line in lines if line.startswith("- ") and "against" not in line]
    assert sum(text in line for text in (BOOK, SEEN) for line in stated) == 1
    assert "- 1 fact: its text holds a credential [the gate]" in lines


def test_a_report_of_nothing_is_one_all_the_same() -> None:
    assert report_of({"facts": [], "held_back": {}}, [], []).split("\n") == ["# Incident review", "## Contradictions: 0"]

"""A file that was copied, renamed or moved is no second voice; somebody else who says the same is."""

import shutil
from pathlib import Path

import pytest

from hive_mind import FleetPlan, Settings, open_embedder, open_fleet
from hive_mind.agents.agent import LearningAgent
from hive_mind.cognition.extractive import ExtractiveReader
from hive_mind.model.content import Content
from tests.acceptance.hive_mind_command import HiveMind

STATEMENTS = ("The gateway listens on port 8443.", "The pump was replaced in May.", "Ines keeps the keys of the lock.")
TEXT = "\n\n".join(STATEMENTS) + "\n"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "runbook.md").write_text(TEXT)
    return folder


def asked(hive_mind: HiveMind) -> str:
    answer = hive_mind("ask", "Which port does the gateway listen on?")
    assert "8443" in answer.out, answer.err
    return answer.out


@pytest.mark.parametrize("text", [TEXT, TEXT.replace("in May", "in June"), f"# Copy\n\n{TEXT}"], ids=["same", "edited", "title"])
def test_a_copy_confirms_nothing_and_another_text_does(hive_mind: HiveMind, notes: Path, text: str):
    hive_mind("learn", notes / "runbook.md")
    (notes / "copy.md").write_text(text)

    assert "confirmed" not in hive_mind("learn", notes / "copy.md").out
    assert "confirmed by" not in asked(hive_mind)

    (notes / "incident.md").write_text(f"{STATEMENTS[0]}\n\nThe lamp failed at noon.\n")
    hive_mind("learn", notes / "incident.md")
    assert "confirmed by 1 more" in asked(hive_mind)


def test_a_moved_folder_says_nothing_twice_and_keeps_what_it_says(hive_mind: HiveMind, notes: Path, tmp_path: Path):
    hive_mind("learn", notes)
    notes.rename(tmp_path / "moved")
    hive_mind("learn", tmp_path / "moved")

    assert "confirmed by" not in asked(hive_mind)
    hive_mind("facts", "retract", "--source", notes / "runbook.md", "--yes")
    assert "confirmed by" not in asked(hive_mind)


def test_it_stays_one_voice_in_a_home_that_it_is_imported_into(hive_mind: HiveMind, notes: Path, tmp_path: Path):
    hive_mind("learn", notes)
    shutil.copy(notes / "runbook.md", notes / "copy.md")
    hive_mind("learn", notes / "copy.md")
    (tmp_path / "lines.jsonl").write_text(hive_mind("facts", "export").out)

    other = HiveMind(tmp_path / "other")
    other("facts", "import", tmp_path / "lines.jsonl")
    assert "confirmed by" not in asked(other)


@pytest.mark.parametrize("topology", ["single", "flat", "sharded"])
async def test_a_hive_hears_of_one_voice_and_of_another_agents_as_a_second(tmp_path: Path, topology: str):
    settings = Settings(home=tmp_path, embed="none")
    plan = FleetPlan(topology, ("ada", "ben", "cleo"))
    async with await open_fleet(settings, plan, await open_embedder(settings)) as fleet:
        ada, cleo = (LearningAgent(name, fleet.memory(name), ExtractiveReader()) for name in ("ada", "cleo"))
        for source in ("/a/runbook.md", "/b/runbook.md"):
            await ada.learn_from_content(Content(TEXT, source, is_whole=True))
        await fleet.settled()
        reader = "ada" if topology == "single" else "ben"
        assert {fact.confirmations for fact in await fleet.memory(reader).get_all_facts()} == {0}

        # The first one goes; the other says it still.
        await fleet.memory("ada").withdraw("/a/runbook.md")
        await fleet.settled()
        assert {fact.content for fact in await fleet.memory(reader).get_all_facts()} == set(STATEMENTS)

        if topology != "single":
            await cleo.learn_from_content(Content(TEXT, "/c/runbook.md", is_whole=True))
            await fleet.settled()
            assert {fact.confirmations for fact in await fleet.memory("ben").get_all_facts()} == {1}

"""A second copy of a memory, and a damaged one repaired, as an operator does it."""

import os
import signal
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hive_mind.cli.app import app
from hive_mind.store.sqlite import reading
from tests.acceptance.hive_mind_command import HiveMind


def facts_of(hive_mind: HiveMind) -> set[str]:
    return {fact["content"] for fact in hive_mind("facts", "list", "--limit", 1000, "-o", "json").json}


def test_a_copy_that_is_put_back_is_the_memory_as_it_was_and_other_files_neither_put_back_nor_written_over(
    hive_mind: HiveMind, notes: Path, tmp_path: Path
) -> None:
    hive_mind("learn", notes)
    before, copy, other = facts_of(hive_mind), tmp_path / "copy.sqlite", tmp_path / "other.sqlite"
    assert hive_mind("backup", copy).code == 0
    other.write_text("mine")
    assert (hive_mind("backup", other).code, other.read_text()) == (2, "mine")
    other.write_bytes(b"SQLite format 3\0" + b"\xff" * 500)
    assert hive_mind("restore", other, "--force").code == 1
    assert facts_of(hive_mind) == before

    notes.write_text("The ferry to Corrin leaves at ten from now on.\n")
    hive_mind("learn", notes)
    assert facts_of(hive_mind) != before

    refused = hive_mind("restore", copy)
    assert refused.code == 2
    assert "--force" in refused.err
    done = hive_mind("restore", copy, "--force", "-o", "json")

    assert facts_of(hive_mind) == before
    assert Path(done.json["former"]).exists()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize(
    "words", [["backup", "new.sqlite"], ["restore", "copy.sqlite", "--agent", "other"]], ids=lambda words: words[0]
)
def test_a_copy_that_is_cut_short_is_not_there_and_is_made_the_next_time(
    hive_mind: HiveMind, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], number: int, code: int
) -> None:
    monkeypatch.chdir(tmp_path)
    hive_mind("learn", notes)
    hive_mind("backup", "copy.sqlite")
    before = set(tmp_path.iterdir())
    environment = {"HIVE_MIND_HOME": str(hive_mind.home)}
    checks = reading._refuse_damaged

    def interrupted(copy: Path) -> None:
        checks(copy)
        if copy.name != "copy.sqlite":
            os.kill(os.getpid(), number)

    with monkeypatch.context() as patched:
        patched.setattr(reading, "_refuse_damaged", interrupted)
        ended = CliRunner().invoke(app, words, env=environment)
    assert (ended.exit_code, set(tmp_path.iterdir())) == (code, before)
    assert "Traceback" not in ended.output

    assert CliRunner().invoke(app, words, env=environment).exit_code == 0


def test_a_memory_is_copied_while_another_process_uses_it(hive_mind: HiveMind, notes: Path, tmp_path: Path) -> None:
    hive_mind("learn", notes)
    held = hive_mind.start("learn", "-", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        ended = hive_mind("backup", tmp_path / "copy.sqlite", "-o", "json")
    finally:
        held.communicate(b"The kettle is blue and stands in the kitchen.\n", timeout=60)

    assert ended.json["facts"] >= 3


def test_a_damaged_memory_is_named_and_repaired(hive_mind: HiveMind, tmp_path: Path) -> None:
    notes = tmp_path / "many.txt"
    notes.write_text("\n".join(f"Pump {number} stands in hall {number % 7} and is red.\n" for number in range(300)))
    hive_mind("learn", notes)
    before, record = facts_of(hive_mind), hive_mind.home / "agents" / "default" / "memory.sqlite"
    body = bytearray(record.read_bytes())
    at = body.index(b"Pump 77 stands", body.index(b"Pump 77 stands") + 1)
    body[at + 3] ^= 0x04
    record.write_bytes(body)

    doctor = hive_mind("doctor", "-o", "json")
    told = next(check for check in doctor.json["checks"] if check["name"] == "database")
    assert (doctor.code, told["state"]) == (1, "problem")
    assert "--repair" in told["advice"]
    assert facts_of(hive_mind) <= before

    done = hive_mind("doctor", "--repair", "-o", "json")
    assert done.json["repaired"]
    assert len(done.json["lost"]) == 1
    assert Path(done.json["kept_aside"]).exists()
    # Which record has the byte depends on how the machine cut the text into writes.
    assert len(before - facts_of(hive_mind)) <= 1
    assert hive_mind("doctor", "--repair", "-o", "json").json == {"repaired": False}


def test_an_agent_that_has_learned_nothing_has_nothing_to_look_after_and_a_folder_is_no_copy(hive_mind: HiveMind) -> None:
    for command in (("backup", "copy.sqlite"), ("doctor", "--repair")):
        assert hive_mind(*command).code == 2
    for folder in (".", "..", "/", ""):
        refused = hive_mind("restore", folder, "--agent", "other")
        assert (refused.code, refused.out) == (2, "")
        assert "is a folder; give the file that `hive-mind backup` wrote" in refused.err

"""On a disk that fills, or that nobody may write to, commands say what is safe, answer what they can, and are not alarmed."""

import os
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from subprocess import PIPE

import pytest

from benchmarks.importing import lines
from tests.acceptance.hive_mind_command import HiveMind
from tests.sampled import usually
from tests.servers.openai_compatible import OpenAICompatibleServer
from tests.servers.quota import files_of_at_most, filled

QUESTION, QUOTE = "When does the ferry to Corrin leave?", "The ferry to Corrin leaves at nine."
MEGABYTE = 1 << 20


@pytest.fixture
def at_disk(small_disk: Path) -> HiveMind:
    return HiveMind(small_disk / "home")


def disk_check(ended: object) -> dict[str, str]:
    (check,) = [check for check in ended.json["checks"] if check["name"] == "disk"]  # type: ignore[attr-defined]
    return dict(check)


def many(folder: Path) -> Path:
    file = folder / "many.md"
    file.write_text("\n\n".join(f"Pump {number} stands in hall {number % 7} and cools line {number}." for number in range(3000)))
    return file


def test_what_is_safe_is_said_when_the_disk_fills_in_the_middle_of_learning(tmp_path: Path) -> None:
    hive_mind, file = HiveMind(tmp_path / "home"), many(tmp_path)
    with files_of_at_most(MEGABYTE):
        ended = hive_mind("learn", file)
    kept = hive_mind("stats", "-o", "json").json["facts"]

    assert ended.code == 1
    assert 0 < kept < 3000
    assert f"{kept:,} facts of 3,000" in ended.err
    assert "are kept: learn it again" in ended.err
    assert hive_mind("learn", file).code == 0
    assert hive_mind("stats", "-o", "json").json["facts"] == 3000


def test_what_is_kept_is_said_when_the_disk_fills_in_the_middle_of_an_import(tmp_path: Path) -> None:
    hive_mind, file = HiveMind(tmp_path / "home"), tmp_path / "memory.jsonl"
    file.write_text("".join(f"{line}\n" for line in lines(6000, seed=1)))
    with files_of_at_most(2 * MEGABYTE):
        ended = hive_mind("facts", "import", file)
    (kept,) = re.findall(r"failed; ([\d,]+) of [\d,]+ lines are kept: import the same again to go on", ended.err)
    assert (ended.code, "check the disk" in ended.err) == (1, True), ended.err
    again = hive_mind("facts", "import", file, "-o", "json")
    assert (again.code, again.json["skipped_lines"]) == (0, int(kept.replace(",", "")))


def test_what_is_kept_is_said_when_the_disk_fills_while_all_is_embedded_again(tmp_path: Path) -> None:
    hive_mind = HiveMind(tmp_path / "home")
    assert (
        hive_mind("learn", "-", stdin="\n\n".join(f"Pump {number} stands in hall {number % 7}." for number in range(600))).code
        == 0
    )
    with OpenAICompatibleServer(dimension=1024) as model:
        embedding = {"HIVE_MIND_EMBED_URL": model.base_url, "HIVE_MIND_EMBED_MODEL": "m", "HIVE_MIND_EMBED_KEY": "k"}
        hive_mind = hive_mind.with_environment(HIVE_MIND_EMBED="openai", **embedding)
        with files_of_at_most(MEGABYTE):
            ended = hive_mind("reembed")
        (kept,) = re.findall(r"failed; (\d+) of 600 texts embedded, all kept: run it again to go on", ended.err)
        assert (ended.code, "check the disk" in ended.err, 0 < int(kept) < 600) == (1, True, True), ended.err
        assert hive_mind("reembed", "-o", "json").json["embedded"] == 600 - int(kept)


def test_a_doctor_does_not_call_a_full_disk_ready(at_disk: HiveMind, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text(QUOTE)
    assert at_disk("learn", notes).code == 0
    filler = filled(at_disk.home.parent)

    full = at_disk("doctor", "-o", "json")
    assert (full.code, full.json["is_ready"], disk_check(full)["state"]) == (1, False, "problem")
    assert QUOTE in at_disk("ask", QUESTION).out
    refused = at_disk("learn", "-", stdin="The pump is red.")
    assert (refused.code, "check the disk, its permissions and its free space" in refused.err) == (1, True), refused.err

    filler.unlink()
    assert at_disk("learn", "-", stdin="The pump is red.").code == 0
    assert disk_check(at_disk("doctor", "-o", "json"))["state"] == "ok"


def test_a_doctor_does_not_call_a_quota_that_is_reached_ready(tmp_path: Path) -> None:
    with files_of_at_most(16 << 10):
        ended = HiveMind(tmp_path / "home")("doctor", "-o", "json")
    assert (ended.code, disk_check(ended)["state"]) == (1, "problem")


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """The disk takes nothing more."""
    subprocess.run(["mount", "-o", "remount,ro", folder], check=True, timeout=100)
    try:
        yield
    finally:
        subprocess.run(["mount", "-o", "remount,rw", folder], check=True, timeout=100)


READING = (
    ("ask", QUESTION),
    ("facts", "search", "ferry"),
    ("facts", "list"),
    ("facts", "list", "--count"),
    ("stats",),
    ("sources",),
    ("graph", "show", "Corrin"),
    ("facts", "export", "-"),
    ("graph", "show", "Corrin", "--to", "Corrin"),
    ("graph", "query", "MATCH (f:Fact) RETURN f.content"),
    ("doctor",),
    ("chat",),
    ("hook", "session-start"),
    ("inbox", "list"),
    ("runs", "list"),
    ("credentials", "list"),
    ("backup", "{elsewhere}/copy.sqlite"),
    ("facts", "export", "{elsewhere}/facts.jsonl"),
)


@pytest.mark.parametrize("way", usually(["closed", "killed"], "killed"))
def test_a_home_that_can_not_be_written_to_is_asked(at_disk: HiveMind, tmp_path: Path, way: str) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text(QUOTE)
    at_disk("learn", notes)
    record = at_disk.home / "agents" / "default" / "memory.sqlite"
    if way == "killed":
        leave_a_log(record)
    with read_only(at_disk.home.parent):
        before = {path: path.stat() for path in record.parent.iterdir()}
        for words in READING:
            ended = at_disk(*(word.format(elsewhere=tmp_path) for word in words))
            assert ended.code == 0, (words, ended.err)
        assert QUOTE in at_disk("graph", "query", "MATCH (f:Fact) RETURN f.content").out
        assert "can't be written to" in at_disk("graph", "build").err
        assert QUOTE in at_disk("ask", QUESTION).out
        learned = at_disk("learn", notes, "--source", "another")
        assert learned.code == 1
        assert "readonly" in learned.err
        assert {path: path.stat().st_mtime_ns for path in record.parent.iterdir()} == {
            path: found.st_mtime_ns for path, found in before.items()
        }
    assert at_disk("learn", notes, "--source", "another").code == 0
    assert at_disk("restore", tmp_path / "copy.sqlite", "--force").code == 0
    assert QUOTE in at_disk("ask", QUESTION).out


def leave_a_log(record: Path) -> None:
    """As a process leaves them that was killed: its last writes are in the log alone."""
    beside = record.with_name("copy")
    with closing(sqlite3.connect(record, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("UPDATE total SET rows = rows")
        for suffix in ("", "-wal"):
            shutil.copyfile(f"{record}{suffix}", f"{beside}{suffix}")
    for suffix in ("", "-wal"):
        Path(f"{beside}{suffix}").replace(f"{record}{suffix}")


def test_what_can_not_be_signed_is_not_erased(at_disk: HiveMind) -> None:
    assert at_disk("learn", "-", stdin=QUOTE).code == 0
    filled(at_disk.home.parent)

    ended = at_disk("erase", "--subject", "Corrin", "--yes")

    assert (ended.code, "receipts.key: No space left on device; make room there" in ended.err) == (1, True)
    assert QUOTE in at_disk("ask", QUESTION).out


def test_what_there_was_no_room_to_scrub_is_owed_and_not_called_unwritten(at_disk: HiveMind) -> None:
    pumps = "".join(f"Pump {number} stands in hall {number % 7} and cools line {number}.\n" for number in range(800))
    assert at_disk("learn", "-", "--source", "ben", stdin=QUOTE).code == 0
    assert at_disk("learn", "-", "--source", "ada", stdin=pumps).code == 0
    assert at_disk("erase", "--subject", "Nobody", "--yes").code == 0
    filler = filled(at_disk.home.parent)
    os.truncate(filler, filler.stat().st_size - (160 << 10))

    ended = at_disk("erase", "--source", "ben", "--yes")
    found = at_disk("ask", QUESTION).out
    filler.unlink()

    assert (ended.code, QUOTE in found) == (1, "nothing of this was written" in ended.out), ended.out
    assert "its bytes are still in the file: check the disk" in ended.out
    assert at_disk("erase", "--source", "ben", "--yes").code == 0


def test_a_receipt_for_which_there_is_no_room_is_printed(small_disk: Path, tmp_path: Path) -> None:
    town, receipt = HiveMind(tmp_path / "home"), tmp_path / "receipt.json"
    assert town("learn", "-", stdin=QUOTE).code == 0
    (small_disk / "receipts").mkdir()
    (town.home / "receipts").symlink_to(small_disk / "receipts")
    filled(small_disk)

    for options in ((), ("-o", "json")):
        ended = town("erase", "--subject", "Corrin", "--yes", *options)
        assert (ended.code, "erase --check reads it" in ended.err) == (1, True)
        receipt.write_text(ended.out)
        assert town("erase", "--check", receipt).code == 0
    assert QUOTE not in town("ask", QUESTION).out


def test_a_copy_that_can_not_be_noted_names_the_file_that_has_no_room(at_disk: HiveMind, tmp_path: Path) -> None:
    assert at_disk("learn", "-", stdin=QUOTE).code == 0
    filled(at_disk.home.parent)
    for words in (("backup", tmp_path / "copy.sqlite"), ("facts", "export", tmp_path / "facts.jsonl")):
        ended = at_disk(*words)
        assert (ended.code, "copies.jsonl: No space left on device; make room there" in ended.err) == (1, True)


# Results in one piece: text, and two formats; and text that Python does not hold back.
CUT_SHORT = (
    (("facts", "list", "-n", 0), ""),
    (("facts", "list", "-n", 0), "1"),
    (("facts", "list", "-n", 0, "-o", "json"), ""),
    (("facts", "export"), ""),
)


def test_a_result_that_is_cut_short_by_a_full_disk_is_a_failure(tmp_path: Path) -> None:
    hive_mind = HiveMind(tmp_path / "home")
    pumps = "\n\n".join(f"Pump {number} stands in hall {number % 7}." for number in range(600))
    assert hive_mind("learn", "-", stdin=pumps).code == 0
    for words, unbuffered in CUT_SHORT:
        with (
            (tmp_path / "result").open("wb") as result,
            files_of_at_most(8 << 10),
            hive_mind.start(*words, stdout=result.fileno(), stderr=PIPE, PYTHONUNBUFFERED=unbuffered) as process,
        ):
            assert process.stderr is not None
            said = process.stderr.read()
        assert (process.returncode, b"name another place" in said) == (1, True), (words, said)

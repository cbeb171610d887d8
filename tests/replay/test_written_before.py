"""A home, a stopped fleet and an archive, written by commit 401d5068 and kept as they were, open in today's version.

In it an agent alone has a record and a ledger (one run is done, one waits for a person), three agents of a flat hive have records
and journals, and `halvay.zip` is what `hive-mind export` wrote then of that fleet while it ran.
"""

import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.hive_mind_command import HiveMind

KEPT = Path(__file__).parent / "kept" / "written-by-401d5068.tar.xz"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with tarfile.open(KEPT) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path


def contents(command: HiveMind, agent: str) -> set[str]:
    listed = command("facts", "list", "-n", 0, "--agent", agent, "-o", "json")
    assert listed.code == 0, listed.err
    return {fact["content"] for fact in listed.json}


def done(command: HiveMind, *words: object) -> Any:
    ended = command(*words, "-o", "json")
    assert ended.code == 0, (words, ended.out, ended.err)
    return ended.json


def test_a_record_is_asked_and_learns_more(folder: Path) -> None:
    command = HiveMind(folder / "home")
    before = contents(command, "default")
    assert len(before) > 3
    assert command("doctor").code == 0

    assert command("learn", "-", "--source", "later", stdin="The new crane stands at quay 9.").code == 0
    assert contents(command, "default") == before | {"The new crane stands at quay 9."}


def test_a_ledger_has_its_runs_and_the_one_that_waits_goes_on(folder: Path) -> None:
    command = HiveMind(folder / "home")
    statuses = {run["run"]: run["status"] for run in done(command, "runs", "list")}
    assert statuses == {"done": "accepted", "waiting": "parked"}

    (item,) = done(command, "runs", "show", "waiting")["waiting"]
    assert command("inbox", "answer", item["id"], "yes", "--as", "ines").code == 0
    assert command("runs", "resume", "waiting").code == 0
    assert done(command, "runs", "show", "waiting")["status"] == "accepted"


def test_journals_of_a_stopped_fleet_hold_what_its_archive_holds(folder: Path) -> None:
    """Both are read: the export reads the journals, the import what was exported then."""
    then, now = HiveMind(folder / "then"), HiveMind(folder / "now")
    written = done(HiveMind(folder / "home"), "backup", folder / "today.zip", "--fleet", "halvay")
    imported = done(then, "restore", folder / "halvay.zip")
    assert done(now, "restore", folder / "today.zip") == imported
    assert written["assertions"] == imported["assertions"] > 0
    for agent in ("harbour", "ferry", "pumps"):
        assert contents(then, agent) == contents(now, agent) == contents(HiveMind(folder / "home"), agent)

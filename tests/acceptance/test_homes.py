"""Home folders: for their owner alone, and a copy of one has no say over the processes of the other."""

import os
import shutil
import stat
from pathlib import Path

import psutil
import pytest

from tests.acceptance.hive_mind_command import HiveMind, manifest_of

FLEET = manifest_of("""\
  topology: flat
  agents: [{name: ann}, {name: bob}]
""")


def test_what_agents_keep_is_for_their_owner_alone(hive_mind: HiveMind, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("Pump 4 leaks at the seal.")
    former = os.umask(0o022)
    try:
        assert hive_mind("learn", tmp_path / "notes.txt").code == 0
        assert hive_mind("ask", "What leaks?").code == 0
        assert hive_mind("facts", "export", hive_mind.home / "facts.jsonl").code == 0
        assert hive_mind("backup", hive_mind.home / "backup.sqlite").code == 0
    finally:
        os.umask(former)

    there = [hive_mind.home, *hive_mind.home.rglob("*")]
    assert len(there) > 3
    assert [path for path in there if stat.S_IMODE(path.stat().st_mode) & 0o077] == []


@pytest.mark.parametrize("home", ["/proc", "/proc/1"])
def test_a_home_in_which_nothing_can_be_kept_is_a_problem_whatever_comes_and_goes_in_it(hive_mind: HiveMind, home: str) -> None:
    ended = hive_mind("doctor", "--home", home, "-o", "json")
    assert (ended.code, [check["name"] for check in ended.json["checks"] if check["state"] == "problem"]) == (1, ["disk"])


@pytest.mark.slow
def test_a_copied_home_commands_nobody_elses_processes(hive_mind: HiveMind, tmp_path: Path) -> None:
    hive_mind.applies(FLEET, tmp_path)
    try:
        pids = {one["name"]: one["pid"] for one in hive_mind("status", "-o", "json").json["processes"]}
        shutil.copytree(hive_mind.home, tmp_path / "copy", ignore=shutil.ignore_patterns("*.sock"))
        copy = HiveMind(tmp_path / "copy")

        assert {one["phase"] for one in copy("status", "-o", "json").json["processes"]} == {"missing"}
        assert copy("delete", "--yes").code == 0

        assert all(psutil.pid_exists(pid) for pid in pids.values())
        told = hive_mind("status", "-o", "json").json
        assert told["phase"] == "Ready"
        assert {one["name"]: one["pid"] for one in told["processes"]} == pids
    finally:
        hive_mind("delete", "--yes")

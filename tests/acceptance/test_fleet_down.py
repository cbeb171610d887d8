"""A fleet that is only down, after a power failure for instance, has forgotten nothing, and commands say so."""

import os
import signal
from pathlib import Path

import pytest

from tests.acceptance.hive_mind_command import HiveMind
from tests.servers.home_guard import processes_of
from tests.waiting import wait_until

MANIFEST = """
apiVersion: hive-mind/v1
kind: Hive
metadata: {name: town}
spec:
  topology: flat
  bus: memory
  platform: {agentsPerProcess: 2}
  agents: [{name: ada}, {name: ben}]
"""
QUESTION, QUOTE = "When does the ferry to Corrin leave?", "The ferry to Corrin leaves at nine."

pytestmark = pytest.mark.slow


def test_after_a_power_failure_nothing_is_said_to_be_forgotten(command: HiveMind, notes: Path, tmp_path: Path) -> None:
    (tmp_path / "hive.yaml").write_text(MANIFEST)
    assert command("apply", "-f", tmp_path / "hive.yaml", "--timeout", 300).code == 0
    assert command("learn", notes, "--agent", "ada").code == 0
    facts = command("status", "-o", "json").json["facts"]
    assert facts > 0
    for process in processes_of(command.home):
        os.kill(process.pid, signal.SIGKILL)
    wait_until(lambda: not processes_of(command.home), "all are gone")

    seen = command("status", "-o", "json")
    assert (seen.code, seen.json["phase"], seen.json["facts"]) == (1, "Degraded", facts)
    checked = command("doctor", "-o", "json")
    assert (checked.code, [check["name"] for check in checked.json["checks"] if check["state"] == "problem"]) == (
        1,
        ["fleet town"],
    )
    for words in (("ask", QUESTION), ("learn", notes), ("facts", "list")):
        ended = command(*words)
        assert ended.code == 1, (words, ended.out)
        assert "fleet town is down" in ended.err
        assert "rollout restart" in ended.err
        assert "learned nothing" not in ended.err
    alone = command("ask", QUESTION, "--agent", "ada")
    assert QUOTE in alone.out
    assert "fleet town is down" in alone.err

    assert command("rollout", "restart", "--timeout", 300).code == 0
    assert QUOTE in command("ask", QUESTION).out

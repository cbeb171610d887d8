"""The commands for fleets, as a person uses them: real processes over a Redis server of the fleet's own."""

import os
import re
import shutil
import signal
import threading
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE

import pytest

from tests.sampled import thorough
from tests.servers.guard import Guard
from tests.servers.home_guard import processes_of
from tests.waiting import wait_until

MANIFESTS = Path(__file__).parents[2] / "manifests"
# Whoever is asked did not learn it, but where nobody shares.
QUESTIONS = {
    "single": ("ferry", "When does the ferry to Corrin leave?", "nine in the morning"),
    "flat": ("ferry", "Which pump cools the transformers?", "Pump D4"),
    "federated": ("harbour", "Who looks after the pumps?", "Tomas"),
    "sharded": ("clerk-1", "Who is the keeper of the lighthouse?", "Noor"),
}
LIMIT = ("--timeout", 300)

pytestmark = pytest.mark.slow


@pytest.fixture
def manifests(tmp_path):
    """The examples, where they can be changed."""
    return Path(shutil.copytree(MANIFESTS, tmp_path / "manifests"))


@pytest.fixture
def pair(manifests):
    """Two agents of the flat example."""
    return without(manifests / "flat.yaml", "harbour", "lighthouse")


def without(manifest, *agents):
    text = manifest.read_text("utf-8")
    for name in agents:
        text = text.replace(f"    - name: {name}\n      sources: [texts/{name}.txt]\n", "")
    manifest.write_text(text, "utf-8")
    return manifest


@pytest.mark.parametrize("topology", ["single", thorough("flat"), thorough("federated"), thorough("sharded")])
def test_a_fleet_comes_up_answers_is_looked_at_stopped_and_comes_back_with_what_it_knew(command, manifests, topology):
    manifest = manifests / f"{topology}.yaml"
    agent, question, answer = QUESTIONS[topology]

    planned = command("plan", "-f", manifest, "-o", "json")
    assert {action["kind"] for action in planned.json["actions"]} == {"create"}
    assert not processes_of(command.home)

    applied = command("apply", "-f", manifest, *LIMIT)
    assert applied.code == 0, applied.err
    assert "fleet halvay: Ready" in applied.out
    assert "what crashes stays down until the next apply; hive-mind controller restarts it" in " ".join(applied.err.split())

    assert command("plan", "-f", manifest, "-o", "json").json["actions"] == []
    assert "nothing to do" in command("plan", "-f", manifest).out
    assert command("wait", "--for=condition=Ready", f"agent/{agent}", *LIMIT).code == 0

    asked = command("ask", question, "--agent", agent)
    assert answer in asked.out
    assert f"using agent {agent} of fleet halvay" in asked.err
    told = command("ask", question, "-o", "json").json
    assert (told["is_known"], told["fleet"], told["completeness"]) == (True, "halvay", 1.0)

    _look_at(command, topology, agent)

    deleted = command("delete", "-f", manifest)
    assert deleted.code == 0, deleted.err
    assert processes_of(command.home) == []
    assert command("get", "hives", "-o", "json").json[0]["phase"] == "Stopped"
    assert (command.home / "agents" / "pumps" / "memory.sqlite").exists()
    # What it learned itself is in its own database, which nobody has open now.
    assert "Tomas" in command("ask", "Who looks after the pumps?", "--agent", "pumps").out

    assert command("apply", "-f", manifest, *LIMIT).code == 0
    assert answer in command("ask", question, "--agent", agent).out

    assert command("delete", "halvay", "--purge").code == 2
    assert command("delete", "halvay", "--purge", "--yes").code == 0
    assert processes_of(command.home) == []
    assert [str(path) for path in command.home.rglob("*") if path.is_file() and path.name != "lock"] == []


def _look_at(command, topology, agent):
    """Everything that shows the fleet shows it."""
    status = command("status")
    assert (status.code, "fleet halvay: Ready" in status.out) == (0, True)
    agents = command("get", "agents", "-o", "json").json
    assert agent in [one["name"] for one in agents]
    assert all(one["is_ready"] for one in agents)
    assert {one["pid"] for one in agents} <= {one.pid for one in processes_of(command.home)}
    with started(command, "get", "agents", agent, "--watch", "--every", 0.2) as watching:
        shown = Lines(watching.stdout)
        for _ in range(3):
            shown.until(agent)
        watching.send_signal(signal.SIGINT)
        assert watching.wait(LIMIT[1]) == 130
    assert sum(one["facts"] for one in agents) > 15
    assert command("get", "agents", "-o", "name").out.startswith("agent/")
    assert re.search(rf"^halvay +Ready +{topology} ", command("get", "hives").out, re.MULTILINE)
    assert "Tomas looks after the pumps." in command("get", "facts", "pumps").out
    every = len(command("get", "facts", "-n", 1000, "-o", "json").json)
    assert every > 15
    for form in ("table", "json"):
        assert "there may be more than 15 facts: more with --limit" in command("get", "facts", "-n", 15, "-o", form).err
    assert "more" not in command("get", "facts", "-n", every).err
    assert agent in command("describe", "agent", agent).out
    assert "generation" in command("describe", "hive").out
    assert command("logs", agent, "-n", 5).out
    assert command("get", "events", "-n", 3).out.count("\n") == 4
    top = command("top", "--once", "--every", 0.2)
    assert " MB " in top.out
    assert agent in top.out
    assert "revision" in command("get", "revisions").out
    assert command("wait").code == 0


def test_what_one_agent_is_told_all_can_be_asked_and_an_archive_of_the_running_fleet_is_restored_into_another_topology(
    command, pair, tmp_path
):
    command("apply", "-f", pair, *LIMIT)
    note = tmp_path / "note.txt"
    note.write_text("The spare anchor is kept in shed seven.")

    learned = command("learn", note, "--agent", "ferry", "-o", "json")

    assert (learned.code, learned.json["agent"], learned.json["added"]) == (0, "ferry", 1)
    command("wait", "--for=condition=Replicated", *LIMIT)
    asked = command("ask", "Where is the spare anchor kept?", "--agent", "pumps", "-o", "json").json
    assert "shed seven" in asked["text"]
    id_ = asked["sources"][0]["fact_id"]
    counted = command("facts", "list", "--count", "--agent", "pumps", "-o", "json").json
    listed = command("get", "facts", "-n", 1000, "-o", "json").json
    assert (counted["count"], counted["completeness"]) == (len({one["fact_id"] for one in listed}), 1.0)
    assert f"{counted['count']} facts" in command("facts", "list", "--latest", "--agent", "pumps").out
    refused = command("facts", "retract", id_[:8], "--agent", "pumps", "--yes")
    assert (refused.code, "is another agent's" in refused.err) == (2, True)
    assert command("facts", "retract", id_[:8], "--agent", "ferry", "--yes").code == 0
    assert "shed seven" not in command("ask", "Where is the spare anchor kept?", "--agent", "ferry").out
    with started(command, "logs", "-f", "-n", 5) as following:
        Lines(following.stdout).until("pumps: ")
        following.send_signal(signal.SIGINT)
        assert following.wait(LIMIT[1]) == 130

    facts = command("status", "-o", "json").json["facts"]
    exported = command("backup", tmp_path / "flat.zip", "--fleet", "halvay", "-o", "json")
    assert (exported.code, len(exported.json["agents"])) == (0, 2)
    again = command("backup", tmp_path / "flat.zip", "--fleet", "halvay")
    assert (again.code, "is there already" in again.err) == (2, True)
    assert command("backup", tmp_path / "flat.zip", "--fleet", "halvay", "--force").code == 0
    assert command("delete", "--purge", "--yes").code == 0

    assert command("restore", tmp_path / "flat.zip").code == 0
    resting = command("status", "-o", "json").json
    assert (resting["phase"], resting["topology"], resting["facts"]) == ("Stopped", "flat", facts)
    pair.write_text(pair.read_text("utf-8").replace("topology: flat\n", "topology: {kind: sharded, replicas: 2}\n"))
    assert command("apply", "-f", pair, *LIMIT).code == 0

    assert command("status", "-o", "json").json["topology"] == "sharded"
    assert "Pump D4" in command("ask", "Which pump cools the transformers?", "--agent", "ferry").out
    assert command("delete", "--purge", "--yes").code == 0


def test_a_fleet_is_scaled_restarted_drained_and_undone(command, manifests):
    command("apply", "-f", without(manifests / "sharded.yaml", "harbour", "ferry"), *LIMIT)

    scaled = command("scale", "clerk-{n}", "--replicas", 3, *LIMIT, "-o", "json")
    assert scaled.code == 0, scaled.err
    assert len(scaled.json["status"]["agents"]) == 5
    before = {one["name"]: one["pid"] for one in scaled.json["status"]["processes"]}

    text = manifests / "texts" / "pumps.txt"
    text.write_text(text.read_text().replace("Tomas looks", "Ragna looks"))
    restarted = command("rollout", "restart", "pumps", *LIMIT, "-o", "json")
    assert restarted.code == 0, restarted.err
    after = {one["name"]: one["pid"] for one in restarted.json["status"]["processes"]}
    assert [name for name in before if before[name] != after[name]] == ["pumps"]
    command("wait", "--for=condition=Replicated", *LIMIT)
    edited = command("ask", "Who looks after the pumps?", "--agent", "clerk-1").out
    assert "Ragna" in edited
    assert "Tomas" not in edited

    undone = command("rollout", "undo", *LIMIT, "-o", "json")
    assert undone.code == 0, undone.err
    assert len(undone.json["status"]["agents"]) == 4
    assert len(command("get", "revisions", "-o", "json").json) == 3

    drained = command("drain", "lighthouse", *LIMIT)
    assert drained.code == 0, drained.err
    assert "lighthouse" not in [one.name() for one in processes_of(command.home)]
    # It is away because somebody said so.
    away = command("status", "-o", "json")
    assert (away.code, away.json["phase"]) == (0, "Ready")
    assert "lighthouse drained" in next(one["message"] for one in away.json["conditions"] if one["type"] == "Ready")
    assert "Noor" in command("ask", "Who is the keeper of the lighthouse?", "--agent", "clerk-1").out
    assert command("delete", "--purge", "--yes").code == 0


def test_a_controller_starts_again_what_was_killed_applies_a_changed_manifest_and_leaves_the_fleet_running(command, pair):
    with started(command, "controller", "-f", pair) as watching:
        Lines(watching.stderr).until("watching fleet halvay")
        killed = _pid(command, "pumps")
        os.kill(killed, signal.SIGKILL)
        wait_until(lambda: _pid(command, "pumps") not in (0, killed), "pumps runs again")
        assert command("wait", *LIMIT).code == 0
        assert command("get", "agents", "pumps", "-o", "json").json[0]["restarts"] == 1

        pair.write_text(pair.read_text("utf-8").replace("- name: ferry", "- name: boat"))
        wait_until(lambda: _pid(command, "boat"), "the changed manifest is applied")

        watching.send_signal(signal.SIGTERM)
        assert watching.wait(LIMIT[1]) == 0
    assert _pid(command, "pumps")
    assert command("delete", "--purge", "--yes").code == 0


def test_ctrl_c_while_applying_loses_nothing_and_applying_again_goes_on(command, pair):
    with started(command, "apply", "-f", pair) as applying:
        said = Lines(applying.stderr)
        said.until("start ")
        applying.send_signal(signal.SIGINT)
        assert applying.wait(LIMIT[1]) == 130
        assert "run it again to go on" in said.rest()

    assert command("apply", "-f", pair, *LIMIT).code == 0
    assert command("plan", "-f", pair, "-o", "json").json["actions"] == []
    assert command("delete", "--purge", "--yes").code == 0


def test_a_fleet_in_the_process_of_its_command_ends_with_it(command, tmp_path):
    manifest = tmp_path / "here.yaml"
    manifest.write_text(
        "apiVersion: hive-mind/v1\nkind: Hive\nmetadata: {name: here}\n"
        "spec: {bus: 'memory:', platform: inprocess, agents: [{name: ada}, {name: ben}]}\n"
    )
    with started(command, "apply", "-f", manifest) as running:
        Lines(running.stderr).until("runs in this process")
        running.send_signal(signal.SIGINT)
        assert running.wait(LIMIT[1]) == 130
        assert b"fleet here: Ready" in running.stdout.read()


@contextmanager
def started(command, *arguments):
    """The command in a process of its own, which ends at the latest when this does."""
    with command.start(*arguments, stdout=PIPE, stderr=PIPE) as process:
        guard, timer = Guard(process.pid, signal.SIGKILL), threading.Timer(LIMIT[1], process.kill)
        timer.start()
        try:
            yield process
        finally:
            timer.cancel()
            process.kill()
            process.wait()
            guard.release()


def _pid(command, process):
    """0 where it is not running."""
    return next((one["pid"] for one in command("status", "-o", "json").json["processes"] if one["name"] == process), 0)


class Lines:
    """Lines of a pipe, and all that were read so far, for who wonders what happened instead."""

    def __init__(self, pipe):
        self._pipe, self._read = pipe, []

    def until(self, part):
        for line in self._pipe:
            self._read.append(line.decode())
            if part in self._read[-1]:
                return
        pytest.fail(f"nobody said {part!r}, but:\n{''.join(self._read)}")

    def rest(self):
        return self._pipe.read().decode()

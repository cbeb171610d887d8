"""What commands for fleets say without one: help, refusals, forms of output, and what the shell is offered."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hive_mind.control.state import FleetFolder, FleetState, fleets

CLOUD = """
apiVersion: hive-mind/v1
kind: Hive
metadata: {name: cloud}
spec:
  topology: flat
  bus: rediss://redis.example.com:6380
  agents: [{name: ada}, {name: ben}]
  platform: {kind: PLATFORM, image: example.com/hive-mind:1}
"""


def test_programs_can_count_on_json(hive_mind):
    assert hive_mind("get", "hives", "-o", "json").json == []


def test_a_manifest_that_is_wrong_starts_nothing(hive_mind, tmp_path):
    manifest = tmp_path / "wrong.yaml"
    manifest.write_text("apiVersion: hive-mind/v1\nkind: Hive\nmetadata: {name: x}\nspec: {agnts: [{name: a}]}\n")

    for command in ("apply", "plan", "controller"):
        ended = hive_mind(command, "-f", manifest)
        assert (ended.code, ended.out) == (2, "")
        assert "agents" in ended.err
    assert not hive_mind.home.exists()


def test_without_a_fleet_every_command_says_how_to_get_one(hive_mind):
    commands = (["status"], ["top", "--once"], ["wait"], ["scale", "--replicas", 2], ["logs"], ["drain", "a"], ["delete"])
    for command in (
        *commands,
        ["get", "members"],
        ["members", "evict", "a"],
        ["rollout", "undo"],
        ["get", "agents"],
        ["describe", "hive"],
        ["controller"],
        ["get", "revisions"],
    ):
        ended = hive_mind(*command)
        assert (ended.code, ended.out) == (2, ""), command
        assert "hive-mind apply -f" in ended.err
    assert "hive-mind apply -f" in hive_mind("get", "hives").out


@pytest.mark.parametrize(("platform", "file"), [("kubernetes", "kustomization.yaml"), ("containerapps", "parameters.json")])
def test_objects_for_a_cloud_are_written_again_the_same_and_nothing_is_started(hive_mind, tmp_path, platform, file):
    manifest, folder = tmp_path / "cloud.yaml", tmp_path / "objects"
    manifest.write_text(CLOUD.replace("PLATFORM", platform))

    first = hive_mind("apply", "-f", manifest, "--render", folder)
    written = {path.name: path.read_text("utf-8") for path in folder.rglob("*") if path.is_file()}
    again = hive_mind("apply", "-f", manifest, "--render", folder)

    assert (first.code, again.code) == (0, 0), first.err + again.err
    assert len(first.out.splitlines()) == len(written)
    assert file in written
    assert {path.name: path.read_text("utf-8") for path in folder.rglob("*") if path.is_file()} == written
    assert {path.relative_to(hive_mind.home).parts[:3] for path in hive_mind.home.rglob("*.key")} <= {("fleets", "cloud", "keys")}
    assert not fleets(hive_mind.home)


def test_objects_are_for_clouds(hive_mind, tmp_path):
    ended = hive_mind("apply", "-f", (Path(__file__).parents[2] / "manifests") / "flat.yaml", "--render", tmp_path / "objects")
    assert (ended.code, ended.out) == (2, "")
    assert "kubernetes" in ended.err


def test_the_shell_is_offered_the_agents_there_are(hive_mind):
    FleetFolder(hive_mind.home, "research").make().keep(FleetState(agents=("ada", "anna", "ben")))
    asked = {"_HIVE_MIND_COMPLETE": "complete_bash", "COMP_WORDS": "hive-mind logs a", "COMP_CWORD": "2"}

    # Under the name by which it is installed.
    code = "import sys; sys.argv = ['hive-mind']; from hive_mind.__main__ import main; main()"
    environment = os.environ | hive_mind.environment | asked
    ended = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)

    assert ended.stdout.split() == ["ada", "anna"]


def test_every_command_the_guide_shows_is_there(hive_mind):
    guide = (Path(__file__).parents[2] / "docs" / "howto" / "fleets.md").read_text("utf-8")
    shown = re.findall(r"^    hive-mind ([a-z]+)(?: ([a-z]+)\b(?![./-]))?", guide, re.MULTILINE)

    assert len(shown) > 10
    for command, sub in shown:
        words = [command, sub] if command in ("rollout", "get", "describe", "manifest") else [command]
        assert hive_mind(*words, "--help").code == 0, words

"""`hive-mind file` and manifests as a person uses it: begin, check, look up. Nothing is ever started by it."""

import json
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.acceptance.hive_mind_command import HiveMind
from tests.unit.control.bad_manifests import within

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "manifests").glob("*.yaml"))


@pytest.mark.parametrize("topology", ["single", "flat", "federated", "sharded"])
def test_what_init_writes_is_right_as_it_is(hive_mind: HiveMind, tmp_path: Path, topology: str) -> None:
    file = tmp_path / "hive.yaml"
    written = hive_mind("file", "init", "manifest", "--topology", topology, "--name", "harbour", file)

    assert written.code == 0, written.err
    assert str(file) in written.err
    assert hive_mind("file", "validate", file).code == 0
    assert "name: harbour" in file.read_text()


@pytest.mark.parametrize(("kind", "title"), [("manifest", "# A fleet"), ("goal", "# A goal")])
def test_init_overwrites_nothing_writes_to_a_pipe_and_refuses_a_name_that_is_none(
    hive_mind: HiveMind, tmp_path: Path, kind: str, title: str
) -> None:
    file = tmp_path / "file.yaml"
    for name in ("Harbour: x", "../x", "", "a b"):
        assert hive_mind("file", "init", kind, "--name", name, file).code == 2
    assert not file.exists()
    file.write_text("mine")
    ended = hive_mind("file", "init", kind, file)
    assert (ended.code, file.read_text()) == (2, "mine")
    assert "stays as it is" in ended.err
    assert hive_mind("file", "init", kind, "-").out.startswith(title)


def test_every_example_is_right(hive_mind: HiveMind) -> None:
    ended = hive_mind("file", "validate", *EXAMPLES)
    assert ended.code == 0, ended.out
    assert ended.out.count("nothing is wrong") == len(EXAMPLES) >= 5


def test_problems_can_be_had_as_json(hive_mind: HiveMind, tmp_path: Path) -> None:
    good, bad = EXAMPLES[0], tmp_path / "bad.yaml"
    bad.write_text(within("  stor: kuzu\n"))

    ended = hive_mind("file", "validate", good, bad, tmp_path / "absent.yaml", "-o", "json")

    assert ended.code == 2
    assert [one["is_valid"] for one in ended.json] == [True, False, False]
    assert ended.json[1]["problems"] == [{"line": 7, "path": "spec.stor", "message": "is not known; did you mean store?"}]


def test_the_form_alone_can_be_checked_where_nothing_will_run(hive_mind: HiveMind, tmp_path: Path) -> None:
    file = tmp_path / "hive.yaml"
    file.write_text(within("  bus: {url: 'servicebus://x.example/hive', credential: '${env:NOBODY_SETS_THIS}'}\n"))
    assert hive_mind("file", "validate", file).code == 2
    assert hive_mind("file", "validate", "--form", file).code == 0


def test_explain_shows_fields_types_and_defaults(hive_mind: HiveMind) -> None:
    ended = hive_mind("file", "explain", "manifest", "spec.topology")
    assert ended.code == 0
    for part in ("broadcastThreshold", "0.9", "single|flat|federated|sharded", "whole number 1 to 9"):
        assert part in ended.out
    assert (
        hive_mind("file", "explain", "manifest", "spec.topology", "-o", "json").json["fields"][0]["path"] == "spec.topology.kind"
    )


def test_explain_says_what_was_meant(hive_mind: HiveMind) -> None:
    ended = hive_mind("file", "explain", "manifest", "spec.gosip")
    assert ended.code == 2
    assert "spec.gossip" in ended.err


def test_the_schema_is_json(hive_mind: HiveMind) -> None:
    assert hive_mind("file", "explain", "manifest", "--schema").json["required"] == ["apiVersion", "kind", "metadata", "spec"]


def test_the_commands_of_the_howto_do_what_it_says(hive_mind: HiveMind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "manifests").symlink_to(ROOT / "manifests")
    monkeypatch.chdir(tmp_path)
    howto = (ROOT / "docs" / "howto" / "manifests.md").read_text("utf-8")
    commands = [line.split()[1:] for line in howto.splitlines() if line.startswith("    hive-mind file")]

    assert len(commands) >= 8
    for command in commands:
        assert hive_mind(*command).code == 0, command


def test_messages_of_the_howto_are_those_that_are_given(hive_mind: HiveMind, tmp_path: Path) -> None:
    howto = (ROOT / "docs" / "howto" / "manifests.md").read_text("utf-8")
    file = tmp_path / "hive.yaml"
    file.write_text(
        within("  topolgy: flat\n  agents:\n", agents="") + "    - name: ada\n    - name: ada\n  llm: {key: abc, model: 'a:b'}\n"
    )

    told = [line.split(": ", 1)[1] for line in hive_mind("file", "validate", file).out.splitlines()]

    assert len(told) == 3
    assert all(f": {message}\n" in howto for message in told), told


KINDS = {"manifest": "kind: Hive", "goal": "kind: Goal", "rules": "kind: Rules"}


def test_files_of_every_kind_are_checked_together(hive_mind: HiveMind, tmp_path: Path) -> None:
    files = {kind: tmp_path / f"{kind}.yaml" for kind in KINDS}
    for kind, file in files.items():
        assert hive_mind("file", "init", kind, file).code == 0
        assert KINDS[kind] in file.read_text("utf-8")
    files["worker"] = tmp_path / "worker.yaml"
    files["worker"].write_text(hive_mind("worker", "incident-review").out)
    files["json"] = tmp_path / "goal.json"
    files["json"].write_text(json.dumps(yaml.safe_load(files["goal"].read_text("utf-8"))))
    assert hive_mind("file", "validate", *files.values()).code == 0, hive_mind("file", "validate", *files.values()).out

    ended = hive_mind("file", "validate", "--kind", "goal", files["rules"])
    assert (ended.code, "kind" in ended.out) == (2, True), ended.out


@pytest.mark.parametrize("text", ["", "a: 1\n", "kind: Zebra\n", "# kind Hive\n", "\x00", "x: {kind: flat}\n"])
def test_a_file_that_says_no_kind_is_told_which_there_are(hive_mind: HiveMind, tmp_path: Path, text: str) -> None:
    file = tmp_path / "some.yaml"
    file.write_text(text)
    ended = hive_mind("file", "validate", file)
    assert ended.code == 2
    assert f"{file}: file: it does not say what it is: begin with `kind: Hive`" in ended.out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("init", "rules", "--topology", "flat"), "--topology is about a manifest"),
        (("init", "rules", "--name", "x"), "a file with rules has none"),
        (("init", "worker"), "hive-mind worker incident-review > worker.yaml"),
        (("validate", "--form", "goal.yaml"), "--form is about manifests"),
        (("validate", "--tool", "weigh", "goal.yaml"), "--tool and --function are about workers"),
    ],
)
def test_an_option_that_would_have_no_effect_is_refused(
    hive_mind: HiveMind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    hive_mind("file", "init", "goal", "goal.yaml")
    ended = hive_mind("file", *words)
    assert (ended.code, says in ended.err) == (2, True), ended.err


def test_a_pipe_is_read_once(hive_mind: HiveMind) -> None:
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    for kind in KINDS:
        first = hive_mind("file", "init", kind, "-").out
        process = hive_mind.start("file", "validate", "/dev/stdin", stdin=subprocess.PIPE, **streams)
        out, _ = process.communicate(first.encode(), timeout=60)
        assert (process.returncode, out) == (0, b"/dev/stdin: nothing is wrong\n")


@pytest.mark.parametrize(
    "before", ["metadata: {name: x}\nspec:\n  goal:\n    kind: goal\n", "note: >\n  kind: rules\n", "x: [{kind: worker}]\n"]
)
def test_a_kind_that_stands_deeper_is_not_that_of_the_file(hive_mind: HiveMind, tmp_path: Path, before: str) -> None:
    file = tmp_path / "some.yaml"
    file.write_text(f"{before}kind: Hive\n")
    ended = hive_mind("file", "validate", file)
    assert (ended.code, "spec.agents" in ended.out or "apiVersion" in ended.out) == (2, True), ended.out
    file.write_text(before)
    assert "does not say what it is" in hive_mind("file", "validate", file).out

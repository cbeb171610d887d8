"""`hive-mind goal` as a person uses it: begin, check, look up."""

import re
from pathlib import Path

import pytest

from tests.acceptance.hive_mind_command import HiveMind

HOWTO = (Path(__file__).parents[2] / "docs" / "howto" / "goals.md").read_text("utf-8")
FILES = re.findall(r"```yaml\n(.*?)```", HOWTO, re.DOTALL)
SAID = re.findall(r"^    goal\.yaml:(.*)$", HOWTO, re.MULTILINE)


def test_every_problem_of_every_file_is_told_to_people_and_to_programs(hive_mind: HiveMind, tmp_path: Path) -> None:
    good, bad, none, latin = (tmp_path / name for name in ("good.yaml", "bad.yaml", "none.yaml", "latin.yaml"))
    latin.write_bytes(b"kind: \xff")
    hive_mind("file", "init", "goal", good)
    bad.write_text(good.read_text().replace("len(output.summary)", "open(output.summary)").replace("soft", "firm"))
    wrong = next(number for number, line in enumerate(bad.read_text().splitlines(), 1) if "open(" in line)

    told = hive_mind("file", "validate", "--kind", "goal", good, bad, none, latin)
    body = hive_mind("file", "validate", "--kind", "goal", good, bad, none, latin, "-o", "json")

    assert (told.code, body.code) == (2, 2)
    assert f"{bad}:{wrong}: spec.successCriteria[2].target: the condition can't be used: open() can't be called" in told.out
    assert f"{none}: goal: {none} can't be read" in told.out
    assert f"{latin}:1: goal: this is not UTF-8" in told.out
    assert [(one["is_valid"], len(one["problems"])) for one in body.json] == [(True, 0), (False, 2), (False, 1), (False, 1)]
    assert body.json[1]["problems"][0]["line"] == wrong


def test_fields_are_explained_in_whole_and_in_part(hive_mind: HiveMind) -> None:
    assert "spec" in hive_mind("file", "explain", "goal").out
    assert "output_contains" in hive_mind("file", "explain", "goal", "metric").out
    assert hive_mind("file", "explain", "goal", "spec.acceptAt", "-o", "json").json["default"] == "0.9"
    refused = hive_mind("file", "explain", "goal", "spec.critera")
    assert (refused.code, "a goal has no spec.critera" in refused.err) == (2, True)


def test_the_commands_of_the_howto_do_what_it_says(hive_mind: HiveMind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    commands = [line.split()[1:] for line in HOWTO.splitlines() if line.startswith("    hive-mind file")]
    assert len(commands) >= 5
    for command in commands:
        assert hive_mind(*command).code == 0, command


def test_files_and_messages_of_the_howto_are_those_that_are_taken_and_given(hive_mind: HiveMind, tmp_path: Path) -> None:
    right, wrong = (tmp_path / "right.yaml", tmp_path / "goal.yaml")
    right.write_text(FILES[0])
    wrong.write_text(FILES[1])

    assert len(FILES) == 2
    assert hive_mind("file", "validate", right).code == 0
    assert hive_mind("file", "validate", wrong).out.replace(f"{wrong}:", "").splitlines() == SAID

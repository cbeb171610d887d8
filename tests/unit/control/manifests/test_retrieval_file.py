"""A manifest takes how to rank from a file of a retrieval workspace, and says what is wrong with that file."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from hive_mind.cli.app import app
from hive_mind.control.manifests import Retrieval
from hive_mind.control.manifests.reading import read_manifest, read_text, settled
from hive_mind.errors import ManifestError, Problem
from tests.unit.control.bad_manifests import within
from tests.unit.retrieval.workspaces import workspace

RRF = '{"name": "one", "retrieval": {"fusion": "rrf", "rrf_k": 20, "depth": 50}, "boosts": {"confirmations": 0.2}}'


def manifest(folder: Path, config: str, name: str = "one.json") -> Path:
    (folder / "one.json").write_text(config)
    file = folder / "hive.yaml"
    file.write_text(within(f"  retrieval:\n    deadlineS: 1\n    config: {name}\n"))
    return file


def problems_of(file: Path) -> tuple[Problem, ...]:
    with pytest.raises(ManifestError) as refused:
        read_manifest(file)
    return refused.value.problems


def test_what_the_file_says_becomes_fields_of_the_manifest(tmp_path):
    read = read_manifest(manifest(tmp_path, RRF)).manifest.spec.retrieval
    said = {"evidence_strength": 0.2, "depth": 50, "fusion": "rrf", "rrf_k": 20}
    assert read == Retrieval(config="one.json", deadline_ms=1, **said)


def test_what_is_in_use_in_a_workspace_counts_as_it_was_deployed(tmp_path):
    active = '{"config": "v1", "deployed": {"name": "v1", "collection": "kb", "retrieval": {"depth": 70}}}'
    workspace(tmp_path / "known", active=active)
    assert read_manifest(manifest(tmp_path, RRF, "known/configs/active.json")).manifest.spec.retrieval.depth == 70


def test_every_mistake_of_the_file_is_told_with_its_own_line(tmp_path):
    found = problems_of(manifest(tmp_path, '{"name": "one",\n"retrieval": {"depth": true},\n"dept": 3}'))
    assert [(one.line, one.path) for one in found] == [(9, "spec.retrieval.config")] * 2
    assert f"{tmp_path}/one.json:2: retrieval.depth: " in found[0].message
    assert f"{tmp_path}/one.json:3: dept: " in found[1].message


@pytest.mark.parametrize("config", ["", "[]", "\0", '{"name": "one"', "nobody: here"])
def test_what_is_no_configuration_is_a_mistake_of_the_manifest(config, tmp_path):
    assert {one.path for one in problems_of(manifest(tmp_path, config))} == {"spec.retrieval.config"}


@pytest.mark.parametrize("name", ["'~nobody-at-all/one.json'", '"\\0"', "x" * 5000, "' '"])
def test_what_is_no_path_is_a_mistake_of_the_manifest(name, tmp_path):
    assert [one.path for one in problems_of(manifest(tmp_path, RRF, name))] == ["spec.retrieval.config"]


def test_without_looking_for_files_none_is_needed(tmp_path):
    file = manifest(tmp_path, RRF, "nowhere.json")
    assert read_text(file.read_text(), file.parent, str(file)).manifest.spec.retrieval.config == "nowhere.json"


def test_a_manifest_of_before_ranks_as_its_file_says_now(tmp_path):
    before = read_text(manifest(tmp_path, RRF).read_text(), tmp_path, "hive.yaml")

    (tmp_path / "one.json").write_text('{"name": "one", "retrieval": {"depth": 60}}')
    assert settled(settled(before)).manifest.spec.retrieval.depth == 60

    (tmp_path / "one.json").unlink()
    with pytest.raises(ManifestError, match=r"^hive\.yaml:9: spec\.retrieval\.config: no file is there"):
        settled(before)


@pytest.mark.parametrize("command", [["file", "validate"], ["plan", "-f"]])
def test_what_a_fleet_does_not_heed_is_said_once(command, tmp_path):
    file = manifest(tmp_path, '{"name": "one", "filters": {"category": ["faqs"]}, "retrieval": {"top_k": 3}}')
    ended = CliRunner().invoke(app, [*command, str(file)], env={"HIVE_MIND_HOME": str(tmp_path / "home")})

    assert ended.exit_code == 0, ended.output
    said = " ".join(ended.stderr.split())
    assert said.count("note: one.json has no effect here in filters") == 1
    assert said.count("note: one.json has no effect here in retrieval.top_k") == 1
    assert "note" not in ended.stdout

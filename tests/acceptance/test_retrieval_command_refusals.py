"""What `hive-mind retrieval` can't use is refused, with the line and what to do, and nothing is overwritten."""

import pytest

from tests.acceptance.retrieval_example import COMMANDS
from tests.sampled import sampled
from tests.unit.retrieval.bad_files import CONFIGS, WITHOUT_EMBEDDINGS
from tests.unit.retrieval.workspaces import everything_in, workspace


@pytest.mark.parametrize("bad", [*sampled(CONFIGS[::-1]), *sampled(WITHOUT_EMBEDDINGS)], ids=lambda bad: bad.name)
def test_a_bad_configuration_is_told_exactly_and_never_deployed(hive_mind, tmp_path, bad):
    folder = tmp_path / "search"
    workspace(folder, config=bad.text)
    before = everything_in(folder)

    validated = hive_mind("retrieval", "validate", "v1", "-w", folder)
    deployed = hive_mind("retrieval", "deploy", "v1", "-w", folder, "--force", "--reason", "I want it")

    assert (validated.code, deployed.code) == (2, 2)
    told = [line for line in validated.out.splitlines() if ": warning: " not in line]
    for line, path, message in bad.says:
        assert f"configs/v1.json:{line}: {path}: {message}" in told
        assert f"v1.json:{line}: {path}: {message}" in deployed.err
    assert {name: text for name, text in everything_in(folder).items() if "deploying" not in name} == before


def test_problems_can_be_had_as_json(hive_mind, tmp_path):
    workspace(tmp_path, config='{"name": "v1", "collection": "kb",\n"retrieval": {"top_k": true}}')
    found = hive_mind("retrieval", "validate", "v1", "-w", tmp_path, "-o", "json").json
    assert [(one["file"], one["is_valid"]) for one in found] == [("configs/v1.json", False)]
    assert found[0]["findings"][0]["line"] == 2


def test_without_a_workspace_every_command_says_how_to_get_one(hive_mind):
    for command in COMMANDS[1:]:
        more = {"query": ["x"], "compare": ["a", "b"], "deploy": ["a"]}.get(command, [])
        ended = hive_mind("retrieval", command, *more)
        assert (ended.code, ended.out) == (2, ""), command
        assert "hive-mind retrieval init" in ended.err
    assert not hive_mind.home.exists()


@pytest.mark.parametrize("name", ["godo", "../../etc/passwd", "configs/nothing.json", "active"])
def test_a_name_that_no_configuration_has_is_refused(retrieval, name):
    for command in ("deploy", "evaluate", "validate"):
        if (command, name) == ("evaluate", "active"):
            continue
        ended = retrieval("retrieval", command, name)
        assert (ended.code, ended.out) == (2, ""), ended.out

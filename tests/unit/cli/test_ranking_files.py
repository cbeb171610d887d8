"""One file says how to search, in a workspace and in a memory; what the command line says comes before it."""

import pytest
import typer
from typer.testing import CliRunner

from hive_mind.cli.options import ConfigFile, Ways, ways_of
from hive_mind.errors import InvalidInput, WorkspaceError
from hive_mind.ranking.pipeline import RankingSettings
from tests.unit.retrieval.workspaces import workspace

FILE = """{
  "name": "one", // as in a workspace
  "retrieval": {"method": "keyword", "top_k": 3, "fusion": "rrf", "rrf_k": 20, "depth": 50},
  "boosts": {"confirmations": 0.2}
}"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "one.json"
    path.write_text(FILE)
    return path


def chosen(*arguments: str, said: list[str] | None = None) -> Ways:
    found: list[Ways] = []
    app = typer.Typer()

    @app.command()
    def search(context: typer.Context, config: ConfigFile = None, method: str = "hybrid", limit: int = 10) -> None:
        found.append(ways_of(context, config, method, limit))

    ended = CliRunner().invoke(app, list(arguments), standalone_mode=False)
    if ended.exception:
        raise ended.exception
    if said is not None:
        said.append(ended.stderr)
    return found[0]


def test_a_file_says_how_to_search(file):
    ways = chosen("--config", str(file))
    assert (ways.method, ways.limit) == ("keyword", 3)
    assert ways.ranking == RankingSettings(semantic_weight=0.6, evidence_strength=0.2, depth=50, fusion="rrf", rrf_k=20)


def test_without_a_file_a_memory_ranks_by_itself():
    assert chosen() == Ways("hybrid", 10)


def test_what_the_command_line_says_comes_before_the_file(file):
    ways = chosen("--config", str(file), "--method", "vector", "--limit", "7")
    assert (ways.method, ways.limit) == ("vector", 7)
    assert ways.ranking is not None


def test_what_a_memory_can_not_do_is_said(tmp_path):
    file = tmp_path / "one.json"
    file.write_text('{"name": "one", "filters": {"category": ["faqs"]}, "dynamic_k": {"enabled": true}}')

    said: list[str] = []
    chosen("--config", str(file), said=said)

    assert "has no effect here in filters" in said[0]
    assert "has no effect here in dynamic_k" in said[0]


def test_a_file_that_is_wrong_is_refused_with_its_line(tmp_path):
    file = tmp_path / "one.json"
    file.write_text('{"name": "one",\n"retrieval": {"top_k": true}}')

    with pytest.raises(WorkspaceError, match=rf"{file}:2: retrieval\.top_k: "):
        chosen("--config", str(file))
    with pytest.raises(InvalidInput):
        chosen("--config", str(tmp_path / "absent.json"))


def test_what_is_in_use_in_a_workspace_can_be_named_by_its_file(tmp_path):
    config = '{"name": "v1", "collection": "kb", "retrieval": {"method": "vector"}}'
    folder = workspace(tmp_path, config=config, active='{"config": "v1"}').root
    assert chosen("--config", str(folder / "configs" / "active.json")).method == "vector"

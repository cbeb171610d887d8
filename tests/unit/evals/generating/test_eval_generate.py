"""`hive-mind eval generate` writes what `hive-mind eval retrieval` reads."""

import json

import typer
from typer.testing import CliRunner, Result

from hive_mind.cli import evals as command
from hive_mind.evals.datasets.jsonl import load_jsonl
from hive_mind.evals.generating import generate


def ran(*words: str) -> Result:
    app = typer.Typer()
    app.add_typer(command.first)
    # A second command, or Typer leaves out the first one's name.
    app.command("other")(lambda: None)
    return CliRunner().invoke(app, ["generate", *words])


def test_what_it_writes_is_read_back_as_it_was_generated(tmp_path):
    result = ran("--turns", "300", "--agents", "10", "--seed", "4", "--out", str(tmp_path))

    assert result.exit_code == 0, result.output
    assert "300 turns" in result.stdout
    assert load_jsonl(tmp_path) == generate(300, 10, 4)


def test_for_programs_it_says_where_it_wrote(tmp_path):
    told = json.loads(ran("--turns", "300", "--agents", "10", "--out", str(tmp_path), "-o", "json").stdout)
    assert (told["name"], told["documents"]) == ("generated-300-10-1", 300)
    assert {told["corpus"], told["queries"]} == {str(path) for path in tmp_path.iterdir()}


def test_a_size_it_can_not_do_is_used_wrongly_and_writes_nothing(tmp_path):
    result = ran("--turns", "50", "--out", str(tmp_path / "sets"))

    assert result.exit_code == 2
    assert "turns, not 50" in result.stderr
    assert not (tmp_path / "sets").exists()

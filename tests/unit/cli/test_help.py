"""What every command says about itself, and what is said about a command that there is not."""

import pytest
from typer.testing import CliRunner

from hive_mind.cli.app import app


@pytest.mark.parametrize(
    ("typed", "meant"),
    [(["lern"], "learn"), (["statsu"], "status"), (["facts", "lst"], "list"), (["events", "dlq", "lst"], "list")],
)
def test_a_mistyped_command_is_told_which_one_may_be_meant(typed, meant):
    ended = CliRunner().invoke(app, typed, env={"COLUMNS": "100"})

    assert ended.exit_code == 2
    assert f"'{meant}'" in ended.output.partition("Did you mean")[2]

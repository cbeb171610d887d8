"""An option that would have no effect beside what else is said is refused, with the option's name and what to do."""

import pytest
from typer.testing import CliRunner

from hive_mind.cli.app import app


@pytest.mark.parametrize(
    ("line", "option"),
    [
        ("get hives --watch", "--watch"),
        ("get facts --selector group=north", "--selector"),
        ("get agents --limit 3", "--limit"),
        ("get hives --fleet town", "--fleet"),
        ("describe hive --fleet town", "--fleet"),
        ("facts list --count --limit 3", "--limit"),
        ("graph show Pump --max-length 3", "--max-length"),
        ("graph show Pump --to Hall --depth 2", "--depth"),
        ("worker answer -o json", "--output"),
        ("events dlq --all", "--all"),
        ("events dlq 12 --limit 3", "--limit"),
        ("events dlq 12 --drop --limit 3", "--limit"),
        ("erase --check receipt.json --yes", "--yes"),
        ("backup x.sqlite --force", "--force"),
        ("backup x.zip --fleet town --agent ada", "--agent"),
        ("restore pyproject.toml --root 12", "--root"),
        ("retrieval compare a b --settings --moves 3", "--moves"),
        ("retrieval deploy --rollback --dry-run", "--dry-run"),
    ],
)
def test_an_option_without_effect_is_refused(line: str, option: str) -> None:
    ended = CliRunner().invoke(app, line.split())
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert f"{option} has no effect on " in ended.stderr
    assert ended.stderr.endswith(": leave it out\n")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("get members ada", "are listed all"),
        ("get events --limit 0", "`--limit` is a whole number, 1 to 1000"),
        ("describe agent", "which agent?"),
        ("facts list --latest --limit 0", "`--limit` is a whole number, 1 to 1000"),
        ("facts list --latest --earliest", "mutually exclusive"),
        ("facts retract", "the ID of a fact, or --source"),
        ("facts retract 4f1a2b3c --source a.md", "the ID of a fact, or --source"),
        ("file explain manifest spec --schema", "leave 'spec' out"),
        ("worker --graph", "name it"),
        ("graph show Pump --to Hall --limit 101", "1 to 100, not 101"),
        ("events dlq 12 --drop --replay", "mutually exclusive"),
        ("retrieval deploy", "--rollback"),
        ("retrieval deploy better --rollback", "leave 'better' out"),
    ],
)
def test_what_can_not_be_meant_is_told_with_what_to_say(line: str, says: str) -> None:
    ended = CliRunner().invoke(app, line.split())
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert says in ended.stderr

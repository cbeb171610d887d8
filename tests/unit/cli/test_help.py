"""What every command says about itself, and what is said about a command that there is not.

What a message tells people to type is a command that there is.
Options that several commands share.
An option that would have no effect beside what else is said is refused, with the option's name and what to do.
What is read without pydantic is what typer reads with it.
"""

import ast
import os
import re
import shlex
from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer._click.exceptions import ClickException
from typer.main import get_command
from typer.testing import CliRunner

from hive_mind.cli.app import ENTRIES, PlainValues, app, commands_in
from hive_mind.cli.options import is_confirmed, iso_time, settings_for
from hive_mind.errors import InvalidInput

ROOT = Path(__file__).parents[3]
_COMMAND = re.compile(r"hive-mind ([a-z]+)(?: ([a-z]+)\b(?!-))?")
# Prose about the program, and the name of a format.
_PROSE = frozenset({"hive-mind began with", "hive-mind writes to", "hive-mind receipt"})


def below(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """A command and all under it, by the words that call them."""
    yield path, command
    if hasattr(command, "list_commands"):
        for name in command.list_commands(None):
            yield from below(command.get_command(None, name), (*path, name))


@pytest.fixture(scope="module")
def commands() -> dict[tuple[str, ...], Any]:
    """All there are; not made where tests are only collected, because it loads most of the program."""
    return dict(below(get_command(app)))


@pytest.fixture(scope="module")
def texts(commands: dict[tuple[str, ...], Any]) -> dict[str, str]:
    """What each says when it is asked for help, by how it is called."""
    told = {path: CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": "100"}) for path in commands}
    assert [path for path, ended in told.items() if ended.exit_code != 0] == []
    return {" ".join(("hive-mind", *path)): ended.output for path, ended in told.items()}


def test_help_says_how_to_call_it_with_an_example_in_lines_that_fit(texts: dict[str, str]) -> None:
    assert len(texts) > 100
    for called, told in texts.items():
        assert f"Usage: {called} " in told
        assert f"Examples:\n {called}" in "\n".join(line.rstrip() for line in told.splitlines())
        assert max(map(len, told.splitlines())) <= 100, called
        # What may be left out is said once.
        assert not any(twice in told for twice in ("[[", "]]", "{[")), called


def test_what_is_done_with_a_fleet_stands_under_a_title_of_its_own(texts: dict[str, str]) -> None:
    titled = set(re.findall(r"^│ ([a-z]+) ", texts["hive-mind"].partition("─ Fleets ─")[2], re.MULTILINE))
    looks, changes = "get describe status top wait logs".split(), "apply plan scale rollout drain delete".split()
    assert titled == {*looks, *changes, "members", "fleet", "controller"}


def test_paragraphs_of_help_break_where_the_screen_ends(commands: dict[tuple[str, ...], Any]) -> None:
    broken = {path for path, command in commands.items() for one in command.help.split("\n\n") if "\n" in one}
    assert broken == set()


_TEXT_OR_JSON = """learn, ask, stats, doctor, demo, reembed, backup, restore, facts list, facts search, facts show, facts retract,
    facts export, facts import, eval retrieval"""
_OF_FLEETS = """apply, plan, status, top, scale, drain, get, describe, members evict, fleet refound, rollout restart,
    rollout undo"""


@pytest.mark.parametrize(("names", "forms"), [(_TEXT_OR_JSON, "text|json"), (_OF_FLEETS, "table|wide|json|yaml|name")])
def test_results_come_in_forms_for_people_and_for_programs(texts: dict[str, str], names: str, forms: str) -> None:
    called = [f"hive-mind {' '.join(name.split())}" for name in names.split(",")]
    assert [one for one in called if forms not in re.sub(r"[\s│]+", "", texts[one])] == []


@pytest.mark.parametrize(
    ("typed", "meant"), [(["lern"], "learn"), (["statsu"], "status"), (["facts", "lst"], "list"), (["events", "dql"], "dlq")]
)
def test_a_mistyped_command_is_told_which_one_may_be_meant(typed, meant):
    ended = CliRunner().invoke(app, typed, env={"COLUMNS": "100"})
    assert ended.exit_code == 2
    assert f"'{meant}'" in ended.output.partition("Did you mean")[2]


def test_messages_name_only_commands_that_there_are():
    named = set(told_by(file for folder in ("hive_mind", "deploy") for file in (ROOT / folder).rglob("*.py")))
    assert len(named) > 100
    assert {f"{file.name}: {command[0]}" for file, command in named if not _is_there(command[1], command[2])} == set()


def told_by(files: Iterator[Path]) -> Iterator[tuple[Path, re.Match[str]]]:
    for file in files:
        # Few name one, and reading the syntax of all takes seconds.
        if "hive-mind" not in (text := file.read_text("utf-8")):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield from ((file, match) for match in _COMMAND.finditer(node.value) if match[0] not in _PROSE)


def _is_there(name: str, within: str | None) -> bool:
    return name in ENTRIES and (within is None or (subs := _below(name)) is None or within in subs or name == "judge")


@lru_cache
def _below(name: str) -> frozenset[str] | None:
    """The commands of a group; None where it is none."""
    commands = getattr(commands_in(ENTRIES[name].module).get(name), "commands", None)
    return None if commands is None else frozenset(commands)


# A line of a document that is a call: what follows two blanks and a hash is a remark, and what a shell would do is not ours.
_CALL = re.compile(r"^ {4}(?:\$ |[A-Z_]+=\S+ )*hive-mind (.+)$", re.MULTILINE)
_SHELL = re.compile(r"\s+#.*|\s*[<>|&].*")
_BESIDE = re.compile(r"^ {4}hive-mind (.+?)\s+#.*\balso ([a-z-]+(?:, [a-z-]+)+)", re.MULTILINE)
# Forms and not calls: "[NAME | -f FILE]", "[--yes]".
_FORM = re.compile(r"\s*\[[^\]]*\]")


def calls_in_documents() -> Iterator[tuple[str, str]]:
    for file in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "manifests").rglob("*.yaml"))):
        text = re.sub(r"(?m)^#  ", "   ", file.read_text("utf-8"))
        for call in _CALL.findall(text):
            # What a reader puts in, such as TURNS, may be a number.
            yield f"{file.name}: {call}", re.sub(r"\b[A-Z]{3,}\b", "1", _SHELL.sub("", _FORM.sub("", call)))


def test_documents_show_only_calls_that_there_are(commands: dict[tuple[str, ...], Any]) -> None:
    called, wrong = 0, []
    for place, call in calls_in_documents():
        words = shlex.split(call)
        path = max((tuple(words[:length]) for length in range(3) if tuple(words[:length]) in commands), key=len)
        try:
            commands[path].make_context("hive-mind", words[len(path) :])
        except (typer.Exit, SystemExit):
            pass
        except ClickException as error:
            wrong.append(f"{place}: {error.format_message()}")
        called += 1
    assert called > 150
    assert wrong == [], "\n".join(wrong)


def test_commands_named_in_remarks_of_documents_are_commands_or_options(commands: dict[tuple[str, ...], Any]) -> None:
    """As in `hive-mind facts list   # also --count, search, show`: commands beside that one, or its options."""
    wrong = []
    for file in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        for call, named in _BESIDE.findall(file.read_text("utf-8")):
            words = shlex.split(call)
            path = max((tuple(words[:length]) for length in range(3) if tuple(words[:length]) in commands), key=len)
            beside = {other[-1] for other in commands if other[: len(path) - 1] == path[:-1] and len(other) == len(path)}
            known = beside | {option for parameter in commands[path].params for option in parameter.opts}
            wrong += [f"{file.name}: {word}" for word in named.split(", ") if word not in known]
    assert wrong == [], "\n".join(wrong)


@pytest.mark.parametrize("text", ["2025-13", "2025-02-30", "0000", "10.03.2025", "yesterday", "2025-03-10T25:00", "2025-03-10T"])
def test_a_time_that_is_none_is_refused(text):
    with pytest.raises(InvalidInput, match="--said-at"):
        iso_time(text)
    for known in ("", "2025", "2025-03", "2024-02-29", "2025-03-10T09:30", "2025-03-10T09:30:15Z", "2025-03-10T09:30+02:00"):
        assert iso_time(known) == known


@pytest.mark.parametrize(
    ("home", "says"),
    [
        ("notes.txt", "notes.txt is a file: give --home"),
        ("notes.txt/deeper", "notes.txt is a file: give --home"),
        (".hive", "no UTF-8: rename it, or give --home"),
        (None, "no UTF-8: rename it, or give --home"),
    ],
)
def test_a_home_that_is_a_file_or_whose_name_can_not_be_kept_is_refused(tmp_path, monkeypatch, home, says):
    folder = tmp_path / os.fsdecode(b"T\xfcr") if "UTF" in says else tmp_path
    folder.mkdir(exist_ok=True)
    monkeypatch.chdir(folder)
    Path("notes.txt").write_text("words")
    with pytest.raises(InvalidInput, match=says):
        settings_for(home and Path(home), environment={})


def test_the_command_line_outweighs_the_environment():
    environment = {"HIVE_MIND_HOME": "/there", "HIVE_MIND_EMBED": "openai", "HIVE_MIND_EMBED_MODEL": "large"}
    settings = settings_for(Path("here"), "none", environment=environment)
    assert (settings.home, settings.embed, settings.embed_model) == (Path("here"), "none", "large")


def test_where_nobody_can_be_asked_it_is_said_what_to_add():
    with pytest.raises(InvalidInput, match="to forget without being asked, add --yes"):
        is_confirmed("forget", "Forget it?")


EFFECTLESS = (
    ("get hives --watch", "--watch"),
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
)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        *((line, (f"{option} has no effect on ", ": leave it out\n")) for line, option in EFFECTLESS),
        ("get members ada", ("are listed all",)),
        ("get events --limit 0", ("`--limit` is a whole number, 1 to 1000",)),
        ("describe agent", ("which agent?",)),
        ("facts list --latest --limit 0", ("`--limit` is a whole number, 1 to 1000",)),
        ("facts list --latest --earliest", ("mutually exclusive",)),
        ("facts retract", ("the ID of a fact, or --source",)),
        ("facts retract 4f1a2b3c --source a.md", ("the ID of a fact, or --source",)),
        ("file explain manifest spec --schema", ("leave 'spec' out",)),
        ("worker --graph", ("name it",)),
        ("graph show Pump --to Hall --limit 101", ("1 to 100, not 101",)),
        ("events dlq 12 --drop --replay", ("mutually exclusive",)),
        ("retrieval deploy", ("--rollback",)),
        ("retrieval deploy better --rollback", ("leave 'better' out",)),
        ("file init xml", ("Invalid value for 'KIND': 'xml' is not one of 'manifest'",)),
    ],
)
def test_what_can_not_be_meant_or_has_no_effect_is_refused_with_what_to_say(line: str, says: tuple[str, ...]) -> None:
    ended = CliRunner().invoke(app, line.split())
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert [part for part in says if part not in ended.stderr] == []


class Form(StrEnum):
    TEXT, JSON = "text", "json"


KINDS: dict[str, Any] = {
    "text": Annotated[str | None, typer.Option("--option")],
    "form": Annotated[Form | None, typer.Option("--option")],
    "any case": Annotated[Form | None, typer.Option("--option", case_sensitive=False)],
    "number": Annotated[int | None, typer.Option("--option", min=1, max=9)],
    "path": Annotated[Path | None, typer.Option("--option")],
    "file": Annotated[Path | None, typer.Option("--option", exists=True, dir_okay=False)],
    "paths": Annotated[list[Path] | None, typer.Option("--option")],
    "parsed": Annotated[str | None, typer.Option("--option", parser=str.upper)],
}
VALUES = ("json", "JSON", "xml", "7", "12", "", ".", "/nowhere/at all", __file__, f"{__file__}/below", "n" * 300)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("line", [[], *(["--option", value] for value in VALUES)], ids=" ".join)
def test_plain_values_are_those_that_typer_reads(kind: str, line: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with_pydantic = pytest.importorskip("typer._coercion").build_runtime_param

    def read(build: Any) -> tuple[int, list[str], object]:
        monkeypatch.setattr("typer.core.build_runtime_param", build)
        app, values = typer.Typer(), []

        def command(option: Any = None) -> None:
            values.append((type(option), option))

        command.__annotations__["option"] = KINDS[kind]
        app.command()(command)
        ended = CliRunner().invoke(app, line)
        return ended.exit_code, re.findall(r"[^\W_]+", ended.output.replace("Value error,", "")), values

    assert read(lambda described: PlainValues(described, with_pydantic)) == read(with_pydantic)

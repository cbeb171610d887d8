"""`hive-mind file`: begin a manifest, a goal or rules, look whether a file is right, ask what can stand in one.

None of it starts anything. The readers of such files bring pydantic, which takes a while to load: only these commands do.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from hive_mind.cli import fleet as fleets
from hive_mind.cli import options
from hive_mind.cli.options import Format, Group, examples
from hive_mind.cli.output import plain, say, show, show_json, show_prose, show_table
from hive_mind.cli.running import USAGE
from hive_mind.cli.runs import Functions, functions_of
from hive_mind.errors import FileError, InvalidInput, Problem, reason_of
from hive_mind.hive.topology.spec import DEFAULT, TopologyName
from hive_mind.regex import regex

if TYPE_CHECKING:
    from re import Pattern

    from hive_mind.forms import Explained, Form

STDOUT = Path("-")
_WORDS: "dict[str, KindName]" = {"hive": "manifest", "worker": "worker", "goal": "goal", "rules": "rules"}
# At the top of a file in YAML; in JSON wherever it stands first.
_KIND = regex(r"""(?im)^"?kind"?[ \t]*:[ \t]*["']?(hive|worker|goal|rules)\b""")
_KIND_IN_JSON = regex(r"""(?i)[{,]\s*"kind"\s*:\s*"(hive|worker|goal|rules)\b""")
_SAYS_NO_KIND = "it does not say what it is: begin with `kind: Hive`, `Worker`, `Goal` or `Rules`, or give --kind"
_FLEET = (regex(r"[a-z0-9](?:[a-z0-9-]{0,50}[a-z0-9])?"), "lower-case letters, digits and dashes, at most 52 of them")
_GOAL = (regex("[A-Za-z0-9][A-Za-z0-9_-]{0,62}"), "letters, digits, dashes and underscores, at most 63 of them")

KindName = Literal["manifest", "worker", "goal", "rules"]
Kind = Annotated[KindName, typer.Argument(metavar="KIND", help="manifest, worker, goal or rules.")]
NewFile = Annotated[
    Path | None,
    typer.Argument(metavar="FILE", help="Where to write it; - is standard output.", allow_dash=True, show_default="KIND.yaml"),
]
Place = Annotated[
    str, typer.Argument(metavar="PATH", help="Such as spec.topology; without it, the whole file.", show_default=False)
]
Schema = Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of such a file, for editors.")]
Topology = Annotated[TopologyName | None, typer.Option("--topology", "-t", help="manifest: how its agents share what they know.")]
Name = Annotated[str | None, typer.Option("--name", help="manifest: name of the fleet; goal: its name in verdicts.")]
FormOnly = Annotated[bool, typer.Option("--form", help="manifest: don't look for the variables, files and sources it names.")]
Tools = Annotated[list[str] | None, typer.Option("--tool", metavar="NAME", help="worker: a tool that your program adds.")]

group = Group(
    name="file",
    help="Start a manifest, a goal or rules, check files, and look up their fields.",
    no_args_is_help=True,
    epilog=examples(
        "hive-mind file init manifest", "hive-mind file validate hive.yaml", "hive-mind file explain manifest spec.topology"
    ),
)


@group.called_as(
    "hive-mind file init manifest",
    "hive-mind file init manifest harbour.yaml --topology federated --name harbour",
    "hive-mind file init goal --name weekly-report",
    "hive-mind file init rules rules/prices.yaml",
)
async def init(kind: Kind, file: NewFile = None, topology: Topology = None, name: Name = None) -> None:
    """Write a commented file to start from. An existing file is not overwritten."""
    where = file or Path("hive.yaml" if kind == "manifest" else f"{kind}.yaml")
    text = _first(kind, where.name if where == STDOUT else str(where), topology, name)
    if write_first(where, text):
        say(f"{where} is written. Next: hive-mind {'plan -f' if kind == 'manifest' else 'file validate'} {where}")


@group.called_as(
    "hive-mind file validate hive.yaml",
    "hive-mind file validate manifests/*.yaml rules/*.yaml -o json",
    "hive-mind file validate review.yaml --tool weigh",
)
async def validate(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="One or several, of any kind.")],
    kind: Annotated[KindName | None, typer.Option("--kind", help="What the files are; by default what they say.")] = None,
    form: FormOnly = False,
    tool: Tools = None,
    function: Functions = None,
    output: options.Output = Format.TEXT,
) -> None:
    """Report all that is wrong, with line, path and remedy. Exit code 2 where something is.

    Conditions are compiled; tools, their arguments, judges and checks of your own, and the values that nodes and goals look at
    are looked up. Tools of MCP servers are looked up when a run begins.
    """
    texts = [_text_of(file, kind) for file in files]
    kinds = {text.kind for text in texts}
    if form and "manifest" not in kinds:
        raise InvalidInput("--form is about manifests, and none of these files is one")
    if (tool or function) and "worker" not in kinds:
        raise InvalidInput("--tool and --function are about workers, and none of these files is one")
    problems = {
        str(text.file): text.problems or _problems(text, is_form_only=form, tools=tool or (), functions=function or ())
        for text in texts
    }
    show_problems(problems, output)
    if any(problems.values()):
        raise typer.Exit(USAGE)


@group.called_as(
    "hive-mind file explain manifest",
    "hive-mind file explain goal spec.successCriteria.metric",
    "hive-mind file explain manifest --schema > manifest.schema.json",
)
async def explain(kind: Kind, path: Place = "", schema: Schema = False, output: options.Output = Format.TEXT) -> None:
    """Explain the fields of such a file, or of one part of it: types, defaults, and what they mean."""
    if schema:
        from hive_mind.forms import schema_of

        if path:
            raise InvalidInput(f"--schema is about the whole file: leave {path!r} out")
        show_json(schema_of(_form(kind)))
        return
    from hive_mind.forms import explained

    show_explained(explained(path, _form(kind)), _CALLED[kind], output)


_CALLED: dict[KindName, str] = {"manifest": "a manifest", "worker": "a worker", "goal": "a goal", "rules": "a file with rules"}


_MODULES: dict[KindName, str] = {
    "manifest": "control.manifests",
    "worker": "runs.worker_file",
    "goal": "goals.goal",
    "rules": "judge.rules",
}


def _form(kind: KindName) -> "Form[Any]":
    form: Form[Any] = getattr(import_module(f"hive_mind.{_MODULES[kind]}"), kind.upper())
    return form


def _first(kind: KindName, place: str, topology: TopologyName | None, name: str | None) -> str:
    """The text that such a file begins with. Raises `InvalidInput`, also for an option that such a file does not have."""
    if topology is not None and kind != "manifest":
        raise InvalidInput("--topology is about a manifest")
    if name is not None and kind not in ("manifest", "goal"):
        raise InvalidInput(f"--name is about a manifest or a goal; {_CALLED[kind]} has none")
    match kind:
        case "manifest":
            from hive_mind.control.manifests.reading import first_manifest

            return first_manifest(topology or DEFAULT, _name("my-fleet" if name is None else name, *_FLEET), place)
        case "worker":
            raise InvalidInput("begin with a built-in one: hive-mind worker incident-review > worker.yaml")
        case "goal":
            from hive_mind.goals.goal import first_goal

            return first_goal(_name("my-goal" if name is None else name, *_GOAL), place)
        case "rules":
            from hive_mind.judge.rules import FIRST

            return FIRST


def _name(name: str, form: "Pattern[str]", form_in_words: str) -> str:
    if not form.fullmatch(name):
        raise InvalidInput(f"--name is {form_in_words}, not {name!r}")
    return name


@dataclass(frozen=True, slots=True)
class _Text:
    """A file as it was read, once: it may be a pipe. `kind` is None where there are `problems` that keep it from being seen."""

    file: Path
    kind: KindName | None
    content: str = ""
    problems: tuple[Problem, ...] = ()


def _text_of(file: Path, kind: KindName | None) -> _Text:
    from hive_mind.forms.reading import text_of

    name = _form(kind).name if kind else "file"
    try:
        content, problems = text_of(file, _form(kind or "manifest"))
    except InvalidInput as error:
        return _Text(file, kind, problems=(Problem(name, 0, str(error)),))
    if problems:
        return _Text(file, kind, problems=tuple(Problem(name, problem.line, problem.message) for problem in problems))
    match = _KIND.search(content) or (_KIND_IN_JSON.search(content) if content.lstrip().startswith("{") else None)
    kind = kind or (_WORDS[match.group(1).lower()] if match else None)
    return _Text(file, kind, content, () if kind else (Problem(name, 0, _SAYS_NO_KIND),))


def _problems(text: _Text, *, is_form_only: bool, tools: Sequence[str], functions: Sequence[str]) -> tuple[Problem, ...]:
    assert text.kind is not None  # noqa: S101 - there were no problems
    try:
        if text.kind == "manifest":
            from hive_mind.control.manifests.reading import read_text

            source = read_text(text.content, text.file.absolute().parent, str(text.file), is_to_be_applied=not is_form_only)
            if not is_form_only:
                fleets.say_without_effect(source)
        else:
            _check(text.kind, text.content, tools, functions)
    except FileError as error:
        return error.problems
    except InvalidInput as error:
        return (Problem(_form(text.kind).name, 0, str(error)),)
    return ()


def _check(kind: KindName, text: str, tools: Sequence[str], functions: Sequence[str]) -> None:
    """Raises `FileError`, and `InvalidInput` for `functions` that can't be had."""
    match kind:
        case "goal":
            from hive_mind.goals.goal import goal_of

            goal_of(text)
        case "rules":
            from hive_mind.judge.rules import rules_of

            rules_of(text)
        case _:
            from hive_mind.model.content import ToolSpec
            from hive_mind.runs.worker_file import ANY_SERVER, worker_of
            from hive_mind.runtime.workers.runs import tools_without_agent

            specs = tools_without_agent() | {name: ToolSpec(name, "", {}) for name in (ANY_SERVER, *tools)}
            worker_of(text, tools=specs, functions=functions_of(functions))


def write_first(file: Path, text: str) -> bool:
    """Write a new file, or to standard output; whether it is a file. Raises `InvalidInput` for one that is there already."""
    if file == STDOUT:
        sys.stdout.write(text)
        return False
    try:
        with file.open("x", encoding="utf-8") as new:
            new.write(text)
    except FileExistsError:
        raise InvalidInput(f"{file} is there already and stays as it is; give another name") from None
    except OSError as error:
        raise InvalidInput(f"{file} can't be written: {reason_of(error)}") from error
    return True


def show_problems(problems_by_file: Mapping[str, Sequence[Problem]], output: Format) -> None:
    """All that is wrong, by file; that nothing is, too."""
    if output is Format.JSON:
        parts = ("line", "path", "message")
        show_json(
            [
                {"file": name, "is_valid": not problems}
                | {"problems": [{part: getattr(problem, part) for part in parts} for problem in problems]}
                for name, problems in problems_by_file.items()
            ]
        )
        return
    for name, problems in problems_by_file.items():
        if not problems:
            show(f"{name}: nothing is wrong")
        for problem in problems:
            show(problem.in_file(name))


def show_explained(place: "Explained", kind: str, output: Format) -> None:
    """A place of a file, with the fields it has; `whole` is what the file is called."""
    if output is Format.JSON:
        show_json(plain(place))
        return
    default = f", default {place.default}" if place.default else ""
    show(f"{place.path or kind}: {place.type}{', required' if place.path and place.is_required else ''}{default}", style="bold")
    show_prose(place.description)
    if place.fields:
        show()
        show_table(["field", "type", "default", ""], [_row(field) for field in place.fields])


def _row(field: "Explained") -> tuple[str, str, str, str]:
    name = field.path.rpartition(".")[2]
    return name, field.type, "required" if field.is_required else field.default, field.description

"""From a file to a value, or to everything that is wrong with its form, in our own words: where, which, and the remedy."""

import pathlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from hive_mind.counted import did_you_mean, similar
from hive_mind.errors import InvalidInput, Problem, reason_of
from hive_mind.forms import SCHEMA_KEY, Finding, Form, Path, Tree, everywhere, fields, section, spelled
from hive_mind.forms.trees import json_tree, yaml_tree

# Nobody reads on; a file that is wrong a thousand times is another kind of file.
PROBLEMS_MAX = 100

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Read(Generic[M]):
    """The value of a text, or why there is none. The tree has the lines of both."""

    value: M | None
    tree: Tree | None
    problems: tuple[Problem, ...]


def read(text: str, form: Form[M]) -> Read[M]:
    tree, problems = tree_of(text, form)
    if tree is None:
        return Read(None, None, problems)
    if not isinstance(tree.value, dict):
        shape = "a mapping (key: value)" if form.syntax == "yaml" else "an object {…}"
        return Read(None, tree, (Problem(form.name, tree.line, f"has to be {shape}"), *problems))
    value, errors = validated(_without_schema(tree.value, form), form)
    faults = [*problems, *(worded(error, tree, form) for error in news(errors, problems, form))]
    return Read(None if faults else value, tree, in_order(faults))


def _without_schema(value: dict[str, Any], form: Form[Any]) -> dict[str, Any]:
    """Without the word to an editor which schema to complete by."""
    has_schema = form.syntax == "json" and isinstance(value.get(SCHEMA_KEY), str)
    return {key: inner for key, inner in value.items() if key != SCHEMA_KEY} if has_schema else value


def tree_of(text: str, form: Form[Any]) -> tuple[Tree | None, tuple[Problem, ...]]:
    return yaml_tree(text, form) if form.syntax == "yaml" else json_tree(text, form)


def validated(value: Any, form: Form[M]) -> tuple[M | None, Sequence[ErrorDetails]]:
    try:
        return form.model.model_validate(value, strict=True, by_alias=True, by_name=False), ()
    except ValidationError as error:
        return None, error.errors(include_url=False)


def news(errors: Sequence[ErrorDetails], problems: Sequence[Problem], form: Form[Any]) -> list[ErrorDetails]:
    """Errors about places that no problem names yet."""
    paths = {problem.path for problem in problems}
    return [error for error in errors if spelled(error["loc"], form.name) not in paths][:PROBLEMS_MAX]


def in_order(faults: Sequence[Problem]) -> tuple[Problem, ...]:
    return tuple(sorted(dict.fromkeys(faults), key=lambda fault: (fault.line, fault.path))[:PROBLEMS_MAX])


def located(finding: Finding, tree: Tree, form: Form[Any]) -> Problem:
    found_tree, there = tree.at(finding.path)
    # A section may be written as one word: what is about `topology.kind` is then about `topology`.
    return Problem(spelled(there if found_tree.written else finding.path, form.name), found_tree.line, finding.message)


def text_of(path: pathlib.Path, form: Form[Any]) -> tuple[str, tuple[Problem, ...]]:
    """The text of a file, or why it can't be text. Raises `InvalidInput` where the file can't be read at all."""
    try:
        with path.open("rb") as file:
            content = file.read(form.bytes_max + 1)
    except OSError as error:
        raise InvalidInput(f"{path} can't be read: {reason_of(error)}") from error
    if len(content) > form.bytes_max:
        return "", (Problem(form.name, 0, f"the file is larger than {form.bytes_max:,} bytes"),)
    try:
        return content.decode("utf-8-sig"), ()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return "", (Problem(form.name, line, "this is not UTF-8; save the file as UTF-8"),)


_CALLED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
}
_YAML = {
    "list_type": "a list (lines that begin with -)",
    "dict_type": "a mapping (key: value)",
    "model_type": "a section (key: value)",
}
_JSON = {"list_type": "a list […]", "dict_type": "an object {…}", "model_type": "an object {…}"}
_MESSAGES: Mapping[str, Callable[[Any], str]] = {
    "missing": lambda _: "is missing; add it",
    "greater_than": lambda ctx: f"has to be more than {ctx['gt']:g}",
    "greater_than_equal": lambda ctx: f"has to be at least {ctx['ge']:g}",
    "less_than": lambda ctx: f"has to be less than {ctx['lt']:g}",
    "less_than_equal": lambda ctx: f"has to be at most {ctx['le']:g}",
    "string_too_short": lambda _: "is empty; give it a value",
    "string_too_long": lambda ctx: f"is longer than {ctx['max_length']} characters; shorten it",
    "too_short": lambda _: "is an empty list; name at least one",
    "too_long": lambda ctx: f"has more than {ctx['max_length']:,} entries, which is the most",
    # The refusal of a model of ours, in its own words.
    "value_error": lambda ctx: str(ctx["error"]),
}


def worded(error: ErrorDetails, tree: Tree, form: Form[Any]) -> Problem:
    path = tuple(step for step in error["loc"] if step != "[key]")
    found_tree, there = tree.at(path)
    if error["type"] == "extra_forbidden":
        return Problem(spelled(path, form.name), found_tree.line, _unknown(path, form))
    if error["type"] == "missing":
        return Problem(spelled(path, form.name), found_tree.line, _MESSAGES["missing"](None))
    return Problem(spelled(there, form.name), found_tree.line, _message(error, found_tree, there, form))


def suggested(path: Path, form: Form[Any]) -> str:
    """The key that was meant instead of an unknown one, or ""."""
    here, name = section(form.model, path[:-1]), str(path[-1])[:64]
    names = list(fields(here)) if here else []
    alike = {_bare(name): name for name in names}
    return alike.get(similar(_bare(name), alike), "")


def _bare(name: str) -> str:
    """A name without its fashion: topK, top-k and top_k are one."""
    return re.sub(r"[-_ ]", "", name).lower()


def _unknown(path: Path, form: Form[Any]) -> str:
    suggestion, name = suggested(path, form), str(path[-1])
    if suggestion:
        return f"is not known; did you mean {suggestion}?"
    elsewhere = [place for place, _ in everywhere(form.model) if _bare(place.split(".")[-1]) == _bare(name)]
    if elsewhere:
        return f"is not known here; did you mean {' or '.join(elsewhere)}?"
    if form.syntax == "json" and (model := section(form.model, path[:-1])):
        return f"is not known; allowed here: {', '.join(fields(model))}"
    return f"is not known; see {form.help} {_explained(path[:-1])}".rstrip()


def _message(error: ErrorDetails, tree: Tree, path: Path, form: Form[Any]) -> str:
    kind, context = error["type"], error.get("ctx", {})
    if tree.value is None:
        return "has no value; give it one, or leave the line out"
    if kind == "value_error":
        return str(context["error"])
    if kind == "literal_error":
        expected = str(context["expected"])
        words = [word for word in expected.replace("'", " ").replace(",", " ").split() if word != "or"]
        suggestion = did_you_mean(tree.written, words)
        listed = words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
        return f"has to be {listed}, not {_shown(tree, form)}" + (f"; {suggestion}" if suggestion else "")
    if kind == "string_type" and not tree.parts and tree.written:
        if path[-1] in form.secret:
            return "has to be text; write a reference, ${env:NAME} or ${credential:NAME}"
        hint = f", and YAML takes {tree.written} for {_taken_for(tree.value)}" if form.syntax == "yaml" else ""
        return f'has to be text{hint}; put it in quotes: "{tree.written}"'
    if kind == "string_pattern_mismatch" and context["pattern"] in form.patterns:
        return form.patterns[context["pattern"]]
    called = _CALLED | (_YAML if form.syntax == "yaml" else _JSON)
    if kind in called:
        return f"has to be {called[kind]}, not {_shown(tree, form)}"
    if kind in _MESSAGES:
        return _MESSAGES[kind](context)
    return f"can't be {_shown(tree, form)}; see {form.help}"


def _taken_for(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else "a number"


def _shown(tree: Tree, form: Form[Any]) -> str:
    """The value that stands there; text in short, since it may be long."""
    if isinstance(tree.value, dict):
        return "a mapping" if form.syntax == "yaml" else "an object"
    if isinstance(tree.value, list):
        return "a list"
    text = tree.written if len(tree.written) <= 40 else f"{tree.written[:40]}…"
    return f'the text "{text}"' if isinstance(tree.value, str) else text


def _explained(path: Path) -> str:
    return ".".join(str(step) for step in path if isinstance(step, str))

"""From a file to a value, or to everything that is wrong with its form."""

import pathlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from hive_mind.errors import InvalidInput, Problem
from hive_mind.forms.form import SCHEMA_KEY, Form
from hive_mind.forms.json_tree import json_tree
from hive_mind.forms.tree import Finding, Tree, spelled
from hive_mind.forms.wording import worded
from hive_mind.forms.yaml_tree import yaml_tree

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
    """The tree of a text, in the syntax of its form."""
    return yaml_tree(text, form) if form.syntax == "yaml" else json_tree(text, form)


def validated(value: Any, form: Form[M]) -> tuple[M | None, Sequence[ErrorDetails]]:
    """The value as its model, or what keeps it from being one."""
    try:
        return form.model.model_validate(value, strict=True, by_alias=True, by_name=False), ()
    except ValidationError as error:
        return None, error.errors(include_url=False)


def news(errors: Sequence[ErrorDetails], problems: Sequence[Problem], form: Form[Any]) -> list[ErrorDetails]:
    """Errors about places that no problem names yet."""
    paths = {problem.path for problem in problems}
    return [error for error in errors if spelled(error["loc"], form.name) not in paths][:PROBLEMS_MAX]


def in_order(faults: Sequence[Problem]) -> tuple[Problem, ...]:
    """Each once, in the order of the file."""
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
        raise InvalidInput(f"{path} can't be read: {error.strerror or error}") from error
    if len(content) > form.bytes_max:
        return "", (Problem(form.name, 0, f"the file is larger than {form.bytes_max:,} bytes"),)
    try:
        return content.decode("utf-8-sig"), ()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return "", (Problem(form.name, line, "this is not UTF-8; save the file as UTF-8"),)

"""What programs import and environments say: public names with what they take, settings with their defaults; and the promises."""

import ast
import dataclasses
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hive_mind
from hive_mind import public

_ROOT = Path(__file__).parents[2]


def name_lines() -> Iterator[str]:
    """Each name with its parameters; of a class, its methods and attributes too."""
    for name in public.__all__:
        value = getattr(hive_mind, name)
        yield f"{name}{_parameters(value)}"
        if inspect.isclass(value):
            yield from (f"{name}.{member}" for member in _members(value))


def setting_lines() -> Iterator[str]:
    """Variables with their defaults, then those that hold secrets: every one that some file reads by its name."""
    for field in dataclasses.fields(hive_mind.Settings):
        yield f"HIVE_MIND_{field.name.upper()} = {str(field.default)!r}"
    for file in sorted((_ROOT / "hive_mind").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "secret" and isinstance(node.args[0], ast.Constant):
                yield f"HIVE_MIND_{node.args[0].value} (secret)"


def promise_lines() -> Iterator[str]:
    """Their numbers and words, without the tests that keep them."""
    for number, promise in re.findall(
        r"^\| (P\d+) \| (.*?) \|", (_ROOT / "docs" / "promises.md").read_text("utf-8"), re.MULTILINE
    ):
        yield f"{number} {promise}"


def in_short(signature: str) -> str:
    """Without the modules of types, nor where something is in memory. What stands in quotation marks stays."""
    # The bounds of a setting stand at its place in the manifest.
    signature = re.sub(r"Annotated\[(.*?), Setting\([^)]*\)\]", r"\1", signature)
    parts = re.split(r"('[^']*')", re.sub(r" at 0x[0-9a-f]+", "", signature))
    return "".join(part if part[:1] == "'" else re.sub(r"\b(?:[a-z_]\w*\.)+(\w+)", r"\1", part) for part in parts)


def _parameters(value: Any) -> str:
    if fields := getattr(value, "model_fields", None):
        # Of a file: what each may be is said there.
        return f"({', '.join(fields)})"
    try:
        return in_short(str(inspect.signature(value)))
    except (TypeError, ValueError):
        return ""


def _members(kind: type) -> Iterator[str]:
    """Its own and those of our classes above it, not those of a library's."""
    above = [one for one in kind.__mro__ if one.__module__.partition(".")[0] == hive_mind.__name__]
    typed = {name: hint for one in reversed(above) for name, hint in inspect.get_annotations(one).items()}
    members = {name: member for one in reversed(above) for name, member in vars(one).items()}
    for name in sorted(name for name in {*typed, *members} if not name.startswith("_")):
        member = members.get(name)
        plain = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if name in getattr(kind, "model_fields", ()):
            yield name
        elif name in typed:
            yield f"{name}: {in_short(inspect.formatannotation(typed[name]))}"
        else:
            yield f"{name}{_parameters(plain)}" if inspect.isfunction(plain) else name

"""What docstrings name in back quotes as a module, a file or a class of the package is there: a rename leaves no stale word."""

import ast
import importlib
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path("hive_mind")
_QUOTED = re.compile(r"`([^`\s]+)`")
_PATH = re.compile(r"(?:[a-z_]+/)+[a-z_]+(?:\.py)?|[a-z_]+\.py")
_DOTTED = re.compile(r"[a-z_]+(?:\.[A-Za-z_]+)+")
# What follows the dot in the name of a file that is no module.
_SUFFIXES = frozenset({"md", "json", "jsonl", "log", "lock", "bicep", "sqlite", "turn", "py"})


def docstrings(source: str) -> Iterator[str]:
    """Every text that stands alone: of modules, classes and functions, and of what is assigned above it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value


@cache
def defined_in(module: Path) -> frozenset[str]:
    """The names that a module's source binds, at any depth."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names.update(alias.asname or alias.name for alias in node.names)
    return frozenset(names)


def resolves(parts: list[str], folder: Path) -> bool:
    """Whether these are packages, then a module, then names that it has, from a folder on."""
    place = folder
    for number, part in enumerate(parts):
        if (place / part / "__init__.py").is_file():
            place = place / part
            continue
        module = place / f"{part}.py"
        rest = parts[number + 1 :] if module.is_file() else parts[number:]
        source = module if module.is_file() else place / "__init__.py"
        return source.is_file() and all(name in defined_in(source) for name in rest)
    return True


def is_elsewhere(parts: list[str]) -> bool:
    """Whether it is of the standard library."""
    return len(parts) == 2 and parts[0] in sys.stdlib_module_names and hasattr(importlib.import_module(parts[0]), parts[1])


def is_room(name: str) -> bool:
    return (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").is_file()


def is_stale(quoted: str, module: Path) -> bool:
    """Whether it looks like something of the package, and is not there."""
    near = [folder for folder in module.parents if folder.is_relative_to(PACKAGE)]
    if _PATH.fullmatch(quoted):
        first, *more = quoted.split("/")
        if not more:
            return not any((folder / quoted).is_file() for folder in near)
        root = PACKAGE if is_room(first) else Path()
        return (root / first).is_dir() and not any((root / name).exists() for name in (quoted, f"{quoted}.py"))
    parts = quoted.split(".")
    if not _DOTTED.fullmatch(quoted) or parts[-1] in _SUFFIXES:
        return False
    if parts[0] == PACKAGE.name:
        return not resolves(parts[1:], PACKAGE)
    # A class, or something of a folder of the package. What has neither may be an attribute: `query.limit`.
    if not is_room(parts[0]) and not any(part[0].isupper() for part in parts):
        return False
    return not is_elsewhere(parts) and not any(resolves(parts, folder) for folder in near)


def test_what_docstrings_refer_to_is_there() -> None:
    stale = [
        f"{module}: `{quoted}`"
        for module in sorted(PACKAGE.rglob("*.py"))
        for text in docstrings(module.read_text(encoding="utf-8"))
        for quoted in _QUOTED.findall(text)
        if is_stale(quoted, module)
    ]
    assert not stale, "\n".join(stale)


@pytest.mark.parametrize(
    ("quoted", "is_wrong"),
    [
        ("hive/policy/admission.py", False),
        ("hive/admission", True),
        ("admission.py", False),
        ("voting.py", True),
        ("hive.policy.admission", False),
        ("hive.admission", True),
        ("admission.subject_of", False),
        ("registry.Registry", False),
        ("registry.Register", True),
        ("random.Random", False),
        ("platform.Platform", True),
        ("query.limit", False),
        ("scorecard.json", False),
    ],
)
def test_a_word_in_quotes_is_looked_up_where_it_looks_like_something_of_the_package(quoted: str, is_wrong: bool) -> None:
    assert is_stale(quoted, PACKAGE / "hive" / "policy" / "registry.py") is is_wrong

"""A benchmark is run now and then, and by no test: what it takes of ours must be there all the same."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[3]


@cache
def names_in(module: str) -> frozenset[str] | None:
    """Names at the top of a module, read and not run; None where there is none."""
    if module == "hive_mind":
        # It looks names up there when they are asked for.
        module = "hive_mind.public"
    place = ROOT.joinpath(*module.split("."))
    file = next((path for path in (place.with_suffix(".py"), place / "__init__.py") if path.exists()), None)
    if file is None:
        return frozenset() if place.is_dir() else None
    names = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                names.add(name)
            case ast.alias(name=name, asname=other):
                names.add(other or name)
    return frozenset(names)


def is_there(module: str, name: str) -> bool:
    names = names_in(module)
    return names is not None and (name in names or names_in(f"{module}.{name}") is not None)


def test_every_name_that_a_benchmark_takes_of_ours_is_there() -> None:
    taken = {
        (path.relative_to(ROOT).as_posix(), node.module, alias.name)
        for path in (ROOT / "benchmarks").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in ("hive_mind", "benchmarks", "tests")
        for alias in node.names
    }

    assert len(taken) > 300
    assert [(path, module, name) for path, module, name in sorted(taken) if not is_there(module, name)] == []

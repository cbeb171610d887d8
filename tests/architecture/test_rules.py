"""The three rules of ARCHITECTURE.md, read from there and checked on every file."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from hive_mind.backends import SHARED

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "hive_mind"
MAP = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
ANYONE_MAY_IMPORT = {"errors", "backends", "retry", "tracing"}
PURE = (
    *("model", "ranking", "crdt", "measure", "goals", "judge", "runs", "hive", "sim", "memory/intake.py", "memory/promotion.py"),
    *("control/planning", "control/manifests/expansion.py", "credentials/redaction.py"),
)
WORLD = {"time", "os", "random", "socket", "threading", "asyncio", "subprocess", "pathlib", "logging", "datetime"}
LOCKS = {"threading.Lock", "threading.RLock", "threading.local"}
LINES_MAX = 400
FUNCTION_LINES_MAX = 60


def layers() -> list[set[str]]:
    block = MAP.split("<!-- layers -->")[1].split("<!-- /layers -->")[0]
    return [{name.strip() for name in line.split("|")} for line in block.strip().splitlines()]


FILES = sorted(PACKAGE.rglob("*.py"))
LEVEL = {name: level for level, names in enumerate(layers()) for name in names}


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def package_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def named(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def test_every_package_has_a_place_in_the_layers_and_on_the_map():
    packages = {path.name for path in PACKAGE.iterdir() if path.is_dir() and list(path.glob("*.py"))}

    assert packages == set(LEVEL)
    assert [name for name in packages if f"      {name}/" not in MAP and f" {name}/ " not in MAP] == []


@pytest.mark.parametrize("path", FILES, ids=named)
def test_imports_point_down(path):
    package = package_of(path)
    for module in imports(path):
        target = re.match(r"hive_mind\.(\w+)", module)
        if target is None or target[1] in ANYONE_MAY_IMPORT or target[1] == package or target[1] not in LEVEL:
            continue
        if package not in LEVEL:
            assert package in {"__init__", "__main__", "public"}, f"{package} is no place for imports of {module}"
            continue
        assert LEVEL[target[1]] > LEVEL[package], f"{named(path)} imports {module}: that points up or sideways"


@pytest.mark.parametrize("path", FILES, ids=named)
def test_nobody_imports_a_back_end(path):
    for module in imports(path):
        found = re.match(r"hive_mind\.(store|embed|ann|llm|journal|ledger|bus|credentials)\.(\w+)", module)
        if found and found[1] != package_of(path):
            assert found[2] in SHARED, f"{named(path)} imports the back end {module}"


@pytest.mark.parametrize("path", [p for p in FILES if named(p).startswith(PURE)], ids=named)
def test_pure_files_touch_no_world(path):
    tree = ast.parse(path.read_text("utf-8"))
    # A lock and what is a thread's own start none.
    used = {f"threading.{n.attr}" for n in ast.walk(tree) if isinstance(n, ast.Attribute) and ast.unparse(n.value) == "threading"}
    named_from = {name for name in imports(path) if name.startswith("threading.")}

    assert {module.partition(".")[0] for module in imports(path)} & (WORLD - {"threading"}) == set()
    assert (used | named_from) - LOCKS == set()
    assert [node for node in ast.walk(tree) if isinstance(node, ast.AsyncFunctionDef | ast.Await)] == []


@pytest.mark.parametrize("path", FILES, ids=named)
def test_files_and_functions_stay_short(path):
    text = path.read_text("utf-8")
    functions = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]

    assert text.count("\n") <= LINES_MAX
    assert [f.name for f in functions if (f.end_lineno or 0) - f.lineno > FUNCTION_LINES_MAX] == []


def test_only_the_settings_read_the_environment():
    readers = {named(path) for path in FILES if re.search(r"os\.(environ|getenv)", path.read_text("utf-8"))}

    # They set defaults for a library before it is imported; they read nothing.
    assert readers - {"embed/sentence_transformers.py", "embed/_model_files.py", "ann/__init__.py"} == {"runtime/settings.py"}

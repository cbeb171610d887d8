"""promises.md, judgement.md, running.md and security.md in docs/ name tests that exist."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "promises.md").read_text("utf-8")
STATEMENTS = (ROOT / "docs" / "judgement.md").read_text("utf-8") + (ROOT / "docs" / "running.md").read_text("utf-8")
SECURITY = (ROOT / "docs" / "howto" / "security.md").read_text("utf-8")
_NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
NAMED = sorted(set(_NAMED.findall(TEXT + STATEMENTS + SECURITY)))


def test_every_named_test_exists():
    there = {
        path: set(re.findall(r"^(?:async )?def (\w+)\(", (ROOT / path).read_text("utf-8"), re.MULTILINE)) for path, _ in NAMED
    }
    assert [f"{path}::{name}" for path, name in NAMED if name not in there[path]] == []


def test_every_path_in_it_exists():
    paths = re.findall(r"`((?:tests|benchmarks|docs)/[\w/]+\.py)", TEXT)
    assert len(NAMED) > 80
    assert [path for path in paths if not (ROOT / path).is_file()] == []


def test_every_promise_has_its_line():
    assert re.findall(r"^\| (P\d+) \|", TEXT, re.MULTILINE) == [f"P{number}" for number in range(1, 44)]


def test_every_promise_and_every_failure_keeps_a_test_that_make_test_runs():
    """What only `make test-all` runs may be named beside it."""
    rows = [row for row in TEXT.splitlines() if row.startswith("| ") and "::test_" in row]
    assert len(rows) > 80
    assert [row for row in rows if not any(is_in_make_test(*named) for named in _NAMED.findall(row))] == []


def is_in_make_test(path: str, name: str) -> bool:
    thorough = "pytest.mark.thorough"
    for one in ast.parse((ROOT / path).read_text("utf-8")).body:
        if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == "pytestmark" and thorough in ast.unparse(one.value):
            return False
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and one.name == name:
            return thorough not in map(ast.unparse, one.decorator_list)
    return False


def test_every_statement_of_document_001_has_its_line():
    judged = {"G": 6, "H": 17, "I": 8, "K": 13}
    run = {"A": 13, "B": 9, "C": 12, "D": 13, "E": 8, "F": 17, "J": 6, "L": 4}
    wanted = [f"{group}{number}" for group, last in (judged | run).items() for number in range(1, last + 1)]

    assert re.findall(r"^\| ([A-L]\d+) \|", STATEMENTS, re.MULTILINE) == wanted
    assert [row for row in re.findall(r"^\| [A-L]\d+ \|.*", STATEMENTS, re.MULTILINE) if "::test_" not in row] == []


def test_every_failure_has_a_test():
    rows = TEXT.split("## What went wrong")[1].splitlines()
    told = [row for row in rows if row.startswith("| ") and not row.startswith("| **") and "| failure |" not in row]
    assert [row for row in told if "::test_" not in row] == []

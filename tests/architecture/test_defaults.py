"""A default is written once, beside what it tunes; forms, configurations and plans take it from there."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "hive_mind"
# The same name and the same default by chance: each means something else, or is written into a file of its own.
COINCIDENCES = {
    ("confidence_min", 0.3),
    ("depth", 100),
    ("first_retry_ms", 2000),
    ("format", "auto"),
    ("kind", "general"),
    ("mode", "hybrid"),
    ("name", "hybrid"),
    ("tenant", "default"),
    ("top_k", 10),
}
SAYS_NOTHING = {0, 1, "", b""}


def test_no_setting_has_its_default_in_two_places():
    places = defaultdict(set)
    for path in sorted(PACKAGE.rglob("*.py")):
        for name, default in defaults(ast.parse(path.read_text("utf-8"))):
            places[name, default].add(str(path.relative_to(PACKAGE)))
    assert {key: sorted(files) for key, files in places.items() if len(files) > 1 and key not in COINCIDENCES} == {}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("class A:\n    wait_s: float = 2.5", [("wait_s", 2.5)]),
        ("class A(B):\n    wait_s: float = Field(2.5, gt=0)", [("wait_s", 2.5)]),
        ("class A(B):\n    size: int = 4 * 1024", [("size", 4096)]),
        ("class A:\n    wait_s: float = WAIT_S\n    is_on: bool = True\n    count: int = 0", []),
        ("def a(wait_s: float = 2.5): ...", []),
    ],
)
def test_a_default_is_seen(text, found):
    assert list(defaults(ast.parse(text))) == found


def defaults(tree: ast.Module) -> Iterator[tuple[str, object]]:
    """Fields of classes with a number or text as default."""
    for node in ast.walk(tree):
        for field in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and field.value is not None:
                default = constant(field.value)
                if not isinstance(default, bool | None) and default not in SAYS_NOTHING:
                    yield field.target.id, default


def constant(value: ast.expr) -> object:
    """What an expression of literals comes to; None for any other."""
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "Field" and value.args:
        value = value.args[0]
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
        left, right = constant(value.left), constant(value.right)
        return left * right if isinstance(left, int | float) and isinstance(right, int | float) else None
    return value.value if isinstance(value, ast.Constant) else None

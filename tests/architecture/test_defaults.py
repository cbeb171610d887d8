"""A default is written once, beside what it tunes; forms, configurations and plans take it from there."""

import ast
import operator
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "hive_mind"
# The same name and the same default by chance: each means something else, or is written into a file of its own.
COINCIDENCES = {
    ("confidence_min", 0.3),
    ("depth", 100),
    ("format", "auto"),
    ("kind", "general"),
    ("mode", "hybrid"),
    ("name", "hybrid"),
    ("tenant", "default"),
    ("top_k", 10),
}
OPERATIONS = {ast.Mult: operator.mul, ast.LShift: operator.lshift}
SAYS_NOTHING = {0, 1, "", b""}
# Constants of modules with the same name and value, by the reason why these are not one.
NAMESAKES = {
    "each looks, waits and tries again at its own pace": {
        *(("AGAIN_S", 5.0), ("CLOSE_S", 2.0), ("LOOK_EVERY_S", 2.0), ("LOOK_S", 0.1), ("LOOK_S", 0.2)),
        *(("LOOK_S", 2.0), ("PATIENCE_S", 5.0), ("POLL_S", 0.1), ("SILENT_S", 120.0)),
        ("TIMEOUT_S", 60.0),
    },
    "each bounds what it reads or holds": {
        *(("AGENTS_MAX", 10_000), ("BATCH_TEXTS", 64), ("BLOCK_BYTES", 1 << 16), ("BYTES_MAX", 16 << 20)),
        *(("DIGITS_MAX", 18), ("FILE_BYTES_MAX", 1 << 20)),
        *(("LINE_BYTES_MAX", 1 << 16), ("NAMES_MAX", 1000), ("VALUE_CHARACTERS_MAX", 4000)),
    },
    "each shows as much as there is room for": {
        *(("NAMED_MAX", 3), ("NAME_MAX", 40), ("REASON_MAX", 500), ("SHOWN_MAX", 5), ("VALUES_MAX", 12))
    },
    "an id of a fact and one of a key, a key that signs and one that encrypts": {("ID_BYTES", 16), ("KEY_BYTES", 32)},
    "needed before the command line is loaded": {("STOPPED", 130)},
    "a unit of time": {("MINUTE_S", 60)},
    "more than any time, and more than any number of rows": {("NEVER", 1 << 62)},
    "a share of a sum, and a difference between two": {("SAME", 1e-9)},
}


def test_no_setting_has_its_default_in_two_places():
    places = defaultdict(set)
    for path in sorted(PACKAGE.rglob("*.py")):
        for name, default in defaults(ast.parse(path.read_text("utf-8"))):
            places[name, default].add(str(path.relative_to(PACKAGE)))
    assert {key: sorted(files) for key, files in places.items() if len(files) > 1 and key not in COINCIDENCES} == {}


def test_no_constant_of_a_module_stands_in_two_files():
    places = defaultdict(set)
    for path in sorted(PACKAGE.rglob("*.py")):
        for name, value in constants(ast.parse(path.read_text("utf-8"))):
            places[name, value].add(str(path.relative_to(PACKAGE)))
    several = {key: sorted(files) for key, files in places.items() if len(files) > 1}
    known = set().union(*NAMESAKES.values())
    assert {key: files for key, files in several.items() if key not in known} == {}
    assert known <= several.keys()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("_WAIT_S = 2.5", [("WAIT_S", 2.5)]),
        ("A_MAX, _B_MAX = 1 << 4, 3 * 2", [("A_MAX", 16), ("B_MAX", 6)]),
        ("A_MAX: int = 3\nB = A_MAX\nIS_ON = True\nNAME = 'a'\nNONE = 0\nlower = 3", [("A_MAX", 3)]),
        ("def a():\n    A_MAX = 3", []),
    ],
)
def test_a_constant_is_seen(text, found):
    assert list(constants(ast.parse(text))) == found


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


def constants(tree: ast.Module) -> Iterator[tuple[str, object]]:
    """Numbers that a module has a name for, in capitals; whether it is private makes no difference."""
    for node in tree.body:
        if isinstance(node, ast.Assign):
            target, value = node.targets[0], node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            target, value = node.target, node.value
        else:
            continue
        several = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
        for name, one in zip(target.elts, value.elts, strict=True) if several else [(target, value)]:
            number = constant(one)
            is_number = isinstance(number, int | float) and not isinstance(number, bool) and number not in SAYS_NOTHING
            if is_number and isinstance(name, ast.Name) and name.id.isupper():
                yield name.id.lstrip("_"), number


def constant(value: ast.expr) -> object:
    """What an expression of literals comes to; None for any other."""
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "Field" and value.args:
        value = value.args[0]
    if isinstance(value, ast.BinOp) and type(value.op) in OPERATIONS:
        left, right = constant(value.left), constant(value.right)
        are_numbers = isinstance(left, int | float) and isinstance(right, int | float)
        return OPERATIONS[type(value.op)](left, right) if are_numbers else None
    return value.value if isinstance(value, ast.Constant) else None

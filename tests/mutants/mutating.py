"""Mutants: one function each, with one comparison, sign, constant or condition turned into another."""

import ast
import importlib
import random
import types
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from textwrap import shorten

ROOT = Path(__file__).parents[2]
_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
}


@dataclass(frozen=True, slots=True, eq=False)
class Mutant:
    """`function` with `code` in place of its own. `name`: file, line and function."""

    name: str
    change: str
    function: types.FunctionType
    code: types.CodeType


def drawn(rooms: Sequence[str], count: int, seed: int) -> dict[str, list[Mutant]]:
    """`count` mutants of all rooms, in proportion to their lines."""
    paths = {room: _paths_of(ROOT / "hive_mind" / room) for room in rooms}
    lines = {room: sum(path.read_text("utf-8").count("\n") for path in paths[room]) for room in rooms}
    shares = {room: round(count * lines[room] / sum(lines.values())) for room in rooms}
    return {room: mutants(list(map(_module, paths[room])), shares[room], seed) for room in rooms}


def mutants(modules: list[types.ModuleType], count: int, seed: int) -> list[Mutant]:
    """The first `count` of all there are, in an order drawn by `seed`."""
    sites = [(module, number) for module in modules for number in range(len(_sites(_tree(module))))]
    random.Random(seed).shuffle(sites)
    living = (mutant for module, number in sites if (mutant := _mutant(module, number)) is not None)
    return list(islice(living, count))


def _paths_of(room: Path) -> list[Path]:
    return [path for path in sorted(room.rglob("*.py")) if path.name != "__init__.py"] if room.is_dir() else [room]


def _module(path: Path) -> types.ModuleType:
    return importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))


def _tree(module: types.ModuleType) -> ast.Module:
    return ast.parse(_path(module).read_text("utf-8"))


def _path(module: types.ModuleType) -> Path:
    return Path(str(module.__file__))


def _sites(tree: ast.Module) -> list[tuple[tuple[str, ...], ast.AST]]:
    """Nodes that can be changed, each with the path of the function that it stands in."""
    return list(_sites_in(tree, ()))


def _sites_in(node: ast.AST, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], ast.AST]]:
    children: Iterable[ast.AST] = ast.iter_child_nodes(node)
    inner = path
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        children, inner = node.body, (*path, node.name)
    elif path and _is_changeable(node):
        yield path, node
    for child in children:
        yield from _sites_in(child, inner)


def _is_changeable(node: ast.AST) -> bool:
    match node:
        case ast.Compare(ops=[first, *_]):
            return type(first) in _COMPARISONS
        case ast.BinOp(op=operator):
            return type(operator) in _OPERATORS
        case ast.Constant(value=value):
            return isinstance(value, int | float)
    return isinstance(node, ast.BoolOp | ast.If)


def _change(node: ast.AST) -> None:
    """In its place."""
    match node:
        case ast.Compare():
            node.ops[0] = _COMPARISONS[type(node.ops[0])]()
        case ast.BinOp():
            node.op = _OPERATORS[type(node.op)]()
        case ast.BoolOp():
            node.op = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
        case ast.Constant(value=bool() as truth):
            node.value = not truth
        case ast.Constant(value=int() | float() as number):
            node.value = number + 1
        case ast.If():
            node.test = ast.UnaryOp(ast.Not(), node.test)
        case _:
            raise TypeError(node)


def _mutant(module: types.ModuleType, number: int) -> Mutant | None:
    """None for one that has no living function, such as what stands in another one."""
    tree = _tree(module)
    path, node = _sites(tree)[number]
    former = _shown(node)
    _change(node)
    function = _living(module, path)
    codes = [
        code for where, code in _codes(compile(ast.fix_missing_locations(tree), str(module.__file__), "exec")) if where == path
    ]
    if function is None or len(codes) != 1 or len(codes[0].co_freevars) != len(function.__code__.co_freevars):
        return None
    line = getattr(node, "lineno", 0)
    return Mutant(f"{_path(module)}:{line} {'.'.join(path)}", f"{former} -> {_shown(node)}", function, codes[0])


def _shown(node: ast.AST) -> str:
    return shorten(ast.unparse(node.test if isinstance(node, ast.If) else node), 70, placeholder="...")


def _codes(code: types.CodeType, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], types.CodeType]]:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner = (*path, constant.co_name)
            yield inner, constant
            yield from _codes(constant, inner)


def _living(module: types.ModuleType, path: tuple[str, ...]) -> types.FunctionType | None:
    """The function at a path, without what wraps it."""
    owner: object = module
    for name in path[:-1]:
        owner = getattr(owner, name, None)
    function = vars(owner).get(path[-1]) if isinstance(owner, type | types.ModuleType) else None
    if isinstance(function, property):
        function = function.fget
    if isinstance(function, staticmethod | classmethod):
        function = function.__func__
    function = getattr(function, "__wrapped__", function)
    return function if isinstance(function, types.FunctionType) else None

"""Mutants: one function each, with one comparison, sign, constant or condition turned into another."""

import ast
import copy
import importlib
import random
import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

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


@dataclass(frozen=True, slots=True)
class Mutant:
    """`function` with `code` in place of its own. `name`: module, line, kind of change and function."""

    name: str
    function: types.FunctionType
    code: types.CodeType


def modules_of(room: str) -> list[str]:
    """All modules of a room, such as "ranking" or "memory/gate"."""
    paths = sorted((ROOT / "hive_mind" / room).rglob("*.py"))
    return [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths if path.name != "__init__.py"]


def mutants(modules: list[str], count: int, seed: int) -> list[Mutant]:
    """The first `count` of all there are, in an order drawn by `seed`."""
    sites = [(module, number) for module in modules for number in range(len(_sites(_tree(module))))]
    random.Random(seed).shuffle(sites)
    drawn: list[Mutant] = []
    for module, number in sites:
        if len(drawn) == count:
            break
        if (mutant := _mutant(module, number)) is not None:
            drawn.append(mutant)
    return drawn


def _tree(module: str) -> ast.Module:
    return ast.parse(Path(str(importlib.import_module(module).__file__)).read_text("utf-8"))


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


def _change(node: ast.AST) -> str:
    """Change a node in its place; what was changed."""
    match node:
        case ast.Compare():
            node.ops[0] = _COMPARISONS[type(node.ops[0])]()
            return "comparison"
        case ast.BinOp():
            node.op = _OPERATORS[type(node.op)]()
            return "operator"
        case ast.BoolOp():
            node.op = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
            return "and-or"
        case ast.Constant(value=bool() as value):
            node.value = not value
            return "truth"
        case ast.Constant(value=int() | float() as value):
            node.value = value + 1
            return "number"
        case ast.If():
            node.test = ast.UnaryOp(ast.Not(), node.test)
            return "condition"
    raise TypeError(node)


def _mutant(module: str, number: int) -> Mutant | None:
    """None for one that has no living function, such as what stands in another one."""
    tree = copy.deepcopy(_tree(module))
    path, node = _sites(tree)[number]
    kind = _change(node)
    function = _living(importlib.import_module(module), path)
    codes = [code for where, code in _codes(compile(ast.fix_missing_locations(tree), module, "exec")) if where == path]
    if function is None or len(codes) != 1 or len(codes[0].co_freevars) != len(function.__code__.co_freevars):
        return None
    line = getattr(node, "lineno", 0)
    return Mutant(f"{module}:{line}:{kind}:{'.'.join(path)}", function, codes[0])


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
    found = vars(owner).get(path[-1]) if isinstance(owner, type | types.ModuleType) else None
    if isinstance(found, property):
        found = found.fget
    if isinstance(found, staticmethod | classmethod):
        found = found.__func__
    found = getattr(found, "__wrapped__", found)
    return found if isinstance(found, types.FunctionType) else None

"""Every regular expression of the package, with how it is used: collected as modules are loaded, and read from their source."""

import ast
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import hive_mind

ROOT = Path(hive_mind.__file__).parent
_FIRST_ONLY = {"match", "fullmatch"}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_CALLS = {"compile", "search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn"}
_NAMES_ONE = re.compile(rf"\bregex\(|\bre\.(?:{'|'.join(sorted(_CALLS))})\(")

# Each one that is compiled, with the line of its module that it stands on. `_pattern(...)` counts where it is called.
_LOADING = """
import importlib, json, re, sys
import hive_mind, hive_mind.regex
seen = []
def recorded(make):
    def compiled(pattern, flags=re.NOFLAG):
        frame = sys._getframe(1)
        while frame.f_code.co_name != "<module>" and frame.f_globals.get("__name__", "").startswith("hive_mind"):
            frame = frame.f_back
        if frame.f_globals.get("__name__", "").startswith("hive_mind") and isinstance(pattern, str):
            seen.append((frame.f_code.co_filename, frame.f_lineno, pattern, int(flags)))
        return make(pattern, flags)
    return compiled
hive_mind.regex.regex = recorded(hive_mind.regex.regex)
re.compile = recorded(re.compile)
for name in sys.argv[1:]:
    importlib.import_module(name)
json.dump(seen, sys.stdout)
"""


@dataclass(frozen=True)
class Expression:
    """`how`: "search" looks at every place of a text, "match" and "fullmatch" at its beginning."""

    where: str
    pattern: str
    flags: int
    how: str


@cache
def expressions() -> tuple[Expression, ...]:
    """All that are known before a text is: those of modules, and those written in a call of `re`."""
    modules = _modules()
    names = [
        ".".join(("hive_mind", *path.relative_to(ROOT).with_suffix("").parts))
        for path, module in modules.items()
        if _makes_some_when_loaded(module)
    ]
    command = [sys.executable, "-c", _LOADING, *(name.removesuffix(".__init__") for name in names)]
    loaded = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=100).stdout)
    kept = {
        (pattern, flags, how): Expression(_named(Path(file), line), pattern, flags, how)
        for file, line, pattern, flags in loaded
        for how in _uses(_parsed(Path(file)), line)
    }
    for path, module in modules.items():
        for call in _calls_in_functions(module):
            if isinstance(pattern := call.args[0], ast.Constant) and isinstance(pattern.value, str):
                how = _how(call)
                kept.setdefault(
                    (pattern.value, _flags(call), how), Expression(_named(path, call.lineno), pattern.value, _flags(call), how)
                )
    return tuple(sorted(kept.values(), key=lambda expression: expression.where))


def made_of_values() -> set[str]:
    """The functions that make an expression of what they are given, as file:function."""
    made = set()
    for path, module in _modules().items():
        for function in ast.walk(module):
            if isinstance(function, _FUNCTIONS):
                made |= {
                    f"{path.relative_to(ROOT)}:{function.name}"
                    for call in _calls(function)
                    if not isinstance(call.args[0], ast.Constant)
                }
    return made


@cache
def _modules() -> dict[Path, ast.Module]:
    """Those that name a regular expression somewhere."""
    return {path: _parsed(path) for path in sorted(ROOT.rglob("*.py")) if _NAMES_ONE.search(path.read_text("utf-8"))}


@cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def _makes_some_when_loaded(module: ast.Module) -> bool:
    """Outside of its functions, or in one that makes it of a value, which a module may call when it is loaded."""
    inside = _calls_in_functions(module)
    return any(call not in inside or not isinstance(call.args[0], ast.Constant) for call in _calls(module))


def _named(path: Path, line: int) -> str:
    return f"{path.relative_to(ROOT)}:{line}"


@cache
def _calls_in_functions(module: ast.Module) -> dict[ast.Call, None]:
    return dict.fromkeys(call for part in _outermost_functions(module) for call in _calls(part))


def _outermost_functions(tree: ast.AST) -> Iterator[ast.AST]:
    """No expression holds one, so only statements are looked through."""
    for part in ast.iter_child_nodes(tree):
        if isinstance(part, _FUNCTIONS):
            yield part
        elif not isinstance(part, ast.expr):
            yield from _outermost_functions(part)


def _calls(tree: ast.AST) -> list[ast.Call]:
    """Of `re.…` and `regex(…)`."""
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and node.args
        and (
            (isinstance(node.func, ast.Name) and node.func.id == "regex")
            or (
                isinstance(node.func, ast.Attribute)
                and isinstance(node.func.value, ast.Name)
                and node.func.value.id == "re"
                and node.func.attr in _CALLS
            )
        )
    ]


def _how(call: ast.Call) -> str:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    return name if name in _FIRST_ONLY else "search"


def _flags(call: ast.Call) -> int:
    names = [keyword.value for keyword in call.keywords if keyword.arg == "flags"] + [
        argument for argument in call.args[1:] if isinstance(argument, ast.Attribute | ast.BinOp)
    ]
    flags = 0
    for name in ast.walk(ast.Module([ast.Expr(one) for one in names], [])):
        if isinstance(name, ast.Attribute) and isinstance(getattr(re, name.attr, None), re.RegexFlag):
            flags |= int(getattr(re, name.attr))
    return flags


def _uses(module: ast.Module, line: int) -> set[str]:
    """How the expression that a line of a module assigns to a name is used there; as dearly as can be where that is not plain."""
    statement = next((node for node in module.body if node.lineno <= line <= (node.end_lineno or 0)), None)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if len(targets) != 1 or not isinstance(targets[0], ast.Name) or not targets[0].id.startswith("_"):
        return {"search"}
    named, uses = _named_and_called(module)[targets[0].id]
    called = uses.total()
    return set(uses) if called and uses.keys() <= _FIRST_ONLY and named == called + 1 else {"search"}


@cache
def _named_and_called(module: ast.Module) -> dict[str, tuple[int, Counter[str]]]:
    """How often a module says each name, and which methods it calls by that name how often."""
    nodes = list(ast.walk(module))
    named = Counter(node.id for node in nodes if isinstance(node, ast.Name))
    uses: dict[str, Counter[str]] = {name: Counter() for name in named}
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
            uses[node.func.value.id][node.func.attr] += 1
    return {name: (times, uses[name]) for name, times in named.items()}

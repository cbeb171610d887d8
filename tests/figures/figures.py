"""How big the product is, and how it names things. Counted are the text files that people write.

Left out are data (the demo's documents, an example's, vocabularies) and whatever is not tracked.
"""

import ast
import io
import subprocess
import tokenize
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path

from tests.inventory import commands

ROOT = Path(__file__).parents[2]
_DATA = ("hive_mind/evals/demo/documents/", "hive_mind/retrieval/example/", "hive_mind/evals/generating/vocabulary/")
_TEXT = {".py", ".css", ".html", ".js", ".md", ".yaml"}
_PRONOUNS = frozenset(
    "found one ones some given wanted asked kept made held named known said told other others another own more whole both two"
    " mine here there then done gone taken again seen heard begun meant looked shown read written learned besides beside away"
    " is_left what who how".split()
)
_GENERIC = frozenset("item items value values data entry entries thing obj element part parts result text".split())
_LONG_FUNCTION_LINES = 60

BEGUN: Mapping[str, int] = {
    "lines of hive_mind": 127_374,
    "files of hive_mind": 1_057,
    "modules of hive_mind": 1_017,
    "tokens of hive_mind": 1_061_024,
    "nodes of its syntax trees": 916_929,
    "functions of hive_mind": 10_123,
    "modules that one other imports": 235,
    "lines of tests": 119_653,
    "lines of benchmarks": 9_286,
    "commands": 138,
    "names that are pronouns, 1/100 %": 992,
    "names that are generic, 1/100 %": 498,
    "functions of learn": 450,
    "files of learn": 93,
    "depth of learn": 25,
    "functions of ask": 453,
    "files of ask": 99,
}
"""The same before the redesign, at 48ee854d."""


def figures() -> dict[str, int]:
    """By name; shares in hundredths of a percent."""
    package = _files("hive_mind")
    modules = [path for path in package if path.suffix == ".py"]
    trees = [_tree(path) for path in modules]
    lengths = sorted(((node.end_lineno or node.lineno) - node.lineno + 1) for tree in trees for node in _functions(tree))
    pronouns, generic = shares(trees)
    return {
        "lines of hive_mind": _lines(package),
        "files of hive_mind": len(package),
        "modules of hive_mind": len(modules),
        "tokens of hive_mind": sum(map(_tokens, modules)),
        "nodes of its syntax trees": sum(1 for tree in trees for _ in ast.walk(tree)),
        "functions of hive_mind": len(lengths),
        "lines of a function, 90 of 100": lengths[len(lengths) * 9 // 10],
        "functions of more than 60 lines": sum(length > _LONG_FUNCTION_LINES for length in lengths),
        "lines of the longest module": max(_lines([path]) for path in modules),
        "modules that one other imports": _imported_once(modules),
        "lines of tests": _lines(_files("tests")),
        "lines of benchmarks": _lines(_files("benchmarks")),
        "commands": sum(":" not in line for line in commands.lines()),
        "names that are pronouns, 1/100 %": round(1e4 * pronouns),
        "names that are generic, 1/100 %": round(1e4 * generic),
    }


def shares(trees: Sequence[ast.Module]) -> tuple[float, float]:
    """The shares of names of variables, parameters and attributes that name no thing, and of those that name any thing."""
    names = Counter(name for tree in trees for node in ast.walk(tree) if (name := _name(node)) not in ("", "self", "cls"))
    count = names.total()
    return (
        sum(names[name] for name in names if name in _PRONOUNS) / count,
        sum(names[name] for name in names if name in _GENERIC or len(name) == 1) / count,
    )


def trees_of(folder: str) -> list[ast.Module]:
    """Syntax trees of all modules below a folder of the repository."""
    return [_tree(path) for path in _files(folder) if path.suffix == ".py"]


def _name(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) | ast.Attribute(attr=name, ctx=ast.Store()):
            return name.strip("_")
    return ""


def _files(folder: str) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", folder],
        cwd=ROOT, capture_output=True, text=True, check=True, timeout=60,
    ).stdout.splitlines()  # fmt: skip
    tracked = (name for name in listed if not name.startswith(_DATA) and (ROOT / name).exists())
    return sorted(path for name in tracked if (path := ROOT / name).suffix in _TEXT)


def _lines(paths: Sequence[Path]) -> int:
    return sum(path.read_text("utf-8").count("\n") for path in paths)


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def _tokens(path: Path) -> int:
    return sum(1 for _ in tokenize.generate_tokens(io.StringIO(path.read_text("utf-8")).readline))


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def _imported_once(modules: Sequence[Path]) -> int:
    names = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in modules}
    importers: dict[str, set[Path]] = {}
    for path in modules:
        imports = (node for node in ast.walk(_tree(path)) if isinstance(node, ast.ImportFrom) and node.module)
        for name in chain.from_iterable(
            (node.module, *(f"{node.module}.{each.name}" for each in node.names)) for node in imports
        ):
            if name in names and names[name] != path:
                importers.setdefault(name, set()).add(path)
    return sum(len(importers.get(name, ())) == 1 for name, path in names.items() if path.name != "__init__.py")

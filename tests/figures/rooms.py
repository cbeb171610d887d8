"""The map of the rooms, `docs/map.md`, made of what modules say of themselves: `make map` writes it anew."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE, PAGE = ROOT / "hive_mind", ROOT / "docs" / "map.md"
_HEAD = """\
# Map

What each file is about, in its own words. `make map` makes this page of the first sentences of the modules.
[ARCHITECTURE.md](../ARCHITECTURE.md) has the layers.
"""


def page() -> str:
    return "\n".join([_HEAD, *_folder(PACKAGE)]).rstrip() + "\n"


def _folder(folder: Path) -> Iterator[str]:
    """A folder's own lines, then those of the folders in it."""
    modules = sorted(path for path in folder.glob("*.py") if path.name != "__init__.py")
    package = folder / "__init__.py"
    yield f"## {folder.relative_to(ROOT)}/\n"
    if package.exists() and (said := _said(package)):
        yield f"{said}\n"
    yield from (f"* `{module.stem}` {_said(module)}" for module in modules)
    yield ""
    for inner in sorted(path for path in folder.iterdir() if path.is_dir() and any(path.rglob("*.py"))):
        yield from _folder(inner)


def _said(module: Path) -> str:
    """The first paragraph of its docstring, in one line."""
    text = ast.get_docstring(ast.parse(module.read_text("utf-8"))) or ""
    return " ".join(text.partition("\n\n")[0].split())

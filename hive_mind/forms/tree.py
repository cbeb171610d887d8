"""The contents of a file, as a tree of plain values that remember their lines.

Something that is wrong in a file, before its line is known.
"""

from dataclasses import dataclass, field
from typing import Any

# Longer than any variable's name; what is longer is no key but a slip.
_KEY_SHOWN = 100

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Tree:
    """A value with its line (of its key, in a mapping), as `written` where it is a word or number, and with what is in it."""

    value: Any
    line: int
    written: str = ""
    parts: dict[str | int, "Tree"] = field(default_factory=dict)

    def at(self, path: Path) -> tuple["Tree", Path]:
        """A path's part, or the nearest around it, and the way to it. Where one may stand for a list of one, it is its first."""
        tree, way = self, list[str | int]()
        for step in path:
            if step == 0 and not isinstance(tree.value, list):
                continue
            if step not in tree.parts:
                break
            tree = tree.parts[step]
            way.append(step)
        return tree, tuple(way)


def spelled(path: Path, name_of_all: str = "file") -> str:
    """A path as people write it: spec.agents[2].name; `whole` where it leads nowhere."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{_clipped(step)}" for step in path)
    return text.removeprefix(".") or name_of_all


def _clipped(key: str) -> str:
    return key if len(key) <= _KEY_SHOWN else f"{key[:_KEY_SHOWN]}…"


class TooMuch(Exception):
    """More than a file of its kind can hold; nothing more is read of it."""

    def __init__(self, line: int, what: str) -> None:
        self.line, self.what = line, what
        super().__init__(what)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong at a path. It falls away where what it `rests_on` is wrong itself. A warning stops nothing."""

    path: Path
    message: str
    rests_on: tuple[Path, ...] = ()
    is_warning: bool = False

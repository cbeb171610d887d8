"""Files that killed processes left: halves, and former files that are kept beside what took their place. Only looks."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hive_mind.replacing import PART, REPLACED, UNFINISHED, abandoned, is_abandoned
from hive_mind.runtime.erasure.copies import noted
from hive_mind.sqlite import KEPT, is_half_replaced

_HALVES = (".restored", ".restoring", ".repaired")
"""Endings of databases that were to take the place of another one, which has them removed when it is next made."""

# Before there were records; no release wrote it.
_UNREAD = "memory.kuzu"


@dataclass(frozen=True, slots=True)
class Leftover:
    """`path` is of a file or a folder, `what` says why it is there, `advice` what to do about it."""

    path: Path
    what: str
    advice: str


def leftovers(home: Path) -> Iterator[Leftover]:
    """Those of a home, and of the copies that were made of its memories, wherever they went."""
    for half in abandoned(Path(copy.path) for copy in noted(home)):
        yield Leftover(half, "half of a copy that was interrupted", "delete it, or write any copy: that removes it")
    for path in sorted(home.rglob("*")) if home.is_dir() else ():
        if path.name.endswith(PART):
            if is_abandoned(path):
                yield Leftover(
                    path, "half of a file whose writer was killed", "delete it: the next writing of that file does so, too"
                )
        elif path.is_dir() and path.name.endswith((UNFINISHED, REPLACED)):
            yield Leftover(path, "half of a hive's next generation", "apply the manifest again: that removes it")
        elif path.name.startswith(".import-") and path.is_dir():
            yield Leftover(path, "an import that was interrupted", "import the same archive again: that finishes it")
        elif path.name.endswith(_HALVES) and not is_half_replaced(path.with_suffix("")):
            yield Leftover(path, "was to take the place of a memory, and did not", "delete it, or do the same again")
        elif path.name == _UNREAD:
            yield Leftover(
                path, "a memory in a form that nothing reads any more", f"delete {path.name}*, if nothing of it is needed"
            )
        elif _is_kept(path):
            yield Leftover(
                path, "the former file of a memory, kept", f"delete it, or put it back: hive-mind restore {path} --force"
            )


def _is_kept(path: Path) -> bool:
    word, _, number = path.suffix.removeprefix(".").partition("-")
    return word in KEPT and number.isdigit()

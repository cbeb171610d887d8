"""Where copies of memories went: backups, exports and archives, so that an erasure finds them.

One line of JSON each, in `copies.jsonl` of a home. A copy that somebody has moved is not found: the how-to says so.

Places that still hold erased texts: files of a home, looked through last, and messages on a bus.

Anything else that has quoted one (a run's ledger, a question that waits for a person, a log) is found here and named.

Files that killed processes left are found here, too: halves, and former files that are kept beside what took their place. Only
looks.
"""

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from hive_mind.bus import Envelope
from hive_mind.model.decoding import json_decoder
from hive_mind.model.erasure import Erasure, Erasures
from hive_mind.model.messages import Encrypted
from hive_mind.safe_files import REPLACED, UNFINISHED, abandoned, append_line, is_abandoned, is_half, remove_abandoned
from hive_mind.sqlite import KEPT, is_half_replaced

_log = logging.getLogger(__name__)

Kind = Literal["backup", "facts", "archive"]


class Copied(msgspec.Struct, frozen=True):
    """A file that was written. `of` is the agent or the fleet."""

    path: str
    kind: Kind
    of: str


def note_copy(home: Path, path: Path, kind: Kind, of: str) -> None:
    """Remember a copy, on disk when this returns. Halves of copies whose writers were killed are removed, and named.

    A home that can't be written to is copied all the same: nothing can be erased there either.
    """
    if not os.access(home, os.W_OK | os.X_OK):
        _log.warning("%s can't be written to: it is not noted there that %s is a copy of %s, for erasures", home, path, of)
        return
    copies, copied = noted(home), Copied(str(path.absolute()), kind, of)
    for half in remove_abandoned(*(Path(earlier.path) for earlier in copies)):
        _log.warning("%s: half of a copy that was interrupted; it is removed", half)
    if copied not in copies:
        append_line(home / "copies.jsonl", msgspec.json.encode(copied))


def noted(home: Path) -> list[Copied]:
    """All copies, each once, whether they are still there or never were finished."""
    path, copies_noted = home / "copies.jsonl", dict[Copied, None]()
    for line in path.read_bytes().splitlines() if path.exists() else ():
        # Power may have failed, or the disk filled, while a line was written: its copy was not begun then.
        with suppress(msgspec.DecodeError):
            copies_noted[json_decoder(Copied)(line)] = None
    return list(copies_noted)


def copies(home: Path) -> list[Copied]:
    """Those that are still where they were written."""
    return [copied for copied in noted(home) if Path(copied.path).exists()]


_BLOCK_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class Needles:
    """Texts that must not stand in a file any more, and names that must not word for word, as erasing takes them."""

    texts: frozenset[bytes]
    names: frozenset[bytes]


def needles(texts: Iterable[str], names: Iterable[str] = ()) -> Needles:
    """As it is or as JSON writes it; letter case does not matter."""
    return Needles(*(frozenset(form for text in those if text.strip() for form in _forms(text)) for those in (texts, names)))


def residue(folder: Path, sought: Needles) -> Iterator[Path]:
    """Files below a folder in which something of it stands."""
    for path in _below(folder):
        if path.is_file() and not path.is_symlink() and has_residue(path, sought):
            yield path


def _forms(text: str) -> Iterator[bytes]:
    yield text.encode("utf-8", "replace").lower()
    yield msgspec.json.encode(text)[1:-1].lower()


def has_residue(path: Path, sought: Needles) -> bool:
    """Whether something of it stands in a file."""
    # With one byte on either side of it, which says whether a name ends there.
    overlap = max(map(len, sought.texts | sought.names), default=0) + 1
    window, is_first = b"", True
    with path.open("rb") as file:
        while True:
            block = file.read(_BLOCK_BYTES)
            window += block.lower()
            if any(text in window for text in sought.texts):
                return True
            if any(_is_named(name, window, is_first=is_first, is_last=not block) for name in sought.names):
                return True
            if not block:
                return False
            is_first, window = is_first and len(window) <= overlap, window[-overlap:]


def _is_named(name: bytes, window: bytes, *, is_first: bool, is_last: bool) -> bool:
    """Not where it is part of a longer word, "Ann" of "Anna"; at an edge of the window another one tells."""
    at = window.find(name)
    while at >= 0:
        end = at + len(name)
        is_cut = (at == 0 and not is_first) or (end == len(window) and not is_last)
        if not (is_cut or window[max(at - 1, 0) : at].isalnum() or window[end : end + 1].isalnum()):
            return True
        at = window.find(name, at + 1)
    return False


def quotes(wanted: Sequence[Erasure]) -> Callable[[Envelope], bool]:
    """Whether any text in a message names or is what is meant. A message that only lets go of it is deleted, too: it comes again.

    So does an encrypted one: nobody can look into it here, and its sender sends it again.
    """
    erasures = Erasures(wanted)

    def is_meant(envelope: Envelope) -> bool:
        if isinstance(envelope.message, Encrypted):
            return True
        return _has_any(msgspec.to_builtins(envelope.message, builtin_types=(bytes,)), erasures)

    return is_meant


def has_lines_of(path: Path, wanted: Sequence[Erasure]) -> bool:
    """Whether a line of an export names or is what is meant, also where the memory has let go of it since."""
    erasures, read_line = Erasures(wanted), json_decoder(dict[str, Any])
    with path.open("rb") as lines:
        for line in lines:
            with suppress(msgspec.DecodeError, UnicodeDecodeError):
                if _has_any(read_line(line), erasures):
                    return True
    return False


def _has_any(value: object, erasures: Erasures) -> bool:
    return any(
        erasures.covers_agent(text) or erasures.covers_source(text) or erasures.covers_fact(text, [text])
        for text in _texts_in(value)
    )


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, bytes):
        yield value.decode(errors="ignore")
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _texts_in(key)
            yield from _texts_in(part)
    elif isinstance(value, list | tuple | set | frozenset):
        for part in value:
            yield from _texts_in(part)


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


# Of a home that has other things in it, such as a whole disk, only what is ours is looked at.
_OURS = ("agents", "fleets", "hives", "receipts", "retrieval", "evals", ".import-")


def _below(folder: Path, only: tuple[str, ...] = ("",)) -> Iterator[Path]:
    """Every file and folder below it that this user may look at; others' may come and go meanwhile."""
    for at, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if at != str(folder) or name.startswith(only))
        for name in sorted((*folders, *files)):
            yield Path(at, name)


def leftovers(home: Path) -> Iterator[Leftover]:
    """Those of a home, and of the copies that were made of its memories, wherever they went."""
    for half in abandoned(Path(copy.path) for copy in noted(home)):
        yield Leftover(half, "half of a copy that was interrupted", "delete it, or write any copy: that removes it")
    for path in _below(home, only=_OURS):
        if is_half(path):
            if is_abandoned(path):
                yield Leftover(
                    path, "half of a file whose writer was killed", "delete it: the next writing of that file does so, too"
                )
        elif path.name.endswith((UNFINISHED, REPLACED)) and path.is_dir():
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

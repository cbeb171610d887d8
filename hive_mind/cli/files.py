"""Files to learn: which ones a path means, and their text, if it is text.

A folder gives its text files only; a file that is named is taken whatever its name. Reading says why a file can't be learned and
never raises for what is in it.
"""

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from hive_mind.errors import InvalidInput

# What people write notes in. JSON and its kin are left out: their syntax would be read as sentences, and an export of a memory
# is for `facts import`.
TEXT_SUFFIXES = (".txt", ".text", ".md", ".markdown", ".rst", ".log", ".csv")

# Ten times the longest novel. More is a dump or a log nobody wants to be quoted from, and takes minutes.
FILE_BYTES_MAX = 20 << 20

STDIN = "-"

# A few bad bytes are a slip of some editor, more are not text.
_REPLACED_SHARE_MAX = 0.01
_LOOKED_AT_BYTES = 8192

_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why there is no text: words that go after the file's name."""

    reason: str


_TOO_LARGE = Unreadable(f"is too large (more than {FILE_BYTES_MAX >> 20} MB): split it")


def files_of(paths: Iterable[str]) -> list[Path]:
    """Every file the paths mean, each once, in order. Raises `InvalidInput` for a path where nothing is."""
    found: dict[Path, None] = {}
    for path in map(Path, paths):
        if not _is_there(path):
            raise InvalidInput(f"{path}: there is no such file or folder; check the path. Nothing was learned")
        found.update(dict.fromkeys(_text_files(path) if path.is_dir() else [path]))
    if not found:
        raise InvalidInput(f"no text files in there; files ending in {' '.join(TEXT_SUFFIXES)} are learned, others when named")
    return list(found)


def read_text(path: Path) -> str | Unreadable:
    """A file's text, or why there is none."""
    try:
        if path.is_dir():
            # Only a folder below the one that was named: it could not be looked into.
            return Unreadable("is a folder that can't be read: check its rights")
        if not path.is_file():
            return Unreadable("is not a regular file")
        if path.stat().st_size > FILE_BYTES_MAX:
            return _TOO_LARGE
        return decoded(path.read_bytes())
    except OSError as error:
        return Unreadable(f"can't be read ({error.strerror})")


def read_stdin(bytes_max: int = -1) -> bytes:
    """Standard input up to a length. Not for a coroutine: an event loop notes Ctrl-C and would go on reading."""
    return sys.stdin.buffer.read(bytes_max)


def stdin_text() -> str | Unreadable:
    """The text on standard input, or why there is none."""
    body = read_stdin(FILE_BYTES_MAX + 1)
    return _TOO_LARGE if len(body) > FILE_BYTES_MAX else decoded(body)


def decoded(body: bytes) -> str | Unreadable:
    """Bytes as text: UTF-8, or UTF-16 where a byte order mark says so."""
    encoding = next((name for mark, name in _MARKS if body.startswith(mark)), "utf-8")
    if encoding == "utf-8" and b"\0" in body[:_LOOKED_AT_BYTES]:
        return Unreadable("looks binary")
    text = body.decode(encoding, "replace")
    if text.count("\N{REPLACEMENT CHARACTER}") > max(1, len(text) * _REPLACED_SHARE_MAX):
        return Unreadable("looks binary, or is in another encoding than UTF-8: save it as UTF-8")
    return text if text.strip() else Unreadable("is empty")


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        # A name longer than any file's can be.
        return False


def _text_files(folder: Path) -> list[Path]:
    """Text files below a folder, sorted; what is hidden stays hidden and links to folders are not followed.

    A folder that can't be looked into stands for its files, so that reading it says so.
    """
    found: list[Path] = []

    def name_it(error: OSError) -> None:
        found.append(Path(error.filename))

    for at, folders, names in os.walk(folder, onerror=name_it):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        shown = (Path(at, name) for name in sorted(names) if not name.startswith("."))
        found += [path for path in shown if path.suffix.lower() in TEXT_SUFFIXES]
    return found

"""A file's text, if it is text. Reading says why a file can't be learned and never raises for what is in it."""

from dataclasses import dataclass
from pathlib import Path

# What people write notes in. JSON and its kin are left out: their syntax would be read as sentences, and an export of a memory
# is for `facts import`.
TEXT_SUFFIXES = (".txt", ".text", ".md", ".markdown", ".rst", ".log", ".csv")

# Ten times the longest novel. More is a dump or a log nobody wants to be quoted from, and takes minutes.
FILE_BYTES_MAX = 20 << 20

# A few bad bytes are a slip of some editor, more are not text.
_REPLACED_SHARE_MAX = 0.01
_LOOKED_AT_BYTES = 8192

_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why there is no text: words that go after the file's name."""

    reason: str


TOO_LARGE = Unreadable(f"is too large (more than {FILE_BYTES_MAX >> 20} MB): split it")
EMPTY = Unreadable("is empty")


def read_bytes(path: Path) -> bytes | Unreadable:
    """A file's bytes, or why they are not to be had."""
    try:
        if path.is_dir():
            # Only a folder below the one that was named: it could not be looked into.
            return Unreadable("is a folder that can't be read: check its rights")
        if not path.is_file():
            return Unreadable("is not a regular file")
        if path.stat().st_size > FILE_BYTES_MAX:
            return TOO_LARGE
        return path.read_bytes()
    except OSError as error:
        return Unreadable(f"can't be read ({error.strerror})")


def read_text(path: Path) -> str | Unreadable:
    """A file's text, or why there is none."""
    body = read_bytes(path)
    return body if isinstance(body, Unreadable) else decoded(body)


def decoded(body: bytes) -> str | Unreadable:
    """Bytes as text: UTF-8, or UTF-16 where a byte order mark says so."""
    encoding = next((name for mark, name in _MARKS if body.startswith(mark)), "utf-8")
    if encoding == "utf-8" and b"\0" in body[:_LOOKED_AT_BYTES]:
        return Unreadable("looks binary")
    text = body.decode(encoding, "replace")
    if text.count("\N{REPLACEMENT CHARACTER}") > max(1, len(text) * _REPLACED_SHARE_MAX):
        return Unreadable("looks binary, or is in another encoding than UTF-8: save it as UTF-8")
    return text if text.strip() else EMPTY

"""Files as text: a document with what is missing from it, or the reason why there is none."""

from collections.abc import Mapping
from dataclasses import dataclass, field

CHARS_MAX = 20 << 20
"""As much as of a text file."""


@dataclass(frozen=True, slots=True)
class Document:
    """A file's text. `left_out` counts what of the file is not in it, by a noun ("picture"); `digest` is of its bytes, or ""."""

    text: str
    left_out: Mapping[str, int] = field(default_factory=dict)
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why there is no text: words that go after the file's name."""

    reason: str


class Refused(Exception):
    """A reader's word that a document can't be read: words that go after the file's name."""

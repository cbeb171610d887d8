"""Files as text: a document with what is missing from it, or the reason why there is none; and bytes as text, in any encoding."""

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


EMPTY = Unreadable("is empty")
ADDRESS = "the address of a link"


def document_of_html(page: str) -> Document:
    """A page's text, without the addresses that it leads to."""
    # A command that only puts questions reads no pages.
    from hive_mind.cognition.extraction.html_text import text_of_html

    text, addresses = text_of_html(page)
    return Document(text, {ADDRESS: addresses} if addresses else {})


_REPLACED = "\N{REPLACEMENT CHARACTER}"
# A few bad bytes in UTF-8 are a slip of some editor, more are not text.
_REPLACED_SHARE_MAX = 0.01
_LOOKED_AT_BYTES = 8192

# Western languages write most letters as ASCII does.
_WESTERN_SHARE_MAX = 0.2
_WESTERN_MARKS = "€–—‘’‚“”„…°§«»©®·•£¿¡²³½¼µ\xa0"
# A file that begins like this is no text, whatever bytes follow.
_KINDS = (
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"GIF8", "a picture"),
    (b"PK\x03\x04", "an archive, or a document of an office program,"),
    (b"\x1f\x8b", "an archive"),
    (b"SQLite format 3\0", "a database"),
)
_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


def decoded(body: bytes) -> str | Unreadable:
    """Bytes as text: UTF-8, UTF-16 where a byte order mark says so, else the encoding that makes words of them."""
    if kind := next((kind for mark, kind in _KINDS if body.startswith(mark)), ""):
        return Unreadable(f"is {kind} and no text: save its text as a file of its own")
    encoding = next((name for mark, name in _MARKS if body.startswith(mark)), "utf-8")
    if encoding == "utf-8" and b"\0" in body[:_LOOKED_AT_BYTES]:
        return Unreadable("looks binary")
    text = body.decode(encoding, "replace")
    replaced = text.count(_REPLACED)
    if replaced > max(1, len(text) * _REPLACED_SHARE_MAX):
        guessed = _western(body) or _guessed(body)
        if guessed is None:
            return Unreadable("looks binary, or is in an encoding that is not known: save it as UTF-8")
        text = guessed
    elif replaced and encoding == "utf-8" and all(one.isascii() or one == _REPLACED for one in text):
        # Nothing in it is UTF-8: the few letters that are not English were written in an encoding of before.
        text = _western(body) or text
    return text if text.strip() else EMPTY


def _western(body: bytes) -> str | None:
    """The text as Western languages were written. In a short text, detectors take two of its letters for one of Chinese."""
    text = body.decode("cp1252", "replace")
    strange = [character for character in text if not character.isascii()]
    is_western = len(strange) < len(text) * _WESTERN_SHARE_MAX and all(one.isalpha() or one in _WESTERN_MARKS for one in strange)
    return text if is_western else None


def _guessed(body: bytes) -> str | None:
    """The text in an encoding of before Unicode. A guess that makes control characters of it is none."""
    # It takes long to load, and hardly any text needs it.
    from charset_normalizer import from_bytes

    best = from_bytes(body).best()
    text = str(best) if best is not None else ""
    is_text = bool(text) and not any(ord(character) < 32 and character not in "\t\n\r\f" for character in text)
    return text if is_text else None

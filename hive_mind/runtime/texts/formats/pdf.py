"""PDF, through pypdf. Pages that are pictures have no text; nobody here recognises letters in them."""

import io
import time
from typing import TYPE_CHECKING

from hive_mind.regex import regex
from hive_mind.runtime.texts.document import Document, Refused
from hive_mind.runtime.texts.table import may_have_table, with_tables

if TYPE_CHECKING:
    from pypdf import PageObject

SUFFIXES = (".pdf",)
PACKAGE = "pypdf"

_PAGES_MAX = 10_000
_CHARS_MAX = 25 << 20
# Of work to find tables; in the rest of a long document they stay lines.
_TABLES_MAX_S = 8
# A word that was parted at the end of a line; "well-" before "Known" was not.
_PARTED = regex(r"(?<=[^\W\d_])-\n(?=[^\W\d_A-Z])")
_ENDS = (".", "!", "?", ":", "…", "。")


def is_one(body: bytes) -> bool:
    """Some programs write a few bytes of their own in front."""
    return b"%PDF-" in body[:1024]


def read(body: bytes) -> Document:
    """Page by page."""
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(body))
    if reader.is_encrypted and not reader.decrypt(""):
        raise Refused("is encrypted: save it without a password")
    if len(reader.pages) > _PAGES_MAX:
        raise Refused(f"has more than {_PAGES_MAX:,} pages: split it")
    text, blank, began = "", 0, time.process_time()
    for page in reader.pages:
        said = page.extract_text().strip()
        if time.process_time() - began < _TABLES_MAX_S:
            said = _with_tables(page, said)
        blank += not said
        text += _joint(text, said) + said
        if len(text) > _CHARS_MAX:
            break
    if not text:
        raise Refused("has pages without text, as scanned ones are: recognise its text with another program first")
    return Document(_PARTED.sub("", text), {"page without text": blank} if blank else {})


def _with_tables(page: "PageObject", text: str) -> str:
    if not may_have_table(text):
        return text
    try:
        return with_tables(text, page.extract_text(extraction_mode="layout"))
    except Exception:  # noqa: BLE001 - fonts without widths and the like; the text is there
        return text


def _joint(before: str, page: str) -> str:
    """The separator of two pages: a sentence may go on from one to the next."""
    if not before or not page:
        return ""
    return "\n" if page[0].islower() and not before.endswith(_ENDS) else "\n\n"

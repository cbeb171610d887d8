"""Documents of Word and of what writes them, through mammoth: as a page, with titles, lists and tables."""

import io
import re

from hive_mind.regex import regex
from hive_mind.runtime.texts import table
from hive_mind.runtime.texts.document import Document
from hive_mind.runtime.texts.html_text import text_of_html
from hive_mind.runtime.texts.table import are_titles

SUFFIXES = (".docx", ".docm")
PACKAGE = "mammoth"

_FIRST_ROW = regex(r"(?<=<table>)(?:<tbody>)?<tr>(?:(?!<table>).)*?</tr>", re.DOTALL)
_CELL = regex(r"<td\b[^<>]*>((?:(?!<td\b).)*?)</td>", re.DOTALL)
_TAG = regex(r"<[^<>]*>")


def is_one(body: bytes) -> bool:
    """Names of parts stand uncompressed in an archive."""
    return body.startswith(table.START) and b"word/document.xml" in body


def read(body: bytes) -> Document:
    """Without what an author struck out; what was written in its place is there."""
    import mammoth

    archive = table.office_document(body)
    converted = mammoth.convert_to_html(io.BytesIO(body), convert_image=lambda _image: [])
    left_out = {
        "picture": table.count(archive, "word/media"),
        "header or footer": table.count(archive, "word", "header") + table.count(archive, "word", "footer"),
        "chart": table.count(archive, "word/charts", "chart"),
        "set of comments": table.count(archive, "word", "comments.xml"),
    }
    return Document(text_of_html(_FIRST_ROW.sub(_titled, converted.value)), table.found(left_out))


def _titled(row: re.Match[str]) -> str:
    """Most authors don't say that the first row names the columns."""
    cells = [" ".join(_TAG.sub(" ", cell).split()) for cell in _CELL.findall(row[0])]
    return row[0].replace("<td", "<th").replace("</td>", "</th>") if are_titles(cells) else row[0]

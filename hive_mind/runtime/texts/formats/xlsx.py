"""Workbooks of Excel and of what writes them, through openpyxl: each sheet under its name, each row under its header.

Formulas count as the value that was last shown for them, and nothing is computed. Macros are not read.
"""

import io
from collections.abc import Iterator
from datetime import date, datetime, time
from typing import Any

from hive_mind.runtime.texts import table
from hive_mind.runtime.texts.document import CHARS_MAX, Document, Refused
from hive_mind.runtime.texts.table import table_lines

SUFFIXES = (".xlsx", ".xlsm")
PACKAGE = "openpyxl"
# Tables are seldom wider; a row that is, and nearly empty, loses its empty cells.
_COLUMNS_MAX = 200


def is_one(body: bytes) -> bool:
    """Names of parts stand uncompressed in an archive."""
    return body.startswith(table.START) and b"xl/workbook.xml" in body


def read(body: bytes) -> Document:
    """Sheets that are hidden are left out."""
    from openpyxl import load_workbook

    archive = table.office_document(body)
    book = load_workbook(io.BytesIO(body), read_only=True, data_only=True, keep_links=False)
    sheets = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"]
    left_out = {
        "hidden sheet": len(book.worksheets) - len(sheets),
        "chart": table.count(archive, "xl/charts", "chart"),
        "picture": table.count(archive, "xl/media"),
        "set of comments": table.count(archive, "xl", "comments"),
    }
    return Document("\n".join(line for sheet in sheets for line in _lines(sheet)), table.found(left_out))


def _lines(sheet: Any) -> Iterator[str]:
    yield from (f"# {sheet.title}", "")
    length = 0
    for line in table_lines(_rows(sheet)):
        length += len(line)
        if length > CHARS_MAX:
            raise Refused(f"has a sheet of more than {CHARS_MAX >> 20} million characters: split it")
        yield line


def _rows(sheet: Any) -> Iterator[list[str]]:
    # The size that a file claims need not be true.
    sheet.reset_dimensions()
    for row in sheet.iter_rows():
        cells = [_shown(cell) for cell in row]
        while cells and not cells[-1]:
            cells.pop()
        filled = [cell for cell in cells if cell]
        # One cell in the last column is no table of 16,384.
        yield filled if len(cells) > _COLUMNS_MAX and len(filled) * 10 < len(cells) else cells


def _shown(cell: Any) -> str:
    """A value about as it is shown in the sheet, "" for one that is missing or in error."""
    value = cell.value
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case datetime():
            return value.date().isoformat() if value.time() == time() else value.isoformat(" ", "minutes")
        case date() | time():
            return value.isoformat()
        case float() | int() if "%" in str(cell.number_format):
            return f"{value * 100:.10g}%"
        case float():
            return f"{value:.15g}"
    return "" if cell.data_type == "e" else str(value)

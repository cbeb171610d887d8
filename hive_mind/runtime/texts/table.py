"""Tables of documents: rows of cells as Markdown, which keeps each row with the titles of its columns.

In the text of a page that was set for print, rows are found by the gaps between their cells. The words come in the order of the
page; where a table's words stand in it cell by cell, the table takes their place.

Documents that are ZIP archives, as those of office programs and books are, are opened only where unpacking them has an end.
"""

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from zipfile import ZipFile

from hive_mind.regex import regex
from hive_mind.runtime.texts import Refused

_START = b"PK\x03\x04"
# Pictures are not unpacked.
_UNPACKED_BYTES_MAX = 500 << 20
# A novel's text is some 5 MB with its markup, and each MB takes a second to read.
_TEXT_BYTES_MAX = 48 << 20
_TEXTS = (".xml", ".rels", ".xhtml", ".html", ".htm", ".opf", ".ncx")
_PARTS_MAX = 20_000
_ENCRYPTED = 0x1
_MARKUP = (".xml", ".rels")
_PROLOGUE_BYTES = 4096


def is_archive_with(body: bytes, part: bytes) -> bool:
    """Whether these bytes are an archive, and this stands in it."""
    return body.startswith(_START) and part in body


def opened(body: bytes) -> ZipFile:
    """The archive. No part is read further than it says that it is long. Raises `Refused`, `BadZipFile`."""
    if body.startswith(b"\xd0\xcf\x11\xe0"):
        raise Refused("is encrypted, or of an office program of before 2007: save it anew, without a password")
    archive = ZipFile(io.BytesIO(body))
    parts = archive.infolist()
    if len(parts) > _PARTS_MAX or sum(part.file_size for part in parts) > _UNPACKED_BYTES_MAX:
        raise Refused(f"unpacks to more than {_UNPACKED_BYTES_MAX >> 20} MB or {_PARTS_MAX:,} parts: save its text as a file")
    if sum(part.file_size for part in parts if part.filename.lower().endswith(_TEXTS)) > _TEXT_BYTES_MAX:
        raise Refused(
            f"unpacks to more than {_TEXT_BYTES_MAX >> 20} MB of text with its markup: split it, or save its text as a file"
        )
    if any(part.flag_bits & _ENCRYPTED for part in parts):
        raise Refused("is encrypted: save it without a password")
    return archive


def office_document(body: bytes) -> ZipFile:
    """One whose parts declare no entities: office programs never do, and they can be made to multiply. Raises as `opened`."""
    archive = opened(body)
    for name in archive.namelist():
        if name.endswith(_MARKUP):
            with archive.open(name) as part:
                if b"<!DOCTYPE" in part.read(_PROLOGUE_BYTES):
                    raise Refused("declares XML entities, as no office program does")
    return archive


def count(archive: ZipFile, folder: str, prefix: str = "") -> int:
    """How many parts lie in a folder."""
    return sum(name.startswith(f"{folder}/{prefix}") and not name.endswith("/") for name in archive.namelist())


def found(counts: dict[str, int]) -> dict[str, int]:
    return {name: times for name, times in counts.items() if times}


_DIGIT = regex(r"\d")
_TITLE_CHARS_MAX = 60


def table_lines(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Lines of text. Empty rows part tables; a row of one cell stands above one as text; a first row of titles is its header."""
    begins = True
    for row in rows:
        cells = [" ".join(cell.replace("|", "/").split()) for cell in row]
        filled = sum(map(bool, cells))
        if filled == 0:
            yield from () if begins else ("",)
            begins = True
        elif begins and filled == 1:
            yield from ("", next(filter(None, cells)), "")
        else:
            yield f"| {' | '.join(cells)} |"
            if begins and are_titles(cells):
                yield "|" + " --- |" * len(cells)
            begins = False
    yield ""


def are_titles(cells: Sequence[str]) -> bool:
    """Whether these name columns: words, and not one of them twice."""
    names = [cell.casefold() for cell in cells if cell]
    are_words = all(len(name) <= _TITLE_CHARS_MAX and any(map(str.isalpha, name)) for name in names)
    return (
        len(names) > 1
        and are_words
        and len(set(names)) == len(names)
        and sum(bool(_DIGIT.search(n)) for n in names) * 2 < len(names)
    )


_CELL = regex(r"\S+(?:\s\S+)*")
_ROWS_MIN, _COLUMNS_MAX = 3, 20
# The first cell says what a row is about; where it is longer, a page is set in two columns.
_FIRST_CHARS_MEAN_MAX = 20
_TABLE_WORDS_MAX = 3_000
# Lines of which this share fills all columns are rows each; otherwise they are a row with cells of several lines.
_FULL_SHARE_MIN = 0.5
_LINE_CHARS_MAX, _STOPS = 100, (".", "!", "?", ":", ",", "-")


@dataclass(frozen=True, slots=True)
class _Cell:
    text: str
    start: int
    end: int


_Line = Sequence[_Cell]
_Group = Sequence[_Line]


def may_have_table(text: str) -> bool:
    """Whether some lines of a page's text, one after the other, are no sentences: only then are gaps worth a look."""
    run = 0
    for line in text.splitlines():
        run = run + 1 if line.strip() and len(line) <= _LINE_CHARS_MAX and not line.rstrip().endswith(_STOPS) else 0
        if run >= _ROWS_MIN:
            return True
    return False


def with_tables(text: str, laid_out: str) -> str:
    """The text of a page with its tables between bars; `laid_out` is the same with its gaps."""
    for rows in _tables(laid_out):
        words = " ".join(cell for row in rows for cell in row).split()
        if len(words) > _TABLE_WORDS_MAX:
            continue
        place = re.search(r"(?<!\S)" + r"\s{0,200}".join(map(re.escape, words)) + r"(?!\S)", text)
        if place is not None:
            table = "\n".join(table_lines(rows)).strip("\n")
            text = f"{text[: place.start()].rstrip()}\n\n{table}\n\n{text[place.end() :].lstrip()}".strip()
    return text


def _tables(laid_out: str) -> Iterator[list[list[str]]]:
    groups = [
        [[_Cell(match.group(), *match.span()) for match in _CELL.finditer(line)] for line in run]
        for has_words, run in groupby(laid_out.splitlines(), key=lambda line: bool(line.strip()))
        if has_words
    ]
    for is_table, run in groupby(groups, key=lambda group: any(len(line) > 1 for line in group)):
        if is_table and (rows := _rows(list(run))) is not None:
            yield rows


def _rows(groups: Sequence[_Group]) -> list[list[str]] | None:
    """The cells of each row; None where the columns overlap, or there are too few rows."""
    lines = [line for group in groups for line in group]
    count = max(len(line) for line in lines)
    full = [line for line in lines if len(line) == count]
    is_prose = sum(len(line[0].text) for line in full) > _FIRST_CHARS_MEAN_MAX * len(full)
    if count > _COLUMNS_MAX or len(full) < 2 or is_prose:
        return None
    spans = [(min(cell.start for cell in column), max(cell.end for cell in column)) for column in zip(*full, strict=True)]
    if any(left[1] > right[0] for left, right in pairwise(spans)):
        return None
    rows: list[list[str]] = []
    for group in groups:
        placed = [_placed(line, spans) for line in group]
        if any(cells is None for cells in placed):
            return None
        cells_of_lines = [cells for cells in placed if cells is not None]
        if sum(len(line) == count for line in group) >= _FULL_SHARE_MIN * len(group):
            for cells in cells_of_lines:
                # Without a first cell it goes on with the row above.
                rows.append(_merged([rows.pop(), cells]) if rows and not cells[0] else cells)
        else:
            rows.append(_merged(cells_of_lines))
    return rows if len(rows) >= _ROWS_MIN else None


def _placed(line: _Line, spans: Sequence[tuple[int, int]]) -> list[str] | None:
    """The cells of a line by their columns; None where one stands in no column, or two in the same."""
    cells = [""] * len(spans)
    for cell in line:
        columns = [number for number, (start, end) in enumerate(spans) if cell.start < end and start < cell.end]
        if len(columns) != 1 or cells[columns[0]]:
            return None
        cells[columns[0]] = cell.text
    return cells


def _merged(rows: Sequence[Sequence[str]]) -> list[str]:
    return [" ".join(filter(None, column)) for column in zip(*rows, strict=True)]

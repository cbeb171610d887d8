"""Separated values: lines with the same number of fields between commas, semicolons or tabs, as spreadsheets write them.

Prose has commas too, so the layout has to prove itself: as many fields in every line and no space behind the separator, or
else a header and a column of figures. Which lines belong together is the business of `blocks`.
"""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hive_mind.model.fact import Fact
from hive_mind.regex import regex
from hive_mind.remembered import remembered

_SEPARATORS = "\t;,|"
# Spreadsheets take it for their own and show it to nobody.
_SEPARATOR_NAMED = regex(r"sep=[\t;,|]")
# Two lines that happen to have as many commas are nothing unusual, unless the first names columns and the other has figures.
_LINES_MIN, _LINES_SURE = 2, 3
# The name of a column is a few words; what is longer is a value.
_NAME_CHARS_MAX = 40

_DIGIT = regex(r"\d")
_JOINT = regex(r"(?<=[^\W_])_(?=[^\W_])|(?<=[a-z])(?=[A-Z][a-z])")
_QUOTED = regex(r'"[^"]*"')
_FIGURE = regex(r"[^\w\s]{0,2}\d[\d.,:/%-]{0,40}(?:\s?\w{1,3})?")
_THOUSANDS = regex(r"(?<![\d,])\d{1,3}(?:,\d{3}){1,8}(?![\d,])")
_MARKED = regex(r"[-*+•▪◦>|]\s|#{1,6}\s|\d{1,3}[.)]\s|\|")
_STOPS = (".", "!", "?", "…", ":")


@dataclass(frozen=True, slots=True)
class TableRow:
    """One record: its line as it stands, with semicolons for tabs, and its fields."""

    text: str
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rows:
    """The records of a table. `header` is the line that names the columns, in words, or ""."""

    header: str
    rows: tuple[TableRow, ...]


@dataclass(frozen=True, slots=True)
class TableRecord:
    """A row as a memory keeps it: the header it stands under, and its fields."""

    header: str
    fields: tuple[str, ...]


def rows_of(lines: Sequence[str]) -> Rows | None:
    """Lines read as a table; None for anything else."""
    lines = lines[1:] if lines and _SEPARATOR_NAMED.fullmatch(lines[0]) else lines
    if len(lines) < _LINES_MIN or any(_MARKED.match(line) for line in lines):
        return None
    for separator in _SEPARATORS:
        rows = _records(lines, separator)
        if len(rows) >= _LINES_MIN and _is_table(rows, separator):
            header = _is_header(rows)
            if len(rows) < _LINES_SURE and not (header and _has_figures(rows) and f"{separator} " not in lines[0]):
                continue
            return Rows(_in_words(rows[0].text) if header else "", tuple(rows[header:]))
    return None


def is_table_row(fact: Fact) -> bool:
    """Whether a fact is a row of a markdown table under the titles of its columns."""
    return fact.content.startswith("| ") and fact.before.startswith("| ")


def heads_of(fact: Fact) -> str:
    """The names of the columns of a row; "" for any other fact."""
    return fact.before.removeprefix(f"{fact.speaker}: ") if is_table_row(fact) or record_of(fact) is not None else ""


def record_of(fact: Fact) -> TableRecord | None:
    """The record in a fact that was learned as a row under a header; None for any other fact."""
    content, header = (text.removeprefix(f"{fact.speaker}: ") for text in (fact.content, fact.before))
    return _record_of(header, content, fact.concept) if header and fact.concept else None


@remembered(256)
def _record_of(header: str, content: str, concept: str) -> TableRecord | None:
    for separator in ",;|":
        rows = _records([header, content], separator)
        if len(rows) == 2 and _is_header(rows) and rows[1].fields[0] == concept:
            return TableRecord(header, rows[1].fields) if _is_table(rows, separator) else None
    return None


def _records(lines: Sequence[str], separator: str) -> list[TableRow]:
    """The records of lines that have equally many fields, two at least, and say in the first what they are about."""
    if separator not in lines[0]:
        return []
    try:
        return list(_read(lines, separator))
    except (csv.Error, ValueError):
        return []


def _read(lines: Sequence[str], separator: str) -> Iterator[TableRow]:
    reader = csv.reader(lines, delimiter=separator, strict=True, skipinitialspace=separator != "\t")
    start = width = 0
    for row in reader:
        fields = tuple(field.strip() for field in row)
        width = width or len(fields)
        about = fields[0] if fields else ""
        if width < 2 or len(fields) != width or not any(map(str.isalnum, about)) or about.endswith(":") or ": " in about:
            raise ValueError("this line has other fields than the first")
        # A memory keeps a tab as a space, and fields have spaces of their own.
        text = _with_semicolons(fields) if separator == "\t" else " ".join(lines[start : reader.line_num]).strip()
        yield TableRow(text, fields)
        start = reader.line_num


def _with_semicolons(fields: Sequence[str]) -> str:
    line = io.StringIO()
    csv.writer(line, delimiter=";", lineterminator="").writerow(" ".join(field.split()) for field in fields)
    return line.getvalue()


def _is_table(rows: Sequence[TableRow], separator: str) -> bool:
    columns = list(zip(*(row.fields for row in rows), strict=True))
    if not all(any(column) for column in columns):
        return False
    if separator == "\t":
        return True
    if any(f"{separator} " in _QUOTED.sub('""', row.text) for row in rows):
        return _is_header(rows) and _has_figures(rows)
    return separator != "," or not all(_THOUSANDS.search(row.text) for row in rows)


def _is_header(rows: Sequence[TableRow]) -> bool:
    """Whether the first row names columns: its fields are there and differ. One of them may have a digit where figures follow."""
    first = rows[0]
    if first.text.endswith(_STOPS) or (_DIGIT.search(first.text) and not _has_figures(rows)):
        return False
    names = {name.casefold() for name in first.fields if 0 < len(name) <= _NAME_CHARS_MAX and not _FIGURE.match(name)}
    return len(names) == len(first.fields)


def _has_figures(rows: Sequence[TableRow]) -> bool:
    """Whether a column has figures alone below its name."""
    columns = zip(*(row.fields for row in rows), strict=True)
    return any(all(map(_FIGURE.fullmatch, column[1:])) and not _FIGURE.match(column[0]) for column in columns)


def _in_words(header: str) -> str:
    """`price_eur` and `unitPrice` as people would say them."""
    return _JOINT.sub(" ", header)

"""Separated values: lines with the same number of fields between commas, semicolons or tabs, as spreadsheets write them.

Tables that were set for print have gaps for tabs.

Prose has commas too, so the layout has to prove itself: as many fields in every line and no space behind the separator, or
else a header and a column of figures. Which lines belong together is the business of `blocks`.

Front matter: the block of keys at the top of a file, as site generators and note programs write it: YAML between dashes, TOML
between pluses, JSON in braces, and the fields of reStructuredText. Its keys are statements about what the file is titled. YAML
that a parser refuses is read line by line, as people read it; what is no list of keys is none.

Log lines: which lines a program wrote, the time in front, and the message behind it. A log is no conversation and no paragraph:
every line is a statement of its own, made at its own time. A line that a program marked (a level, the form of syslog) is a log
line wherever it stands; one with only a full time in front may also be chat, so `messages` is asked first.
"""

import csv
import io
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, islice, takewhile
from typing import Any

from hive_mind.cognition.temporal import normalised
from hive_mind.counted import whole_characters
from hive_mind.model.fact import Fact
from hive_mind.regex import regex
from hive_mind.remembered import remembered

_FENCES = {"---": ("---", "..."), "+++": ("+++",)}
_LINES_MAX, _CHARS_MAX = 200, 24_000
# Anchors can make a few lines as large as one likes.
_STATEMENTS_MAX, _DEPTH_MAX = 500, 8
_BRACKETS, _BRACKETS_MAX = {"[": 1, "{": 1, "]": -1, "}": -1}, 40
# About as long as a sentence may be.
_ENTRY_CHARS_MAX = 300
_KEY = regex(r"(?P<key>[^\W\d][\w .-]{0,60}?)\s{0,4}[:=](?:\s+(?P<value>.*))?")
_ITEM = regex(r"-\s+(?P<value>\S.*)")
_FIELD = regex(r":(?P<key>[^\W\d][\w -]{0,40}):\s+(?P<value>\S.*)")
_FIELDS_MIN = 2
NAMES = "title name service project component subject titel titre título titolo nombre nom nome id slug".split()
_MARKS = "\"'[]{}>| "


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """Statements of the form "key: value", the `title` they are about, or "", and how many lines of the text they take."""

    statements: tuple[str, ...]
    title: str
    lines: int


def front_matter(lines: Sequence[str]) -> FrontMatter | None:
    """The keys at the top of a text; None where it begins otherwise."""
    first = lines[0].rstrip() if lines else ""
    if ends := _FENCES.get(first):
        last = next((place for place, line in enumerate(lines[1 : _LINES_MAX + 1], 1) if line.rstrip() in ends), 0)
        fields, count = _parsed(lines[1:last], is_toml=first == "+++"), last + 1
    elif records := _json_lines(lines):
        return FrontMatter(tuple("; ".join(_statements(record, ())) for record in records), "", len(records))
    elif first.startswith("{"):
        fields, count = _of_json(lines)
    else:
        matches = [match for line in takewhile(_FIELD.fullmatch, lines[:_LINES_MAX]) if (match := _FIELD.fullmatch(line))]
        fields, count = {match["key"]: match["value"] for match in matches}, len(matches)
        if count < _FIELDS_MIN:
            return None
    statements = tuple(islice(_statements(fields, ()), _STATEMENTS_MAX))
    folded_values = {_text(key).casefold(): _text(value) for key, value in fields.items() if isinstance(value, str)}
    title = next((value for name in NAMES if (value := folded_values.get(name, ""))), "")
    return FrontMatter(statements, title, count) if statements else None


def _statements(value: Any, path: tuple[str, ...]) -> Iterator[str]:
    """Each value behind its keys; those of a list in one, and its entries, where they have keys, by the first of their values."""
    if len(path) > _DEPTH_MAX:
        return
    if isinstance(value, Mapping):
        for key, below in value.items():
            yield from _statements(below, (*path, _text(key)))
    elif isinstance(value, list) and any(isinstance(entry, Mapping | list) for entry in value):
        for entry in value:
            if isinstance(entry, Mapping) and (whole := _in_one(entry)):
                yield ": ".join((*path, whole))
                continue
            first = next(iter(entry.values()), "") if isinstance(entry, Mapping) else ""
            yield from _statements(entry, (*path, _text(first)) if first and not isinstance(first, Mapping | list) else path)
    elif text := ", ".join(filter(None, map(_text, value))) if isinstance(value, list) else _text(value):
        yield ": ".join((*path, text))


def _in_one(entry: Mapping[Any, Any]) -> str:
    """An entry of a list in one statement, where its values are plain and few: it is the towel that costs 6.4."""
    is_plain = not any(isinstance(value, Mapping | list) for value in entry.values())
    whole = "; ".join(_statements(entry, ())) if is_plain else ""
    return whole if len(whole) <= _ENTRY_CHARS_MAX else ""


def _text(value: object) -> str:
    """In one line. What escapes make is no text yet: halves of surrogate pairs."""
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else " ".join(whole_characters(str(value)).split())


def _parsed(lines: Sequence[str], *, is_toml: bool) -> Mapping[str, Any]:
    text = "\n".join(lines)
    if len(text) > _CHARS_MAX:
        return {}
    # At each bracket within brackets YAML goes through all keys that may yet come.
    if max(accumulate(_BRACKETS.get(sign, 0) for sign in text), default=0) > _BRACKETS_MAX:
        return _by_line(lines)
    # Most texts have none.
    import yaml

    try:
        fields = tomllib.loads(text) if is_toml else yaml.BaseLoader(text).get_single_data()
    except (yaml.YAMLError, ValueError, RecursionError):
        return _by_line(lines)
    return fields if isinstance(fields, dict) and all(isinstance(key, str) for key in fields) else {}


def _of_json(lines: Sequence[str]) -> tuple[Mapping[str, Any], int]:
    """The object at the top, and how many lines it takes."""
    text = "\n".join(lines[:_LINES_MAX])[:_CHARS_MAX]
    try:
        fields, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return {}, 0
    ends_line = text[end : end + 1] in ("", "\n")
    return (fields, text.count("\n", 0, end) + 1) if isinstance(fields, dict) and ends_line else ({}, 0)


def _json_lines(lines: Sequence[str]) -> list[Mapping[str, Any]]:
    """The objects that stand below each other, one a line, as programs write logs; none where it is one alone."""
    records: list[Mapping[str, Any]] = []
    for line in takewhile(lambda line: line.startswith("{"), lines):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            break
        records.append(record)
    return records if len(records) >= _LINES_MIN else []


def _by_line(lines: Sequence[str]) -> Mapping[str, Any]:
    """The keys that begin a line, each with what goes on with it; none where a line is neither."""
    fields: dict[str, list[str]] = {}
    values: list[str] | None = None
    for line in lines:
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        item = _ITEM.fullmatch(text)
        if (match := _KEY.fullmatch(text)) and not line[0].isspace():
            values = fields.setdefault(match["key"], [])
            values.append((match["value"] or "").strip(_MARKS))
        elif values is None or not (line[0].isspace() or item):
            return {}
        else:
            values.append((item["value"] if item else text).strip(_MARKS))
    return {key: ", ".join(filter(None, parts)) for key, parts in fields.items()}


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
_YEAR = regex(r"(?:19|20)\d\d")
_GAP, _BAR = regex(r"\s{2,}"), regex(r"[|+]")
# Below the titles of a table, as Markdown and the shells of databases have it.
_RULED = regex(r":?-{2,60}:?(?:\s?[|+]\s?:?-{2,60}:?){1,60}")
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


def rows_of(lines: Sequence[str]) -> Rows | None:
    """Lines read as a table; None for anything else."""
    lines = lines[1:] if lines and _SEPARATOR_NAMED.fullmatch(lines[0]) else lines
    if len(lines) < _LINES_MIN or any(_MARKED.match(line) for line in lines):
        return None
    for separator in (sign for sign in _SEPARATORS if sign in lines[0]):
        rows = _records(lines, separator)
        if len(rows) >= _LINES_MIN and _is_table(rows, separator):
            header = _is_header(rows)
            if len(rows) < _LINES_SURE and not (header and _has_figures(rows) and f"{separator} " not in lines[0]):
                continue
            return Rows(_JOINT.sub(" ", rows[0].text) if header else "", tuple(rows[header:]))
    return None


def with_tabs(lines: Sequence[str]) -> Iterator[str]:
    """The lines, with tabs for the gaps of tables, and those in paragraphs of their own."""
    runs = [(columns, list(run)) for columns, run in groupby(lines, key=_columns)]
    above: list[str] = []
    for columns, run in runs:
        # Of a column of names the title is left out more often than not.
        has_title = bool(above) and columns > 1 and above[-1][:1].isspace() and _columns(above[-1]) == columns - 1
        tabbed = [f"\t{_tabbed(line)}" for line in above[-1:] if has_title] + [_tabbed(line) for line in run]
        table = rows_of(tabbed) if len(tabbed) >= _LINES_SURE and columns > 1 else None
        if table is not None and (columns > 2 or (table.header and _FIGURE.fullmatch(table.rows[-1].fields[1]))):
            before = above[:-1] if has_title else above
            is_title = bool(before) and _columns(before[-1]) == 1 and not before[-1].rstrip().endswith(_STOPS)
            yield from (*before[:-1], f"###### {before[-1].strip()}") if is_title else before
            yield from ("", *tabbed, "")
            above = []
        else:
            yield from above
            above = run
    yield from above


def piped(lines: Sequence[str]) -> Iterator[str]:
    """The lines, with bars around the rows of tables that have bars between their cells alone."""
    width = 0
    for line, following in zip(lines, [*lines[1:], ""], strict=False):
        cells = line.count("|") + 1
        if _RULED.fullmatch(following.strip()) and cells == len(_BAR.split(following)) and not line.lstrip().startswith("|"):
            width = cells
        elif width not in (cells, len(_BAR.split(line))):
            width = 0
        yield f"| {line.strip()} |" if width else line


def _tabbed(line: str) -> str:
    return _GAP.sub("\t", line.strip())


def _columns(line: str) -> int:
    """The parts of a line with gaps between them; 0 where it is laid out in another way."""
    text = line.strip()
    return 0 if not text or _MARKED.match(text) or "\t" in text or "::" in text else len(_GAP.split(text))


def is_table_row(fact: Fact) -> bool:
    """Whether a fact is a row of a markdown table under the titles of its columns."""
    return fact.content.startswith("| ") and fact.before.startswith("| ")


def heads_of(fact: Fact) -> str:
    """The names of the columns of a row; "" for any other fact."""
    return fact.before.removeprefix(f"{fact.speaker}: ") if is_record(fact) else ""


def is_record(fact: Fact) -> bool:
    """Whether a fact is a row of a table, markdown or separated values."""
    return is_table_row(fact) or bool(fields_of(fact))


def fields_of(fact: Fact) -> dict[str, str]:
    """The fields of a row by the titles of their columns, in lower case; none for what is no row."""
    if is_table_row(fact):
        titles, values = ([cell.strip() for cell in text.strip().strip("|").split("|")] for text in (fact.before, fact.content))
        return dict(zip(map(str.casefold, titles), values, strict=True)) if len(titles) == len(values) else {}
    content, header = (text.removeprefix(f"{fact.speaker}: ") for text in (fact.content, fact.before))
    return dict(_record_of(header, content, fact.concept)) if header and fact.concept else {}


@remembered(256)
def _record_of(header: str, content: str, concept: str) -> tuple[tuple[str, str], ...]:
    for separator in (sign for sign in ",;|" if sign in header):
        rows = _records([header, content], separator)
        if len(rows) == 2 and _is_header(rows) and rows[1].fields[0] == concept:
            titles = map(str.casefold, rows[0].fields)
            return tuple(zip(titles, rows[1].fields, strict=True)) if _is_table(rows, separator) else ()
    return ()


def _records(lines: Sequence[str], separator: str) -> list[TableRow]:
    """The records of lines that have equally many fields, two at least, and say in the first what they are about."""
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
        is_unnamed = not any(map(str.isalnum, about)) and (about != "" or reader.line_num > 1)
        if width < 2 or len(fields) != width or is_unnamed or about.endswith(":") or ": " in about:
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
    titles = first.fields[not first.fields[0] :]
    names = {
        name.casefold()
        for name in titles
        if 0 < len(name) <= _NAME_CHARS_MAX and (not _FIGURE.match(name) or _YEAR.fullmatch(name))
    }
    return len(names) == len(titles) and not all(map(_YEAR.fullmatch, first.fields))


def _has_figures(rows: Sequence[TableRow]) -> bool:
    """Whether a column has figures alone below its name."""
    columns = zip(*(row.fields for row in rows), strict=True)
    return any(
        all(map(_FIGURE.fullmatch, column[1:])) and (not _FIGURE.match(column[0]) or _YEAR.fullmatch(column[0]))
        for column in columns
    )


# "Carson, R. (1962). Silent Spring. Boston: Houghton Mifflin."
REFERRED = regex(
    r"\A[^\W\d_][\w'’-]{0,40}(?:\s[\w'’-]{1,40})?,\s(?:[^\W\d_]\.[\s-]?){1,4}[^()]{0,200}\((?:1\d|20)\d\d[a-z]?\)\.\s"
)
_CLOCK = r"\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?"
_ZONE = r"(?:Z|[+-]\d{2}:?\d{2})?"
_FULL = rf"\d{{4}}[-/]\d{{2}}[-/]\d{{2}}[T ]{_CLOCK}{_ZONE}"
_MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_SYSLOG = rf"(?:{_MONTHS})[ ]{{1,2}}\d{{1,2}}[ ]\d{{2}}:\d{{2}}:\d{{2}}"
_LEVEL_NAME = r"(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERR(?:OR)?|CRIT(?:ICAL)?|FATAL|ALERT|EMERG|SEVERE|PANIC)"
_LEVEL = rf"(?:{_LEVEL_NAME}\b|(?i:[\[<]{_LEVEL_NAME}[\]>])):?"

# A thread or a logger: "[main] ", "app.store - ".
_ORIGIN = r"(?:\[[^\]\n]{1,60}\]|[\w.:/-]{1,60}\s-)\s"

_STAMPED = regex(
    rf"\[?(?P<stamp>{_FULL}|{_SYSLOG}|{_CLOCK})\]?\s{{1,8}}(?:-\s)?"
    rf"(?P<level>(?:{_ORIGIN})?{_LEVEL}\s{{0,8}}(?:-\s)?)?(?P<message>.*)",
    re.DOTALL,
)
_YEARLESS = regex(rf"(?P<day>(?:{_MONTHS})[ ]{{1,2}}\d{{1,2}})[ ](?P<clock>\d{{2}}:\d{{2}}:\d{{2}})")
# An access log has the client ahead of the time.
_ACCESS = regex(
    r"\S{1,80} \S{1,40} \S{1,80} \[(?P<day>\d{1,2}/[A-Z][a-z]{2}/\d{4}):(?P<clock>\d{2}:\d{2}:\d{2})\s?[^\]\s]{0,6}\] \""
)
_HAS_DAY = regex(rf"{_FULL}|{_SYSLOG}")


@dataclass(frozen=True, slots=True)
class LogLine:
    """`stamp` as it was written. `is_marked`: nothing but a program writes like this."""

    stamp: str
    message: str
    is_marked: bool


def log_line_of(line: str) -> LogLine | None:
    """The log line in a line of text, if it begins with a time as logs have it and says something behind it."""
    if access := _ACCESS.match(line):
        return LogLine(f"{access['day'].replace('/', ' ')} {access['clock']}", line, is_marked=True)
    match = _STAMPED.match(line)
    if match is None or not match["message"].strip():
        return None
    stamp, has_level = match["stamp"], match["level"] is not None
    # A clock alone stands in front of chat and of timetables.
    if not has_level and _HAS_DAY.fullmatch(stamp) is None:
        return None
    return LogLine(stamp, match["message"], has_level or _YEARLESS.fullmatch(stamp) is not None)


def message_of(text: str) -> str:
    """A text without the time and the level that a log line begins with; any other text as it is."""
    line = log_line_of(text)
    return text if line is None else line.message


def stamp_time(stamp: str, anchor: str) -> str:
    """When a stamp is, in ISO 8601; "" where it is not known. Syslog leaves out the year, which `anchor` has to tell."""
    yearless = _YEARLESS.fullmatch(stamp)
    if yearless is None:
        return normalised(stamp, anchor)
    day = normalised(" ".join(yearless["day"].split()), anchor)
    return f"{day}T{yearless['clock']}" if day else ""

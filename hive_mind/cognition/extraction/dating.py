"""Dating: when each block of a text was said, as far as the text itself tells.

A log has a date in every section, a letter one for the whole. So a date counts for the section it stands in and what is below,
and for the content where that section is all there is.

The order of day and month in the stamps of one text: "12/03/2025" alone may be two days, beside "13/03/2025" it is one.

Chat programs write all stamps in one order, so one that can be read in one way only tells how to read the others.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from hive_mind.cognition.extraction.blocks import Block, Layout
from hive_mind.cognition.extraction.separated import stamp_time
from hive_mind.cognition.iso import CLOCK_PATTERN, compiled, is_iso, time_of
from hive_mind.cognition.temporal import moments, normalised
from hive_mind.errors import InvalidInput
from hive_mind.model.bounds import shown_value
from hive_mind.model.content import Content
from hive_mind.regex import regex

# The date of a text is near its beginning, in a short line.
_DATE_LINES = 5
_DATE_LINE_CHARS_MAX = 80
# "Since 19 May 2016", "Due 5 March": when something holds, not when it was said.
_NOT_SAID_THEN = regex(
    r"[\W_]{0,8}(?:since|until|till|before|after|by|due|deadline|expires|valid|effective|seit|bis|ab|gültig|depuis|desde|hasta)\b",
    re.IGNORECASE,
)
_LABELS = frozenset(
    "date dated time when sent published created updated modified revised issued stand datum fecha data дата tarih".split()
)

_WHOLE = 0
"""The number of the section that is the whole text; headings are counted from 1."""

# "2026-02-03  Run 41.", "5 May – sowed the beans."
_ENTRY = regex(
    r"(?P<stamp>\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?)?(?=[\s:])|\d{1,2}[./]\d{1,2}[./](?:\d{4}|\d\d)(?=[\s:])|"
    r"\d{1,2}\.?\s[^\W\d_]{3,9}(?:\s\d{4})?(?=:|\s[-–—])|[A-Z][a-z]{2,8}\s\d{1,2}(?:,?\s\d{4})?(?=:|\s[-–—]))\s?[:–—-]?\s{1,4}(?=\S)"
)
# "Tue. Dentist at nine."
_WEEKDAY = regex(
    r"(?:(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?|Mo|Di|Mi|Do|Fr|Sa|So|(?:Mon|Diens|Donners|Frei|Sams|Sonn)tag|"
    r"Mittwoch)(?:[.:]|\s[-–—])\s{1,4}(?=\S)"
)
_ENTRIES_MIN = 2
_WRITTEN = (Layout.PROSE, Layout.ITEM)
_NAMED = regex(r"\A(?!\w{0,9}(?:day|tag|woch)\b)[\W_]{0,9}[^\W\d_]{2}")
_SPAN = regex(r"[(,]\s?(?:\w{3,9}\s)?(?:19|20)\d\d(?:\s?[-–—]\s?(?:\w{3,9}\s)?(?:\d{4}|[^\W\d_]{3,9}))?\)?\Z")
_ANY_DAY = "2000-01-01"
_MONTHS = 12
_STAMP = compiled(rf"(?P<one>\d{{1,2}})(?P<mark>[/.-])(?P<two>\d{{1,2}})(?P=mark)(?P<year>\d{{4}}|\d\d)(?:,? {CLOCK_PATTERN})?")


class DayOrder(Enum):
    """Which of the two comes first."""

    DAY = "day"
    MONTH = "month"


def day_order(stamps: Iterable[str]) -> DayOrder | None:
    """The order that all stamps allow and one of them demands; None where none demands any, or two demand different ones."""
    orders = set[DayOrder]()
    for match in filter(None, map(_match, stamps)):
        if match["mark"] == "." or (int(match["one"]) > _MONTHS and len(match["year"]) > 2):
            orders.add(DayOrder.DAY)
        elif int(match["two"]) > _MONTHS:
            orders.add(DayOrder.MONTH)
    return orders.pop() if len(orders) == 1 else None


def in_iso(stamp: str, order: DayOrder | None) -> str:
    """A stamp as ISO 8601, in this order; as it is where it is of another form or names no day."""
    match = _match(stamp) if order else None
    if match is None:
        return stamp
    first, second = int(match["one"]), int(match["two"])
    day, month = (first, second) if order is DayOrder.DAY else (second, first)
    # Chats with years of two digits are of this century.
    year = match["year"] if len(match["year"]) > 2 else f"20{match['year']}"
    day_text = f"{year}-{month:02d}-{day:02d}"
    iso = f"{day_text}T{time}" if (time := time_of(match)) else day_text
    return iso if is_iso(iso) else stamp


def refuse_no_time(said_at: str) -> None:
    """Raises `InvalidInput` for a time that nothing could be found by, or come after."""
    if said_at and not is_iso(normalised(said_at)):
        raise InvalidInput(f"`said_at` is a day or a time such as 2026-03-01 or 2026-03-01T14:30Z, not {shown_value(said_at)!r}")


def _match(stamp: str) -> re.Match[str] | None:
    return _STAMP.fullmatch(stamp.strip().replace("\N{NARROW NO-BREAK SPACE}", " "))


def with_entries(layout: Sequence[Block]) -> list[Block]:
    """The blocks: those of a diary stamped with the date in front of each, titles with a day or a span of years as statements.

    "Heron 5.0 — 18 May 2026" tells when, and "Field engineer, Aquaterra (2016-2021)" where somebody was.
    """
    entries = [_ENTRY.match(block.text) if block.layout in _WRITTEN and not block.stamp else None for block in layout]
    stamps = [entry["stamp"] if entry and normalised(entry["stamp"], _ANY_DAY) else "" for entry in entries]
    is_diary = sum(map(bool, stamps)) >= _ENTRIES_MIN
    blocks_told, numbers_seen = list[Block](), set[int]()
    for block, stamp in zip(layout, stamps, strict=True):
        for depth, heading in enumerate(block.headings):
            if heading.number not in numbers_seen and _NAMED.search(heading.title) and _dated_behind(heading.title):
                above = ": ".join(title.title for title in block.headings[:depth])
                blocks_told.append(Block(heading.title, Layout.RECORD, block.headings[: depth + 1], lead=above))
            numbers_seen.add(heading.number)
        blocks_told.append(replace(block, stamp=stamp) if stamp and is_diary else block)
    return blocks_told


def _dated_behind(title: str) -> bool:
    """Whether a day or a span of years stands behind a name, which it is of."""
    if _SPAN.search(title):
        return True
    dates = moments(title)
    text, day = title.rstrip(") "), dates[-1].text if dates else ""
    is_apart = day != "" and text.endswith(day) and text[: -len(day)].rstrip().endswith(("—", "–", "-", "(", ","))
    return is_apart and len(normalised(day)) >= len(_ANY_DAY)


def is_entry(block: Block) -> bool:
    """Whether a block is what a diary says of a day, which stays together as what somebody says."""
    return block.layout in _WRITTEN and (block.stamp != "" or _WEEKDAY.match(block.text) is not None)


@dataclass(frozen=True, slots=True)
class Dates:
    """`said_at` is the content's own time. Times are ISO 8601, or "" where nothing tells. `order`: of day and month in stamps."""

    said_at: str
    sections: dict[int, str] = field(default_factory=dict)
    order: DayOrder | None = None

    def of(self, block: Block) -> str:
        """When a block was said: by the time in front of it, else by the innermost section that has a date."""
        numbers = (heading.number for heading in reversed(block.headings))
        dated = next((self.sections[number] for number in numbers if number in self.sections), self.said_at)
        return (block.stamp and stamp_time(in_iso(block.stamp, self.order), dated)) or dated


def dates_of(content: Content, layout: Sequence[Block]) -> Dates:
    """The dates of a content's sections. The time that the content was given counts for all of it, but not for a part that has
    its own.
    """
    order = day_order(block.stamp for block in layout if block.stamp)
    # Those that every block stands in are of the whole.
    numbers = [{heading.number for heading in block.headings} for block in layout]
    sections_of_whole = {_WHOLE}.union(set.intersection(*numbers) if numbers else ())
    headings = {heading.number: heading.title for block in layout for heading in block.headings}
    sections = {number: stamp for number, title in headings.items() if _is_dated(title) and (stamp := normalised(title))}
    lines_read = Counter[int]()
    for block in layout:
        number = block.headings[-1].number if block.headings else _WHOLE
        lines_read[number] += 1
        may_date = block.layout is Layout.PROSE and len(block.text) <= _DATE_LINE_CHARS_MAX and lines_read[number] <= _DATE_LINES
        if may_date and number not in sections and _is_date_line(block.text) and (stamp := normalised(block.text)):
            sections[number] = stamp
    parts = {number: stamp for number, stamp in sections.items() if number not in sections_of_whole}
    if content.said_at:
        return Dates(normalised(content.said_at), parts, order)
    titles = (
        content.title,
        *(heading.title for block in layout[:1] for heading in block.headings if heading.number in sections_of_whole),
    )
    stamps = (in_iso(block.stamp, order) for block in layout[:1] if block.stamp)
    stamps_of_parts = (
        *(normalised(title) for title in titles if title and not _NOT_SAID_THEN.match(title)),
        *(sections.get(number, "") for number in sorted(sections_of_whole)),
        *map(normalised, stamps),
    )
    return Dates(next(filter(None, stamps_of_parts), ""), parts, order)


def _is_dated(title: str) -> bool:
    """ "2024-03-05 Stand-up", "Tuesday, 5 March 2024" and "2.1.0 (2024-03-05)"; "Changes since March 2024" only mentions one."""
    return (
        _is_date_line(title)
        or any(title.startswith(moment.text) for moment in moments(title))
        or (_SPAN.search(title) is None and _dated_behind(title))
    )


def _is_date_line(line: str) -> bool:
    """ "Date: 5 March 2024", or a date and nothing else; not a sentence that mentions one."""
    label, colon, rest = line.partition(":")
    if colon and not any(map(str.isdigit, label)):
        # Of another field it is the day of what that names: "DOB: 1961-09-30".
        return not _LABELS.isdisjoint(label.lower().split()[-1:]) and bool(rest.strip())
    return not _NOT_SAID_THEN.match(line) and any(len(moment.text) * 2 >= len(line) for moment in moments(line))

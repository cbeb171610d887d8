"""The order of day and month in the stamps of one text: "12/03/2025" alone may be two days, beside "13/03/2025" it is one.

Chat programs write all stamps in one order, so one that can be read in one way only tells how to read the others.
"""

import re
from collections.abc import Iterable
from enum import Enum

from hive_mind.cognition.dates.date_rules import CLOCK_PATTERN, compiled, time_of
from hive_mind.cognition.dates.iso import is_iso

_MONTHS = 12
_STAMP = compiled(rf"(?P<one>\d{{1,2}})(?P<mark>[/.-])(?P<two>\d{{1,2}})(?P=mark)(?P<year>\d{{4}}|\d\d)(?:,? {CLOCK_PATTERN})?")


class DayOrder(Enum):
    """Which of the two comes first."""

    DAY = "day"
    MONTH = "month"


def day_order(stamps: Iterable[str]) -> DayOrder | None:
    """The order that all stamps allow and one of them demands; None where none demands any, or two demand different ones."""
    found = set[DayOrder]()
    for match in filter(None, map(_match, stamps)):
        if match["mark"] == "." or (int(match["one"]) > _MONTHS and len(match["year"]) > 2):
            found.add(DayOrder.DAY)
        elif int(match["two"]) > _MONTHS:
            found.add(DayOrder.MONTH)
    return found.pop() if len(found) == 1 else None


def in_iso(stamp: str, order: DayOrder | None) -> str:
    """A stamp as ISO 8601, in this order; as it is where it is of another form or names no day."""
    match = _match(stamp) if order else None
    if match is None:
        return stamp
    one, two = int(match["one"]), int(match["two"])
    day, month = (one, two) if order is DayOrder.DAY else (two, one)
    # Chats with years of two digits are of this century.
    year = match["year"] if len(match["year"]) > 2 else f"20{match['year']}"
    written = f"{year}-{month:02d}-{day:02d}"
    told = f"{written}T{time}" if (time := time_of(match)) else written
    return told if is_iso(told) else stamp


def _match(stamp: str) -> re.Match[str] | None:
    return _STAMP.fullmatch(stamp.strip().replace("\N{NARROW NO-BREAK SPACE}", " "))

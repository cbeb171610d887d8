"""Aggregations: how many facts there are about something, which they are, and which is the latest or the earliest.

A search gives the best few; an aggregation looks at all. It is made of rows of 24 bytes, a moment and an id, ordered as bytes as
they are in time: they add up over members without counting anything twice.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from hive_mind.model.fact import Fact
from hive_mind.model.query import LIMIT
from hive_mind.regex import regex
from hive_mind.remembered import remembered

Kind = Literal["count", "list", "latest", "earliest"]
KINDS: tuple[Kind, ...] = get_args(Kind)

ROW_BYTES = 24
"""Of a fact in a tally: 8 for when it was said, 16 for its id."""
# Far more than any calendar has, before and after 1970.
_ZERO_MS = 1 << 62


@dataclass(frozen=True, slots=True)
class Aggregation:
    """The request about facts on something ("" for all): their number, or the first `limit` in the order of `kind`.

    A list begins with the latest.
    """

    kind: Kind = "count"
    about: str = ""
    limit: int = LIMIT


@dataclass(frozen=True, slots=True)
class Aggregated:
    """`count` is exact for the share of the hive that answered, which is `completeness`; `silent` are members that did not."""

    wanted: Aggregation
    count: int
    facts: tuple[Fact, ...] = ()
    completeness: float = 1.0
    silent: tuple[str, ...] = ()


def moment_ms(said_at: str, otherwise_ms: int) -> int:
    """When a fact was said, in ms since 1970 UTC: the beginning of what `said_at` (ISO 8601) names, or else `otherwise_ms`."""
    said_ms = _said_ms(said_at)
    return otherwise_ms if said_ms is None else said_ms


def is_time(text: str) -> bool:
    """Whether it is a time, a day, a week, a month or a year of ISO 8601, or a span from one to another."""
    ends = text.split("/")
    return len(ends) <= 2 and all(_said_ms(end) is not None for end in ends)


def row(moment: int, fact_id: str) -> bytes:
    """A fact of a tally. Raises `ValueError` for what is no id."""
    packed = (moment + _ZERO_MS).to_bytes(8, "big") + bytes.fromhex(fact_id)
    if len(packed) != ROW_BYTES:
        raise ValueError(f"an id has 32 hexadecimal digits, not {fact_id[:40]!r}")
    return packed


def rows_in(packed: bytes) -> Iterator[tuple[str, int]]:
    for start in range(0, len(packed), ROW_BYTES):
        yield packed[start + 8 : start + ROW_BYTES].hex(), int.from_bytes(packed[start : start + 8], "big") - _ZERO_MS


def in_order(moments: Mapping[str, int], kind: Kind) -> list[str]:
    """Ids in the order of a kind; of the same moment the greater id is the later one."""
    return sorted(moments, key=lambda moment: (moments[moment], moment), reverse=kind != "earliest")


def earliest_of(found: Iterable[tuple[str, int]]) -> dict[str, int]:
    """The moment of each id: the earliest of several."""
    moments: dict[str, int] = {}
    for id, moment in found:
        moments[id] = min(moment, moments.get(id, moment))
    return moments


# Of a conversation or a file most facts are of the same moment.
@remembered(4096)
def _said_ms(said_at: str) -> int | None:
    first = said_at.partition("/")[0].strip()
    if week := _WEEK.fullmatch(first):
        fourth = _days(int(week["year"]), 1, 4)
        # The first week of a year is that of 4 January. 1 January 1970 was a Thursday.
        return (fourth - (fourth + 3) % 7 + 7 * (int(week["week"]) - 1)) * DAY_MS if 1 <= int(week["week"]) <= 53 else None
    if (match := _POINT.fullmatch(first)) is None:
        return None
    year, month, day = int(match["year"]), int(match["month"] or 1), int(match["day"] or 1)
    if not (1 <= month <= 12 and 1 <= day <= _days(year + month // 12, month % 12 + 1, 1) - _days(year, month, 1)):
        return None
    hours, minutes, seconds = (int(match[name] or 0) for name in ("hour", "minute", "second"))
    offset_minutes = (
        int(f"{match['sign']}1") * (int(match["away"]) * 60 + int(match["away_minutes"] or 0)) if match["sign"] else 0
    )
    return _days(year, month, day) * DAY_MS + ((hours * 60 + minutes - offset_minutes) * 60 + seconds) * 1000


def _days(year: int, month: int, day: int) -> int:
    """Days since 1 January 1970, in the Gregorian calendar. Years are counted from March, so that a leap day ends one."""
    year, month = (year, month - 3) if month > 2 else (year - 1, month + 9)
    return 365 * year + year // 4 - year // 100 + year // 400 + (153 * month + 2) // 5 + day - 1 - _DAYS_BEFORE_1970


_POINT = regex(
    r"(?P<year>\d{4})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d)"
    r"(?:[T ](?P<hour>[01]\d|2[0-3]):(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d)(?:\.\d{1,9})?)?"
    r"(?:Z|(?P<sign>[+-])(?P<away>\d\d):?(?P<away_minutes>\d\d)?)?)?)?)?",
    re.ASCII,
)
_WEEK = regex(r"(?P<year>\d{4})-W(?P<week>\d\d)(?:-[1-7])?", re.ASCII)
DAY_MS = 86_400_000
_DAYS_BEFORE_1970 = 719_468


@dataclass(frozen=True, slots=True)
class MemoryStatistics:
    """Counts of what a memory holds. `embedding` names the model in use, "" for keyword search only.

    `without_vector` counts current facts that only keywords can find although there is a model.
    """

    facts: int
    superseded: int
    retracted: int
    confirmed: int
    episodes: int
    entities: int
    sources: int
    vectors: int
    without_vector: int
    embedding: str
    dimension: int
    concepts: tuple[tuple[str, int], ...] = field(default=())
    """The most frequent concepts and how many current facts each has."""

"""ISO 8601 as this package writes it: points as precise as they are known, and spans as "first/last".

Reads and writes the forms, and finds dates that say themselves when they are ("8 May 2023", "Q3 2024", "in 2019"): one rule per
way of writing. Numbers with slashes are taken only when there is one way to read them. `temporal` has those that need the time
of saying.

Month names, clocks and numbers are words that all rules about dates share. A rule is a pattern and a function that computes what
a match means. The function returns None where the words could mean two things; where there is no such day or the year leaves
1–9999 the calendar raises, and `value_of` makes that None as well.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal

from hive_mind.regex import regex

Grain = Literal["time", "day", "weekend", "range", "week", "month", "quarter", "year"]
Value = tuple[str, Grain]

TIME_PATTERN = r"(?P<time>\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)"

_POINT = regex(rf"(?P<year>\d{{4}})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d)(?:[T ]{TIME_PATTERN})?)?)?", re.ASCII)
_SECONDS = regex(r"(?<=\d\d:\d\d):\d{2}(?:\.\d{1,9})?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
_WEEK = regex(r"(\d{4})-W(\d\d)(?:-([1-7]))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Anchor:
    """When a text was said: its first day, and how precisely that is known. `clock` is None unless a time was given."""

    day: date
    grain: Literal["time", "day", "month", "year"]
    clock: datetime | None = None

    @property
    def knows_day(self) -> bool:
        """Whether it is precise enough to resolve "yesterday"."""
        return self.grain in ("time", "day")


def is_iso(text: str) -> bool:
    """Whether the whole text is one of the forms of ISO 8601 that this package writes."""
    first, slash, last = text.partition("/")
    # With a space instead of the T it can be read, but it is not ISO 8601.
    return " " not in text and _is_point(first) and (not slash or _is_point(last))


def anchor_of(text: str) -> Anchor | None:
    """The anchor an ISO 8601 time stands for; None for spans, weeks and anything else."""
    match = _POINT.fullmatch(text)
    if match is None:
        return None
    try:
        day = date(int(match["year"]), int(match["month"] or 1), int(match["day"] or 1))
        clock = datetime.fromisoformat(f"{day.isoformat()}T{match['time']}") if match["time"] else None
    except ValueError:
        return None
    return Anchor(day, "time" if clock else "day" if match["day"] else "month" if match["month"] else "year", clock)


def end_us(text: str) -> int | None:
    """When a time, a day, a month or a year is over, in microseconds since 1970-01-01 UTC; None for anything else.

    Where no offset is given it is UTC. A time is over at once.
    """
    if (anchor := anchor_of(text)) is None:
        return None
    try:
        clock = anchor.clock or datetime.combine(_day_after(anchor), time.min)
    except (ValueError, OverflowError):
        # The last year that there is.
        return None
    moment = clock if clock.tzinfo else clock.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(microseconds=1) - (anchor.clock is None)


def _day_after(anchor: Anchor) -> date:
    match anchor.grain:
        case "year":
            return date(anchor.day.year + 1, 1, 1)
        case "month":
            return (anchor.day + timedelta(days=31)).replace(day=1)
        case _:
            return anchor.day + timedelta(days=1)


def readable(text: str) -> str:
    """ "2025-01-13T09:25" as people write it, "13 Jan 2025, 09:25"; spans, weeks and any other text as they are."""
    anchor, match = anchor_of(text), _POINT.fullmatch(text)
    if anchor is None or match is None or anchor.grain == "year":
        return text
    month = f"{_MONTHS[anchor.day.month - 1]} {match['year']}"
    day = f"{anchor.day.day} {month}" if anchor.knows_day else month
    # Seconds are of no use to a reader; an offset from UTC is.
    return f"{day}, {_SECONDS.sub('', match['time'])}" if match["time"] else day


def written_day(day: date) -> Value:
    """As "2023-05-08"."""
    return day.isoformat(), "day"


def written_week(day: date) -> Value:
    """The week a day lies in, as "2023-W19"."""
    year, week, _ = day.isocalendar()
    return f"{year:04d}-W{week:02d}", "week"


def written_weekend(saturday: date) -> Value:
    """As "2023-05-06/2023-05-07"."""
    return f"{saturday.isoformat()}/{(saturday + timedelta(days=1)).isoformat()}", "weekend"


def written_month(day: date) -> Value:
    """The month a day lies in, as "2023-05"."""
    return f"{day.year:04d}-{day.month:02d}", "month"


def written_quarter(year: int, number: int) -> Value:
    """As "2024-07/2024-09": ISO 8601 knows no quarters."""
    first, last = date(year, 3 * number - 2, 1), date(year, 3 * number, 1)
    return f"{written_month(first)[0]}/{written_month(last)[0]}", "quarter"


def written_year(year: int) -> Value:
    """As "2023". Raises `ValueError` outside of 1–9999."""
    return f"{date(year, 1, 1).year:04d}", "year"


def _is_point(text: str) -> bool:
    if anchor_of(text) is not None:
        return True
    week = _WEEK.fullmatch(text)
    try:
        return week is not None and bool(date.fromisocalendar(int(week[1]), int(week[2]), int(week[3] or 1)))
    except ValueError:
        return False


MONTH_PATTERN = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
DAY_PATTERN = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
CLOCK_PATTERN = r"(?P<hour>\d{1,2})(?::(?P<minute>\d{2})(?::\d{2})?)?(?: ?(?P<half>[ap]\.?m\b\.?))?"

_NOWHEN = Anchor(date(1, 1, 1), "year")


@dataclass(frozen=True, slots=True)
class Rule:
    """`meaning` sees the match and the anchor; the anchor means something only to a rule that `is_relative`."""

    pattern: re.Pattern[str]
    meaning: Callable[[re.Match[str], Anchor], Value | None]
    is_relative: bool = False


def value_of(rule: Rule, match: re.Match[str], anchor: Anchor | None) -> Value | None:
    """The value of a match, or None. Never raises."""
    if rule.is_relative and anchor is None:
        return None
    try:
        return rule.meaning(match, anchor or _NOWHEN)
    except (ValueError, OverflowError):
        return None


def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern that ignores case; a space in it stands for any white space.

    ASCII only: otherwise the long s of old prints matches "s", and digits of other scripts match, which no table knows.
    """
    return regex(pattern.replace(" ", r"\s"), re.ASCII | re.IGNORECASE)


MONTH = compiled(rf"\b{MONTH_PATTERN}")


def month_number(name: str) -> int:
    """1 for "January", "jan" …"""
    return _MONTHS.index(name[:3].capitalize()) + 1


def time_of(match: re.Match[str]) -> str:
    """ "hh:mm" of a match of `CLOCK_PATTERN`, or "" where there is no such time ("25:00", a bare "8")."""
    if match["hour"] is None:
        return ""
    hour, minute, half = int(match["hour"]), int(match["minute"] or 0), (match["half"] or "").lower()[:1]
    if half:
        if not 1 <= hour <= 12:
            return ""
        hour = hour % 12 + (12 if half == "p" else 0)
    elif match["minute"] is None:
        return ""
    return f"{hour:02d}:{minute:02d}" if hour < 24 and minute < 60 else ""


_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "1st": 1, "2nd": 2, "3rd": 3, "4th": 4}
_YEAR = r"(?P<year>\d{4})"
_DAY_FIRST = rf"{DAY_PATTERN}(?: of)? {MONTH_PATTERN},? {_YEAR}"
# Behind a day only: "Mars 2020" is a rover. English names, and those that look like them, stand in `MONTH_PATTERN`.
_MONTHS_ABROAD = {
    "januar jänner janvier enero gennaio janeiro januari": 1,
    "februar février febrero febbraio fevereiro februari": 2,
    "märz mars marzo março maart mrz": 3,
    "avril abril aprile": 4,
    "mai mayo maggio maio mei": 5,
    "juni juin junio giugno junho": 6,
    "juli juillet julio luglio julho": 7,
    "août agosto augustus augusti": 8,
    "septembre septiembre settembre setembro": 9,
    "oktober octobre octubre ottobre outubro okt": 10,
    "novembre noviembre novembro": 11,
    "dezember décembre diciembre dicembre dezembro desember dez": 12,
}
_MONTH_ABROAD = {name: number for names, number in _MONTHS_ABROAD.items() for name in names.split()}
_DAY_ABROAD = rf"(?P<day>\d{{1,2}})(?:\.|er|º)? (?:de )?(?P<month>{'|'.join(_MONTH_ABROAD)})\.?(?: de)?,? {_YEAR}"
_MONTH_FIRST = rf"{MONTH_PATTERN} {DAY_PATTERN},? {_YEAR}"


def _iso_day(match: re.Match[str], _: Anchor) -> Value:
    day = written_day(date(int(match["year"]), int(match["month"]), int(match["day"])))
    if not match["time"]:
        return day
    stamp = f"{day[0]}T{match['time']}"
    datetime.fromisoformat(stamp)
    return stamp, "time"


def _iso_month(match: re.Match[str], _: Anchor) -> Value:
    return written_month(date(int(match["year"]), int(match["month"]), 1))


def _iso_week(match: re.Match[str], _: Anchor) -> Value:
    return written_week(date.fromisocalendar(int(match["year"]), int(match["week"]), 1))


def _day(match: re.Match[str], _: Anchor) -> Value:
    return written_day(date(int(match["year"]), month_number(match["month"]), int(match["day"])))


def _day_with_clock(match: re.Match[str], anchor: Anchor) -> Value:
    day, time = _day(match, anchor), time_of(match)
    return (f"{day[0]}T{time}", "time") if time else day


def _day_abroad(match: re.Match[str], _: Anchor) -> Value:
    day = written_day(date(int(match["year"]), _MONTH_ABROAD[match["month"].lower()], int(match["day"])))
    time = time_of(match)
    return (f"{day[0]}T{time}", "time") if time else day


def _days(match: re.Match[str], _: Anchor) -> Value | None:
    year, month = int(match["year"]), month_number(match["month"])
    first, last = date(year, month, int(match["day"])), date(year, month, int(match["last"]))
    return (f"{first.isoformat()}/{last.isoformat()}", "range") if first < last else None


def _month(match: re.Match[str], _: Anchor) -> Value:
    return written_month(date(int(match["year"]), month_number(match["month"]), 1))


def _quarter(match: re.Match[str], _: Anchor) -> Value:
    number = match["number"].lower()
    return written_quarter(int(match["year"]), _ORDINALS.get(number) or int(number))


def _year(match: re.Match[str], _: Anchor) -> Value:
    return written_year(int(match["year"]))


def _numbers(match: re.Match[str], _: Anchor) -> Value | None:
    first, second, year = int(match["one"]), int(match["two"]), int(match["year"])
    if match["mark"] == ".":
        # With dots the day comes first wherever such dates are written.
        return written_day(date(year, second, first))
    if first != second and max(first, second) <= 12:
        return None
    return written_day(date(year, min(first, second), max(first, second)))


_NUMERIC = (
    Rule(compiled(rf"\b{_YEAR}[-/](?P<month>\d\d)[-/](?P<day>\d\d)(?!\d)(?:[T ]{TIME_PATTERN})?"), _iso_day),
    Rule(compiled(rf"\b{_YEAR}-(?P<month>\d\d)\b(?![-/\d])"), _iso_month),
    Rule(compiled(rf"\b{_YEAR}-W(?P<week>\d\d)\b"), _iso_week),
    Rule(compiled(r"\b(?P<one>\d{1,2})(?P<mark>[./])(?P<two>\d{1,2})(?P=mark)(?P<year>\d{4})\b"), _numbers),
)
_WITH_MONTH = (
    Rule(compiled(rf"\b{_DAY_FIRST}\b(?:,? (?:at )?{CLOCK_PATTERN})?"), _day_with_clock),
    Rule(compiled(rf"\b{_MONTH_FIRST}\b(?:,? (?:at )?{CLOCK_PATTERN})?"), _day_with_clock),
    Rule(compiled(rf"\b{CLOCK_PATTERN},? (?:on )?(?:the )?{_DAY_FIRST}\b"), _day_with_clock),
    Rule(compiled(rf"\b{CLOCK_PATTERN},? (?:on )?{_MONTH_FIRST}\b"), _day_with_clock),
    Rule(compiled(rf"\b{DAY_PATTERN} ?[-–] ?(?P<last>\d{{1,2}})(?:st|nd|rd|th)? {MONTH_PATTERN},? {_YEAR}\b"), _days),
    Rule(compiled(rf"\b{MONTH_PATTERN} {DAY_PATTERN} ?[-–] ?(?P<last>\d{{1,2}})(?:st|nd|rd|th)?,? {_YEAR}\b"), _days),
    Rule(compiled(rf"\b{MONTH_PATTERN},?(?: of)? {_YEAR}\b"), _month),
)
_ABROAD = (
    Rule(compiled(rf"\b{_DAY_ABROAD}\b(?:,? (?:(?:um|at|om|kl\.?|alle ore|alle|à|a las|às) )?{CLOCK_PATTERN})?"), _day_abroad),
)
_QUARTERS = (
    Rule(compiled(rf"\bQ(?P<number>[1-4])(?: of| in)?[ -]?{_YEAR}\b"), _quarter),
    Rule(compiled(rf"\b{_YEAR}[ -]?Q(?P<number>[1-4])\b"), _quarter),
    Rule(compiled(rf"\b(?P<number>{'|'.join(_ORDINALS)}) quarter(?: of| in)? {_YEAR}\b"), _quarter),
)
_BARE = (
    # A bare number is a year only where the words around it say so; "2000 users" is none.
    Rule(compiled(r"\b(?:in|since|until|till|during|year|early|late|mid) (?P<year>(?:19|20)\d\d)\b(?![.,:-]\d)"), _year),
)
_FOUR_DIGITS = compiled(r"\d{4}")
# All rules of a kind need these: a text without them needs no look for each rule.
RULES = (
    ((compiled(r"\d{4}[-/]|[./]\d{4}"),), _NUMERIC),
    ((_FOUR_DIGITS, MONTH), _WITH_MONTH),
    ((_FOUR_DIGITS, compiled(rf"\d(?:\.|er|º)? (?:de )?(?:{'|'.join(_MONTH_ABROAD)})\b")), _ABROAD),
    ((_FOUR_DIGITS, compiled(r"Q[1-4]|quarter")), _QUARTERS),
    ((compiled(r" (?:19|20)\d\d\b"),), _BARE),
)

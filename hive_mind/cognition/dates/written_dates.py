"""Dates that say themselves when they are: "8 May 2023", "2024-03-05 10:22", "Q3 2024", "in 2019".

One rule per way of writing. Numbers with slashes are taken only when there is one way to read them.
"""

import re
from datetime import date, datetime

from hive_mind.cognition.dates import iso
from hive_mind.cognition.dates.iso import (
    CLOCK_PATTERN,
    DAY_PATTERN,
    MONTH,
    MONTH_PATTERN,
    Anchor,
    Rule,
    Value,
    compiled,
    month_number,
    time_of,
)

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
    day = iso.written_day(date(int(match["year"]), int(match["month"]), int(match["day"])))
    if not match["time"]:
        return day
    stamp = f"{day[0]}T{match['time']}"
    datetime.fromisoformat(stamp)
    return stamp, "time"


def _iso_month(match: re.Match[str], _: Anchor) -> Value:
    return iso.written_month(date(int(match["year"]), int(match["month"]), 1))


def _iso_week(match: re.Match[str], _: Anchor) -> Value:
    return iso.written_week(date.fromisocalendar(int(match["year"]), int(match["week"]), 1))


def _day(match: re.Match[str], _: Anchor) -> Value:
    return iso.written_day(date(int(match["year"]), month_number(match["month"]), int(match["day"])))


def _day_with_clock(match: re.Match[str], anchor: Anchor) -> Value:
    day, time = _day(match, anchor), time_of(match)
    return (f"{day[0]}T{time}", "time") if time else day


def _day_abroad(match: re.Match[str], _: Anchor) -> Value:
    day = iso.written_day(date(int(match["year"]), _MONTH_ABROAD[match["month"].lower()], int(match["day"])))
    time = time_of(match)
    return (f"{day[0]}T{time}", "time") if time else day


def _days(match: re.Match[str], _: Anchor) -> Value | None:
    year, month = int(match["year"]), month_number(match["month"])
    first, last = date(year, month, int(match["day"])), date(year, month, int(match["last"]))
    return (f"{first.isoformat()}/{last.isoformat()}", "range") if first < last else None


def _month(match: re.Match[str], _: Anchor) -> Value:
    return iso.written_month(date(int(match["year"]), month_number(match["month"]), 1))


def _quarter(match: re.Match[str], _: Anchor) -> Value:
    number = match["number"].lower()
    return iso.written_quarter(int(match["year"]), _ORDINALS.get(number) or int(number))


def _year(match: re.Match[str], _: Anchor) -> Value:
    return iso.written_year(int(match["year"]))


def _numbers(match: re.Match[str], _: Anchor) -> Value | None:
    first, second, year = int(match["one"]), int(match["two"]), int(match["year"])
    if match["mark"] == ".":
        # With dots the day comes first wherever such dates are written.
        return iso.written_day(date(year, second, first))
    if first != second and max(first, second) <= 12:
        return None
    return iso.written_day(date(year, min(first, second), max(first, second)))


_NUMERIC = (
    Rule(compiled(rf"\b{_YEAR}[-/](?P<month>\d\d)[-/](?P<day>\d\d)(?!\d)(?:[T ]{iso.TIME_PATTERN})?"), _iso_day),
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

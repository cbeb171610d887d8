"""What a rule about dates is, and the words both kinds of rules share: month names, clocks, numbers.

A rule is a pattern and a function that computes what a match means. The function returns None where the words could mean two
things; where there is no such day or the year leaves 1–9999 the calendar raises, and `value_of` makes that None as well.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

from hive_mind.cognition.dates.iso import Anchor, Value
from hive_mind.regex import regex

MONTH_PATTERN = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
DAY_PATTERN = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
CLOCK_PATTERN = r"(?P<hour>\d{1,2})(?::(?P<minute>\d{2})(?::\d{2})?)?(?: ?(?P<half>[ap]\.?m\b\.?))?"

_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_NOWHEN = Anchor(date(1, 1, 1), "year")


@dataclass(frozen=True, slots=True)
class Rule:
    """`meaning` sees the match and the anchor; the anchor means something only to a rule that `is_relative`."""

    pattern: re.Pattern[str]
    meaning: Callable[[re.Match[str], Anchor], Value | None]
    is_relative: bool = False


def value_of(rule: Rule, match: re.Match[str], anchor: Anchor | None) -> Value | None:
    """What a match means, or None. Never raises."""
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


def month_number(name: str) -> int:
    """1 for "January", "jan" …"""
    return _MONTHS.index(name[:3].lower()) + 1


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

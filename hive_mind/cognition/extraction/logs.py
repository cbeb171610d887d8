"""Log lines: which lines a program wrote, the time in front, and the message behind it.

A log is no conversation and no paragraph: every line is a statement of its own, made at its own time. A line that a program
marked (a level, the form of syslog) is a log line wherever it stands; one with only a full time in front may also be chat, so
`messages` is asked first.
"""

import re
from dataclasses import dataclass

from hive_mind.cognition.temporal import normalised
from hive_mind.regex import regex

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
_HAS_DAY = regex(rf"{_FULL}|{_SYSLOG}")


@dataclass(frozen=True, slots=True)
class LogLine:
    """`stamp` as it was written. `is_marked`: nothing but a program writes like this."""

    stamp: str
    message: str
    is_marked: bool


def log_line_of(line: str) -> LogLine | None:
    """The log line in a line of text, if it begins with a time as logs have it and says something behind it."""
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

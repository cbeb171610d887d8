"""Points in time that a text names, written in ISO 8601 and as precisely as the text is.

"Yesterday" means something only against the time the text itself was said, so that time is an argument. A text that
could mean two things ("next Friday" said on a Monday, 03/04/2024) is left out: a missing date does less harm than a wrong one.
Any string is fine.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from hive_mind.cognition.dates import iso, relative_dates, written_dates
from hive_mind.cognition.dates.iso import CLOCK_PATTERN, Grain, Rule, compiled, time_of, value_of
from hive_mind.ornament import ornament

# People write a time stamp in a few words; a megabyte of digits is none.
_STAMP_CHARS_MAX = 200

# A statement about more days than these is a calendar.
_RESOLVED_MAX = 8

_BARE_CLOCK = compiled(CLOCK_PATTERN)


@dataclass(frozen=True, slots=True)
class Moment:
    """`iso` is ISO 8601 as precise as `grain`: "2023-05", "2023-W19", "2024-07/2024-09". `text` is how it was written."""

    iso: str
    grain: Grain
    text: str


@ornament(lambda *_: ())
def moments(text: str, anchor: str = "") -> tuple[Moment, ...]:
    """The points in time a text names, in its order. Relative ones need `anchor`: ISO 8601 and as precise as they are."""
    return tuple(moment for moment, _ in _resolved(text, anchor))


@ornament(lambda *_: ())
def relative_moments(text: str, anchor: str) -> tuple[Moment, ...]:
    """Those that only `anchor` tells, such as "yesterday"; a written date says itself when it is."""
    return tuple(moment for moment, rule in _resolved(text, anchor) if rule.is_relative)


@ornament(lambda *_: ())
def resolved_dates(text: str, said_at: str) -> tuple[str, ...]:
    """The dates that "yesterday" and the like stand for in a text said then: those its own words don't hold, each once."""
    moments = list(_resolved(text, said_at))
    times = {moment.iso for moment, rule in moments if not rule.is_relative}
    resolved = dict.fromkeys(moment.iso for moment, _ in moments if moment.iso not in times)
    return tuple(resolved)[:_RESOLVED_MAX]


def normalised(stamp: str, anchor: str = "") -> str:
    """A time stamp as ISO 8601, or "" where it names no time or more than one. ISO 8601 comes back as it is."""
    stamp = stamp.strip()[:_STAMP_CHARS_MAX]
    if iso.is_iso(stamp):
        return stamp
    if clock := _BARE_CLOCK.fullmatch(stamp):
        anchor_moment, time = iso.anchor_of(anchor.strip()[:_STAMP_CHARS_MAX]), time_of(clock)
        return f"{anchor_moment.day.isoformat()}T{time}" if anchor_moment and anchor_moment.knows_day and time else ""
    times = {moment.iso for moment in moments(stamp, anchor)}
    return times.pop() if len(times) == 1 else ""


def _resolved(text: str, anchor: str) -> Iterator[tuple[Moment, Rule]]:
    """The points in time a text names, each with the rule that tells it."""
    anchor_moment = iso.anchor_of(anchor.strip()[:_STAMP_CHARS_MAX])
    end = 0
    for match, rule in sorted(_matches(text), key=_leftmost_longest):
        if match.start() < end:
            continue
        # A text that a longer rule took and could not resolve stays unknown: its parts would tell something else.
        end = match.end()
        if (value := value_of(rule, match, anchor_moment)) is not None:
            yield Moment(*value, match.group()), rule


def _matches(text: str) -> Iterator[tuple[re.Match[str], Rule]]:
    """Most texts name no time, so a look for what all rules of a kind need comes before each of some twenty patterns."""
    for hints, rules in (*written_dates.RULES, *relative_dates.RULES):
        if all(hint.search(text) for hint in hints):
            yield from ((match, rule) for rule in rules for match in rule.pattern.finditer(text))


def _leftmost_longest(pair: tuple[re.Match[str], Rule]) -> tuple[int, int]:
    return pair[0].start(), -pair[0].end()

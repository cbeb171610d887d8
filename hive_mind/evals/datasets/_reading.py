"""Common parts of the readers of several formats: the documents of a scope while they are read, times, and lists of evidence."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from hive_mind.errors import InvalidInput
from hive_mind.evals.datasets.base import Document, says_something
from hive_mind.evals.datasets.reasons import JUDGED_SILENT, UNKNOWN_DOCUMENT
from hive_mind.regex import regex

_PLAIN = regex(r"D[1-9]\d*:[1-9]\d*")
# A colon too much after the D, and leading zeros, are slips; the two numbers are session and turn.
_MISSPELT = regex(r"D:?(\d+):(\d+)")

_TIME = regex(r"\s*(\d{1,2}):(\d{2})\s*([ap])\.?m\.?\s+on\s+(\d{1,2})\s+([a-z]+),?\s+(\d{4})\s*", re.IGNORECASE)
_SLASHED = regex(r"(\d{4})/(\d{1,2})/(\d{1,2})(?: ?\([A-Za-z]+\))?(?: (\d{1,2}):(\d{2}))?")
_MONTHS = "january february march april may june july august september october november december".split()


@dataclass(frozen=True, slots=True)
class NamedTurns:
    """Distinct turn ids in order; how many entries were mended, and how many name nothing."""

    turns: tuple[str, ...]
    mended: int
    unreadable: int


def turns_named(evidence: Iterable[str]) -> NamedTurns:
    turns: dict[str, None] = {}
    mended = unreadable = 0
    for entry in evidence:
        if _PLAIN.fullmatch(entry):
            turns[entry] = None
        elif found := _MISSPELT.findall(entry):
            mended += 1
            turns.update({f"D{session.lstrip('0') or 0}:{turn.lstrip('0') or 0}": None for session, turn in found})
        else:
            unreadable += 1
    return NamedTurns(tuple(turns), mended, unreadable)


def iso_time(text: str, place: str) -> str:
    """To the minute, without a time zone because none is given; "" for "". Raises `InvalidInput` naming `place`."""
    if not text:
        return ""
    match = _TIME.fullmatch(text)
    if match is None or match[5].lower() not in _MONTHS:
        raise InvalidInput(f'{place}: {text!r} is not a time; write it like "1:56 pm on 8 May, 2023"')
    hour = int(match[1]) % 12 + (12 if match[3].lower() == "p" else 0)
    month = _MONTHS.index(match[5].lower()) + 1
    return _real(text, place, int(match[6]), month, int(match[4]), hour, int(match[2])).isoformat(timespec="minutes")


def iso_time_slashed(text: str, place: str) -> str:
    """To the minute or, where only the day is given, to the day; "" for "". Raises `InvalidInput` naming `place`."""
    if not text:
        return ""
    match = _SLASHED.fullmatch(" ".join(text.split()))
    if match is None:
        raise InvalidInput(f'{place}: {text!r} is not a time; write it like "2023/05/20 (Sat) 02:21"')
    year, month, day, hour, minute = (int(group or 0) for group in match.groups())
    when = _real(text, place, year, month, day, hour, minute)
    return when.isoformat(timespec="minutes") if match[4] else when.date().isoformat()


def _real(text: str, place: str, year: int, month: int, day: int, hour: int, minute: int) -> datetime:
    try:
        return datetime(year, month, day, hour, minute)  # noqa: DTZ001 - none is given
    except ValueError as error:
        raise InvalidInput(f"{place}: {text!r} does not exist ({error}); correct it") from error


@dataclass(slots=True)
class Corpus:
    """Documents by id in their order, and the ids of those without a word."""

    documents: dict[str, Document] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)

    def take(self, document: Document) -> None:
        """Keep it, if it says something."""
        if says_something(document.text):
            self.documents[document.id] = document
        else:
            self.silent.add(document.id)

    def usable(self, judgements: Mapping[str, int], left_out: Counter[str]) -> dict[str, int]:
        """Judgements of documents that can be found; the others are counted."""
        usable = {document: judgement for document, judgement in judgements.items() if document in self.documents}
        silent = len(judgements.keys() & self.silent)
        left_out.update({JUDGED_SILENT: silent, UNKNOWN_DOCUMENT: len(judgements) - len(usable) - silent})
        return usable

"""Times as data sets write them, as ISO 8601, read without the machine's language settings.

LoCoMo has "1:56 pm on 8 May, 2023", LongMemEval "2023/05/20 (Sat) 02:21".
"""

import re
from datetime import datetime

from hive_mind.errors import InvalidInput

_TIME = re.compile(r"\s*(\d{1,2}):(\d{2})\s*([ap])\.?m\.?\s+on\s+(\d{1,2})\s+([a-z]+),?\s+(\d{4})\s*", re.IGNORECASE)
_SLASHED = re.compile(r"(\d{4})/(\d{1,2})/(\d{1,2})(?: ?\([A-Za-z]+\))?(?: (\d{1,2}):(\d{2}))?")
_MONTHS = "january february march april may june july august september october november december".split()


def iso_time(text: str, place: str) -> str:
    """To the minute, without a time zone because none is given; "" for "". Raises `InvalidInput` naming `place`."""
    if not text:
        return ""
    found = _TIME.fullmatch(text)
    if found is None or found[5].lower() not in _MONTHS:
        raise InvalidInput(f'{place}: {text!r} is not a time; write it like "1:56 pm on 8 May, 2023"')
    hour = int(found[1]) % 12 + (12 if found[3].lower() == "p" else 0)
    month = _MONTHS.index(found[5].lower()) + 1
    return _real(text, place, int(found[6]), month, int(found[4]), hour, int(found[2])).isoformat(timespec="minutes")


def iso_time_slashed(text: str, place: str) -> str:
    """To the minute or, where only the day is given, to the day; "" for "". Raises `InvalidInput` naming `place`."""
    if not text:
        return ""
    found = _SLASHED.fullmatch(" ".join(text.split()))
    if found is None:
        raise InvalidInput(f'{place}: {text!r} is not a time; write it like "2023/05/20 (Sat) 02:21"')
    year, month, day, hour, minute = (int(group or 0) for group in found.groups())
    when = _real(text, place, year, month, day, hour, minute)
    return when.isoformat(timespec="minutes") if found[4] else when.date().isoformat()


def _real(text: str, place: str, year: int, month: int, day: int, hour: int, minute: int) -> datetime:
    try:
        return datetime(year, month, day, hour, minute)  # noqa: DTZ001 - none is given
    except ValueError as error:
        raise InvalidInput(f"{place}: {text!r} does not exist ({error}); correct it") from error

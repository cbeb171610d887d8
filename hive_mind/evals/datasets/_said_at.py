"""LoCoMo's "1:56 pm on 8 May, 2023" as ISO 8601, read without the machine's language settings."""

import re
from datetime import datetime

from hive_mind.errors import InvalidInput

_TIME = re.compile(r"\s*(\d{1,2}):(\d{2})\s*([ap])\.?m\.?\s+on\s+(\d{1,2})\s+([a-z]+),?\s+(\d{4})\s*", re.IGNORECASE)
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
    try:
        when = datetime(int(found[6]), month, int(found[4]), hour, int(found[2]))  # noqa: DTZ001 - none is given
    except ValueError as error:
        raise InvalidInput(f"{place}: {text!r} does not exist ({error}); correct it") from error
    return when.isoformat(timespec="minutes")

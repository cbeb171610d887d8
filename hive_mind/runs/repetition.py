"""Going in circles: the same calls with the same arguments and the same results, turn after turn."""

import json
from collections.abc import Iterable
from hashlib import blake2b

from hive_mind.runs.pointers import without_pointer
from hive_mind.runs.state import ActiveNode, Call

TURNS = 3
"""This many equal turns are a loop: two may be polls of something that had no time to change."""
WARNING = (
    "You made the same calls with the same arguments and got the same results {turns} times in a row. "
    "Do something else: try other arguments or another tool, set what you know, or ask a person."
)


def digest_of(calls: Iterable[Call]) -> str:
    """Of the calls of a turn and what they gave, whatever their ids. Where files were named, their numbers do not count."""
    told = [[one.call.name, one.call.arguments, without_pointer(one.text)] for one in calls]
    return blake2b(json.dumps(told, sort_keys=True, default=str).encode(errors="replace"), digest_size=8).hexdigest()


def is_circling(place: ActiveNode) -> bool:
    """Whether the last turns were all alike."""
    return len(place.recent) == TURNS and len(set(place.recent)) == 1

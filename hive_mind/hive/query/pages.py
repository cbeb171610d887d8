"""Replies of bounded size: as many facts as fit a message. The asker requests the rest from the same member."""

from collections.abc import Iterable
from typing import TypeVar

import msgspec

from hive_mind.model.evidence import HiveFact

Key = TypeVar("Key")

FACTS_MAX = 256
"""A member does nothing else while it puts a page together: a tenth of a second where all are alike and of one concept."""

_encode = msgspec.msgpack.Encoder().encode


def page(facts: Iterable[tuple[Key, HiveFact]], bytes_max: int) -> tuple[list[tuple[Key, HiveFact]], bool]:
    """The first of them that fit, one at least and `FACTS_MAX` at most, and whether there are more. `bytes_max` 0: any."""
    chosen: list[tuple[Key, HiveFact]] = []
    left = bytes_max
    for key, fact in facts:
        if len(chosen) == FACTS_MAX:
            return chosen, True
        if bytes_max:
            left -= len(_encode(fact))
            if left < 0 and chosen:
                return chosen, True
        chosen.append((key, fact))
    return chosen, False

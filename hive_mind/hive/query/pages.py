"""Replies of bounded size: as many facts as a message takes. Whoever asked asks the same member for the rest."""

from collections.abc import Iterable
from typing import TypeVar

import msgspec

from hive_mind.model.evidence import HiveFact

Key = TypeVar("Key")

_encode = msgspec.msgpack.Encoder().encode


def page(facts: Iterable[tuple[Key, HiveFact]], bytes_max: int) -> tuple[list[tuple[Key, HiveFact]], bool]:
    """The first of them that fit, one at least, and whether there are more. `bytes_max` 0: all."""
    chosen: list[tuple[Key, HiveFact]] = []
    left = bytes_max
    for key, fact in facts:
        if bytes_max:
            left -= len(_encode(fact))
            if left < 0 and chosen:
                return chosen, True
        chosen.append((key, fact))
    return chosen, False

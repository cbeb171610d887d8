"""Which turns an evidence list names, some entries of which are misspelt: "D8:6; D9:17", "D:11:26", "D9:1 D4:4", "D"."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

_PLAIN = re.compile(r"D[1-9]\d*:[1-9]\d*")
# A colon too much after the D, and leading zeros, are slips; the two numbers are session and turn.
_MISSPELT = re.compile(r"D:?0*(\d+):0*(\d+)")


@dataclass(frozen=True, slots=True)
class NamedTurns:
    """Distinct turn ids in order; how many entries were mended, and how many name nothing."""

    turns: tuple[str, ...]
    mended: int
    unreadable: int


def turns_named(evidence: Iterable[str]) -> NamedTurns:
    """Read what can be read."""
    turns: dict[str, None] = {}
    mended = unreadable = 0
    for entry in evidence:
        if _PLAIN.fullmatch(entry):
            turns[entry] = None
        elif found := _MISSPELT.findall(entry):
            mended += 1
            turns.update({f"D{session}:{turn}": None for session, turn in found})
        else:
            unreadable += 1
    return NamedTurns(tuple(turns), mended, unreadable)

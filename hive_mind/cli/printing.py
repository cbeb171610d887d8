"""What printing has in common, for a terminal or a pipe."""

import unicodedata
from typing import Protocol

INDENT = 5
"""Columns before what belongs to a line above."""

# What makes a terminal write backwards, and what ends it.
_TURNS = frozenset("LRE RLE LRO RLO PDF LRI RLI FSI PDI".split())


class ProgressPrinter(Protocol):
    """Takes how much is done of how much (0: nobody knows), with a word on what is under way."""

    def __call__(self, done: float, total: int, what: str = "") -> None: ...


def printable(text: str) -> str:
    """Text without what could steer a terminal: control and direction marks are shown as a question mark in a diamond."""
    return "".join("\N{REPLACEMENT CHARACTER}" if _is_control(character) else character for character in text)


def _is_control(character: str) -> bool:
    if character in "\n\t":
        return False
    return unicodedata.category(character) in ("Cc", "Cs") or unicodedata.bidirectional(character) in _TURNS

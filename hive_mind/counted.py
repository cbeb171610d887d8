"""Texts as a person reads them: how many of what, and nothing that is not seen but changes what is seen."""

import unicodedata
from collections.abc import Sequence

IN_A_LINE = 5
"""More names do not fit into a line."""


def counted(number: int, one: str, several: str = "") -> str:
    """ "1 fact", "2,000 facts"; `several` where an s does not do."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def first_of(names: Sequence[str], most: int = 3) -> str:
    """ "a, b, c and 2 more"."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


# Characters that make the text after them run the other way, and those that end that.
_TURNS = frozenset("LRE RLE LRO RLO PDF LRI RLI FSI PDI".split())


def printable(text: str) -> str:
    """Control and direction marks are shown as a question mark in a diamond; line ends and tabs stay."""
    return "".join(
        "\N{REPLACEMENT CHARACTER}"
        if character not in "\n\t"
        and (unicodedata.category(character) in ("Cc", "Cs") or unicodedata.bidirectional(character) in _TURNS)
        else character
        for character in text
    )


def in_one_line(text: str) -> str:
    """The same, with spaces for line ends and tabs."""
    return printable(text).replace("\n", " ").replace("\t", " ")


def whole_characters(text: str) -> str:
    """The same with surrogate pairs joined, as escapes leave them apart; half a pair, which can't be kept or sent, is U+FFFD."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

"""Texts as a person reads them: how many of what, nothing unseen that changes what is seen; and names for misspelled ones."""

import unicodedata
from collections.abc import Iterable, Sequence
from itertools import islice

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


_NAME_MAX, _COMPARED_MAX = 200, 2_000
"""Characters of a name and names beside it that are compared: the time is that of their product, and a file may be hostile."""


def similar(name: str, names: Iterable[str]) -> str:
    """The one that is most like it, whatever the case of its letters; "" where none is like it."""
    from difflib import get_close_matches

    by_lower = {name.lower(): name for name in islice(names, _COMPARED_MAX)}
    close = get_close_matches(name[:_NAME_MAX].lower(), by_lower, n=1)
    return by_lower[close[0]] if close else ""


def did_you_mean(name: str, names: Iterable[str], otherwise: str = "") -> str:
    """The question that ends an error, or what to say where nothing is like it."""
    close = similar(name, names)
    return f"did you mean {close}?" if close else otherwise

"""The likely meaning of a misspelled name, for errors that say what to do next."""

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice

_NAME_MAX, _COMPARED_MAX = 200, 2_000
"""Characters of a name and names beside it that are compared: the time is that of their product, and a file may be hostile."""


def similar(name: str, names: Iterable[str]) -> str:
    """The one that is most like it, whatever the case of its letters; "" where none is like it."""
    by_lower = {name.lower(): name for name in islice(names, _COMPARED_MAX)}
    close = get_close_matches(name[:_NAME_MAX].lower(), by_lower, n=1)
    return by_lower[close[0]] if close else ""


def did_you_mean(name: str, names: Iterable[str], otherwise: str = "") -> str:
    """The question that ends an error, or what to say where nothing is like it."""
    close = similar(name, names)
    return f"did you mean {close}?" if close else otherwise

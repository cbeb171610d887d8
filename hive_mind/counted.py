"""How many of what, as a person would say it."""

from collections.abc import Sequence

IN_A_LINE = 5
"""More names do not fit into a line."""


def counted(number: int, one: str, several: str = "") -> str:
    """ "1 fact", "2,000 facts"; `several` where an s does not do."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def first_of(names: Sequence[str], most: int = 3) -> str:
    """ "a, b, c and 2 more"."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")

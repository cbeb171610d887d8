"""Definition lists, made items below items: a term on a line of its own, and behind colons what it means."""

from collections.abc import Sequence

from hive_mind.regex import regex

_DEFINITION = regex(r"[:~]\s{1,8}(?P<text>[^\s:].*)")
_TERM = regex(r"[^\s#>|*+:~`-][^|]{0,79}")
_ENDS = (".", "!", "?", ":", ";", ",")


def as_items(lines: Sequence[str]) -> Sequence[str]:
    """The lines with each term as an item and its definitions below it."""
    if not any(map(_DEFINITION.match, lines)):
        return lines
    items = list(lines)
    # The line before, and the one before an empty line.
    term: int | None = None
    for place, line in enumerate(lines):
        match = _DEFINITION.fullmatch(line)
        if match is not None and term is not None:
            if not items[term].startswith("- "):
                items[term] = f"- {lines[term]}"
            items[place] = f"  - {match['text']}"
        elif line.strip():
            term = place if _TERM.fullmatch(line) and not line.endswith(_ENDS) else None
    return items

"""LIKE: `%` stands for any text, `_` for one character, and what follows the escape character for itself.

Matched by hand in time proportional to pattern times text. A regular expression built from the pattern of a stranger could take
for ever.
"""

from typing import Final

from hive_mind.errors import InvalidInput

_ANY: Final = None
_ONE: Final = ""

Pattern = tuple[str | None, ...]


def pattern_of(text: str, escape: str = "") -> Pattern:
    """The pattern as its characters, with marks for the wild ones."""
    if len(escape) > 1:
        raise InvalidInput("SQL filter: ESCAPE takes one character")
    result: list[str | None] = []
    characters = iter(text)
    for character in characters:
        if character == escape:
            result.append(_escaped(next(characters, "")))
        else:
            result.append({"%": _ANY, "_": _ONE}.get(character, character))
    return tuple(result)


def is_like(text: str, pattern: Pattern) -> bool:
    """Whether the whole text fits. Upper and lower case are different."""
    at = in_pattern = 0
    retry_at, retry_in_pattern = 0, -1
    while at < len(text):
        expected = pattern[in_pattern] if in_pattern < len(pattern) else "no character"
        if expected is _ANY:
            in_pattern += 1
            retry_at, retry_in_pattern = at, in_pattern
        elif expected in (_ONE, text[at]):
            at, in_pattern = at + 1, in_pattern + 1
        elif retry_in_pattern >= 0:  # let the last % take one character more
            retry_at += 1
            at, in_pattern = retry_at, retry_in_pattern
        else:
            return False
    return all(mark is _ANY for mark in pattern[in_pattern:])


def _escaped(character: str) -> str:
    if not character:
        raise InvalidInput("SQL filter: a LIKE pattern ends with its escape character")
    return character

"""The words of a SQL filter. Everything that is wrong with a filter is said by `InvalidInput`, with the place."""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from hive_mind.errors import InvalidInput

# The service's own limit on the text of a rule.
LENGTH_MAX = 1024

Kind = Literal["word", "name", "text", "number", "sign", "end"]

_TOKEN = re.compile(
    r"""(?P<text>N?'(?:[^']|'')*')
      | (?P<number>0[xX][0-9a-fA-F]+ | (?:\d+(?:\.\d*)? | \.\d+)(?:[eE][+-]?\d+)?)
      | (?P<name>\[(?:[^\]]|\]\])+\] | "(?:[^"]|"")+")
      | (?P<word>[^\W\d]\w*)
      | (?P<sign><=|>=|<>|!=|[=<>(),.+\-*/%])""",
    re.VERBOSE,
)
_SPACE = re.compile(r"\s*")


class Token(NamedTuple):
    """`text` is as written, but for quoted ones, which come without their quotes. `place` counts from 1."""

    kind: Kind
    text: str
    place: int


def tokens_of(text: str) -> list[Token]:
    """The tokens of a filter, with an "end" behind them."""
    if len(text) > LENGTH_MAX:
        raise InvalidInput(f"a SQL filter has at most {LENGTH_MAX} characters; this one has {len(text)}")
    return [*_tokens(text), Token("end", "", len(text) + 1)]


def _tokens(text: str) -> Iterator[Token]:
    at = _end_of_space(text, 0)
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise InvalidInput(f"SQL filter: {text[at]!r} at character {at + 1} can't be read; texts stand in 'single quotes'")
        kind: Kind = match.lastgroup  # type: ignore[assignment]
        yield Token(kind, _unquoted(kind, match.group()), at + 1)
        at = _end_of_space(text, match.end())


def _end_of_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _unquoted(kind: Kind, text: str) -> str:
    if kind == "text":
        return text.removeprefix("N")[1:-1].replace("''", "'")
    if kind == "name":
        closing = text[-1]
        return text[1:-1].replace(closing * 2, closing)
    return text

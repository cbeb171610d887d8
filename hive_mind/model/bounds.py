"""The table of bounds: the least and the most that a number may be, whichever way a request comes.

The command line, HTTP and its description, MCP and the library read it, so that one value is taken or refused alike: by
`api.request.Entry` at each door, in the library by `memory.base.asked_for` and the hive's own graph.

A setting that a person writes has its bounds beside it: a field of its part's own dataclass, whose docstring is its help.

    period_ms: Annotated[int, Setting("period_s", gt=0, le=3600, per=1000)] = 10_000

Sections of a manifest are made of such fields, and so are its schema, its help and the words of a plan. Fields without the mark
are for those who build the part.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from hive_mind.errors import InvalidInput

_SHOWN_MAX = 40


@dataclass(frozen=True, slots=True)
class Bounds:
    """From `least` to `most`; `is_whole`: a whole number only."""

    least: int
    most: int
    is_whole: bool = True

    def refuse(self, name: str, value: object) -> None:
        """Raises `InvalidInput` for a value outside, and for what is no such number: `api.request.Entry` for every request."""
        is_number = isinstance(value, int if self.is_whole else int | float) and not isinstance(value, bool)
        # NaN is in no order, so it is refused too; no whole number is too large to compare.
        if is_number and self.least <= value <= self.most:  # type: ignore[operator]
            return
        kind = "a whole number, " if self.is_whole else "a number from "
        raise InvalidInput(f"`{name}` is {kind}{self.least} to {self.most}, not {shown_value(value)}")


_KINDS: Mapping[object, tuple[Any, str]] = {
    str: (str, "a text"),
    bool: (int, "true or false"),
    tuple[str, ...]: (tuple, "a tuple of texts"),
}
"""The values that a field of this type takes, and a name for them. Numbers have `Bounds`."""


def refuse_other_than(kind: type, value: object) -> None:
    """Raises `InvalidInput` for what is no `kind`, a dataclass, or has a field of another type: a program may hand in anything.

    What goes on unread is written, and a record that holds it can't be read again.
    """
    if not isinstance(value, kind):
        raise InvalidInput(f"{kind.__name__} is needed, not {type(value).__name__} ({shown_value(value)})")
    for field in fields(kind):
        taken, words = _KINDS.get(field.type, (object, ""))
        content = getattr(value, field.name)
        if not isinstance(content, taken) or (taken is tuple and not all(isinstance(part, str) for part in content)):
            raise InvalidInput(f"`{field.name}` of {kind.__name__} is {words}, not {shown_value(content)!r}")


def shown_value(value: object) -> str:
    """Anything that somebody gave, in a message."""
    # A whole number of more digits than Python prints is one that nobody meant.
    text = hex(value) if isinstance(value, int) and value.bit_length() > 1 << 10 else str(value)
    return text if len(text) <= _SHOWN_MAX else text[:_SHOWN_MAX] + "…"


COUNT_MAX = 1 << 31
"""More than any hive holds; it travels as a number."""
LIMIT_MAX = 1000
"""The most hits that a search or an answer looks at."""
DIMENSIONS_MAX = 8_192
"""Of an embedding: more than any known model has, and the most that a hive takes."""
OF_A_LIST = Bounds(0, COUNT_MAX)
"""`limit` of what lists all that is there, and 0 is all of it."""
OF_SOME = Bounds(1, COUNT_MAX)
"""`limit` of a list in the library, where None is all."""
BOUNDS: Mapping[str, Bounds] = {
    "limit": Bounds(1, LIMIT_MAX),
    "offset": Bounds(0, COUNT_MAX),
    "confidence": Bounds(0, 1, is_whole=False),
    "min_confidence": Bounds(0, 1, is_whole=False),
    "trust": Bounds(0, 2, is_whole=False),
}
"""By the name of a field or parameter. A list whose `limit` has a way to say "all" has `OF_A_LIST` or `OF_SOME`."""


@dataclass(frozen=True, slots=True)
class Setting:
    """The bounds that a value has to be within, and how it is written where that differs from the field."""

    name: str = ""
    """Its name there; with a section and a dot before it where a dataclass has the fields of several."""
    gt: float | None = None
    ge: float | None = None
    le: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    per: int = 1
    """How many of the field's units are one of those written: 1000 for milliseconds that are written as seconds."""

    def written(self, value: Any) -> Any:
        return value / self.per if self.per > 1 else value


SHARE = Setting(ge=0.0, le=1.0)
"""A number from 0 to 1."""


def refuse_long(part: str, characters_max: int, *texts: str) -> None:
    longest = max(map(len, texts), default=0)
    if longest > characters_max:
        raise InvalidInput(f"a {part} has at most {characters_max:,} characters, this one {longest:,}: shorten it")

"""A fact by its id or by the beginning of it, as people copy it from a list."""

from collections.abc import Sequence
from typing import Annotated, Protocol, TypeVar

import typer

from hive_mind.errors import InvalidInput
from hive_mind.regex import regex

FactId = Annotated[str, typer.Argument(metavar="ID", help="A fact's id, or its first characters (6 or more).")]
PREFIX_CHARACTERS_MIN = 6

_SHOWN = 5
_FULL_ID = 32
_PREFIX = regex(rf"[0-9a-f]{{{PREFIX_CHARACTERS_MIN},{_FULL_ID}}}")


class HasFactId(Protocol):
    """A fact, as far as its id goes."""

    @property
    def id(self) -> str:
        """In full."""
        ...


One = TypeVar("One", bound=HasFactId, covariant=True)


class Facts(Protocol[One]):
    """Where facts are looked up: a memory, or an agent that runs."""

    async def facts_with_prefix(self, prefix: str, /) -> Sequence[One]:
        """Those whose id begins like this."""
        ...


async def fact_called(memory: Facts[One], given: str) -> One:
    """The one fact whose id begins like this. Raises `InvalidInput` for none and for several."""
    prefix = given.strip().lower()
    if not _PREFIX.fullmatch(prefix):
        raise InvalidInput(f"{given!r} is no fact's id: give {PREFIX_CHARACTERS_MIN} or more of the digits `facts list` shows")
    facts = await memory.facts_with_prefix(prefix)
    if len(facts) > 1:
        raise InvalidInput(f"{given!r} begins several ids ({', '.join(fact.id for fact in facts[:_SHOWN])}): give more of it")
    if not facts:
        raise InvalidInput(f"there is no fact {given!r}: `hive-mind facts list` shows the ids")
    return facts[0]

"""A fact by the beginning of its id, as people copy it from a list."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

from hive_mind.errors import InvalidInput
from hive_mind.model.fact import FactList
from hive_mind.model.ids import ID_CHARACTERS, PREFIX_CHARACTERS_MIN
from hive_mind.regex import regex

IDS_SHOWN = 5
_PREFIX = regex(rf"[0-9a-f]{{{PREFIX_CHARACTERS_MIN},{ID_CHARACTERS}}}")


class HasFactId(Protocol):
    """A fact, as far as its id goes."""

    @property
    def id(self) -> str:
        """In full."""


One = TypeVar("One", bound=HasFactId, covariant=True)


class Facts(Protocol[One]):
    """Where facts are looked up: a memory, or an agent that runs."""

    async def facts_with_prefix(self, prefix: str, /) -> Sequence[One]:
        """Those whose id begins like this."""


def is_beginning(text: str) -> bool:
    """Whether it may be the beginning of an id, or all of it."""
    return _PREFIX.fullmatch(text) is not None


async def fact_called(memory: Facts[One], text: str) -> One:
    """The one fact whose id begins like this. Raises `InvalidInput` for none and for several."""
    prefix = text.strip().lower()
    if not is_beginning(prefix):
        raise InvalidInput(f"{text!r} is not a fact's id: give {PREFIX_CHARACTERS_MIN} or more of the digits `facts list` shows")
    facts = await memory.facts_with_prefix(prefix)
    if len(facts) > 1:
        raise InvalidInput(f"id {text!r} is ambiguous: {', '.join(fact.id for fact in facts[:IDS_SHOWN])}; give more characters")
    if not facts and isinstance(facts, FactList) and facts.completeness < 1:
        raise InvalidInput(
            f"no fact {text!r} in the {facts.completeness:.0%} of the hive that answered: it may be with a member that "
            "does not; hive-mind status names it"
        )
    if not facts:
        raise InvalidInput(f"there is no fact {text!r}: `hive-mind facts list` shows the ids")
    return facts[0]

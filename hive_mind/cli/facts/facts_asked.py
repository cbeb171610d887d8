"""Facts and figures of an agent that is asked for them, as values.

A fact by its id or by the beginning of it, as people copy it from a list.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Protocol, TypeVar

import msgspec
import typer

from hive_mind.cli.asking.asked import AnsweringAgent
from hive_mind.errors import InvalidInput
from hive_mind.memory.base import MemoryStatistics
from hive_mind.model.fact import Fact
from hive_mind.model.gathered import FactList
from hive_mind.model.ids import ID_CHARACTERS, PREFIX_CHARACTERS_MIN
from hive_mind.regex import regex
from hive_mind.runtime.fact_replies import fact_of

FactId = Annotated[str, typer.Argument(metavar="ID", help="A fact's id, or its first characters (6 or more).")]

IDS_SHOWN = 5
_PREFIX = regex(rf"[0-9a-f]{{{PREFIX_CHARACTERS_MIN},{ID_CHARACTERS}}}")


@dataclass(frozen=True, slots=True)
class AskedFacts:
    """The facts of an agent; of one in a hive, also those of the hive."""

    agent: AnsweringAgent

    async def listed(self, concept: str, limit: int) -> list[Fact]:
        """Current facts, the newest first; with a concept those about it."""
        return _facts(await self.agent.call("facts", concept=concept, limit=limit))

    async def facts_with_prefix(self, prefix: str) -> FactList:
        """Those whose id begins like this, former and retracted ones too."""
        reply = await self.agent.call("named", fact_id=prefix)
        return FactList(_facts(reply), reply.get("completeness", 1.0))

    async def statistics(self) -> MemoryStatistics:
        """Counts of its own memory."""
        return msgspec.convert(await self.agent.call("stats"), MemoryStatistics)


def _facts(reply: Mapping[str, Iterable[Mapping[str, Any]]]) -> list[Fact]:
    return [fact_of(fact) for fact in reply["facts"]]


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
        raise InvalidInput(f"{given!r} is not a fact's id: give {PREFIX_CHARACTERS_MIN} or more of the digits `facts list` shows")
    facts = await memory.facts_with_prefix(prefix)
    if len(facts) > 1:
        raise InvalidInput(f"id {given!r} is ambiguous: {', '.join(fact.id for fact in facts[:IDS_SHOWN])}; give more characters")
    if not facts and isinstance(facts, FactList) and facts.completeness < 1:
        raise InvalidInput(
            f"no fact {given!r} in the {facts.completeness:.0%} of the hive that answered: it may be with a member that "
            "does not; hive-mind status names it"
        )
    if not facts:
        raise InvalidInput(f"there is no fact {given!r}: `hive-mind facts list` shows the ids")
    return facts[0]

"""Facts and figures of an agent that is asked for them, as values."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from hive_mind.cli.asking.asked import AnsweringAgent
from hive_mind.model.aggregation import MemoryStatistics
from hive_mind.model.decoding import converted
from hive_mind.model.fact import Fact, FactList, fact_of

FactId = Annotated[str, typer.Argument(metavar="ID", help="A fact's id, or its first characters (6 or more).")]


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
        return converted(await self.agent.call("stats"), MemoryStatistics)


def _facts(reply: Mapping[str, Iterable[Mapping[str, Any]]]) -> list[Fact]:
    return [fact_of(fact) for fact in reply["facts"]]

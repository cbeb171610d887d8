"""Facts and figures of an agent that is asked for them, as values."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from hive_mind.cli.asking.asked import AnsweringAgent
from hive_mind.memory.base import MemoryStatistics
from hive_mind.model.fact import Fact
from hive_mind.runtime.told import fact_of


@dataclass(frozen=True, slots=True)
class AskedFacts:
    """What an agent knows; of one in a hive, what the hive knows, too."""

    agent: AnsweringAgent

    async def listed(self, concept: str, limit: int) -> list[Fact]:
        """Current facts, the newest first; with a concept those about it."""
        return _facts(await self.agent.call("facts", concept=concept, limit=limit))

    async def facts_with_prefix(self, prefix: str) -> list[Fact]:
        """Those whose id begins like this, former and retracted ones too."""
        return _facts(await self.agent.call("named", fact_id=prefix))

    async def statistics(self) -> MemoryStatistics:
        """What it holds itself."""
        return msgspec.convert(await self.agent.call("stats"), MemoryStatistics)


def _facts(reply: Mapping[str, Iterable[Mapping[str, Any]]]) -> list[Fact]:
    return [fact_of(told) for told in reply["facts"]]

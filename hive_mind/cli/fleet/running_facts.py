"""The facts of an agent of a fleet that runs: looked up and taken back where it runs, because it has its database open."""

from dataclasses import dataclass
from typing import NamedTuple

from hive_mind.cli.fleet.agents import FleetAgent


class RunningFact(NamedTuple):
    """A fact as an agent tells it."""

    id: str
    content: str
    sharing: str


@dataclass(frozen=True, slots=True)
class RunningFacts:
    """What an agent and its hive know."""

    agent: FleetAgent

    async def facts_with_prefix(self, prefix: str) -> list[RunningFact]:
        """Those whose id begins like this, of any author."""
        held = (await self.agent.call("facts", limit=0))["facts"]
        found = (RunningFact(one["fact_id"], one["content"], one["sharing"]) for one in held)
        return [fact for fact in found if fact.id.startswith(prefix)]

    async def retract(self, fact: RunningFact) -> RunningFact:
        """Let the agent take it back, in its own database and in the hive. Raises `BackendError` where it may not."""
        done = await self.agent.call("retract", fact_id=fact.id)
        return fact._replace(sharing=done["sharing"])

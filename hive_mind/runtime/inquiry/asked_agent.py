"""The agent that requests are put to, with its node and its runs where it has some."""

from typing import TYPE_CHECKING

from hive_mind.agents.agent import LearningAgent
from hive_mind.errors import InvalidInput
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.model.fact import Fact

if TYPE_CHECKING:
    from hive_mind.memory.distributed import DistributedCognitiveMemory

    # They bring what reads workers, and what an agent without a hive does not need.
    from hive_mind.runtime.members.member import RunningMember
    from hive_mind.runtime.workers.agent_runs import AgentRuns


class AskedAgent:
    """`member` is the node it shares, None for an agent without a hive; `runs`: None for one that runs no workers here."""

    def __init__(self, agent: LearningAgent, member: "RunningMember | None", runs: "AgentRuns | None") -> None:
        self._agent, self._given, self._given_runs = agent, member, runs

    async def _write(self, key: str, value: str) -> None:
        """Let everybody know. Raises `InvalidInput` where this agent may not say so."""
        (refusal,) = await self._member.runner.write([(key, value)], self._agent.name)
        if refusal:
            raise InvalidInput(refusal)

    async def _fact(self, fact_id: str) -> Fact:
        if (fact := await self._agent.memory.get_fact(fact_id)) is None:
            raise InvalidInput(f"{self._agent.name} knows no fact {fact_id!r}; a search gives ids")
        return fact

    @property
    def _member(self) -> "RunningMember":
        if self._given is None:
            raise InvalidInput(f"{self._agent.name} is not in a hive, so it has no other agents to ask or tell")
        return self._given

    @property
    def _own(self) -> CognitiveMemory:
        memory = shared.local if (shared := self._shared) else self._agent.memory
        assert isinstance(memory, CognitiveMemory)  # noqa: S101 - an agent is opened with one or the other
        return memory

    @property
    def _shared(self) -> "DistributedCognitiveMemory | None":
        memory = self._agent.memory
        if isinstance(memory, CognitiveMemory):
            return None
        from hive_mind.memory.distributed import DistributedCognitiveMemory

        return memory if isinstance(memory, DistributedCognitiveMemory) else None

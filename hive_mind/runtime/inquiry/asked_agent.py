"""The agent that requests are put to, with its node and its runs where it has some, and what was put to it under a key."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from hive_mind.agents.agent import LearningAgent
from hive_mind.api.request import KEY_CHARACTERS_MAX
from hive_mind.errors import InvalidInput
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.model.fact import Fact

if TYPE_CHECKING:
    from hive_mind.memory.distributed import DistributedCognitiveMemory

    # They bring what reads workers, and what an agent without a hive does not need.
    from hive_mind.runtime.members.member import RunningMember
    from hive_mind.runtime.workers.agent_runs import AgentRuns
    from hive_mind.runtime.workers.sources_learned import LearnedSources


_KEPT = 1024


class PutAgain:
    """Answers by key, the latest of them."""

    def __init__(self) -> None:
        self._requests: dict[str, tuple[object, asyncio.Task[Any]]] = {}

    async def once(self, key: str, request: object, work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        """The result of the work for this request, made now or before. Failed work is done again the next time.

        Raises what it raises, and `InvalidInput` for the key of another request.
        """
        if len(key) > KEY_CHARACTERS_MAX:
            raise InvalidInput(f"the key of a request has {len(key)} characters, at most {KEY_CHARACTERS_MAX}")
        earlier, task = self._requests.get(key, (request, None))
        if earlier != request:
            raise InvalidInput("another request was put under this key: give each request a key of its own")
        if task is None or (task.done() and (task.cancelled() or task.exception())):
            # A task of its own: a caller that gives up waiting stops nothing.
            task = asyncio.create_task(work())
            self._requests[key] = request, task
            self._forget_oldest()
        return await asyncio.shield(task)

    def _forget_oldest(self) -> None:
        while len(self._requests) > _KEPT:
            # The oldest are done, but for a few.
            if (key := next((key for key, (_, task) in self._requests.items() if task.done()), None)) is None:
                return
            del self._requests[key]


class AskedAgent:
    """`member` is the node it shares, None for an agent without a hive; `runs`: None for one that runs no workers here."""

    def __init__(
        self,
        agent: LearningAgent,
        member: "RunningMember | None",
        sources: "LearnedSources | None" = None,
        *,
        is_kept: bool,
        runs: "AgentRuns | None" = None,
    ) -> None:
        self._agent, self._given, self._given_runs = agent, member, runs
        self.is_kept, self._sources, self._put_again = is_kept, sources, PutAgain()

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

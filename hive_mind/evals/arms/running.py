"""An agent that runs, asked in its own process: what a person would get from it now, from the whole of its hive.

Nothing is learned and nothing is stopped. Its messages and the CPU of its members are not seen from here.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack

import msgspec

from hive_mind.api.replies import FoundReply, HitJson
from hive_mind.errors import InvalidInput
from hive_mind.evals.arms.base import ArmResult, Cost, Means
from hive_mind.evals.arms.methods import Search
from hive_mind.evals.datasets import LabelledQuestion, Scope
from hive_mind.evals.experiments.values import Cell
from hive_mind.evals.rows import Learned
from hive_mind.evals.running_agent import AgentCall, running_agent
from hive_mind.model.fact import fact_of
from hive_mind.model.gathered import SearchResult
from hive_mind.model.query import LIMIT, Hit, Query
from hive_mind.model.scores import ComponentScores, Contributions


class _RunningMemory:
    """The searches of one question. It adds up how much of the hive they reached."""

    def __init__(self, call: AgentCall) -> None:
        self._call = call
        self.asked: set[str] = set()
        self.completeness = 1.0

    async def search_facts(self, query: str | Query, limit: int = LIMIT) -> SearchResult:
        """The best facts for a query, best first."""
        query = query if isinstance(query, Query) else Query(query, limit)
        reply: FoundReply = await self._call("search", query=query.text, limit=query.limit, method=query.method)
        self.asked.update(reply["asked"])
        self.completeness = min(self.completeness, reply["completeness"])
        return SearchResult(map(_hit_of, reply["hits"]), completeness=reply["completeness"])


class RunningArm:
    """One agent in its process. A document is a fact, and has its id."""

    def __init__(self, opened: AsyncExitStack, call: AgentCall, search: Search, documents: Mapping[str, Sequence[str]]) -> None:
        self._opened, self._call, self._search = opened, call, search
        self.documents, self.learned = documents, Learned(len(documents))

    async def ask(self, question: LabelledQuestion, limit: int) -> ArmResult:
        memory, began_s = _RunningMemory(self._call), time.perf_counter()
        hits = await self._search(memory, question.text, limit)
        cost = Cost(fan_out=len(memory.asked), completeness=memory.completeness)
        return ArmResult(tuple(hits), cost, wall_s=time.perf_counter() - began_s)

    async def close(self) -> None:
        await self._opened.aclose()


async def open_arm(cell: Cell, scope: Scope, means: Means, search: Search) -> RunningArm:
    """The agent whose memory the data set is. Raises `InvalidInput` where it does not run."""
    async with AsyncExitStack() as opening:
        call = await opening.enter_async_context(running_agent(means.settings.home, cell.data.memory))
        if call is None:
            raise InvalidInput(
                f"agent {cell.data.memory!r} runs in no process of {means.settings.home}: start its fleet (hive-mind apply) or "
                "hive-mind serve, or take the arm single, which learns a copy of its facts"
            )
        documents = {document.id: (document.id,) for document in scope.documents}
        return RunningArm(opening.pop_all(), call, search, documents)


def _hit_of(reply: HitJson) -> Hit:
    components = msgspec.convert(reply["components"], ComponentScores)
    return Hit(fact_of(reply), reply["score"], components, msgspec.convert(reply["contributions"], Contributions))

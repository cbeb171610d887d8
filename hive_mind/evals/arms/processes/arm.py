"""Arms of real processes over a real Redis server, which is their own and gone with them.

Each agent has a node of its own; up to eight processes share them. Members, bus, journals and databases are those of production,
in a folder of their own. No process loads an embedding model: vectors are embedded here and travel with what is stored and
asked, so every mode can be measured. Times are those of the process that asks; a reply that waits for another process costs no
CPU of its own. Where nodes are stopped, the others are given the time to notice.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from hive_mind.embed.base import Embedder
from hive_mind.errors import BackendTimeout
from hive_mind.evals.arms.base import ArmResult, Cost, Means
from hive_mind.evals.arms.costs import prepare
from hive_mind.evals.arms.dealing import names_of
from hive_mind.evals.arms.keeping import candidate_of, facts_of, lessons, worded
from hive_mind.evals.arms.node_per_agent import ANOTHER_MOMENT_MS, PerAgentArm, down_of, groups_of, refuse
from hive_mind.evals.arms.processes.child import Child, Guardian, open_child, open_guardian
from hive_mind.evals.arms.processes.member_wire import Keep, Look, MembersState, Search, SearchFound, Start, Stop
from hive_mind.evals.datasets import Document, LabelledQuestion, Scope
from hive_mind.evals.experiments.values import Arm, Cell
from hive_mind.evals.rows import Learned
from hive_mind.hive.topology.spec import reads
from hive_mind.model.gathered import SearchResult
from hive_mind.model.query import LIMIT, Query
from hive_mind.ranking.form import texts_to_embed

PROCESSES_MAX = 8
"""Two cores are busy with this many; more agents share processes, still with a node each."""

_STORE_BATCH = 256
_SETTLED_WITHIN_S = 300.0
_LOOK_S = 0.01

Answer = TypeVar("Answer")


@dataclass(slots=True)
class _Remote:
    """An agent's memory in another process, for one question. It adds up what its searches take."""

    child: Child
    agent: str
    vector: bytes
    fan_out: int = 0
    completeness: float = 1.0
    cpu_s: float = 0.0
    wall_s: float = 0.0

    async def search_facts(self, query: str | Query, limit: int = LIMIT) -> SearchResult:
        """The best facts for a query, best first."""
        asked = query if isinstance(query, Query) else Query(query, limit)
        found = await self.child.ask(Search(self.agent, asked.text, asked.limit, asked.method, self.vector), SearchFound)
        self.fan_out, self.completeness = max(self.fan_out, found.fan_out), min(self.completeness, found.completeness)
        self.cpu_s, self.wall_s = self.cpu_s + found.cpu_s, self.wall_s + found.wall_s
        return SearchResult(found.hits, completeness=found.completeness)


class ProcessesArm(PerAgentArm):
    """Processes of members. They begin and learn in `open_arm`."""

    def __init__(self, cell: Cell, scope: Scope, means: Means, guardian: Guardian) -> None:
        super().__init__(cell, scope, means)
        self._guardian, self._children = guardian, list[Child]()

    async def begin(self) -> None:
        """Start all processes and wait until everybody has heard everybody."""
        count = min(len(self._names), PROCESSES_MAX)
        for number in range(count):
            self._children.append(await open_child(self._guardian, f"process-{number}"))
        starts = [self._start(self._names[number::count]) for number in range(count)]
        await _all(child.do(start) for child, start in zip(self._children, starts, strict=True))

    async def learn(self) -> None:
        """Everybody learns its part, one after the other, and shares it; then whom the seed says is stopped."""
        await prepare(self._scope, self._means.settings, self._means.embedder)
        before = await self._states()
        began_s, cpu_s = time.perf_counter(), self._cpu_s()
        await self._teach()
        lag_s = await self._until(lambda state: not state.unwritten, "replicas are written")
        await self._until(lambda state: not state.is_busy, "everything is in its index")
        wall_s, cpu_s = time.perf_counter() - began_s, self._cpu_s() - cpu_s
        messages, size = _sent(await self._states(), before)
        # Of all processes together.
        self.learned = Learned(len(self.documents), messages, size, lag_s, cpu_s, wall_s, self._memory_per_agent())
        await self._stop(down_of(self._cell))

    async def ask(self, question: LabelledQuestion, limit: int) -> ArmResult:
        """Ask twice: once for what it finds and costs, once for how long that takes."""
        first, second = [await self._remote(question) for _ in range(2)]
        await self._states()
        hits = await self._find(first, question.text, limit)
        states = await self._states()
        await self._find(second, question.text, limit)
        messages, size = (sum(column) for column in zip(*(state.asking for state in states), strict=True))
        cost = Cost(messages, size, first.fan_out, first.completeness)
        return ArmResult(tuple(hits), cost, second.cpu_s, second.wall_s)

    async def close(self) -> None:
        """End all processes and the server, and remove the folder."""
        try:
            await _all(child.close() for child in self._children)
        finally:
            await self._guardian.close()

    def _child_of(self, agent: str) -> Child:
        return self._children[self._names.index(agent) % len(self._children)]

    async def _remote(self, question: LabelledQuestion) -> _Remote:
        embedder, asker = self._means.embedder, self._askers[question.id]
        vector = (await embedder.embed_query(question.text)).astype("<f4").tobytes() if embedder.dimension else b""
        return _Remote(self._child_of(asker), asker, vector)

    def _start(self, names: Sequence[str]) -> Start:
        arm, means, guardian = self._cell.arm, self._means, self._guardian
        return Start(
            names=tuple(names),
            members=_members(arm),
            topology=arm.kind,
            replicas=arm.replicas,
            url=guardian.url,
            credential=guardian.credential,
            folder=str(guardian.folder),
            store=means.settings.store,
            ann=means.settings.ann,
            model=means.embedder.model,
            dimension=means.embedder.dimension,
            ranking=self._cell.retrieval.ranking,
        )

    async def _teach(self) -> None:
        for agent, some in lessons(self._cell, self._scope, self._means.progress):
            await asyncio.sleep(ANOTHER_MOMENT_MS / 1000)
            await self._keep(self._names[agent], worded(some.documents))

    async def _keep(self, agent: str, documents: Sequence[Document]) -> None:
        for start in range(0, len(documents), _STORE_BATCH):
            some = Scope(self._scope.name, tuple(documents[start : start + _STORE_BATCH]), ())
            vectors = await _vectors_of(some, self._means.embedder)
            candidates = tuple(candidate_of(document) for document in some.documents)
            await self._child_of(agent).do(Keep(agent, some.name, candidates, vectors))

    async def _stop(self, down: frozenset[str]) -> None:
        for agent in sorted(down):
            await self._child_of(agent).do(Stop(agent))
        if down:
            await self._until(lambda state: all(down <= set(dead) for dead in state.dead.values()), "who is down is known")

    async def _states(self) -> list[MembersState]:
        return await _all(child.ask(Look(), MembersState) for child in self._children)

    async def _until(self, holds: Callable[[MembersState], bool], what: str) -> float:
        """Return when it holds in every process, and after how many seconds. Raises `BackendTimeout`."""
        began_s = time.perf_counter()
        while True:
            states = await self._states()
            took_s = time.perf_counter() - began_s
            if all(map(holds, states)):
                return took_s
            if took_s > _SETTLED_WITHIN_S:
                raise BackendTimeout("redis", f"it took longer than {_SETTLED_WITHIN_S:g} s until {what}; is this machine busy?")
            await asyncio.sleep(_LOOK_S)

    def _cpu_s(self) -> float:
        return sum(child.cpu_s() for child in self._children)

    def _memory_per_agent(self) -> int | None:
        taken = [child.memory_bytes() for child in self._children]
        known = [one for one in taken if one is not None]
        return sum(known) // len(self._names) if len(known) == len(taken) else None


async def open_arm(cell: Cell, scope: Scope, means: Means) -> ProcessesArm:
    """A hive of processes that has learned a scope; nothing is left of it where this fails.

    Raises `InvalidInput` for an arm that is no hive, `ConfigError` where there is no Redis server to run, and `BackendError`.
    """
    refuse(cell, means)
    arm = ProcessesArm(cell, scope, means, await open_guardian())
    try:
        await arm.begin()
        await arm.learn()
    except BaseException:
        await arm.close()
        raise
    return arm


def _members(arm: Arm) -> tuple[str, ...]:
    if not reads(arm.kind, "groups"):
        return names_of(arm.agents)
    return tuple(f"{group}:{name}" for group, names in groups_of(arm).items() for name in names)


def _sent(states: Sequence[MembersState], before: Sequence[MembersState]) -> tuple[int, int]:
    """Messages and bytes that were no questions, of all processes, between two looks."""
    totals = [tuple(map(sum, zip(*(state.learning for state in some), strict=True))) for some in (states, before)]
    return totals[0][0] - totals[1][0], totals[0][1] - totals[1][1]


async def _vectors_of(documents: Scope, embedder: Embedder) -> dict[str, bytes]:
    """Of every text that a memory wants embedded when it stores these."""
    if not embedder.dimension:
        return {}
    texts = list(dict.fromkeys(text for fact in facts_of(documents) for text in texts_to_embed(fact)))
    vectors = await embedder.embed_passages(texts)
    return {text: vector.astype("<f4").tobytes() for text, vector in zip(texts, vectors, strict=True)}


async def _all(work: Iterable[Awaitable[Answer]]) -> list[Answer]:
    return list(await asyncio.gather(*work))

"""Arms without a hive: one memory that has everything, the reference for all others; an agent that runs; and the baselines that
every arm has to beat: keywords alone, chance, and handing over everything.

The agent that runs is asked in its own process: a person would get the same from it now, from the whole of its hive. Nothing is
learned there and nothing is stopped, and its messages and the CPU of its members are not seen from here.
"""

import random
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace

from hive_mind.api.replies import FoundReply
from hive_mind.errors import InvalidInput
from hive_mind.evals.arms import ArmResult, AskedArm, Cost, Means, Progress, Search, documents_by_fact, facts_of, keep
from hive_mind.evals.arms.costs import Learning, outcome_of, prepare
from hive_mind.evals.datasets import LabelledQuestion, Scope
from hive_mind.evals.datasets.load import AgentCall, running_agent
from hive_mind.evals.experiments import Cell, Learned
from hive_mind.memory.base import Memory
from hive_mind.model.decoding import converted
from hive_mind.model.fact import Fact, fact_of
from hive_mind.model.gathered import Anchors, Probe, SearchResult
from hive_mind.model.query import LIMIT, ComponentScores, Contributions, Hit, Query
from hive_mind.ranking.form import weighted_terms
from hive_mind.ranking.index import FactIndex
from hive_mind.ranking.tokens import tokenize
from hive_mind.runtime.members.host import Borrowed
from hive_mind.runtime.wiring import memory_with


async def open_arm(cell: Cell, scope: Scope, means: Means, search: Search) -> AskedArm:
    """A memory of its own in RAM."""
    await prepare(scope, means.settings, means.embedder)
    learning = Learning()
    settings = replace(means.settings, store="memory")
    memory = memory_with(settings, "eval", Borrowed(means.embedder), cell.retrieval.ranking)
    return await learned_by(memory, scope, search, means.progress, learning)


async def learned_by(
    memory: Memory, scope: Scope, search: Search, progress: Progress | None = None, learning: Learning | None = None
) -> AskedArm:
    """Let this memory learn the scope; the arm closes it."""
    learning = learning or Learning()
    try:
        documents = await keep(memory, scope, progress)
    except BaseException:
        await memory.close()
        raise
    learned = learning.done().of(len(documents), 1, None)
    return AskedArm(
        documents, learned, lambda question, limit: outcome_of(lambda: search(memory, question.text, limit)), memory.close
    )


class _RunningMemory:
    """The searches of one question. It adds up how much of the hive they reached."""

    def __init__(self, call: AgentCall) -> None:
        self._call = call
        self.asked: set[str] = set()
        self.completeness = 1.0

    async def search_facts(self, query: str | Query, limit: int = LIMIT) -> SearchResult:
        query = query if isinstance(query, Query) else Query(query, limit)
        reply: FoundReply = await self._call("search", query=query.text, limit=query.limit, method=query.method)
        self.asked.update(reply["asked"])
        self.completeness = min(self.completeness, reply["completeness"])
        hits = []
        for hit in reply["hits"]:
            contributions = converted(hit["contributions"], Contributions)
            hits.append(Hit(fact_of(hit), hit["score"], converted(hit["components"], ComponentScores), contributions))
        return SearchResult(hits, completeness=reply["completeness"])


async def open_running(cell: Cell, scope: Scope, means: Means, search: Search) -> AskedArm:
    """The agent whose memory the data set is, in its process: a document is a fact, and has its id.

    Raises `InvalidInput` where it does not run.
    """
    async with AsyncExitStack() as opening:
        call = await opening.enter_async_context(running_agent(means.settings.home, cell.data.memory))
        if call is None:
            raise InvalidInput(
                f"agent {cell.data.memory!r} runs in no process of {means.settings.home}: start its fleet (hive-mind apply) or "
                "hive-mind serve, or take the arm single, which learns a copy of its facts"
            )
        documents = {document.id: (document.id,) for document in scope.documents}

        async def ask(question: LabelledQuestion, limit: int) -> ArmResult:
            memory, began_s = _RunningMemory(call), time.perf_counter()
            hits = await search(memory, question.text, limit)
            cost = Cost(fan_out=len(memory.asked), completeness=memory.completeness)
            return ArmResult(tuple(hits), cost, wall_s=time.perf_counter() - began_s)

        return AskedArm(documents, Learned(len(documents)), ask, opening.pop_all().aclose)


Find = Callable[[LabelledQuestion, int], Sequence[Hit]]


def _baseline(scope: Scope, learned: Learned, find: Find) -> AskedArm:
    """An arm that finds some of a scope's facts in one plain way."""

    async def ask(question: LabelledQuestion, limit: int) -> ArmResult:
        async def search() -> Sequence[Hit]:
            return find(question, limit)

        return await outcome_of(search)

    return AskedArm(documents_by_fact(scope.documents), learned, ask)


def bm25(scope: Scope, progress: Progress | None = None) -> AskedArm:
    """Our index's BM25 and nothing else: no vectors, no identifiers, no evidence. Scores are shares of the best."""
    learning = Learning()
    facts = {fact.id: fact for fact in facts_of(scope)}
    index = FactIndex(None)
    for number, fact in enumerate(facts.values(), start=1):
        index.add(fact.id, weighted_terms(fact), None)
        if progress and number % 1000 == 0:
            progress(f"{scope.name}: documents", number, len(facts))
    learned = learning.done().of(len(facts), 1, None)

    def find(question: LabelledQuestion, limit: int) -> Sequence[Hit]:
        pool = index.pool(Probe(tuple(tokenize(question.text)), Anchors(), None, limit))
        ranked = sorted(zip(pool.keyword.tolist(), pool.ids, strict=True), key=lambda pair: (-pair[0], pair[1]))[:limit]
        best = ranked[0][0] if ranked else 1.0
        return [_hit(facts[name], score / best, score) for score, name in ranked]

    return _baseline(scope, learned, find)


def chance(scope: Scope, seed: int) -> AskedArm:
    """Facts drawn by the seed and the question's id, so one question draws the same whatever was asked before."""
    facts = facts_of(scope)

    def find(question: LabelledQuestion, limit: int) -> Sequence[Hit]:
        drawn = random.Random(f"{seed} {question.id}")  # noqa: S311 - it has to be the same again
        return [_hit(fact) for fact in drawn.sample(facts, min(limit, len(facts)))]

    return _baseline(scope, Learned(len(facts)), find)


def full_context(scope: Scope) -> AskedArm:
    """All facts in their order, whatever the limit: a model's input if nothing were looked up. Nothing is retrieved."""
    hits = [_hit(fact) for fact in facts_of(scope)]
    return _baseline(scope, Learned(len(hits)), lambda _question, _limit: hits)


def _hit(fact: Fact, score: float = 0.0, keyword: float = 0.0) -> Hit:
    return Hit(fact, score, ComponentScores(keyword, None, 0.0, 0.0, 0.0))

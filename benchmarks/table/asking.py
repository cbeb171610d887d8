"""A whole search of an agent through its hive, in one process: bus, runners, statistics, pools, merging, ranking, fetching.

CPU time of all nodes together. Keyword searches are compared with bm25s over as many texts of the same language in one index,
hybrid ones with numpy's product over as many vectors, one thread: what nobody can do without, and all in one place.

With 99 of 100 members dead and nobody aware of it: when does an answer come, and does it say how little of the hive it is? Wall
time, the worst of all questions, the first one included. The limit is the deadline itself: who is silent may still answer.
"""

import asyncio
from collections.abc import Iterator
from functools import partial
from statistics import median

import numpy as np

from benchmarks.figure import Figure, Means, Round, beside, once, side_by_side
from benchmarks.harness import cpu_ms, waits_ms
from benchmarks.hive import Prose, fill, fleet_of, search, warm_times_ms
from benchmarks.table.searching import by_bm25s
from hive_mind.hive.topology.sharded import Sharded
from hive_mind.hive.topology.spec import TopologyName
from hive_mind.model.query import Method
from hive_mind.runtime.members.fleet import Fleet

QUESTIONS = 20
MEMBERS, FACTS, DEADLINE_MS, MOST_MS = 100, 20, 500, 550
# Processor time is what counts here, so nobody is silent just because something else has the processor.
PATIENT_MS = 30_000


def federated(means: Means, agents: int = 50, facts: int = 1_000) -> Iterator[Figure]:
    what = f"query_federated, {agents} groups × {facts:,} facts"
    yield from in_fleet("federated", agents, facts, what, means.rounds, target=10)


def sharded(means: Means, agents: int = 100, facts: int = 1_000) -> Iterator[Figure]:
    what = f"sharded query in process, {agents} agents × {facts:,} facts"
    yield from in_fleet("sharded", agents, facts, what, means.rounds, target=20)


def in_fleet(
    topology: TopologyName, agents: int, facts: int, what: str, rounds: int, *, target: float | None = None
) -> Iterator[Figure]:
    """`target` is for words: what it is to be compared with searched by these (by vectors it took ten times as long)."""
    language = Prose(agents)
    questions = [" ".join(language.words(8)) for _ in range(QUESTIONS)]
    peers: dict[Method, tuple[str, Round]] = {
        "keyword": by_words(language, agents * facts, questions),
        "hybrid": by_product(language, agents * facts),
    }
    with asyncio.Runner() as runner:
        fleet = runner.run(fleet_of(topology, agents, language, deadline_ms=PATIENT_MS))
        runner.run(fill(fleet, language, facts))
        for method, (peer, peer_round) in peers.items():
            sides = side_by_side(partial(run_searches, runner, fleet, questions, method), peer_round, rounds)
            name, most = f"{topology}-{agents}-{method}", target if method == "keyword" else None
            yield beside(name, f"{what}, {method}, CPU p50", "ms", peer, sides, most)
        runner.run(fleet.close())


def run_searches(runner: asyncio.Runner, fleet: Fleet, questions: list[str], method: Method) -> float:
    return runner.run(searches(fleet, questions, method))


async def searches(fleet: Fleet, questions: list[str], method: Method) -> float:
    return median(await warm_times_ms(fleet, questions, method))


def by_words(language: Prose, facts: int, questions: list[str]) -> tuple[str, Round]:
    texts = [" ".join(language.words(language.length())) for _ in range(facts)]
    ask = by_bm25s(texts, questions)
    return "bm25s, one index of all", lambda: cpu_ms(ask, range(len(questions)))


def by_product(language: Prose, facts: int) -> tuple[str, Round]:
    rows = np.concatenate([language.vectors(min(10_000, facts - start)) for start in range(0, facts, 10_000)])
    asked = language.vectors(QUESTIONS)
    return "numpy's product over all", lambda: cpu_ms(lambda number: rows @ asked[number], range(QUESTIONS))


def silent(means: Means) -> Iterator[Figure]:
    for topology in ("federated", "sharded"):
        times, reached, alive = asyncio.run(asked_of_one_alive(topology, means.rounds))
        name, what = f"silent-{topology}", f"99 of 100 members dead, {topology}"
        sides = max(times), DEADLINE_MS, tuple(each / DEADLINE_MS for each in times)
        yield beside(name, f"{what}, deadline 0.5 s: the latest answer", "ms", "the deadline", sides, MOST_MS)
        what += ": what the answer says it reached"
        yield once(f"{name}-said", what, 100 * reached, "%", "what is alive", 100 * alive, better="higher", is_exact=True)


async def asked_of_one_alive(topology: TopologyName, questions: int) -> tuple[list[float], float, float]:
    """Milliseconds of each question, what the last answer says it reached, and what share of the hive could be."""
    language = Prose(7)
    async with await fleet_of(topology, MEMBERS, language, deadline_ms=DEADLINE_MS) as fleet:
        await fill(fleet, language, FACTS)
        first, *others = fleet.nodes
        for name in others:
            await fleet.stop(name)
        completeness: list[float] = []

        async def ask(_: int) -> None:
            completeness.append((await search(fleet, " ".join(language.words(8)), "hybrid")).completeness)

        return await waits_ms(ask, range(questions)), completeness[-1], share_of(fleet, first)


def share_of(fleet: Fleet, node: str) -> float:
    """What one node holds of everything: one group of all, or its partitions."""
    topology = fleet.plan.build_topology()
    if not isinstance(topology, Sharded):
        return 1 / len(fleet.nodes)
    return len(topology.held_by(node)) / fleet.plan.partitions

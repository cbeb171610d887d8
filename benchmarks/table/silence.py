"""99 of 100 members are dead and nobody has noticed: when does an answer come, and does it say how little of the hive it is?

Wall time, the worst of all questions, the first one included. The limit is the deadline itself: who is silent may still answer.
"""

import asyncio
import time
from collections.abc import Iterator

from benchmarks.figure import Figure, Means, beside, once
from benchmarks.hive import Prose, fill, fleet_of, search
from hive_mind.hive.topology.sharded import Sharded
from hive_mind.hive.topology.spec import TopologyName
from hive_mind.runtime.members.fleet import Fleet

AGENTS, FACTS, DEADLINE_MS, MOST_MS = 100, 20, 500, 550


def measured(means: Means) -> Iterator[Figure]:
    for topology in ("federated", "sharded"):
        times, reached, alive = asyncio.run(asked(topology, means.rounds))
        name, what = f"silent-{topology}", f"99 of 100 members dead, {topology}"
        sides = max(times), DEADLINE_MS, tuple(each / DEADLINE_MS for each in times)
        yield beside(name, f"{what}, deadline 0.5 s: the latest answer", "ms", "the deadline", sides, MOST_MS)
        what += ": what the answer says it reached"
        yield once(f"{name}-said", what, 100 * reached, "%", "what is alive", 100 * alive, better="higher", is_exact=True)


async def asked(topology: TopologyName, questions: int) -> tuple[list[float], float, float]:
    """Milliseconds of each question, what the last answer says it reached, and what share of the hive could be."""
    language = Prose(7)
    async with await fleet_of(topology, AGENTS, language, deadline_ms=DEADLINE_MS) as fleet:
        await fill(fleet, language, FACTS)
        first, *others = fleet.nodes
        for name in others:
            await fleet.stop(name)
        times = []
        for _ in range(questions):
            text = " ".join(language.words(8))
            began_s = time.perf_counter()
            found = await search(fleet, text, "hybrid")
            times.append(1e3 * (time.perf_counter() - began_s))
        return times, found.completeness, share_of(fleet, first)


def share_of(fleet: Fleet, node: str) -> float:
    """What one node holds of everything: one group of all, or its partitions."""
    topology = fleet.plan.build_topology()
    if not isinstance(topology, Sharded):
        return 1 / len(fleet.nodes)
    return len(topology.held_by(node)) / fleet.plan.partitions

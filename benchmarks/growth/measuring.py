"""The three measurements. CPU time is the process's own; wall time only where members are silent: there a deadline counts."""

import asyncio
import random
import time
from functools import partial
from pathlib import Path
from statistics import median
from typing import cast

from benchmarks.growth.plots import Line, lines_of
from benchmarks.harness import cpu_ms, waits_ms
from benchmarks.hive import Prose, fill, fleet_of, search
from benchmarks.sentences import Rows, collect, vectors
from benchmarks.table.asking import PATIENT_MS, searches
from benchmarks.table.searching import Ask, asking, by_bm25s
from hive_mind import backends
from hive_mind.hive.topology.spec import TopologyName
from hive_mind.memory.intake import new_fact
from hive_mind.memory.recall import Recall
from hive_mind.model.content import Candidate
from hive_mind.runtime.members.fleet import Fleet

Values = dict[tuple[str, str], float]

SIZES, QUESTIONS = (1_000, 3_000, 10_000, 30_000, 100_000), 60
AGENTS, FACTS = (5, 10, 20, 50, 100), 10_000
MEMBERS, DOWN, DEADLINE_MS = 60, (0, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9), 500
CPU, ADDING, ASKED = "CPU ms a question", "CPU ms to add one fact", "nodes asked, its own included"
REACHED, LATEST = "share of the hive reached", "ms until the answer, worst of 3 (wall)"


def with_facts(data: Path, cache: Path) -> tuple[Line, ...]:
    """One memory that grows; real sentences, questions and vectors."""
    texts = collect(data)
    question_rows, rows = asyncio.run(vectors(texts, cache))
    open_arm = backends.load("ann", "quantised").open
    recall = Recall(lambda: open_arm(rows.shape[1]))
    made: list[tuple[float, Values]] = []
    for start, size in zip((0, *SIZES), SIZES, strict=False):
        facts = [new_fact(Candidate(sentence, "", 0.8), "bench", 0) for sentence in texts.passages[start:size]]
        began_s = time.process_time()
        for fact, row in zip(facts, rows[start:size], strict=True):
            recall.keep(fact, row)
        adding_ms = 1e3 * (time.process_time() - began_s) / len(facts)
        ways: dict[str, Ask] = {
            "keyword": asking(recall, texts, "keyword"),
            "hybrid": asking(recall, texts, "hybrid", question_rows),
            "bm25s": by_bm25s(texts.passages[:size], texts.questions),
            "numpy's product": partial(_product, rows[:size], question_rows),
        }
        values: Values = {(CPU, name): cpu_ms(ask, range(QUESTIONS)) for name, ask in ways.items()}
        made.append((size, values | {(ADDING, "hive-mind, both indexes"): adding_ms}))
    return lines_of(made, frozenset(("bm25s", "numpy's product")))


def _product(rows: Rows, question_rows: Rows, number: int) -> object:
    return rows @ question_rows[number]


def with_agents() -> tuple[Line, ...]:
    """The same number of facts, dealt to more and more agents, each with a node of its own."""
    made = [(agents, asyncio.run(_asked_of(agents))) for agents in AGENTS]
    return lines_of(made)


async def _asked_of(agents: int) -> Values:
    values: Values = {}
    for topology in cast(tuple[TopologyName, ...], ("flat", "federated", "sharded")):
        language = Prose(1)
        async with await fleet_of(topology, agents, language, deadline_ms=PATIENT_MS) as fleet:
            await fill(fleet, language, FACTS // agents)
            questions = [" ".join(language.words(8)) for _ in range(20)]
            values[CPU, topology] = median([await searches(fleet, questions, "hybrid") for _ in range(3)])
            gathered = (await search(fleet, questions[0], "hybrid")).gathered
            values[ASKED, topology] = 1 + len(gathered.asked) if gathered else 1
    return values


def with_failures() -> tuple[Line, ...]:
    """Members die one after another, by a seed, and nobody takes their place; the asker's own lives."""
    return asyncio.run(_failing())


async def _failing() -> tuple[Line, ...]:
    by_share: dict[float, Values] = {share: {} for share in DOWN}
    for topology in cast(tuple[TopologyName, ...], ("federated", "sharded")):
        language, name = Prose(7), "federated, one copy" if topology == "federated" else "sharded, three copies"
        async with await fleet_of(topology, MEMBERS, language, deadline_ms=DEADLINE_MS) as fleet:
            await fill(fleet, language, 20)
            dying = list(fleet.nodes)[1:]
            random.Random(1).shuffle(dying)
            await _worst(fleet, language)  # The first questions find cold indexes.
            dead = 0
            for share, values in by_share.items():
                while dead < round(share * MEMBERS):
                    await fleet.stop(dying[dead])
                    dead += 1
                values[REACHED, name], values[LATEST, name] = await _worst(fleet, language)
                values[REACHED, "members alive"] = 1 - dead / MEMBERS
                values[LATEST, "the deadline"] = DEADLINE_MS
    return lines_of([(100 * share, values) for share, values in by_share.items()], frozenset(("members alive", "the deadline")))


async def _worst(fleet: Fleet, language: Prose) -> tuple[float, float]:
    """The least that was reached, and the longest that it took, of three questions just after they died."""
    reached: list[float] = []

    async def ask(_: int) -> None:
        reached.append((await search(fleet, " ".join(language.words(8)), "hybrid")).completeness)

    times_ms = await waits_ms(ask, range(3))
    return min(reached), max(times_ms)

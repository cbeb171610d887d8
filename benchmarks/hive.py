"""What a hive costs in one process, through the same runner, bus and journal that agents use: sharing facts, and asking.

Sharing: facts a second, in CPU time, into one node: kept in memory; findable too; durable and findable. Asking: CPU milliseconds
of a whole search of an agent, all nodes together, and how long it takes when all members but one are silent. Facts are words as
frequent as in a language, with random unit vectors.

    python -m benchmarks.hive [--scale 0.1] [--only promote flat federated sharded silent] [--json FILE]
"""

import asyncio
import random
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks.harness import Row, p50_p95, parser_of, told, waits_ms, write
from hive_mind.embed import Matrix
from hive_mind.hive.effects import Promotion
from hive_mind.hive.topology.spec import TopologyName
from hive_mind.memory.gate import PromotionSettings
from hive_mind.model.evidence import Statement
from hive_mind.model.gathered import SearchResult
from hive_mind.model.query import Method, Query
from hive_mind.runtime.members.fleet import Fleet, FleetPlan, open_fleet
from hive_mind.runtime.node.runner import RunnerSettings
from hive_mind.runtime.settings import Settings

MODEL, BATCH, QUESTIONS, DEADLINE_MS = "random", 500, 60, 2_000
DIMENSION, WORDS = 384, (8, 28)


class Language:
    """Words of which the n-th is n times rarer than the first, as in a language, and random unit vectors."""

    def __init__(self, seed: int) -> None:
        self._rng, self._numbers = random.Random(seed), np.random.default_rng(seed)
        self._words = [f"w{n}" for n in range(10_000)]
        self._weights = np.cumsum([1 / rank for rank in range(1, len(self._words) + 1)]).tolist()

    def words(self, count: int) -> list[str]:
        return self._rng.choices(self._words, cum_weights=self._weights, k=count)

    def length(self) -> int:
        return self._rng.randint(*WORDS)

    def vectors(self, count: int) -> np.ndarray:
        rows = self._numbers.standard_normal((count, DIMENSION), dtype=np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class Prose(Language):
    """Without digits, or every word would be looked up as an identifier, and no word of a language, as "de" and "la" are."""

    def words(self, count: int) -> list[str]:
        return [spelled(int(word[1:])) for word in super().words(count)]


def spelled(number: int) -> str:
    return "".join("bdfgklmnrt"[int(digit)] + "aeiou"[int(digit) % 5] for digit in str(number)) + "q"


class RandomVectors:
    """An embedder that costs nothing: a question's vector is one of the first it made."""

    model, dimension = MODEL, DIMENSION

    def __init__(self, language: Language) -> None:
        self._rows = language.vectors(QUESTIONS)

    async def embed_passages(self, texts: Sequence[str]) -> Matrix:
        return self._rows[[number % QUESTIONS for number in range(len(texts))]]

    async def embed_query(self, text: str) -> Matrix:
        return self._rows[hash(text) % QUESTIONS]

    async def close(self) -> None:
        pass


def promotions(language: Language, agent: str, count: int, *, with_vectors: bool = True) -> Iterator[list[Promotion]]:
    """Facts in batches, none twice."""
    for start in range(0, count, BATCH):
        size = min(BATCH, count - start)
        vectors = language.vectors(size).astype("<f2")
        batch = []
        for number in range(size):
            text = f"{' '.join(language.words(language.length()))} {spelled(start + number)} {agent}"
            vector = vectors[number].tobytes() if with_vectors else b""
            statement = Statement(text, "", model=MODEL if with_vectors else "", vector=vector)
            batch.append(Promotion(statement, agent, "bench", 0.8))
        yield batch


def names(count: int) -> tuple[str, ...]:
    return tuple(f"agent-{number:03}" for number in range(count))


async def fleet_of(
    topology: TopologyName, agents: int, language: Language, home: Path | None = None, deadline_ms: int = DEADLINE_MS
) -> Fleet:
    plan = FleetPlan(
        topology,
        names(agents),
        group_size=1,
        gate=PromotionSettings(is_open=True),
        runner=RunnerSettings(ask_deadline_ms=deadline_ms),
    )
    settings = Settings(store="memory") if home is None else Settings(store="sqlite", home=home)
    return await open_fleet(settings, plan, RandomVectors(language))


async def fill(fleet: Fleet, language: Language, facts: int) -> None:
    """So many facts of every agent, told to its node."""
    for agent in fleet.plan.agents:
        runner = fleet.nodes[fleet.plan.node_of(agent)].runner
        for batch in promotions(language, agent, facts):
            await runner.promote(batch)
        # One after another: a hundred at once fill every mailbox, and on a busy machine senders give up and send again later.
        await fleet.settled()


async def promote_row(what: str, facts: int, home: Path | None, *, is_indexed: bool, with_vectors: bool) -> Row:
    language = Prose(1)
    async with await fleet_of("flat", 1, language, home) as fleet:
        (hosted,) = fleet.nodes.values()
        if not is_indexed:
            hosted.member.node.index_some = lambda _: False  # type: ignore[method-assign]
        batches = list(promotions(language, "agent-000", facts, with_vectors=with_vectors))
        began_s, began_cpu_s = time.perf_counter(), time.process_time()
        for batch in batches:
            await hosted.runner.promote(batch)
        if is_indexed:
            await fleet.settled()
        cpu_s, wall_s = time.process_time() - began_cpu_s, time.perf_counter() - began_s
    vectors = "with vectors" if with_vectors else "words alone"
    return {"what": f"promote, {what}, {vectors}", "facts": facts, "per_s": facts / cpu_s, "per_s_wall": facts / wall_s}


async def promote_rows(scale: float) -> list[Row]:
    facts = int(20_000 * scale)
    with tempfile.TemporaryDirectory() as folder:
        ways: list[tuple[str, Path | None, bool]] = [
            ("in memory, not indexed", None, False),
            ("findable", None, True),
            ("durable and findable", Path(folder), True),
        ]
        return [
            await promote_row(what, facts, home and home / str(number), is_indexed=is_indexed, with_vectors=number == 1)
            for what, home, is_indexed in ways
            for number in range(2)
        ]


async def query_rows(what: str, fleet: Fleet, language: Language) -> list[Row]:
    rows = []
    for method in ("keyword", "hybrid"):
        questions = [" ".join(language.words(8)) for _ in range(QUESTIONS)]
        rows.append({"what": f"{what}, {method}", **p50_p95(await warm_times_ms(fleet, questions, method))})
    return rows


async def warm_times_ms(fleet: Fleet, questions: Sequence[str], method: Method) -> list[float]:
    """CPU of each question, which is asked once before, so that no index is cold."""
    times = []
    for text in questions:
        hits = await search(fleet, text, method)
        assert (len(hits), hits.completeness) == (10, 1.0)
        times += await waits_ms(lambda again: search(fleet, again, method), [text], time.process_time_ns)
    return times


async def search(fleet: Fleet, text: str, method: Method) -> SearchResult:
    return await fleet.memory(fleet.plan.agents[0]).search_facts(Query(text, 10, method))


async def asking(topology: TopologyName, agents: int, facts: int) -> list[Row]:
    language = Prose(agents)
    async with await fleet_of(topology, agents, language) as fleet:
        await fill(fleet, language, facts)
        return await query_rows(f"{topology}, {len(fleet.nodes)} nodes, {agents} × {facts:,} facts", fleet, language)


async def silent_rows(agents: int, facts: int) -> list[Row]:
    """All but the asker's node stopped; wall time, the first question and later ones, when the silent are known."""
    rows: list[Row] = []
    for topology in ("federated", "sharded"):
        language = Prose(7)
        async with await fleet_of(topology, agents, language) as fleet:
            await fill(fleet, language, facts)
            for name in list(fleet.nodes)[1:]:
                await fleet.stop(name)
            questions = [" ".join(language.words(8)) for _ in range(3)]
            times = await waits_ms(lambda text: search(fleet, text, "hybrid"), questions)
        what = f"{topology}, {agents - 1} of {agents} silent, deadline {DEADLINE_MS} ms"
        rows.append({"what": what, "first_ms": times[0], "later_ms": times[-1]})
    return rows


def main() -> None:
    parser = parser_of(__doc__, "json")
    parser.add_argument("--scale", type=float, default=1.0, help="times as many facts")
    parser.add_argument("--only", nargs="+", choices=["promote", "flat", "federated", "sharded", "silent"])
    options = parser.parse_args()
    scale = options.scale
    parts: dict[str, Callable[[], Awaitable[list[Row]]]] = {
        "promote": lambda: promote_rows(scale),
        "flat": lambda: asking("flat", 1, int(100_000 * scale)),
        "federated": lambda: asking("federated", 50, int(1_000 * scale)),
        "sharded": lambda: asking("sharded", 100, int(1_000 * scale)),
        "silent": lambda: silent_rows(100, int(20 * scale) or 1),
    }
    rows: list[Row] = []
    for name, part in parts.items():
        if options.only is None or name in options.only:
            rows += (made := asyncio.run(part()))  # type: ignore[arg-type]
            told(made)
    write(options.json, rows)


if __name__ == "__main__":
    main()

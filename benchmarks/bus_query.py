"""How long a question to a hive of 20 shards takes when every message crosses a real broker: wall time, beside the bus in memory.

Twenty nodes that hold a twentieth of the facts each, or sixty of which three hold the same, in one process with one event loop
and a Redis server beside it. "ask" is both rounds of questions, "search" a whole search of an agent: ask, merge, rank, fetch.
Hybrid, with 384-d vectors. `python -m benchmarks.bus_query [--only redis] [--questions 200] [--json FILE]`.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from benchmarks.bus_brokers import bus_at
from benchmarks.harness import Row, p50_p95, parser_of, told, waits_ms
from benchmarks.hive import Prose, RandomVectors, promotions
from hive_mind.bus import EventBus
from hive_mind.hive.membership import MembershipSettings
from hive_mind.hive.topology.sharded import Sharded, first_placement
from hive_mind.memory.distributed import DistributedCognitiveMemory
from hive_mind.model.gathered import Probe
from hive_mind.model.query import Query
from hive_mind.ranking.question import anchors
from hive_mind.runtime.members import MemberPlan
from hive_mind.runtime.members.host import Borrowed, Host
from hive_mind.runtime.members.member import RunningMember
from hive_mind.runtime.node import RunnerSettings
from hive_mind.runtime.node.outgoing import OutgoingSettings
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import memory_with
from tests.servers.redis_server import RedisServer

SHARDS, LIMIT, DEPTH, WORDS, PARTITIONS = 20, 10, 100, 8, 1024
BACK_ENDS = ("memory", "redis")
# The first question after everything was filled finds cold indexes; and as a member over a broker waits for its sends.
PATIENT = RunnerSettings(ask_deadline_ms=30_000, fetch_deadline_ms=30_000, outgoing=OutgoingSettings(wait_s=5.0))
_STILL = MembershipSettings(beat_ms=0)


@dataclass(frozen=True)
class Case:
    """One row of the table. `is_shared`: all nodes over one bus, as those of one process are; otherwise one each."""

    bus: str
    facts: int
    replicas: int = 1
    is_shared: bool = True

    def __str__(self) -> str:
        connections = "" if self.bus == "memory" else ", one connection" if self.is_shared else ", a connection each"
        return f"{self.bus}{connections}: {SHARDS * self.replicas} nodes, R={self.replicas}, {self.facts:,} facts"


CASES = (
    Case("memory", 1_000),
    Case("redis", 1_000),
    Case("redis", 1_000, is_shared=False),
    Case("memory", 20_000),
    Case("redis", 20_000),
    Case("memory", 1_000, replicas=3),
    Case("redis", 1_000, replicas=3),
)


async def measured(case: Case, url: str, questions: int) -> list[Row]:
    language = Prose(case.facts)
    async with running(case, url, language) as nodes:
        agents = list(nodes)
        for number, batch in enumerate(promotions(language, agents[0], case.facts)):
            await nodes[agents[number % len(agents)]].runner.promote(batch)
        await settled(nodes)
        asker, embedder = nodes[agents[0]], RandomVectors(language)
        texts = [" ".join(language.words(WORDS)) for _ in range(questions)]
        memory = DistributedCognitiveMemory(
            memory_with(Settings(store="memory"), agents[0], Borrowed(embedder)), asker.runner, agent=agents[0]
        )

        async def ask(text: str) -> None:
            vector = await embedder.embed_query(text)
            found = await asker.runner.ask(Probe(tuple(dict.fromkeys(text.split())), anchors(text), vector, DEPTH))
            assert found.completeness == 1.0

        async def search(text: str) -> None:
            assert len(await memory.search_facts(Query(text, LIMIT))) == LIMIT
            assert memory.completeness == 1.0

        first = await timed(f"{case}", "first", search, texts[:1])
        for text in texts[1:20]:
            await search(text)
        rows = [first, *[await timed(f"{case}", what, work, texts) for what, work in (("ask", ask), ("search", search))]]
        await memory.close()
        return rows


async def timed(case: str, what: str, work: Callable[[str], Awaitable[None]], texts: list[str]) -> Row:
    began_cpu_s = time.process_time()
    times = await waits_ms(work, texts)
    cpu_ms = (time.process_time() - began_cpu_s) / len(texts) * 1e3
    return {"case": case, "what": what, **p50_p95(times), "cpu_ms": cpu_ms}


@asynccontextmanager
async def running(case: Case, url: str, language: Prose) -> AsyncIterator[dict[str, RunningMember]]:
    """The nodes, started."""
    names = [f"node-{number:02}" for number in range(SHARDS * case.replicas)]
    topology = Sharded(first_placement(names, case.replicas, PARTITIONS))
    assert len(topology.read_set(names[0])) == SHARDS
    async with AsyncExitStack() as stack:

        async def opened() -> EventBus:
            bus = await bus_at(url)
            stack.push_async_callback(bus.close)
            return bus

        bus = await opened()
        nodes = {}
        for name in names:
            own = bus if case.is_shared else await opened()
            host = Host[DistributedCognitiveMemory](Settings(store="memory"), RandomVectors(language), own)
            stack.push_async_callback(host.close)
            nodes[name] = await host.open_node(MemberPlan(name, "", membership=_STILL, runner=PATIENT), topology)
        yield nodes


async def settled(nodes: dict[str, RunningMember]) -> None:
    while any(one.is_busy for one in nodes.values()):  # noqa: ASYNC110 - nothing tells
        await asyncio.sleep(0.01)


def rows_of(case: Case, questions: int) -> list[Row]:
    if case.bus == "memory":
        return asyncio.run(measured(case, "memory", questions))
    with RedisServer() as server:
        return asyncio.run(measured(case, server.url, questions))


def main() -> None:
    parser = parser_of(__doc__, "json", questions=200)
    parser.add_argument("--only", choices=BACK_ENDS, help="one back end")
    options = parser.parse_args()
    cases = (case for case in CASES if options.only in (None, case.bus))
    told((row for case in cases for row in rows_of(case, options.questions)), options.json)


if __name__ == "__main__":
    main()

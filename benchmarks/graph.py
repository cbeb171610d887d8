"""What the graph of a record costs: questions to 100,000 facts, and the Kuzu database for Cypher, made and made again.

`python -m benchmarks.graph` prints a table; `--output json` the same as JSON, `--facts` says how many. Facts mention one to four
of 20,000 entities, some of which are mentioned often; each derives from one of 5,000 episodes, every twentieth replaces another.
Questions are asked through `Graph`; the way to its process and back is in the figures of Cypher.
"""

import random
from collections.abc import Awaitable, Callable
from pathlib import Path

from benchmarks.harness import Row, figure, latency, seconds, shown, waits_ms
from hive_mind import backends
from hive_mind.model.content import Episode
from hive_mind.model.fact import Fact, Relation
from hive_mind.model.ids import entity_id, episode_id, fact_id
from hive_mind.store import AddEntity, AddEpisode, AddFact, Change, FactStore, Link
from hive_mind.store.graph import Graph

QUESTIONS, WRITTEN = 200, 5_000


def fact(number: int, episodes: int) -> Fact:
    rng = random.Random(number)
    words = " ".join(f"word{rng.randrange(5000)}" for _ in range(14))
    return Fact(fact_id(f"{number} {words}"), f"{number} {words}", "made", 0.8, (f"notes/{number % episodes}.md",), number)


def entity(number: int) -> AddEntity:
    return AddEntity(entity_id(f"Entity {number}"), f"Entity {number}")


def episode(number: int) -> Episode:
    rng = random.Random(-1 - number)
    text = " ".join(f"word{rng.randrange(5000)}" for _ in range(120))
    source = f"notes/{number}.md"
    return Episode(episode_id(text, source), text, source, "", number, title=f"Notes {number}")


def mentioned(rng: random.Random, entities: int) -> int:
    """One in three is among those that are mentioned often: the most of all by some 5 % of all facts."""
    return min(entities - 1, int(rng.paretovariate(0.6)) - 1) if rng.random() < 0.3 else rng.randrange(entities)


async def fill(store: FactStore, facts: int) -> None:
    episodes, entities, rng = facts // 20, facts // 5, random.Random(1)
    await store.write([*map(entity, range(entities)), *(AddEpisode(episode(n)) for n in range(episodes))])
    texts = [episode(number).id for number in range(episodes)]
    last = ""
    for first in range(0, facts, WRITTEN):
        changes: list[Change] = []
        for number in range(first, min(first + WRITTEN, facts)):
            new = fact(number, episodes)
            changes += [AddFact(new), Link(Relation.DERIVES_FROM, new.id, texts[number % episodes])]
            for _ in range(rng.randint(1, 4)):
                changes.append(Link(Relation.MENTIONS, new.id, entity(mentioned(rng, entities)).id))
            if last and number % 20 == 0:
                changes.append(Link(Relation.SUPERSEDES, new.id, last))
            last = new.id
        await store.write(changes)


async def times_ms(ask: Callable[[int], Awaitable[object]], count: int = QUESTIONS) -> list[float]:
    """Of each question; the first ones, which prepare statements, are not counted."""
    return (await waits_ms(ask, range(-5, count)))[5:]


async def asked(graph: Graph, facts: int) -> list[Row]:
    rng, episodes, entities = random.Random(2), facts // 20, facts // 5
    some = [fact(rng.randrange(facts), episodes).id for _ in range(QUESTIONS)]
    rare = [entity(rng.randrange(entities)).id for _ in range(QUESTIONS)]
    pairs = [(entity(rng.randrange(entities)).id, entity(rng.randrange(entities)).id) for _ in range(QUESTIONS)]
    drawn = [(entity(mentioned(rng, entities)).id, entity(mentioned(rng, entities)).id) for _ in range(QUESTIONS)]
    texts = [episode(number % episodes).id for number in range(-5, QUESTIONS)]
    first = "MATCH (f:Fact)-[:MENTIONS]->(e:Entity) RETURN e.name, count(f) ORDER BY count(f) DESC LIMIT 10"
    return [
        *latency("neighbourhood of a fact", await times_ms(lambda n: graph.neighbourhood(some[n]))),
        *latency("neighbourhood of an entity", await times_ms(lambda n: graph.neighbourhood(rare[n]))),
        *latency("path of up to 4 edges, any two entities", await times_ms(lambda n: graph.path(*pairs[n]))),
        *latency("path of up to 4 edges, entities as often mentioned", await times_ms(lambda n: graph.path(*drawn[n]))),
        *latency("path of up to 4 edges, the ten most mentioned", await times_ms(lambda n: graph.path(*hubs(n)), 90)),
        *latency("what replaced what", await times_ms(lambda n: graph.history(some[n]))),
        *latency("what derives from an episode", await times_ms(lambda n: graph.derived_from(texts[n]))),
        *latency("a query over all mentions", await times_ms(lambda _: graph.query(first), 20)),
    ]


def hubs(number: int) -> tuple[str, str]:
    one, other = divmod(number % 90, 9)
    return entity(one).id, entity(other + (other >= one)).id


async def measured(folder: Path, facts: int) -> list[Row]:
    record = folder / "memory.sqlite"
    store: FactStore = await backends.load("store", "sqlite").open(record)
    await fill(store, facts)
    async with Graph(record) as graph:
        rows: list[Row] = [figure(f"make it of {facts:,} facts", await seconds(graph.query("RETURN 1")), "s")]
        rows += await asked(graph, facts)
        await store.write([AddFact(fact(facts, 1))])
        rows.append(figure("make it again after a write", await seconds(graph.query("RETURN 1")), "s"))
    async with Graph(record) as graph:
        rows.append(figure("open it, digest checked", await seconds(graph.query("RETURN 1")) * 1e3, "ms"))
    await store.close()
    rows.append(figure("file", (folder / "graph.kuzu").stat().st_size / 1e6, "MB"))
    return rows


if __name__ == "__main__":
    shown(__doc__, measured, facts=100_000)

"""Small builders for the store's tests, and a way to run an async scenario without a plugin."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import numpy as np

from hive_mind import backends
from hive_mind.model.content import Episode
from hive_mind.model.fact import Fact, Relation
from hive_mind.model.ids import episode_id, fact_id
from hive_mind.store import FactStore, Vector

Scenario = Callable[[FactStore], Awaitable[None]]


def fact(content: str = "The sky is blue.", **fields: object) -> Fact:
    values: dict[str, object] = {
        "id": fact_id(content),
        "content": content,
        "concept": "sky",
        "confidence": 0.8,
        "sources": ("alice",),
        "learned_at_us": 1_700_000_000_000_001,
    }
    return Fact(**(values | fields))  # type: ignore[arg-type]


def facts(count: int, prefix: str = "Fact") -> list[Fact]:
    return [fact(f"{prefix} number {n}.", learned_at_us=n) for n in range(count)]


def episode(text: str = "Alice said that the sky is blue.", source: str = "alice", **fields: object) -> Episode:
    values: dict[str, object] = {"said_at": "2023-05", "learned_at_us": 5, "speaker": "Alice", "title": "A talk"}
    return Episode(id=episode_id(text, source), text=text, source=source, **(values | fields))  # type: ignore[arg-type]


def vector(seed: int, dimension: int = 384) -> Vector:
    numbers = np.random.default_rng(seed).standard_normal(dimension)
    return (numbers / np.linalg.norm(numbers)).astype(np.float16).astype(np.float32)


def run(scenario: Scenario, back_end: str, path: Path) -> None:
    async def whole() -> None:
        store = await backends.load("store", back_end).open(path)
        try:
            await scenario(store)
        finally:
            await store.close()

    asyncio.run(whole())


async def all_facts(store: FactStore) -> list[Fact]:
    return [fact async for batch in store.facts() for fact in batch]


async def all_vectors(store: FactStore, model: str) -> dict[str, Vector]:
    return {key: vector async for batch in store.vectors(model) for key, vector in batch.items()}


async def everything(store: FactStore, ids: list[str], models: list[str]) -> object:
    """All that can be seen of a store, comparable with `==`."""
    edges = {
        (relation, end, backwards): sorted(await store.linked(relation, end, backwards=backwards))
        for relation in Relation
        for end in ids
        for backwards in (False, True)
    }
    links = sorted([(x.relation, x.from_id, x.to_id) async for batch in store.links() for x in batch])
    episodes = [x async for batch in store.all_episodes() for x in batch]
    vectors = {model: {key: v.tolist() for key, v in (await all_vectors(store, model)).items()} for model in models}
    return (
        await all_facts(store),
        vectors,
        await store.episodes(ids),
        episodes,
        edges,
        links,
        await store.meta(),
        await store.counts(),
    )

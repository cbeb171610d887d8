"""Every store is the same store: random changes give the same results, refusals included, as in the simplest one."""

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from hive_mind import backends
from hive_mind.errors import InvalidInput
from hive_mind.model.fact import Relation, Sharing
from hive_mind.store import (
    AddEntity,
    AddEpisode,
    AddFact,
    Change,
    DropVectors,
    FactStore,
    Link,
    PutVector,
    ReviseFact,
    SetMeta,
    memory,
)
from tests.contract.store_builders import episode, everything, fact, vector

FACTS = [fact(f"Fact {n}.") for n in range(25)]
EPISODES = [episode(f"Episode {n}.") for n in range(6)]
ENTITIES = [f"entity-{n}" for n in range(6)]
IDS = [f.id for f in FACTS] + [e.id for e in EPISODES] + ENTITIES
MODELS = ["m1", "m2"]


def random_change(rng: random.Random) -> Change:
    some = rng.choice(FACTS)
    choices: Sequence[Change] = (
        AddFact(some),
        AddFact(some),
        ReviseFact(replace(some, confidence=rng.random(), sharing=rng.choice(list(Sharing)), sources=("alice", "bob"))),
        AddEpisode(rng.choice(EPISODES)),
        AddEntity(rng.choice(ENTITIES), "Name"),
        Link(rng.choice(list(Relation)), rng.choice(IDS), rng.choice(IDS)),
        Link(Relation.MENTIONS, some.id, rng.choice(ENTITIES)),
        PutVector(rng.choice(MODELS), f"k{rng.randrange(8)}", vector(rng.randrange(99), 8)),
        rng.choice([DropVectors(rng.choice(MODELS)), SetMeta(f"n{rng.randrange(3)}", str(rng.random()))]),
    )
    return rng.choice(choices)


async def outcome(store: FactStore, changes: Sequence[Change]) -> str:
    try:
        await store.write(changes)
    except InvalidInput:
        return "refused"
    return "kept"


@pytest.mark.parametrize("back_end", [name for name in backends.known("store") if name != "memory"])
@pytest.mark.parametrize("seed", range(6))
async def test_random_writes_are_kept_or_refused_as_in_memory(back_end: str, seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    model, open_store = await memory.open(), backends.load("store", back_end).open
    for _ in range(3):
        store = await open_store(tmp_path / "x.db")
        for _ in range(25):
            changes = [random_change(rng) for _ in range(rng.choice([1, 1, 2, 3, 12]))]
            assert await outcome(store, changes) == await outcome(model, changes), f"seed {seed}: {changes}"
        seen, expected = await everything(store, IDS, MODELS), await everything(model, IDS, MODELS)
        await store.close()
        assert seen == expected, f"seed {seed}"

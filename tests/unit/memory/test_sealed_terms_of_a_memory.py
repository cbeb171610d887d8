"""A memory that wakes takes over the terms of the facts it knows, and is as one that never slept; whatever became of the file."""

import asyncio
from functools import partial
from pathlib import Path

import pytest

from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.model.query import Hit, Query
from hive_mind.ranking.form import Vocabulary
from hive_mind.store import sqlite
from tests.builders import BagOfWords, said

COUNT = 300
QUESTIONS = ("pump 17", "pressure of valve 120", "which hall has pump 5?", "bar")


def a_memory(path: Path) -> CognitiveMemory:
    return CognitiveMemory(partial(sqlite.open, path), BagOfWords())


async def learned(path: Path) -> list[str]:
    async with a_memory(path) as memory:
        many = [said(f"Pump {n} in hall {n % 7} has a pressure of {n * 3} bar at valve {n % 50}.") for n in range(COUNT)]
        return [fact.id for fact in await memory.store_facts(many, "ines")]


async def answers(memory: CognitiveMemory) -> list[list[tuple[str, float]]]:
    def shown(hits: list[Hit]) -> list[tuple[str, float]]:
        return [(hit.fact.content, hit.score) for hit in hits]

    return [
        shown(await memory.search_facts(Query(question, 20, with_superseded=past))) for question in QUESTIONS for past in (0, 1)
    ]


@pytest.fixture
def tokenized(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many facts were tokenized together, each time."""
    counted: list[int] = []
    whole = Vocabulary.weighted_terms
    monkeypatch.setattr(Vocabulary, "weighted_terms", lambda self, some: counted.append(len(some)) or whole(self, some))
    return counted


async def test_what_slept_finds_the_same_and_tokenizes_nothing(tmp_path: Path, tokenized: list[int]) -> None:
    path, aside = tmp_path / "m.sqlite", tmp_path / "m.sqlite-aside"
    await learned(path)
    async with a_memory(path) as memory:
        woken = await answers(memory)
    assert tokenized == []

    aside.unlink()
    async with a_memory(path) as memory:
        assert await answers(memory) == woken
    assert sum(tokenized) == COUNT


async def test_what_changed_since_is_as_it_is_now(tmp_path: Path, tokenized: list[int]) -> None:
    path, aside = tmp_path / "m.sqlite", tmp_path / "m.sqlite-aside"
    ids = await learned(path)
    sealed = aside.read_bytes()
    async with a_memory(path) as memory:
        await memory.retract_fact(ids[17])
        await memory.supersede(ids[120], said("Valve 120 holds a pressure of 9 bar."), "otto")
        await memory.store_fact("pump", "Pump 5 stands in hall 99.", source="otto")
        now = await answers(memory)
    assert aside.read_bytes() == sealed  # few were new

    async with a_memory(path) as memory:
        assert await answers(memory) == now
    assert tokenized == [2]


@pytest.mark.parametrize("place", [0, 4, -1])
async def test_a_flipped_bit_makes_the_terms_anew(tmp_path: Path, tokenized: list[int], place: int) -> None:
    path, aside = tmp_path / "m.sqlite", tmp_path / "m.sqlite-aside"
    await learned(path)
    body = bytearray(aside.read_bytes())
    body[place] ^= 1
    aside.write_bytes(body)

    async with a_memory(path) as memory:
        assert len(await memory.search_facts("pump 17")) == 10
    assert sum(tokenized) == COUNT
    assert aside.read_bytes() != bytes(body)  # sealed again


async def test_where_it_can_not_be_written_nothing_else_suffers(tmp_path: Path) -> None:
    path = tmp_path / "m.sqlite"
    (tmp_path / "m.sqlite-aside").mkdir()
    await learned(path)
    async with a_memory(path) as memory:
        assert (await memory.get_statistics()).facts == COUNT
        assert memory.trouble == ""
    assert not list(tmp_path.glob("*.new"))


def test_only_its_owner_may_read_what_lies_beside(tmp_path: Path) -> None:
    asyncio.run(learned(tmp_path / "m.sqlite"))

    assert (tmp_path / "m.sqlite-aside").stat().st_mode & 0o077 == 0

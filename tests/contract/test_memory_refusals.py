"""What a memory refuses, it refuses whole and with a clear word; what it takes, it keeps as it is. Over every store."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from hive_mind.errors import HiveError, InvalidInput
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.model.content import Content
from hive_mind.model.query import Method, Query
from tests.builders import BagOfWords, Home, Scenario, found, lines_of, remembering, said
from tests.contract.fleets import HOMES, home_for

Run = Callable[[Scenario], None]
HALF = "half \ud800 a pair"


@pytest.fixture(params=HOMES)
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Home:
    return home_for(request.param, tmp_path)


@pytest.fixture
def with_memory(home: Home) -> Run:
    return lambda scenario: remembering(scenario, home, BagOfWords())


@pytest.mark.parametrize(
    "wrong",
    [
        {"content": ""},
        {"content": " \n"},
        {"content": "🐝🐝 … !!"},
        {"content": "", "speaker": "Ines"},
        {"content": "x" * 20_001},
        {"content": "x" * 20_000, "speaker": "Ines"},
        {"confidence": float("nan")},
        {"confidence": 8100.0},
        {"confidence": -0.1},
        {"confidence": float("inf")},
        {"concept": "x" * 20_001},
        {"before": "x" * 20_001},
        {"said_at": "x" * 2_001},
        {"speaker": "x" * 2_001},
        {"entities": ("x" * 2_001,)},
        {"labels": ("x" * 2_001,)},
        {"content": HALF},
        {"concept": HALF},
        {"before": HALF},
        {"said_at": HALF},
        {"speaker": HALF},
        {"entities": (HALF,)},
        {"labels": (HALF,)},
    ],
    ids=lambda wrong: ascii(wrong)[:40],
)
async def test_one_bad_statement_keeps_all_of_them_out(home: Home, wrong: dict):
    good = said("The pump is red.", before="Which pump?")

    async with home.memory(BagOfWords()) as memory:
        with pytest.raises(InvalidInput):
            await memory.store_facts([good, replace(said("The door is blue."), **wrong)], "ines")

        assert await memory.get_all_facts() == await lines_of(memory) == await found(memory, "pump") == []
        assert (await memory.get_statistics()).vectors == 0
        await memory.store_facts([good], "ines")
    async with home.memory(embedder := BagOfWords()) as memory:
        assert (await memory.get_statistics()).without_vector == 0
        assert await found(memory, "pump") == ["The pump is red."]
        assert embedder.passages == []


@pytest.mark.parametrize("source", ["", "  ", HALF, "x" * 2_001], ids=ascii)
def test_a_source_that_can_not_be_named_vouches_for_nothing(with_memory: Run, source: str):
    async def scenario(memory: CognitiveMemory) -> None:
        with pytest.raises(InvalidInput):
            await memory.store_fact("pump", "The pump is red.", source=source)
        with pytest.raises(InvalidInput):
            await memory.store_episode(Content("The pump is red.", source))

        assert await lines_of(memory) == []

    with_memory(scenario)


@pytest.mark.parametrize("limit", [0, -1])
def test_less_than_one_fact_can_not_be_asked_for(with_memory: Run, limit: int):
    async def scenario(memory: CognitiveMemory) -> None:
        await memory.store_fact("pump", "The pump is red.")
        with pytest.raises(InvalidInput, match="at least one"):
            await memory.search_facts("pump", limit)
        with pytest.raises(InvalidInput, match="at least one"):
            await memory.get_all_facts(limit)
        with pytest.raises(InvalidInput, match="at least one"):
            await memory.search_by_concept("pump", limit)

    with_memory(scenario)


@pytest.mark.parametrize("least", [float("nan"), -0.1, 1.1])
def test_a_least_confidence_is_a_confidence(with_memory: Run, least: float):
    async def scenario(memory: CognitiveMemory) -> None:
        with pytest.raises(InvalidInput, match="min_confidence"):
            await memory.search_facts(Query("pump", min_confidence=least))

    with_memory(scenario)


def test_a_method_that_does_not_exist_is_not_taken_for_another(with_memory: Run):
    async def scenario(memory: CognitiveMemory) -> None:
        await memory.store_fact("pump", "The pump is red.")
        with pytest.raises(InvalidInput, match="no method 'keywords' to search by; there are keyword, vector, hybrid"):
            await memory.search_facts(Query("pump", method=cast(Method, "keywords")))

    with_memory(scenario)


def test_what_does_not_exist_can_not_be_changed(with_memory: Run):
    async def scenario(memory: CognitiveMemory) -> None:
        for unknown in ("", "0" * 32, HALF, "'; DROP"):
            with pytest.raises(InvalidInput):
                await memory.retract_fact(unknown)
            with pytest.raises(InvalidInput):
                await memory.supersede(unknown, said(), "ines")
            assert await memory.get_fact(unknown) is None
        assert await memory.get_all_facts() == []

    with_memory(scenario)


@pytest.mark.parametrize(
    "text",
    [
        "'; MATCH (m) DETACH DELETE m; //",
        "a\0b\0",
        '{"$id": "\\u0000"}',
        "naïve 日本語 🐝 שלום",
        "w" * 20_000,
        "ab " * 6_666,
        "漢字かな" * 5_000,
    ],
    ids=lambda text: ascii(text[:12]),
)
async def test_any_other_text_is_kept_as_it_is_wherever_it_stands(home: Home, text: str):
    odd = said(text, text[:500], before=text, said_at=text[:99], entities=(text[:99],), labels=(text[:99],))

    async with home.memory(BagOfWords()) as memory:
        (kept,) = await memory.store_facts([odd], text[:99])
        spoken = await memory.store_fact("x", f"{text[:500]} x", source="y", said_at="2023-²")
    async with home.memory(BagOfWords()) as memory:
        assert await memory.get_all_facts() == [spoken, kept]
        assert kept.content == text.strip()
        assert kept in [hit.fact for hit in await memory.search_facts(text)]


def test_a_speaker_belongs_to_the_statement_once(with_memory: Run):
    async def scenario(memory: CognitiveMemory) -> None:
        some = [said("I moved.", speaker=" Ines  M"), said("Ines M: I moved.", speaker="Ines M")]
        facts = await memory.store_facts(some, "chat")

        assert {fact.content for fact in facts} == {"Ines M: I moved."}

    with_memory(scenario)


@pytest.mark.parametrize(
    "query", ["", " ", "!?", HALF, "\0", "a." * 100_000, "x" * 500_000, '"' * 1000], ids=lambda q: ascii(q[:9])
)
def test_any_query_is_answered(with_memory: Run, query: str):
    async def scenario(memory: CognitiveMemory) -> None:
        await memory.store_fact("pump", "The pump is red.")
        for method in ("hybrid", "keyword", "vector"):
            await memory.search_facts(Query(query, 10**9, method))  # type: ignore[arg-type]

    with_memory(scenario)


async def test_another_event_loop_is_told_instead_of_being_left_to_wait(home: Home):
    memory = home.memory(BagOfWords())
    await memory.store_fact("pump", "The pump is red.")

    for wrong in (lambda: memory.search_facts("pump"), lambda: memory.store_fact("fan", "The fan is red."), memory.close):
        # A thread of its own has an event loop of its own.
        with pytest.raises(InvalidInput, match="open in another event loop"):
            await asyncio.wait_for(asyncio.to_thread(asyncio.run, wrong()), 10)

    assert await found(memory, "pump") == ["The pump is red."]
    await memory.close()


async def test_a_closed_memory_says_so(home: Home):
    embedder = BagOfWords()
    memory = home.memory(embedder)
    await memory.store_fact("pump", "The pump is red.")
    await memory.close()
    await memory.close()

    for use in (memory.get_all_facts(), memory.store_fact("a", "b"), memory.search_facts("a"), memory.get_statistics()):
        with pytest.raises(HiveError, match="closed"):
            await use
    with pytest.raises(HiveError, match="closed"):
        await lines_of(memory)
    assert embedder.times_closed >= 1

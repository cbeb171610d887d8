"""What a memory refuses, it refuses whole and with a clear word; what it takes, it keeps as it is. Over every store."""

import asyncio
from dataclasses import replace

import pytest

from hive_mind.errors import HiveError, InvalidInput
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.model.bounds import LIMIT_MAX
from hive_mind.model.content import Content
from hive_mind.model.query import Query
from tests.builders import BagOfWords, Home, found, lines_of, said
from tests.loops import about

HALF = "half \ud800 a pair"


WRONG: list[dict[str, object]] = [
    *({"content": text} for text in ("", " \n", "🐝🐝 … !!", "x" * 20_001, HALF)),
    *({"content": "", "speaker": "Ines"}, {"content": "x" * 20_000, "speaker": "Ines"}),
    *({"confidence": value} for value in (float("nan"), 8100.0, -0.1, float("inf"))),
    *({name: text} for name in ("concept", "before") for text in ("x" * 20_001, HALF)),
    *({name: text} for name in ("said_at", "speaker") for text in ("x" * 2_001, HALF)),
    *({name: (text,)} for name in ("entities", "labels") for text in ("x" * 2_001, HALF)),
]


async def test_one_bad_statement_keeps_all_of_them_out(home: Home):
    good = said("The pump is red.", before="Which pump?")

    async with home.memory(BagOfWords()) as memory:
        for wrong in WRONG:
            with about(wrong):
                with pytest.raises(InvalidInput):
                    await memory.store_facts([good, replace(said("The door is blue."), **wrong)], "ines")
                assert await memory.get_all_facts() == await lines_of(memory) == await found(memory, "pump") == []
                assert (await memory.get_statistics()).vectors == 0
        await memory.store_facts([good], "ines")
    async with home.memory(embedder := BagOfWords()) as memory:
        assert (await memory.get_statistics()).without_vector == 0
        assert await found(memory, "pump") == ["The pump is red."]
        assert embedder.passages == []


async def test_a_source_that_can_not_be_named_vouches_for_nothing(memory: CognitiveMemory):
    for source in ("", "  ", HALF, "x" * 2_001):
        with about(source):
            with pytest.raises(InvalidInput):
                await memory.store_fact("pump", "The pump is red.", source=source)
            with pytest.raises(InvalidInput):
                await memory.store_episode(Content("The pump is red.", source))

    assert await lines_of(memory) == []


NO_TIMES = (
    "soon",
    "8 May 2023",
    "2023-13",
    "2023-02-30",
    "2023-²",
    "/",
    "2023/",
    "/2023",
    "2023/2024/2025",
    "2023-05-08T25:00",
    " ",
)
TIMES = ("", "2023", "2023-05", "2023-05-08", "2023-W19", "2023-05-08T13:56", "2023-05-08T13:56:07.5+02:00", "2023-05/2024")


async def test_by_hand_a_fact_is_said_at_a_time_or_at_none(memory: CognitiveMemory):
    (former,) = await memory.store_facts([said("The pump is red.")], "ines")
    for said_at in NO_TIMES:
        with about(said_at):
            with pytest.raises(InvalidInput, match="said_at"):
                await memory.store_fact("pump", "The door is blue.", said_at=said_at)
            with pytest.raises(InvalidInput, match="said_at"):
                await memory.supersede(former.id, said("The pump is green.", said_at=said_at), "ines")
    assert await memory.get_all_facts() == [former]

    for number, said_at in enumerate(TIMES):
        with about(said_at):
            kept = await memory.store_fact("door", f"Door {number} is blue.", said_at=said_at)
            newer = await memory.supersede(kept.id, said(f"Door {number} is red.", said_at=said_at), "ines")
            assert (kept.said_at, newer.said_at) == (said_at, said_at)


async def test_what_does_not_exist_can_not_be_changed(memory: CognitiveMemory):
    for unknown in ("", "0" * 32, HALF, "'; DROP"):
        with pytest.raises(InvalidInput):
            await memory.retract_fact(unknown)
        with pytest.raises(InvalidInput):
            await memory.supersede(unknown, said(), "ines")
        assert await memory.get_fact(unknown) is None
    assert await memory.get_all_facts() == []


TEXTS = [
    "'; MATCH (m) DETACH DELETE m; //",
    "a\0b\0",
    '{"$id": "\\u0000"}',
    "naïve 日本語 🐝 שלום",
    "w" * 20_000,
    "ab " * 6_666,
    "漢字かな" * 5_000,
]


async def test_any_other_text_is_kept_as_it_is_wherever_it_stands(home: Home):
    kept = []
    async with home.memory(BagOfWords()) as memory:
        for text in TEXTS:
            odd = said(text, text[:500], before=text, said_at=text[:99], entities=(text[:99],), labels=(text[:99],))
            kept += await memory.store_facts([odd], text[:99])
            kept.append(await memory.store_fact("x", f"{text[:500]} x", source="y", labels=(text[:99],)))
    async with home.memory(BagOfWords()) as memory:
        assert await memory.get_all_facts() == kept[::-1]
        for text, fact in zip(TEXTS, kept[::2], strict=True):
            # Nobody sees a control, so none is kept.
            assert fact.content == text.replace("\0", "").strip()
            assert fact in [hit.fact for hit in await memory.search_facts(text)], ascii(text[:20])


async def test_a_speaker_belongs_to_the_statement_once(memory: CognitiveMemory):
    some = [said("I moved.", speaker=" Ines  M"), said("Ines M: I moved.", speaker="Ines M")]
    assert {fact.content for fact in await memory.store_facts(some, "chat")} == {"Ines M: I moved."}


async def test_any_query_is_answered(memory: CognitiveMemory):
    await memory.store_fact("pump", "The pump is red.")
    for query in ("", " ", "!?", HALF, "\0", "a." * 100_000, "x" * 500_000, '"' * 1000):
        for method in ("hybrid", "keyword", "vector"):
            with about(query):
                await memory.search_facts(Query(query, LIMIT_MAX, method))  # type: ignore[arg-type]


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

"""Taking lines in batch by batch is taking them in at once, wherever it is stopped, and with an index in RAM or without."""

import asyncio
import json
import random
import re
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hive_mind.embed import Embedder
from hive_mind.embed.none import NoEmbedder
from hive_mind.errors import BackendUnavailable, InvalidInput
from hive_mind.memory.transfer import write_records
from hive_mind.memory.transfer.importing import BEGUN_KEY, Imported, Unindexed, import_all
from hive_mind.memory.vectors import VectorSource
from hive_mind.model.fact import Fact
from hive_mind.model.ids import episode_id, fact_id
from hive_mind.store import Change, FactStore
from hive_mind.store.memory import MemoryStore
from tests.builders import BagOfWords, Home, run

NAMES = [f"Pump {n} is red." for n in range(5)]
TEXTS = [f"Report {n}." for n in range(2)]
FACT = st.builds(
    lambda content, sources, newer, retracted, names: json.dumps(
        {"type": "fact", "content": content, "confidence": 0.5, "sources": sources, "learned_at_us": 5, "entities": names}
        | ({"superseded_by": fact_id(newer)} if newer else {})
        | ({"sharing": "retracted"} if retracted else {})
    ),
    st.sampled_from(NAMES),
    st.lists(st.sampled_from("abc"), min_size=1, max_size=2),
    st.sampled_from(["", "", "", *NAMES]),
    st.integers(0, 4).map(lambda n: n == 0),
    st.lists(st.sampled_from(["Ada", "Ben"]), max_size=2),
)
EPISODE = st.sampled_from(TEXTS).map(
    lambda text: json.dumps({"type": "episode", "text": text, "source": "a", "learned_at_us": 5})
)
LINK = st.builds(
    lambda relation, content, text, other: json.dumps(
        {"type": "link", "relation": relation, "from_id": fact_id(content)}
        | {"to_id": episode_id(text, "a") if relation == "DERIVES_FROM" else fact_id(other)}
    ),
    st.sampled_from(["DERIVES_FROM", "CONTRADICTS"]),
    st.sampled_from(NAMES),
    st.sampled_from(TEXTS),
    st.sampled_from(NAMES),
)
PLAIN = [
    *(json.dumps({"type": "episode", "text": text, "source": "a", "learned_at_us": 5}) for text in TEXTS),
    *(json.dumps({"type": "fact", "content": n, "confidence": 0.9, "sources": ["d"], "learned_at_us": 6}) for n in NAMES),
]
# Everything that may be named is held somewhere, before or after.
LINES = st.builds(
    lambda some, at: [*some[:at], *PLAIN, *some[at:]],
    st.lists(st.one_of(FACT, FACT, EPISODE, LINK, st.just("")), max_size=14),
    st.integers(0, 14),
)


# When a fact came to hold again is a time of this machine; what the lines say are small numbers.
_TURNED_NOW = re.compile(r"\d{10,}(?=[\d,]*\])")


class Failing(MemoryStore):
    """Writes so many times, and then never again."""

    def __init__(self, writes: int) -> None:
        super().__init__()
        self.writes = writes

    async def write(self, changes: Sequence[Change]) -> None:
        if not self.writes:
            raise BackendUnavailable("memory", "gone")
        self.writes -= 1
        await super().write(changes)


async def taken_in(store: FactStore, lines: list[str], batch: int, embedder: Embedder | None = None) -> Imported:
    target = Unindexed(store, VectorSource(embedder or NoEmbedder()), await store.meta())
    return await import_all(lambda: lines, target.keep, target.meta, batch_records=batch)


async def everything(store: FactStore) -> object:
    lines = [_TURNED_NOW.sub("now", line) async for line in write_records(store, store.facts())]
    vectors = {key async for some in store.vectors("bag-of-words") for key in some}
    return lines, vectors, await store.counts(), {key: value for key, value in (await store.meta()).items() if value}


@settings(deadline=None)
@given(st.lists(st.one_of(FACT, EPISODE), max_size=4), LINES, st.integers(1, 4), st.integers(0, 12), st.booleans())
def test_in_any_batches_stopped_anywhere_it_is_what_an_awake_memory_takes_in_at_once(
    known: list[str], lines: list[str], batch: int, writes: int, embeds: bool
):
    def embedder() -> Embedder:
        return BagOfWords() if embeds else NoEmbedder()

    async def whole() -> None:
        home = Home()
        async with home.memory(embedder()) as memory:
            try:
                await memory.import_lines(known)
            except InvalidInput:
                known.clear()
            before = (await memory.get_statistics()).facts
            held = await memory.import_lines(lines)
            added = (await memory.get_statistics()).facts - before
            at_once = await everything(home.stores[-1])

        store = Failing(-1)
        await taken_in(store, known, 100, embedder())
        store.writes = writes
        try:
            done = await taken_in(store, lines, batch, embedder())
            assert (done.facts, done.added) == (held, added)
        except BackendUnavailable:
            store.writes = -1
            assert (await taken_in(store, lines, batch, embedder())).facts == held
        assert await everything(store) == at_once

    run(whole())


@pytest.mark.parametrize("seed", range(3))
async def test_other_lines_do_not_go_on_where_these_were_stopped(seed: int):
    chance = random.Random(seed)
    ours, theirs = (
        [json.dumps(GOOD | {"content": f"{name} {n}."}) for n in range(chance.randrange(5, 20))] for name in ("Pump", "Door")
    )

    store = Failing(2)
    with pytest.raises(BackendUnavailable):
        await taken_in(store, ours, 2)
    store.writes = -1
    assert (await taken_in(store, theirs, 2)).skipped_lines == 0
    # Theirs took the place of what was remembered of ours; all of ours is looked at again, and nothing is doubled.
    assert (await taken_in(store, ours, 2)).skipped_lines == 0
    assert (await store.counts())["facts"] == len(ours) + len(theirs)
    assert (await store.meta())[BEGUN_KEY] == ""


GOOD = {"type": "fact", "content": "", "confidence": 0.5, "sources": ["a"], "learned_at_us": 5}


async def test_whoever_is_cancelled_finishes_the_batch_that_is_being_written_and_tells_of_it():
    lines = [json.dumps(GOOD | {"content": f"Pump {n}."}) for n in range(10)]

    store, told, begun, free = MemoryStore(), list[int](), asyncio.Event(), asyncio.Event()
    target = Unindexed(store, VectorSource(NoEmbedder()), {})

    async def keep(facts: Sequence[Fact], changes: Sequence[Change]) -> int:
        begun.set()
        await free.wait()
        return await target.keep(facts, changes)

    def tell(done: int, total: int, what: str) -> None:
        if what == "importing" and total == len(lines):
            told.append(done)

    task = asyncio.create_task(import_all(lambda: lines, keep, {}, batch_records=4, progress=tell))
    await begun.wait()
    task.cancel()
    free.set()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert told == [0, 4]
    assert (await store.counts())["facts"] == 4
    assert (await taken_in(store, lines, 4)).skipped_lines == 4


async def test_an_import_into_an_awake_memory_is_found_at_once_and_leaves_no_trace_of_its_batches():
    lines = [json.dumps(GOOD | {"content": f"Pump {n} is red."}) for n in range(600)]

    home = Home()
    async with home.memory(BagOfWords()) as memory:
        assert await memory.import_lines(lines) == 600
        assert (await memory.search_facts("Pump 599"))[0].fact.content == "Pump 599 is red."
        assert not (await home.stores[-1].meta())[BEGUN_KEY]


async def test_lines_that_change_while_they_are_taken_in_are_told_by_number():
    lines = [json.dumps(GOOD | {"content": f"Pump {n}."}) for n in range(4)]
    reads = iter([lines, [*lines[:2], "{", lines[3]]])
    target = Unindexed(MemoryStore(), VectorSource(NoEmbedder()), {})
    with pytest.raises(InvalidInput, match="line 3 was changed while it was imported"):
        await import_all(lambda: next(reads), target.keep, {}, batch_records=2)

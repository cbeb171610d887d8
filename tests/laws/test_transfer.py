"""Export and import: what went out comes in again as it was, and what can't be taken in leaves nothing behind."""

import json
import random
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hive_mind.errors import InvalidInput
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.model.content import Content
from tests.builders import BagOfWords, Home, lines_of, run, said

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=25)
SAID = st.builds(
    lambda content, concept, confidence, said_at, speaker, before, names: said(
        f"{content} x", concept, confidence, said_at=said_at, speaker=speaker, before=before, entities=names, labels=names
    ),
    TEXT,
    TEXT,
    st.floats(0, 1),
    TEXT,
    TEXT,
    TEXT,
    st.lists(TEXT, max_size=3).map(tuple),
)
SOURCE = st.text("abc", min_size=1, max_size=1)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("keep"), SAID, SOURCE),
        st.tuples(st.just("learn"), SAID, SOURCE),
        st.tuples(st.just("supersede"), SAID, SOURCE),
        st.tuples(st.sampled_from(["retract", "contradict"]), st.none(), st.none()),
    ),
    min_size=1,
    max_size=12,
)


async def live(memory: CognitiveMemory, steps: list, chance: random.Random) -> None:
    for step, candidate, source in steps:
        ids = [fact.id for fact in await memory.get_all_facts()] or ["0" * 32]
        try:
            match step:
                case "keep":
                    await memory.store_facts([candidate], source)
                case "learn":
                    episode = await memory.store_episode(Content(candidate.content, source, candidate.said_at), candidate.before)
                    await memory.store_facts([candidate], source, episode)
                case "supersede":
                    await memory.supersede(chance.choice(ids), replace(candidate, said_at=""), source)
                case "retract":
                    await memory.retract_fact(chance.choice(ids))
                case _:
                    await memory.contradict(chance.choice(ids), chance.choice(ids))
        except InvalidInput:
            pass  # Nothing there yet, or a fact against itself.


@settings(deadline=None)
@given(STEPS, st.randoms(use_true_random=False))
def test_what_went_out_comes_in_as_it_was_and_coming_in_again_changes_nothing(steps: list, chance: random.Random):
    async def whole() -> None:
        async with Home().memory(BagOfWords()) as memory, Home().memory(BagOfWords()) as copy:
            await live(memory, steps, chance)
            exported = await lines_of(memory)

            count = await copy.import_lines(exported)
            assert await lines_of(copy) == exported
            assert count == sum('"type":"fact"' in line for line in exported)
            await copy.import_lines(exported)
            await memory.import_lines(exported)
            assert await lines_of(copy) == await lines_of(memory) == exported
            ours, theirs = await memory.get_statistics(), await copy.get_statistics()
            assert (ours.facts, ours.superseded, ours.retracted) == (theirs.facts, theirs.superseded, theirs.retracted)
            for word in ("x", "0"):
                assert await memory.search_facts(word, 50) == await copy.search_facts(word, 50)

    run(whole())


GOOD = {"type": "fact", "content": "The pump is red.", "confidence": 0.8, "sources": ["ines"], "learned_at_us": 5}
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.sampled_from(["fact", "link", "retracted"])),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=9), inner, max_size=3)),
    max_leaves=6,
)
KEYS = st.sampled_from(
    [*GOOD, "id", "concept", "said_at", "entities", "sharing", "superseded_by", "text", "source", "unheard of"]
)
MUTATED = st.builds(lambda key, value: json.dumps(GOOD | {key: value}), KEYS, JSON)
CUT = st.builds(lambda at: json.dumps(GOOD)[:at], st.integers(0, 120))
LINES = st.lists(st.one_of(st.text(st.characters(exclude_categories=())), JSON.map(json.dumps), MUTATED, CUT), max_size=5)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(LINES)
def test_any_lines_are_taken_in_or_refused_by_number_and_then_nothing_is_taken_in(lines: list[str]):
    async def whole() -> None:
        async with Home().memory() as memory:
            await memory.store_fact("door", "The door is blue.")
            before = await lines_of(memory)
            if refusal := await refused(memory, [json.dumps(GOOD), *lines]):
                assert "nothing was imported" in refusal
                assert "line " in refusal or "is named and not held" in refusal
                assert await lines_of(memory) == before
            else:
                again = await lines_of(memory)
                async with Home().memory() as copy:
                    assert not await refused(copy, again)
                    assert await lines_of(copy) == again

    async def refused(memory: CognitiveMemory, given: list[str]) -> str:
        try:
            await memory.import_lines(given)
        except InvalidInput as error:
            return str(error)
        return ""

    run(whole())


@pytest.mark.parametrize("seed", range(3))
async def test_two_memories_that_take_in_each_other_hold_the_same_facts_from_the_same_sources(seed: int):
    chance = random.Random(seed)

    async def vouched(memory: CognitiveMemory) -> dict[str, set[str]]:
        return {fact.content: set(fact.sources) for fact in await memory.get_all_facts()}

    async with Home().memory() as here, Home().memory() as there:
        for memory in (here, there):
            for _ in range(10):
                await memory.store_fact("n", f"Statement {chance.randrange(8)}.", chance.random(), source=chance.choice("abc"))
        ours, theirs = await lines_of(here), await lines_of(there)
        await here.import_lines(theirs)
        await there.import_lines(ours)

        assert await vouched(here) == await vouched(there)

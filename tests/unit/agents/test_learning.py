"""Learning, step by step and as a whole: again adds nothing, interrupted goes on, failed keeps what was kept."""

import asyncio

import pytest

from hive_mind.agents.agent import LearningAgent
from hive_mind.agents.learning import LearningSettings, LearningSteps
from hive_mind.cognition.extractive import ExtractiveReader
from hive_mind.errors import BackendError, BudgetExceeded, InvalidInput, ModelOutputError
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.model.content import Content
from tests.builders import BagOfWords, Home, lines_of, said
from tests.unit.agents.readers import ScriptedReader

CONTENT = Content("The pump is red. The door is blue.", "ines")
RED, BLUE, MAYBE = said("The pump is red."), said("The door is blue."), said("The tank may leak.", confidence=0.1)


def steps(memory: CognitiveMemory, *candidates, **known) -> LearningSteps:
    return LearningSteps(memory, ScriptedReader(*candidates, **known))


@pytest.mark.parametrize("wrong", [Content("", "ines"), Content(" \n", "ines"), Content("Text.", "")])
async def test_observing_refuses_what_can_not_be_learned(wrong: Content, memory: CognitiveMemory):
    with pytest.raises(InvalidInput):
        await steps(memory).observe(wrong)


async def test_observing_makes_damaged_text_readable(memory: CognitiveMemory):
    assert (await steps(memory).observe(Content("half \ud800 a pair", "ines"))).text == "half ? a pair"


@pytest.mark.parametrize(("own", "read", "kept"), [("", "2023-05", "2023-05"), ("2022", "2023-05", "2022"), ("", "", "")])
async def test_orienting_finds_when_it_was_said_and_believes_the_content_first(
    own: str, read: str, kept: str, memory: CognitiveMemory
):
    content, extraction = await steps(memory, RED, said_at=read).orient(Content("Text.", "ines", own))
    assert content.said_at == kept
    assert extraction.candidates == (RED,)


async def test_deciding_leaves_out_what_is_hardly_believed_and_writes_nothing(memory: CognitiveMemory):
    some = steps(memory, RED, MAYBE)
    plan = await some.decide(await some.orient(CONTENT))
    assert (plan.candidates, plan.skipped, plan.summary) == ((RED,), 1, "ines said 1 things")
    assert await lines_of(memory) == []


async def test_acting_keeps_content_and_facts_and_says_what_was_new(memory: CognitiveMemory):
    await memory.store_fact("door", "The door is blue.", source="otto")
    kept: list[tuple[int, int]] = []
    agent = LearningAgent("a", memory, ScriptedReader(RED, BLUE, MAYBE, RED), LearningSettings(batch_facts=2))

    learned = await agent.learn_from_content(CONTENT, lambda done, total: kept.append((done, total)))

    assert (learned.added, learned.confirmed, learned.skipped) == (1, 1, 1), "a statement made twice is one"
    assert kept == [(2, 3), (3, 3)]
    assert [episode.text for episode in await memory.episodes_of(learned.facts[0].id)] == [CONTENT.text]
    assert learned.episode.summary == "ines said 3 things"


@pytest.mark.parametrize("reader", [ExtractiveReader(), ScriptedReader(RED, BLUE)], ids=["extractive", "scripted"])
async def test_learning_the_same_again_adds_nothing(reader):
    async with Home().memory(BagOfWords()) as memory:
        agent = LearningAgent("a", memory, reader)
        first = await agent.learn_from_content(CONTENT)
        before = await lines_of(memory)

        again = await agent.learn_from_content(CONTENT)
        assert (again.added, again.confirmed) == (0, 0)
        assert {fact.id for fact in again.facts} == {fact.id for fact in first.facts} != set()
        assert await lines_of(memory) == before
        other = await agent.learn_from_content(Content(CONTENT.text, "otto"))
        assert (other.added, other.confirmed) == (0, first.added)


@pytest.mark.parametrize("stopped_after", [1, 2, 3])
async def test_learning_that_was_interrupted_is_completed_the_next_time(stopped_after: int, memory: CognitiveMemory):
    many = [said(f"Pump {n} is red.") for n in range(10)]
    content = Content("Ten pumps.", "ines")
    settings = LearningSettings(batch_facts=3)
    agent = LearningAgent("a", memory, ScriptedReader(*many), settings)

    def stop(done: int, total: int) -> None:
        del total
        if done >= 3 * stopped_after:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await agent.learn_from_content(content, stop)
    assert len(await memory.get_all_facts()) == 3 * stopped_after

    learned = await agent.learn_from_content(content)
    assert learned.added == 10 - 3 * stopped_after
    async with Home().memory() as undisturbed:
        await LearningAgent("b", undisturbed, ScriptedReader(*many), settings).learn_from_content(content)
        contents = [fact.content for fact in await undisturbed.get_all_facts()]
    assert [fact.content for fact in await memory.get_all_facts()] == contents
    assert (await memory.get_statistics()).episodes == 1


async def test_a_reader_that_fails_leaves_nothing_half_learned(memory: CognitiveMemory):
    reader = ScriptedReader(RED)
    reader.failure = ModelOutputError("nonsense")
    with pytest.raises(ModelOutputError):
        await LearningAgent("a", memory, reader).learn_from_content(CONTENT)
    assert await lines_of(memory) == []


@pytest.mark.parametrize("failure", [ModelOutputError("nonsense"), BudgetExceeded("spent"), BackendError("model", "gone")])
async def test_facts_are_kept_whose_concept_map_can_not_be_had_and_it_is_said(failure, memory: CognitiveMemory):
    class NoMap(ScriptedReader):
        async def summarise(self, *_):
            raise failure

    learned = await LearningAgent("a", memory, NoMap(RED)).learn_from_content(CONTENT)

    assert [fact.content for fact in await memory.get_all_facts()] == [RED.content]
    assert learned.missing == f"no concept map: {failure}"


async def test_content_without_statements_is_kept_as_it_is(memory: CognitiveMemory):
    learned = await LearningAgent("a", memory, ScriptedReader()).learn_from_content("Hm.")
    assert (learned.facts, learned.added, learned.episode.source) == ((), 0, "user")
    assert (await memory.get_statistics()).episodes == 1

"""Answering, step by step and as a whole: on what was found and on nothing else."""

import pytest

from hive_mind.agents.agent import LearningAgent
from hive_mind.agents.answering import CHARACTERS_MAX, AnsweringSteps
from hive_mind.errors import InvalidInput
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.model.gathered import Question
from tests.builders import BagOfWords, Home, said
from tests.unit.agents.readers import ScriptedReader


@pytest.mark.parametrize("nothing", ["", " \n\t"])
async def test_observing_refuses_a_question_without_words(nothing: str, memory: CognitiveMemory):
    with pytest.raises(InvalidInput, match="has no words"):
        await AnsweringSteps(memory, ScriptedReader()).observe(Question(nothing))


async def test_deciding_searches_as_wide_as_the_question_wants():
    async with Home().memory(BagOfWords()) as memory:
        await memory.store_facts([said(f"Pump {n} is red.") for n in range(60)], "ines")
        few, many = AnsweringSteps(memory, ScriptedReader(), limit=1), AnsweringSteps(memory, ScriptedReader(), limit=50)

        for text, least in [("Is the pump red?", 10), ("Where is the pump?", 30), ("How many pumps are there?", 30)]:
            question = Question(text)
            assert len((await few.decide(await few.orient(question))).found) == least
            assert len((await many.decide(await many.orient(question))).found) == 50


async def test_only_who_asks_for_the_past_gets_it(memory: CognitiveMemory):
    await memory.supersede((await memory.store_fact("pump", "The pump is red.")).id, said("The pump is blue."), "otto")
    reader = ScriptedReader()
    agent = LearningAgent("a", memory, reader)
    await agent.answer_question("What colour is the pump?")
    await agent.answer_question("What colour was the pump before?")

    now, then = ({hit.fact.content for hit in hits} for _, hits in reader.asked)
    assert now == {"The pump is blue."}
    assert then == {"The pump is blue.", "The pump is red."}


async def test_an_answer_names_its_sources_an_empty_memory_knows_nothing_and_asking_never_writes():
    async with Home().memory(BagOfWords()) as memory:
        agent = LearningAgent("a", memory, ScriptedReader())
        assert not (await agent.answer_question("What colour is the pump?")).is_known

        kept = await memory.store_fact("pump", "The pump is red.")
        before = await memory.get_statistics()
        for method in ("keyword", "hybrid", "vector"):
            answer = await agent.answer_question(Question("What colour is the pump?", "2024"), method=method)
            assert [hit.fact for hit in answer.sources] == [kept]
            assert answer.is_known
        await agent.answer_question("What colour is the door?")
        assert await memory.get_statistics() == before


async def test_closing_an_agent_closes_its_memory(memory: CognitiveMemory):
    async with LearningAgent("a", memory, ScriptedReader()) as agent:
        await agent.learn_from_content("The pump is red.")
    await agent.close()
    with pytest.raises(InvalidInput, match="closed"):
        await memory.get_all_facts()


async def test_deciding_looks_for_other_words_too():
    async with Home().memory() as memory:
        kept = await memory.store_fact("choir", "Ben Holm is its director.")
        steps = AnsweringSteps(memory, ScriptedReader())

        found = (await steps.decide(await steps.orient(Question("Who leads the singers?")))).found

    assert [hit.fact for hit in found] == [kept]


LONG = "The pump measured: " + "1,2 " * 4_900


async def test_a_question_reads_so_much_text_and_says_what_it_did_not_read():
    async with Home().memory(BagOfWords()) as memory:
        await memory.store_facts([said(f"{LONG}{n}") for n in range(12)], "otto")
        kept = await memory.store_fact("pump", "The pump is red.")
        reader = ScriptedReader()
        answer = await LearningAgent("a", memory, reader).answer_question("What colour is the pump?")

        _, hits = reader.asked[-1]
        assert sum(len(hit.fact.content) + len(hit.fact.before) for hit in hits) <= CHARACTERS_MAX
        assert kept in [hit.fact for hit in hits]
        assert answer.note == f"{13 - len(hits)} facts not read: one question reads {CHARACTERS_MAX:,} characters"


async def test_of_ordinary_facts_all_are_read():
    async with Home().memory(BagOfWords()) as memory:
        await memory.store_facts([said(f"Pump {n} is red. " * 10) for n in range(60)], "ines")
        reader = ScriptedReader()
        answer = await LearningAgent("a", memory, reader).answer_question("How many pumps are there?")
        assert (len(reader.asked[-1][1]), answer.note) == (30, "")

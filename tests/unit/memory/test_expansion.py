"""Words that a language model adds to a question find more, count less than its own, and have to come in time."""

import asyncio

import pytest

from hive_mind.cognition.budget import Budget
from hive_mind.cognition.extractive import ExtractiveReader
from hive_mind.cognition.prompted import PromptedReader, QuotingInstead
from hive_mind.errors import BackendUnavailable, ConfigError, ModelOutputError
from hive_mind.llm.scripted import ScriptedModel
from hive_mind.memory.reranking import Expander
from hive_mind.model.query import Query
from hive_mind.ranking.pipeline import RankingSettings
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import open_agent
from tests.builders import Home, said
from tests.unit.memory.hives import SmallHive, two

OWN, SYNONYM, OTHER = "The pump leaks.", "A valve drips.", "The door is red."
TEXTS = [OWN, SYNONYM, OTHER]
QUESTION = "What leaks at the pump?"
BY_MODEL = RankingSettings(expansion="model")


class Knowing:
    """Knows some words, and notes what it was asked."""

    def __init__(self, words: str = "drips valve", failure: Exception | None = None) -> None:
        self.words, self.failure, self.asked = words, failure, list[str]()

    async def more_words(self, question: str) -> str:
        self.asked.append(question)
        if self.failure:
            raise self.failure
        return self.words


class Slow:
    async def more_words(self, _: str) -> str:
        await asyncio.sleep(3600)
        return ""


async def asked(expander: Expander | None, ranking: RankingSettings = BY_MODEL) -> tuple[list[str], str]:
    async with Home().memory(ranking=ranking) as memory:
        memory.refining.expander = expander
        await memory.store_facts([said(text, concept="") for text in TEXTS], "log")
        result = await memory.search_facts(QUESTION)
    return [hit.fact.content for hit in result], result.note


async def test_its_words_find_what_the_question_has_no_word_of_and_stand_behind_its_own():
    assert await asked(Knowing()) == ([OWN, SYNONYM], "")
    assert await asked(Knowing(), ranking=RankingSettings()) == ([OWN], "")
    assert await asked(Knowing("Leaks?")) == ([OWN], "")


async def test_a_question_is_expanded_once_and_one_of_nothing_but_identifiers_never():
    async with Home().memory(ranking=BY_MODEL) as memory:
        memory.refining.expander = knowing = Knowing()
        for question in (QUESTION, QUESTION, "D40", QUESTION):
            await memory.search_facts(question)

    assert knowing.asked == [QUESTION]


@pytest.mark.parametrize(
    ("expander", "note"),
    [
        (None, "not expanded: there is no language model; see HIVE_MIND_LLM"),
        (Knowing(failure=BackendUnavailable("llm", "it is away")), "not expanded: llm: it is away"),
        (Knowing(failure=ModelOutputError("it replied twice")), "not expanded: it replied twice"),
        (QuotingInstead(ConfigError("no key")), "not expanded: no key"),
        (Slow(), "not expanded: the 20 ms of the question were over"),
    ],
)
async def test_where_there_are_no_words_in_time_the_question_has_its_own_and_the_result_says_why(
    expander: Expander | None, note: str
):
    ranking = RankingSettings(expansion="model", refine_within_ms=20) if isinstance(expander, Slow) else BY_MODEL
    assert await asked(expander, ranking=ranking) == ([OWN], note)


async def test_in_a_hive_they_find_what_they_find_in_one_memory():
    ada_home, bo_home = two(hive := SmallHive())

    async with ada_home.memory() as ada, bo_home.memory(ranking=BY_MODEL) as bo:
        bo.local.refining.expander = Knowing()
        await ada.store_facts([said(text, concept="") for text in TEXTS[:2]], "log")
        await bo.store_facts([said(TEXTS[2], concept="")], "log")
        hive.calls.clear()
        shared = await bo.search_facts(Query(QUESTION, method="keyword"))

    async with Home().memory(ranking=BY_MODEL) as memory:
        memory.refining.expander = Knowing()
        await memory.store_facts([said(text, concept="") for text in TEXTS], "log")
        alone = await memory.search_facts(Query(QUESTION, method="keyword"))

    assert [hit.fact.content for hit in shared] == [hit.fact.content for hit in alone] == [OWN, SYNONYM]
    assert [hit.components.keyword for hit in shared] == [hit.components.keyword for hit in alone]
    assert hive.calls == ["ask", "fetch"]


async def test_the_model_of_an_agent_is_asked_with_the_question_fenced_as_data():
    model = ScriptedModel(['{"words": ["drips", "valve"]}'])

    assert await PromptedReader(model, Budget(10_000)).more_words(QUESTION) == "drips valve"
    assert QUESTION in model.prompts[0].text
    assert QUESTION not in model.prompts[0].instructions
    assert await QuotingInstead(ExtractiveReader()).more_words(QUESTION) == ""


async def test_an_agent_asks_the_model_of_its_settings(tmp_path):
    settings = Settings(home=tmp_path, store="memory", embed="none", llm="scripted")

    async with await open_agent(settings, "ada", BY_MODEL) as agent:
        result = await agent.memory.search_facts(QUESTION)

    assert result.note.startswith("not expanded: ")
    assert "there is no language model" not in result.note


async def test_further_words_change_no_score_of_what_has_none_of_them_alone_and_in_a_hive():
    ada_home, _ = two(SmallHive())

    async with Home().memory() as alone, ada_home.memory() as ada:
        for searched in (alone, ada):
            await searched.store_facts([said(text, concept="") for text in TEXTS], "log")
            plain, further = [await searched.search_facts(Query(QUESTION, also=also)) for also in ("", "violin")]
            assert [hit.components.keyword for hit in further] == pytest.approx([hit.components.keyword for hit in plain])


async def test_the_words_of_a_model_are_added_to_those_that_a_question_brings():
    async with Home().memory(ranking=BY_MODEL) as memory:
        memory.refining.expander = Knowing()
        await memory.store_facts([said(text, concept="") for text in TEXTS], "log")
        found = await memory.search_facts(Query(QUESTION, also="door"))

    assert {hit.fact.content for hit in found} == set(TEXTS)

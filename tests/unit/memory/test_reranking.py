"""A second look moves the best of a search as a whole or not at all, in a memory as in a hive."""

import logging
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.agents.agent import LearningAgent
from hive_mind.api import requests as api
from hive_mind.cognition.extractive import ExtractiveReader
from hive_mind.errors import BackendUnavailable
from hive_mind.memory import reranking
from hive_mind.memory.reranking import reranked
from hive_mind.model.query import ComponentScores, Contributions, Hit, Query
from hive_mind.ranking.pipeline import RankingSettings
from hive_mind.runtime.calls import AgentCalls
from tests.builders import Home, fact, found, said
from tests.cross_encoders import Reading, looked_at_by
from tests.unit.memory.hives import AWAY, SmallHive, two

TEXTS = [f"The pump in hall {number} is red." for number in range(6)]
QUESTION = "Which pump is red?"


def last_first(_: str, text: str) -> float:
    """Logits, as the usual model gives them."""
    return 4.0 * TEXTS.index(text) - 10.0


@given(st.lists(st.floats(0, 2), max_size=8), st.lists(st.floats(0, 1), max_size=8), st.floats(0, 1))
def test_it_adds_to_those_it_looked_at_and_leaves_the_others_behind_in_their_order(scores, shares, weight):
    first = [
        Hit(fact(f"fact {number}"), score, ComponentScores(0, None, 0, 0, 0), Contributions(keyword=score))
        for number, score in enumerate(sorted(scores, reverse=True))
    ]
    shares = shares[: len(first)]

    again = reranked(first, shares, weight)

    assert sorted(one.fact.id for one in again) == sorted(one.fact.id for one in first)
    assert [one.fact.id for one in again[len(shares) :]] == [one.fact.id for one in first[len(shares) :]]
    assert [one.score for one in again] == sorted((one.score for one in again), reverse=True)
    assert all(one.score == pytest.approx(one.contributions.total) for one in again)
    gained = {one.fact.id: one.contributions.reranked for one in again}
    assert gained == {one.fact.id: weight * share for one, share in zip(first, [*shares, *[0.0] * len(first)], strict=False)}


@pytest.mark.parametrize(("model", "looks"), [("ms-marco-MiniLM", 0), ("mmarco-mMiniLMv2", 1), ("bge-reranker-v2-m3", 1)])
async def test_a_model_of_english_does_not_look_at_questions_in_other_languages(model: str, looks: int):
    encoder = Reading(last_first)
    reranking.of_this_process().put(model, encoder)
    ranking = RankingSettings(rerank=4, rerank_model=model)

    async with Home().memory(ranking=ranking) as memory:
        await memory.store_facts([said(text) for text in TEXTS], "log")
        best = await memory.search_facts("Welche Pumpe ist red?")

    assert len(encoder.asked) == looks
    assert ("reads English" in best.note) is not bool(looks)


async def test_the_best_come_in_another_order_and_those_it_did_not_see_stay_where_they_were():
    ranking = looked_at_by(encoder := Reading(last_first), rerank=4, rerank_weight=1.0)

    async with Home().memory(ranking=ranking) as memory:
        await memory.store_facts([said(text) for text in TEXTS], "log")
        best = await memory.search_facts(QUESTION)
        shown = await found(memory, QUESTION, 2)

    plain = await plainly()
    seen = sorted(plain[:4], key=TEXTS.index, reverse=True)
    assert [one.fact.content for one in best] == [*seen, *plain[4:]]
    assert shown == seen[:2]
    assert [len(pairs) for pairs in encoder.asked] == [4, 4]
    assert best.note == ""
    assert [one.score for one in best] == [pytest.approx(one.contributions.total) for one in best]


async def plainly(limit: int = 10) -> list[str]:
    async with Home().memory() as memory:
        await memory.store_facts([said(text) for text in TEXTS], "log")
        return await found(memory, QUESTION, limit)


async def test_where_the_time_is_over_the_first_ranking_is_the_answer_and_says_so():
    go_on = threading.Event()

    def slowly(query: str, text: str) -> float:
        go_on.wait(60)
        return last_first(query, text)

    ranking = looked_at_by(Reading(slowly), refine_within_ms=30)

    async with Home().memory(ranking=ranking) as memory:
        await memory.store_facts([said(text) for text in TEXTS], "log")
        late = await memory.search_facts(QUESTION, 3)
        agent = LearningAgent("ada", memory, ExtractiveReader())
        told = await AgentCalls(agent, None, is_kept=False).do(api.Search(query=QUESTION, limit=3))
        answer = await agent.answer_question(QUESTION)
        go_on.set()

    assert [one.fact.content for one in late] == await plainly(3)
    assert {one.contributions.reranked for one in late} == {0.0}
    assert late.note == told["note"] == answer.note == "not reranked: the 30 ms of the question were over"


async def test_one_that_fails_half_way_moves_nothing_and_says_why():
    def failing(query: str, text: str) -> float:
        if text == TEXTS[3]:
            raise RuntimeError("out of\nmemory")
        return last_first(query, text)

    ranking = looked_at_by(Reading(failing))

    async with Home().memory(ranking=ranking) as memory:
        await memory.store_facts([said(text) for text in TEXTS], "log")
        best = await memory.search_facts(QUESTION)

    assert [one.fact.content for one in best] == await plainly()
    assert best.note == f"not reranked: cross-encoder '{ranking.rerank_model}' failed (out of memory)"


async def test_one_that_can_not_be_had_is_one_line_for_all_memories_of_a_process(monkeypatch, caplog):
    ranking = RankingSettings(rerank=20, rerank_model="test-gone")
    loads = []

    def gone(model: str) -> None:
        loads.append(model)
        raise BackendUnavailable("rerank", "there is no such model; name another")

    monkeypatch.setattr(reranking, "_load", gone)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            async with Home().memory(ranking=ranking) as memory:
                await memory.store_facts([said(text) for text in TEXTS], "log")
                best = await memory.search_facts(QUESTION)
                assert [one.fact.content for one in best] == await plainly()
                assert best.note == "not reranked: rerank: there is no such model; name another"

    assert loads == [ranking.rerank_model]
    assert caplog.messages == ["not reranked: rerank: there is no such model; name another"]


async def test_a_model_is_loaded_once_when_the_first_memory_wakes_and_never_on_the_event_loop(monkeypatch):
    ranking, loads = RankingSettings(rerank=20, rerank_model="test-loaded"), []

    def load(model: str) -> Reading:
        loads.append((model, threading.current_thread() is threading.main_thread()))
        return Reading()

    monkeypatch.setattr(reranking, "_load", load)
    async with Home().memory(ranking=ranking), Home().memory(ranking=ranking):
        assert loads == [(ranking.rerank_model, False)]
    async with Home().memory(ranking=RankingSettings(rerank_model="unwanted")):
        assert len(loads) == 1


async def test_a_question_of_nothing_but_identifiers_is_not_looked_at_again():
    ranking = looked_at_by(encoder := Reading())

    async with Home().memory(ranking=ranking) as memory:
        await memory.store_facts([said("D40 is dry."), said("D4 is wet.")], "log")
        assert await found(memory, "D40") == ["D40 is dry."]
        assert encoder.asked == []
        await found(memory, "Is D40 wet?")
        assert len(encoder.asked) == 1


async def test_in_a_hive_it_sees_what_it_sees_in_one_memory_for_no_more_questions():
    ranking = looked_at_by(encoder := Reading(last_first), rerank_weight=1.0)
    ada_home, bo_home = two(hive := SmallHive())

    async with ada_home.memory() as ada, bo_home.memory(ranking=ranking) as bo:
        await ada.store_facts([said(text) for text in TEXTS[:4]], "log")
        await bo.store_facts([said(text) for text in TEXTS[4:]], "log")
        hive.calls.clear()
        shared = await bo.search_facts(Query(QUESTION, 3))
        calls, hive.failure = list(hive.calls), AWAY
        alone = await bo.search_facts(Query(QUESTION, 3))

    async with Home().memory(ranking=ranking) as memory:
        await memory.store_facts([said(text) for text in TEXTS], "log")
        single = await memory.search_facts(Query(QUESTION, 3))

    assert [one.fact.content for one in shared] == [one.fact.content for one in single] == TEXTS[:2:-1]
    assert encoder.asked[0] == encoder.asked[-1]
    assert calls == ["ask", "fetch"]
    assert [one.fact.content for one in alone] == TEXTS[:3:-1]
    assert alone.completeness == 0.0

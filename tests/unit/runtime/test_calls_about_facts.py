"""What a running agent is asked about a fact: why it is there, what it contradicts, and to put another in its place."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from hive_mind.agents.agent import LearningAgent
from hive_mind.api import requests as api
from hive_mind.api.request import Request
from hive_mind.cognition.extractive import ExtractiveReader
from hive_mind.errors import InvalidInput
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.runtime.calls import AgentCalls
from tests.builders import Home
from tests.unit.memory.hives import AWAY, SmallHive, two

OLD, NEW = "The gateway listens on port 8443.", "The gateway listens on port 9443."


def asked(story: Callable[[AgentCalls], Awaitable[Any]]) -> Any:
    """By an agent without a hive."""

    async def told() -> Any:
        async with Home().memory() as memory:
            return await story(AgentCalls(LearningAgent("ada", memory, ExtractiveReader()), None, is_kept=False))

    return asyncio.run(told())


def test_a_corrected_fact_says_what_it_replaced_and_where_it_was_said() -> None:
    async def story(calls: AgentCalls) -> Any:
        learned = await calls.do(api.Learn(text=OLD, source="runbook"))
        changed = await calls.do(api.Correct(fact_id=learned["facts"][0], content=NEW, source="correction"))
        return learned["facts"], [await calls.do(api.Why(fact_id=one)) for one in (*learned["facts"], changed["fact_id"])]

    (old,), (former, newer) = asked(story)
    assert (former["content"], former["superseded_by"]) == (OLD, newer["fact_id"])
    assert [(said["source"], said["text"]) for said in former["said_in"]] == [("runbook", OLD)]
    assert (newer["content"], newer["replaces"], newer["sources"], newer["said_in"]) == (NEW, [old], ["correction"], [])


def test_of_a_long_text_the_beginning_is_shown() -> None:
    async def story(calls: AgentCalls) -> Any:
        learned = await calls.do(api.Learn(text=OLD + " The valve is open." * 1000, source="log"))
        return await calls.do(api.Why(fact_id=learned["facts"][0]))

    assert len(asked(story)["said_in"][0]["text"]) == 2000


@pytest.mark.parametrize(
    ("call", "why"),
    [
        *(
            (call, "ada knows no fact 'nope'; a search gives ids")
            for call in (api.Why(fact_id="nope"), api.Correct(fact_id="nope", content=NEW))
        ),
        *(
            (call, "`as_of` is a day or a time such as")
            for call in (api.Search(query="x", as_of="May"), api.Ask(question="x", as_of="May"))
        ),
    ],
)
def test_a_fact_that_is_not_there_and_a_time_that_is_none_are_refused(call: Request, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        asked(lambda calls: calls.do(call))


def test_conflicts_are_pairs_of_what_holds_now_the_newest_first() -> None:
    async def story(calls: AgentCalls) -> Any:
        said = (
            OLD,
            NEW,
            "The valve is open.",
            "The door of the depot closes at 18:00.",
            "The door of the depot closes at 20:00.",
        )
        facts = [await calls.do(api.Store(concept=text.split()[1], content=text, source=text[-7:])) for text in said]
        found = await calls.do(api.Conflicts())
        await calls.do(api.Retract(fact_id=facts[0]["fact_id"], text="a typing mistake"))
        return found, await calls.do(api.Conflicts()), await calls.do(api.Conflicts(limit=0))

    both, one, every = asked(story)
    assert [{side["content"][-7:] for side in pair} for pair in both["conflicts"]] == [
        {" 18:00.", " 20:00."},
        {"t 8443.", "t 9443."},
    ]
    assert [len(found["conflicts"]) for found in (one, every)] == [1, 1]
    assert [found["count"] for found in (both, one, every)] == [2, 1, 1]


async def test_conflicts_of_a_hive_fetch_the_facts_of_pairs_alone_and_say_how_much_answered():
    home, other = two(SmallHive())
    async with home.memory() as ada, other.memory() as bo:
        calls = AgentCalls(LearningAgent("ada", ada, ExtractiveReader()), None, is_kept=False)
        await ada.store_fact("gateway", OLD)
        await bo.store_fact("gateway", NEW)
        for number in range(50):
            await bo.store_fact("meter", f"Meter {number} is of type {number}.")
        home.hive.calls.clear()
        wanted, fetch = [], home.hive.fetch

        async def counted(ids: Any) -> Any:
            wanted.extend(ids)
            return await fetch(ids)

        home.hive.fetch = counted
        found = await calls.do(api.Conflicts())
        home.hive.missing = ("p0",)
        partly = await calls.do(api.Conflicts())
        home.hive.failure = AWAY
        alone = await calls.do(api.Conflicts())
    assert [[side["content"] for side in pair] for pair in found["conflicts"]] == [[NEW, OLD]]
    assert (found["count"], found["completeness"]) == (1, 1.0)
    assert (partly["count"], partly["completeness"]) == (1, 0.75)
    assert (alone["count"], alone["completeness"]) == (0, 0.0)
    assert (home.hive.calls, len(wanted)) == (["tally", "fetch", "tally", "fetch", "tally"], 2)


async def test_what_is_held_back_is_not_shared_and_says_why() -> None:
    home, other = two(SmallHive())
    async with home.memory() as ada, other.memory() as bo:
        calls = AgentCalls(LearningAgent("ada", ada, ExtractiveReader()), None, is_kept=False)
        stored = await calls.do(api.Store(concept="wifi", content="The wifi of the depot is slow.", local=True))
        learned = await calls.do(api.Learn(text=f"{OLD} The password of pump 0 is hunter0Xy!", source="note"))
        assert await bo.search_facts("wifi") == []
    assert stored["held_back"] == "it was stored for its agent alone"
    assert list(learned["held_back"]) == learned["facts"][1:]
    assert list(learned["held_back"].values()) == ["its text holds a credential"]


async def test_the_beginning_of_an_id_is_one_question_to_the_hive_and_says_how_much_answered() -> None:
    home, other = two(SmallHive())
    async with home.memory() as ada, other.memory() as bo:
        calls = AgentCalls(LearningAgent("ada", ada, ExtractiveReader()), None, is_kept=False)
        others = [await bo.store_fact("gateway", content) for content in (OLD, NEW)]
        own = await ada.store_fact("valve", "The valve is open.")
        await ada.retract_fact(own.id)
        home.hive.calls.clear()
        named = [await calls.do(api.Named(fact_id=fact.id[:8])) for fact in (*others, own)]
        home.hive.missing = ("p0",)
        unknown = await calls.do(api.Named(fact_id="f" * 8))
    assert [[fact["fact_id"] for fact in reply["facts"]] for reply in named] == [[fact.id] for fact in (*others, own)]
    assert {reply["completeness"] for reply in named} == {1.0}
    assert unknown == {"facts": [], "completeness": 0.75}
    assert home.hive.calls == ["facts"] * 4


def test_an_agent_answers_what_was_held_true_at_a_time() -> None:
    async def story(calls: AgentCalls) -> Any:
        old = (await calls.do(api.Learn(text=OLD, source="runbook")))["facts"][0]
        await calls.do(api.Correct(fact_id=old, content=NEW, source="correction"))
        began, ceased = [
            datetime.fromtimestamp(at / 1e6, UTC).isoformat() for at in ((await calls.do(api.Why(fact_id=old)))["turned_at_us"])
        ]
        asked = [await calls.do(api.Ask(question="Which port does the gateway use?", as_of=at)) for at in (began, ceased, "")]
        found = await calls.do(api.Search(query="port", as_of=began))
        early = await calls.do(api.Ask(question="Which port does the gateway use?", as_of="2001"))
        return [one["answer"] for one in asked], [hit["content"] for hit in found["hits"]], early["is_known"]

    (then, later, now), found, is_known = asked(story)
    assert OLD in then
    assert NEW in later == now
    assert (found, is_known) == ([OLD], False)


@pytest.mark.parametrize("question", ["On which port does the gateway listen?", "How many gateways are there?"])
def test_a_question_is_searched_for_once_also_where_hits_are_told_too(monkeypatch: pytest.MonkeyPatch, question: str) -> None:
    searches, search = list[object](), CognitiveMemory.search_facts

    async def counted(memory: CognitiveMemory, *given: Any) -> Any:
        searches.append(given)
        return await search(memory, *given)

    monkeypatch.setattr(CognitiveMemory, "search_facts", counted)
    told = list[Any]()

    async def story(calls: AgentCalls) -> list[int]:
        await calls.do(api.Learn(text=f"{OLD} The gateway is in hall 3.", source="runbook"))
        counts = []
        for call, on_event in (
            (api.Ask(question=question), None),
            (api.Ask(question=question), lambda _, found: told.append(found)),
            (api.Ask(question=question, with_found=True), None),
        ):
            searches.clear()
            told.append((await calls.do(call, on_event)).get("found"))
            counts.append(len(searches))
        return counts

    alone, with_events, with_found = asked(story)
    assert (with_events, with_found) == (max(alone, 1), max(alone, 1))
    assert told[0] is None
    assert told[1] == told[3]
    assert told[1]["hits"]

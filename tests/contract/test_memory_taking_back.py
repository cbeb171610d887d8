"""What agents of one hive take back, replace or say again, and what of it the others see."""

import asyncio

import pytest

from hive_mind.agents.agent import LearningAgent
from hive_mind.cognition.extractive import ExtractiveReader
from hive_mind.errors import BackendUnavailable, InvalidInput
from hive_mind.hive.policy.node_policy import ExpirySettings
from hive_mind.hive.topology.spec import TopologyName
from hive_mind.memory.gate import PromotionSettings
from hive_mind.model.content import Content
from hive_mind.model.fact import FORGOTTEN
from hive_mind.model.query import Query
from tests.builders import BagOfWords, found, said
from tests.contract.scenarios_of_agents import among

pytestmark = pytest.mark.usefixtures("loop_of_its_own")

SOON = ExpirySettings(is_on=True, max_age_hours=0.1, grace_ms=10_000)


async def test_what_one_agent_takes_back_nobody_sees_and_a_newer_statement_replaces_the_older_one_as_long(topology: TopologyName):
    async with among(topology) as (agents, members):
        ada, ben, *_ = agents
        red = await ada.store_fact("pump", "The pump is red.", 0.95)
        await members.settled()
        assert await found(ben, "pump") == ["The pump is red."]
        blue = await ada.supersede(red.id, said("The pump is blue."), "otto")
        await members.settled()
        assert await found(ben, "pump") == await found(ada, "pump") == ["The pump is blue."]

        await ada.retract_fact(blue.id)
        await members.settled()
        assert await found(ben, "pump") == await found(ada, "pump") == ["The pump is red."]
        await ada.retract_fact(red.id)
        await members.settled()

        for agent in agents:
            assert await found(agent, "pump") == await agent.get_all_facts() == await agent.search_by_concept("pump") == []
        assert await ben.get_fact(red.id) is None


async def test_what_a_moderator_takes_back_nobody_sees_whoever_said_it(topology: TopologyName):
    async with among(topology, moderators=("cleo",)) as (agents, members):
        # Those of the other group stand in between: the second is its moderator.
        ada, cleo, ben, dan = agents
        sure = await ada.store_fact("pump", "The pump is red.", 0.95)
        await ben.store_fact("pump", "The pump is red.", source="otto")
        unsure = await ada.store_fact("door", "The door is open.", 0.5)
        await members.settled()
        with pytest.raises(InvalidInput, match="only its author, or a moderator of the hive"):
            await dan.retract_fact(sure.id)

        for fact in (sure, unsure):
            assert (await cleo.retract_fact(fact.id)).content == fact.content
        await members.settled()

        for agent in agents:
            assert await found(agent, "which pump, which door?") == []
        assert await cleo.get_all_facts() == await dan.get_all_facts() == []
        # Who said it knows that it did; looking at it again tells the hive nothing.
        assert {fact.id for fact in await ada.get_all_facts()} == {sure.id, unsure.id}
        await ada.settle()
        await members.settled()
        assert await found(dan, "which pump, which door?") == []


async def test_what_a_moderator_took_back_stays_so_when_everything_is_told_again_with_its_new_vectors(topology: TopologyName):
    async with among(topology, moderators=("cleo",)) as (agents, members):
        ada, cleo, _, dan = agents
        assert isinstance(members.embedder, BagOfWords)
        members.embedder.failure = BackendUnavailable("embedder", "the model is away")
        wrong, right, mended = [await ada.store_fact("", f"The {what} is red.") for what in ("pump", "door", "lamp")]
        await members.settled()
        await cleo.retract_fact(wrong.id)
        await cleo.retract_fact(mended.id)
        await members.settled()
        await ada.store_fact("", mended.content, source="otto")
        await members.settled()

        members.embedder.failure = None
        assert await ada.reembed()
        await members.settled()

        assert set(await found(dan, Query("red", method="vector"))) == {right.content, mended.content}
        assert set(await found(dan, "red")) == {right.content, mended.content}


async def test_a_moderator_that_replaces_or_holds_back_what_it_said_leaves_alone_what_others_said(topology: TopologyName):
    async with among(topology, moderators=("cleo",)) as (agents, members):
        ada, cleo, _, dan = agents
        for content in ("The pump is red.", "The door is red."):
            await ada.store_fact("", content)
            old = await cleo.store_fact("", content, source="otto")
        await members.settled()

        await cleo.supersede(old.id, said("The door is blue."), "otto")
        cleo._outbox._gate = PromotionSettings(confidence_min=0.9)
        assert (await cleo.store_fact("", "The pump is red.", source="ines")).held_back
        await members.settled()

        assert set(await found(dan, "red")) == {"The pump is red.", "The door is red."}
        assert [hit.fact.sources for hit in await dan.search_facts("pump", 1)] == [("user",)]


async def test_what_is_said_again_a_forgetful_hive_keeps_as_long_again_and_what_was_forgotten_comes_back(topology: TopologyName):
    async with among(topology, moderators=("dan",), expiry=SOON) as (agents, members):
        ada, _, _, dan = agents
        pump, door, lamp = ("The pump is red.", "The door is red.", "The lamp is red.")
        for content in (pump, door):
            await ada.store_fact("", content)
        wrong = await ada.store_fact("", lamp)
        await members.settled()
        await dan.retract_fact(wrong.id)

        await asyncio.sleep(200)
        for content in (pump, lamp):
            await ada.store_fact("", content)
        await members.settled()
        await asyncio.sleep(200)

        assert await found(dan, "red") == await found(ada, "red") == [pump]
        await ada.store_fact("", door)
        await members.settled()
        assert set(await found(dan, "red")) == {pump, door}


async def test_a_fact_that_two_agents_hold_is_one_fact_and_stays_when_one_of_them_takes_it_back(topology: TopologyName):
    async with among(topology) as (agents, members):
        ada, ben, cleo, _ = agents
        mine = await ada.store_fact("pump", "The pump is red.", source="the manual")
        await members.settled()
        same = await ben.store_fact("pump", "The pump is red.", source="a look at it")
        await members.settled()

        (hit,) = await cleo.search_facts("pump")
        assert hit.fact.id == mine.id == same.id
        if members.plan.topology != "federated":
            # Each group has a fact of its own; what its agents say of it is counted there.
            assert set(hit.fact.sources) == {"the manual", "a look at it"}
            assert hit.components.confirmations > 0

        await ada.retract_fact(mine.id)
        await members.settled()

        assert [hit.fact.sources for hit in await cleo.search_facts("pump")] == [("a look at it",)]


async def test_what_a_hive_forgot_is_found_by_nobody_there_and_stays_its_authors_marked_as_forgotten(topology: TopologyName):
    async with among(topology, expiry=SOON) as (agents, members):
        ada, _, _, dan = agents
        pump, door = "The pump is red.", "The door is red."
        for content in (pump, door):
            await ada.store_fact("", content)
        await members.settled()
        await asyncio.sleep(400)
        await ada.store_fact("", door)
        await members.settled()

        await ada.settle()

        for agent in (ada, dan):
            assert await found(agent, "red") == [door]
        marks = {hit.fact.content: hit.fact.held_back for hit in await ada.local_search_facts("red")}
        assert marks == {pump: FORGOTTEN, door: ""}
        assert await dan.local_search_facts("red") == []
        # Looked at again it stays forgotten; said again it comes back.
        await ada.settle()
        assert await found(dan, "red") == [door]
        await ada.store_fact("", pump)
        await members.settled()
        assert set(await found(dan, "red")) == {pump, door}
        assert {hit.fact.held_back for hit in await ada.local_search_facts("red")} == {""}


async def test_what_an_edited_source_says_no_longer_leaves_the_hive_and_what_others_say_stays(topology: TopologyName):
    async with among(topology) as (agents, members):
        ada, ben, _, dan = agents
        old, new, wall = "The gateway takes 600 calls.", "The gateway takes 900 calls.", "The gateway wall is green."
        for text in (f"{old} {wall}", f"{new} {wall}"):
            await LearningAgent("ada", ada, ExtractiveReader()).learn_from_content(Content(text, "runbook", is_whole=True))
            await members.settled()

        for agent in (ada, ben, dan):
            assert set(await found(agent, "gateway calls")) == {new, wall}
        assert set(await found(ada, Query("gateway calls", with_superseded=True))) == {new, old, wall}

        await ben.store_fact("", old, source="a wall poster")
        await members.settled()
        assert [hit.fact.sources for hit in await dan.search_facts("600")][:1] == [("a wall poster",)]


async def test_what_two_sources_of_an_agent_said_is_the_others_alone_after_one_was_edited(topology: TopologyName):
    async with among(topology) as (agents, members):
        ada, _, _, dan = agents
        agent, wall = LearningAgent("ada", ada, ExtractiveReader()), "The gateway wall is green."
        for source in ("runbook", "copy"):
            await agent.learn_from_content(Content(wall, source, is_whole=True))
        await members.settled()

        await agent.learn_from_content(Content("The gateway wall is red.", "runbook", is_whole=True))
        await members.settled()

        told = {hit.fact.content: hit.fact.sources for hit in await dan.search_facts("wall")}
        assert told == {wall: ("copy",), "The gateway wall is red.": ("runbook",)}

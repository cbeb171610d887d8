"""What agents of one hive promise one another, whichever topology lies between them."""

import asyncio
import logging
import random
from dataclasses import replace
from pathlib import Path

import pytest

from hive_mind.hive.topology import Topology
from hive_mind.hive.topology.spec import TopologyName
from hive_mind.memory.disputes import disputed
from hive_mind.memory.distributed import DistributedCognitiveMemory
from hive_mind.model.aggregation import Aggregation
from hive_mind.model.fact import KEPT_HOME, Sharing
from hive_mind.model.query import Query
from hive_mind.runtime.node.runner import RunnerSettings
from tests.builders import Home, found, run, said
from tests.contract.fleets import AGENTS, Door, Members, plan_of
from tests.contract.scenarios_of_agents import DEADLINE_MS, among

pytestmark = pytest.mark.usefixtures("loop_of_its_own")


async def test_what_one_agent_learns_the_others_recall(topology: TopologyName):
    async with among(topology) as (agents, members):
        ada, ben, *_ = agents
        for number, agent in enumerate(agents):
            await agent.store_fact(f"hall {number}", f"The pump in hall {number} is red.", 0.7 + number / 10)
        await members.settled()

        everything = {f"The pump in hall {number} is red." for number in range(len(agents))}
        for agent in agents:
            assert set(await found(agent, "which pump is red?")) == everything
            assert {fact.content for fact in await agent.get_all_facts()} == everything
            assert [fact.content for fact in await agent.search_by_concept("HALL 2")] == ["The pump in hall 2 is red."]
            assert (await agent.local_get_all_facts())[0].sharing is Sharing.SHARED
        (kept,) = await ada.local_get_all_facts()
        assert (await ben.get_fact(kept.id)).content == kept.content
        assert await ben.local_search_facts("hall 0") != await ben.search_facts("hall 0")


async def test_what_can_not_both_be_true_is_found_without_reading_the_rest(topology: TopologyName):
    async with among(topology) as (agents, members):
        for number in range(8):
            hall = number % 3
            await agents[number % 4].store_fact(f"hall {hall}", f"The pump in hall {hall} weighs {number} tons.")
            await agents[number % 4].store_fact("notes", f"Note {number} is short.")
        await agents[0].local_store_fact("Hall 2", "The pump in hall 2 weighs 77 tons.")
        await members.settled()

        for agent in agents:
            everything, some = await agent.get_all_facts(), await agent.disputable_facts()
            pairs = {frozenset({one.id, other.id}) for one, other in disputed(everything)}
            assert {frozenset({one.id, other.id}) for one, other in disputed(some)} == pairs != set()
            assert {fact.id for fact in some} == {fact_id for pair in pairs for fact_id in pair}
            assert [fact for fact in everything if fact in some] == some
            assert some.completeness == 1.0


async def test_labels_reach_the_others_and_what_stays_at_home_has_them_too(topology: TopologyName):
    async with among(topology) as (agents, members):
        ada, *others = agents
        await ada.store_fact("pump", "The pump is red.", 0.9, labels=("hydraulics",))
        await ada.local_store_fact("door", "The door is blue.", labels=("carpentry",))
        await members.settled()

        for agent in others:
            ((fact,), home) = [hit.fact for hit in await agent.search_facts("hydraulics")], await agent.search_facts("carpentry")
            assert (fact.content, fact.labels, home) == ("The pump is red.", ("hydraulics",), [])
        assert (await ada.search_facts("carpentry"))[0].fact.labels == ("carpentry",)


async def test_everybody_gets_the_same_answer_with_the_same_scores(topology: TopologyName):
    chance = random.Random(7)
    words = "pump red blue hall door otto ines valve water leaks ferry nine corrin".split() + [f"w{n}" for n in range(40)]
    texts = list(dict.fromkeys(" ".join(chance.choices(words, k=chance.randint(4, 20))) for _ in range(60)))
    async with among(topology) as (agents, members):
        alone = Home().memory(members.embedder)
        for number, text in enumerate(texts):
            await agents[number % len(agents)].store_fact("", text)
            await alone.store_fact("", text)
        await members.settled()

        for question in ("red pump", "when does the ferry leave", "otto and the water in hall"):
            for method in ("keyword", "vector", "hybrid"):
                expected = [(hit.fact.id, hit.score) for hit in await alone.search_facts(Query(question, 10, method))]
                for agent in agents:
                    hits = await agent.search_facts(Query(question, 10, method))
                    assert [hit.fact.id for hit in hits] == [id for id, _ in expected]
                    assert [hit.score for hit in hits] == pytest.approx([score for _, score in expected], rel=1e-5)
        await alone.close()


async def test_what_an_agent_keeps_to_itself_ranks_among_what_all_know_as_if_it_were_one_memory(topology: TopologyName):
    own = [
        "The ferry to Corrin leaks.",
        "Otto painted the red pump blue.",
        "Red is the colour of the valve, the door and the pump.",
    ]
    async with among(topology) as (agents, members):
        ada, *others = agents
        alone = Home().memory(members.embedder)
        for number in range(40):
            text = (
                f"{('Pump', 'Door', 'Valve')[number % 3]} {'n' * (number % 7)} in hall {number} is {('red', 'blue')[number % 2]}."
            )
            await others[number % len(others)].store_fact("", text)
            await alone.store_fact("", text)
        for text in own:
            await ada.local_store_fact("", text)
            await alone.store_fact("", text)
        await members.settled()

        for question in ("red pump", "which ferry leaks", "colour of the valve"):
            expected = [(hit.fact.content, round(hit.score, 4)) for hit in await alone.search_facts(question)]
            assert [(hit.fact.content, round(hit.score, 4)) for hit in await ada.search_facts(question)] == expected
            assert set(own).isdisjoint(await found(others[0], question, 50))
        await alone.close()


async def test_a_fact_that_arrived_unnoticed_counts_as_shared_when_it_is_offered_again(topology: TopologyName):
    async with among(topology) as (agents, members):
        # Nobody tells this one when its facts have arrived, as if it had been away just then.
        deaf = DistributedCognitiveMemory(
            Home().memory(members.embedder), Door(members, members.plan.node_of("ada")), agent="ada"
        )
        await deaf.store_facts([said(f"Pump {number} is red.") for number in range(20)], "ines")
        await members.settled()

        await deaf.settle()

        assert {fact.sharing for fact in await deaf.get_all_facts()} == {Sharing.SHARED}
        assert len(await found(agents[1], "red pump", 50)) == 20
        await deaf.close()


async def test_what_is_stored_for_one_agent_alone_or_holds_a_password_never_leaves_it_and_says_why(topology: TopologyName):
    async with among(topology) as (agents, members):
        ada, ben, *_ = agents
        kept = await ada.local_store_fact("pump", "The pump is red.")
        secret = await ada.store_fact("panel", "The panel of the pump has the password: hunter2-Xy9!")
        await ada.settle()
        await members.settled()

        assert (kept.sharing, kept.held_back) == (Sharing.PRIVATE, KEPT_HOME)
        assert (secret.sharing, secret.held_back) == (Sharing.PRIVATE, "its text holds a credential")
        assert await found(ada, "red pump", 1) == ["The pump is red."]
        assert await found(ada, "panel of the pump", 1) == [secret.content]
        assert await found(ben, "panel of the pump") == await ben.get_all_facts() == []
        assert await ben.get_fact(kept.id) is None
        assert not any(
            share.members.items() for hosted in members.hosted.values() for share in list(hosted.node.partitions.shares.values())
        )


async def test_what_is_shared_under_a_least_confidence_is_filtered_where_it_lies(topology: TopologyName):
    async with among(topology) as (agents, members):
        ada, ben, *_ = agents
        await ada.store_facts([said(f"The red pump is number {number}.", confidence=0.4) for number in range(60)], "ines")
        await ada.store_fact("pump", "In a long sentence there is somewhere also a red pump.", 0.8)
        await members.settled()

        hits = await ben.search_facts(Query("red pump", 10, min_confidence=0.7))
        assert [hit.fact.content for hit in hits] == ["In a long sentence there is somewhere also a red pump."]


@pytest.mark.parametrize("topology", ["federated", "sharded"])
@pytest.mark.parametrize("agents", [6, 8])
async def test_with_nodes_away_every_answer_says_exactly_how_much_it_reached(topology: TopologyName, agents: int):
    async with among(topology, agents) as (memories, members):
        for number, memory in enumerate(memories):
            await memory.store_facts([said(f"Pump {number}-{n} is red.") for n in range(8)], "ines")
        await members.settled()
        everything = {fact.content: fact.id for fact in await memories[0].get_all_facts()}
        asker = members.plan.node_of(AGENTS[0])
        for node in [node for node in members.topology.nodes if node != asker]:
            await members.stop(node)
            stopped = {name for name, hosted in members.hosted.items() if hosted.runner._closing is not None}

            for query in (Query("red pump", 100, "keyword"), Query("pump 1-3", 100)):
                hits = await memories[0].search_facts(query)
                assert memories[0].completeness == pytest.approx(reachable_share(members.topology, asker, stopped), abs=1e-9)
                reached = {one for one, id in everything.items() if not holders(members.topology, asker, id) <= stopped}
                own = {fact.content for fact in await memories[0].local_get_all_facts()}
                if topology == "sharded":
                    assert {hit.fact.content for hit in hits} == reached | own

        assert len(stopped) == len(members.topology.nodes) - 1


@pytest.mark.parametrize("topology", ["federated", "sharded"])
async def test_when_all_others_are_silent_the_answer_comes_by_the_deadline(topology: TopologyName):
    async with among(topology, 8) as (agents, members):
        ada, *_ = agents
        await ada.store_fact("pump", "The pump is red.")
        for agent in agents[1:]:
            await agent.store_fact("door", f"The door is red, says {agent!r}.")
        await members.settled()
        asker = members.plan.node_of(AGENTS[0])
        await members.stop(*(node for node in members.topology.nodes if node != asker))
        loop = asyncio.get_running_loop()

        for _ in range(3):
            began_s = loop.time()
            assert "The pump is red." in await found(ada, "what is red?")
            # Candidates by the deadline; then the facts themselves, of nodes that have just answered.
            assert loop.time() - began_s <= DEADLINE_MS / 1000 * 1.1
            assert ada.completeness < 1.0


async def test_agents_are_answered_while_their_node_is_away_and_tell_it_later(topology: TopologyName):
    async with among(topology) as (agents, members):
        ada, ben, *_ = agents
        await members.begin()
        node = members.plan.node_of(AGENTS[0])
        await members.stop(node)

        assert (await ada.store_fact("pump", "The pump is red.")).sharing is Sharing.PROPOSED
        assert await found(ada, "pump") == ["The pump is red."]
        assert ada.completeness == 0.0
        await members.start(node)
        await ada.settle()
        await members.settled()

        assert await found(ben, "pump") == ["The pump is red."]
        assert await found(ada, "pump") == ["The pump is red."]
        assert ada.completeness == ben.completeness == 1.0


def test_a_hive_that_stopped_and_started_has_all_it_acknowledged_and_is_offered_the_rest(
    topology: TopologyName, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    """Over real files: databases of agents and journals of nodes."""
    caplog.set_level(logging.ERROR)
    plan = replace(plan_of(topology), runner=RunnerSettings(ask_deadline_ms=30_000, fetch_deadline_ms=30_000))
    homes = {agent: Home("sqlite", tmp_path / "memories" / f"{agent}.sqlite") for agent in plan.agents[:2]}
    first, second = plan.agents[0], plan.agents[1]

    async def learn() -> None:
        members = Members(plan, tmp_path)
        ada = members.memory(first, homes[first])
        kept = await ada.store_facts([said(f"Pump {n} is red.", confidence=0.9) for n in range(20)], "ines")
        await ada.retract_fact(kept[0].id)
        await members.settled()
        await members.stop(*members.hosted)
        assert (await ada.store_fact("door", "The door is blue.")).sharing is Sharing.PROPOSED
        await ada.close()
        await members.close()

    async def recall() -> None:
        members = Members(plan, tmp_path)
        ben = members.memory(second, homes[second])
        expected = {f"Pump {n} is red." for n in range(1, 20)}
        assert set(await found(ben, "red pump", 50)) == expected
        async with members.memory(first, homes[first]) as ada:
            await members.settled()
            assert {fact.sharing for fact in await ada.local_get_all_facts()} == {Sharing.SHARED}
            assert {fact.content for fact in await ben.get_all_facts()} == expected | {"The door is blue."}
        await ben.close()
        await members.close()

    run(learn())
    run(recall())
    assert not caplog.records


def reachable_share(topology: Topology, asker: str, stopped: set[str]) -> float:
    """By the topology alone: the share of partitions of which somebody is there."""
    asked = topology.read_set(asker)
    whole = sum(len(one.partitions) for one in asked)
    gone = sum(len(one.partitions) for one in asked if set(one.members) <= stopped)
    return 1 - gone / whole


def holders(topology: Topology, asker: str, fact_id: str) -> set[str]:
    return set(topology.holders(topology.home(fact_id, asker)))


async def test_an_agent_that_asks_sees_which_facts_of_others_contradict_each_other(topology: TopologyName):
    async with among(topology) as (agents, members):
        ada, ben, *_, eve = agents
        old, new = "The gateway listens on port 8443.", "The gateway listens on port 9443."
        await ada.store_fact("gateway", old)
        await ben.store_fact("gateway", new)
        await members.settled()

        rivals = {hit.fact.content: [rival.content for rival in hit.rivals] for hit in await eve.search_facts("gateway port")}
        assert rivals == {old: [new], new: [old]}
        # Though another group may have it, and nobody asks for it.
        (hit,) = await eve.search_facts("gateway port 8443", 1)
        assert (hit.fact.content, [rival.content for rival in hit.rivals]) == (old, [new])


async def test_aggregations_count_every_fact_of_the_hive_and_of_the_agent_once(topology: TopologyName):
    async with among(topology) as (agents, members):
        ada, *others = agents
        for number, agent in enumerate(agents):
            await agent.store_fact("Pump D4", f"Pump D4 moved {number} litres.", 0.9, said_at=f"2025-{number + 1:02}")
            # All of them say it: one fact, with as many sources.
            await agent.store_fact("Pump D4", "Pump D4 is red.", 0.9, source=f"source {number}", said_at="2024")
        await ada.local_store_fact("Pump D4", "Pump D4 is my own.", said_at="2023")
        await members.settled()

        for agent in others:
            counted = await agent.aggregate(Aggregation("count", "D4"))
            latest = await agent.aggregate(Aggregation("latest", "D4", 1))
            assert (counted.count, counted.completeness) == (len(agents) + 1, 1.0)
            assert [fact.content for fact in latest.facts] == [f"Pump D4 moved {len(agents) - 1} litres."]
        own = await ada.aggregate(Aggregation("earliest", "D4", 2))
        assert own.count == len(agents) + 2
        assert [fact.content for fact in own.facts] == ["Pump D4 is my own.", "Pump D4 is red."]

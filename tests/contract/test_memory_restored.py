"""An agent whose record was restored from an older copy, or lost: the hive knows what it said since."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from hive_mind import Fleet, FleetPlan, Settings, open_embedder, open_fleet
from hive_mind.errors import InvalidInput
from hive_mind.hive.topology.spec import TopologyName
from hive_mind.memory.distributed import DistributedCognitiveMemory
from hive_mind.model.content import Candidate
from tests.sampled import usually

BEFORE, SINCE, OTHERS = "The gate has three locks.", "The gateway listens on port 8443.", "The gateway was replaced in May."


@asynccontextmanager
async def hive(home: Path, topology: TopologyName) -> AsyncIterator[Fleet]:
    settings = Settings(home=home, embed="none")
    plan = FleetPlan(topology, ("ada", "ben", "cleo"))
    async with await open_fleet(settings, plan, await open_embedder(settings)) as fleet:
        yield fleet


def memory(fleet: Fleet, agent: str) -> DistributedCognitiveMemory:
    found = fleet.memory(agent)
    assert isinstance(found, DistributedCognitiveMemory)
    return found


def texts(facts: object) -> list[str]:
    return sorted(fact.content for fact in facts)  # type: ignore[attr-defined]


async def said_and_lost(home: Path, topology: TopologyName, *, is_all_lost: bool) -> tuple[str, str]:
    """Ada says something after her record was copied, and has the copy again. Ids of what she and Ben said meanwhile."""
    record, copy = home / "agents" / "ada", home / "copy"
    async with hive(home, topology) as fleet:
        await memory(fleet, "ada").store_fact("gate", BEFORE, source="notes")
        await fleet.settled()
    if not is_all_lost:
        shutil.copytree(record, copy)
    async with hive(home, topology) as fleet:
        said = await memory(fleet, "ada").store_fact("gateway", SINCE, source="runbook")
        others = await memory(fleet, "ben").store_fact("gateway", OTHERS, source="log")
        await fleet.settled()
    shutil.rmtree(record)
    if not is_all_lost:
        copy.rename(record)
    return said.id, others.id


@pytest.mark.parametrize("is_all_lost", usually([True, False], True), ids=["nothing", "older copy"])
async def test_what_it_said_since_is_its_own_to_take_back(tmp_path: Path, topology: TopologyName, is_all_lost: bool):
    said, others = await said_and_lost(tmp_path, topology, is_all_lost=is_all_lost)

    async with hive(tmp_path, topology) as fleet:
        ada, ben = memory(fleet, "ada"), memory(fleet, "ben")
        assert SINCE in texts(await ben.get_all_facts())
        shown = await ada.get_fact(said)
        assert shown is not None
        assert shown.sources == ("runbook",)

        assert (await ada.retract_fact(said, request="once")).is_retracted
        assert (await ada.retract_fact(said, request="once")).is_retracted
        await fleet.settled()

        assert SINCE not in texts(await ben.get_all_facts())
        assert SINCE not in texts(await ada.get_all_facts())
        with pytest.raises(InvalidInput, match="another agent's"):
            await ada.retract_fact(others)
        assert OTHERS in texts(await ada.get_all_facts())
    async with hive(tmp_path, topology) as fleet:
        # What was taken back stays so for its source, as in a record that was never lost.
        await memory(fleet, "ada").store_fact("gateway", SINCE, source="runbook")
        await fleet.settled()
        assert SINCE not in texts(await memory(fleet, "ben").get_all_facts())


@pytest.mark.parametrize("topology", ["sharded"])
async def test_what_it_said_since_can_be_corrected_and_contradicted_others_facts_cannot(tmp_path: Path, topology: TopologyName):
    said, others = await said_and_lost(tmp_path, topology, is_all_lost=False)
    newer = Candidate("The gateway listens on port 9443.", "gateway", 0.9)

    async with hive(tmp_path, topology) as fleet:
        ada, ben = memory(fleet, "ada"), memory(fleet, "ben")
        with pytest.raises(InvalidInput, match="another agent's"):
            await ada.supersede(others, newer, "runbook")
        before = next(fact for fact in await ada.get_all_facts() if fact.content == BEFORE)
        await ada.contradict(said, before.id)
        with pytest.raises(InvalidInput, match="there is no fact"):
            await ada.contradict(others, before.id)

        await ada.supersede(said, newer, "runbook")
        await fleet.settled()

        assert {SINCE, newer.content} & set(texts(await ben.get_all_facts())) == {newer.content}


@pytest.mark.parametrize("topology", ["federated"])
async def test_what_was_retracted_in_the_copy_and_said_again_since_can_be_taken_back(tmp_path: Path, topology: TopologyName):
    record, copy = tmp_path / "agents" / "ada", tmp_path / "copy"
    async with hive(tmp_path, topology) as fleet:
        ada = memory(fleet, "ada")
        await ada.retract_fact((await ada.store_fact("gateway", SINCE, source="runbook")).id)
        await ada.local_store_fact("gate", BEFORE)
        await fleet.settled()
    shutil.copytree(record, copy)
    async with hive(tmp_path, topology) as fleet:
        for source, text in (("Ines", SINCE), ("Otto", BEFORE)):
            await memory(fleet, "ada").store_fact("gateway", text, source=source)
        await fleet.settled()
        ids = {fact.content: fact.id for fact in await memory(fleet, "ben").get_all_facts()}
    shutil.rmtree(record)
    copy.rename(record)

    async with hive(tmp_path, topology) as fleet:
        assert set(ids) == {SINCE, BEFORE}
        for fact_id in ids.values():
            await memory(fleet, "ada").retract_fact(fact_id)
        await fleet.settled()
        assert texts(await memory(fleet, "ben").get_all_facts()) == []

"""A whole fleet with real agents, nodes and journals, all in this process: what they learned is there after every change."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from hive_mind import backends
from hive_mind.control.controller import HiveController
from hive_mind.control.manifests.reading import Source, read_text
from hive_mind.errors import InvalidInput
from hive_mind.hive.effects import Put
from hive_mind.hive.membership import MEMBERSHIP, TOPOLOGIES
from hive_mind.hive.topology import Flat
from hive_mind.hive.topology.log import TopologyLog, TopologyVersion, pack
from hive_mind.model.messages import AnnouncedTopology
from tests.sampled import usually

FLAT = "topology: flat"
FEDERATED = "topology: {kind: federated, groups: [{name: east}, {name: west}, {name: north}]}"
SHARDED = "topology: {kind: sharded, replicas: 2}"

COLOURS = ("red", "green", "blue", "grey", "black", "white", "brown", "pink")


def source(home: Path, topology: str, agents: int) -> Source:
    text = f"""
apiVersion: hive-mind/v1
kind: Hive
metadata: {{name: team}}
spec:
  {topology}
  agents:
    - {{name: "a-{{n}}", count: {agents}}}
  platform: inprocess
  promotion: {{open: true}}
  gossip: {{periodS: 1, beatS: 0.5, suspectAfterS: 3}}
  retrieval: {{deadlineS: 20}}
"""
    return read_text(text, home, "team")


@asynccontextmanager
async def fleet(home: Path) -> AsyncIterator[HiveController]:
    async with HiveController.open(home, "team") as controller:
        yield controller


async def apply(controller: HiveController, wanted: Source) -> None:
    assert (await controller.apply(wanted, timeout_s=180)).problems == ()
    assert not await controller.plan(wanted)
    assert (await controller.status()).phase == "Ready"


async def known(controller: HiveController, agent: str) -> set[str]:
    """Everything the hive holds, as soon as whoever came new has copied its share."""
    async with asyncio.timeout(60):
        while True:
            found = await controller.call(agent, "facts", limit=0)
            if found["completeness"] == 1.0:
                return {fact["content"] for fact in found["facts"]}
            await asyncio.sleep(0.2)


async def answer(controller: HiveController, agent: str, question: str) -> tuple[str, float]:
    found = await controller.call(agent, "ask", question=question)
    return found["answer"], found["completeness"]


def sentences(agent: int, count: int) -> str:
    return " ".join(
        f"Pump {agent}-{number} in hall {agent * number} is {COLOURS[(agent + number) % len(COLOURS)]}."
        for number in range(count)
    )


async def spoil_members(journal: Path) -> None:
    """A node will believe that somebody else is the hive's only member."""
    expelled = TopologyVersion.of(AnnouncedTopology(pack(Flat(("mallory",), 99)), "mallory", 98))
    opened = await backends.load("journal", "sqlite").open(journal)
    await opened.write([Put(MEMBERSHIP, TOPOLOGIES, TopologyLog((expelled,)).packed())])
    await opened.close()


async def test_a_fleet_learns_answers_and_stops(tmp_path: Path) -> None:
    async with fleet(tmp_path) as controller:
        await apply(controller, source(tmp_path, FLAT, 3))
        await controller.call("a-1", "learn", text="Ines replaced the seal of pump seven on Monday.")

        text, completeness = await answer(controller, "a-3", "Who replaced the seal of pump seven?")
        assert ("Ines" in text, completeness) == (True, 1.0)
        assert (await controller.delete()).is_converged
        assert (await controller.status()).phase == "Stopped"

    async with fleet(tmp_path) as controller:
        await apply(controller, source(tmp_path, FLAT, 3))
        assert "Ines" in (await answer(controller, "", "Who replaced the seal of pump seven?"))[0]


@pytest.mark.parametrize("topology", usually([SHARDED, FLAT, FEDERATED], SHARDED))
async def test_agents_come_and_go_and_every_fact_stays(topology: str, tmp_path: Path) -> None:
    async with fleet(tmp_path) as controller:
        await apply(controller, source(tmp_path, topology, 4))
        for number in range(1, 5):
            await controller.call(f"a-{number}", "learn", text=sentences(number, 5))
        before = await known(controller, "a-1")
        assert len(before) == 20

        for count in (7, 3, 5):
            assert (await controller.scale("a", count, timeout_s=180)).problems == ()
            assert await known(controller, "a-1") == before
            assert len((await controller.status()).agents) == count


async def test_a_hive_that_lost_its_members_is_founded_again_from_the_journals_there_are(tmp_path: Path) -> None:
    """Of three replicas of everything two are gone, and in the third one somebody damaged who is a member."""
    async with fleet(tmp_path) as controller:
        await apply(controller, source(tmp_path, "topology: {kind: sharded, replicas: 3}", 3))
        for number in range(1, 4):
            await controller.call(f"a-{number}", "learn", text=sentences(number, 4))
        before = await known(controller, "a-1")
        assert len(before) == 12
        await controller.delete()
        journals = sorted((tmp_path / "hives" / "team").glob("*.sqlite"))
        for journal in journals[1:]:
            for path in journal.parent.glob(f"{journal.name}*"):
                path.unlink()
        await spoil_members(journals[0])

        there = await controller.remains()
        assert (there.facts, there.journals, there.missing, there.lost) == (12, ("team-0",), ("team-1", "team-2"), {})
        assert (await controller.refound(timeout_s=180)).problems == ()

        for number in range(1, 4):
            assert await known(controller, f"a-{number}") == before
        assert controller.folder.state().generation == 2
        assert not await controller.plan(controller.source())
        # Its facts were read again in the next one.
        assert not journals[0].exists()


async def test_where_nothing_is_shared_there_is_nothing_to_found_again(tmp_path: Path) -> None:
    async with fleet(tmp_path) as controller:
        await apply(controller, source(tmp_path, "topology: single", 2))
        with pytest.raises(InvalidInput, match="share nothing"):
            await controller.refound()


@pytest.mark.slow
async def test_a_thousand_facts_and_their_answers_survive_every_topology(tmp_path: Path) -> None:
    questions = [f"Which colour has pump {agent}-{3 if agent % 2 else 50}?" for agent in range(1, 11, 2)]

    async with fleet(tmp_path) as controller:
        await apply(controller, source(tmp_path, FLAT, 10))
        for number in range(1, 11):
            await controller.call(f"a-{number}", "learn", text=sentences(number, 100))
        before = await known(controller, "a-1")
        assert len(before) == 1000
        answers = [await answer(controller, "a-2", question) for question in questions]

        for topology in (FEDERATED, SHARDED, FLAT):
            await apply(controller, source(tmp_path, topology, 10))
            assert await known(controller, "a-1") == before
            assert [await answer(controller, "a-2", question) for question in questions] == answers

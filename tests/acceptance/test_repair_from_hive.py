"""`hive-mind doctor --repair --from-hive`: what an agent shared comes back from the journals of its hive."""

import asyncio
from pathlib import Path

import pytest

from hive_mind import FleetPlan, Settings, open_embedder, open_fleet, open_memory
from tests.acceptance.hive_mind_command import HiveMind
from tests.sampled import thorough

SHARED, SECRET, WRONG = "The gateway listens on port 8443.", "The password is hunter2Xy!.", "The gateway is blue."


async def shared(home: Path, topology: str) -> None:
    settings = Settings(home=home, embed="none")
    async with await open_fleet(settings, FleetPlan(topology, ("ada", "ben", "cleo")), await open_embedder(settings)) as fleet:
        ada = fleet.memory("ada")
        for said in (SHARED, SECRET, WRONG):
            await ada.store_fact("gateway", said, source="runbook.md")
        await ada.store_fact("gateway", SHARED, source="Ines")
        await fleet.memory("ben").store_fact("gateway", "The gateway was replaced in May.", source="log")
        await fleet.settled()
        await ada.retract_fact(next(fact.id for fact in await ada.get_all_facts() if fact.content == WRONG))
        await fleet.settled()


def texts(home: Path) -> dict[str, tuple[str, ...]]:
    async def read() -> dict[str, tuple[str, ...]]:
        async with await open_memory(Settings(home=home, embed="none"), "ada") as memory:
            return {fact.content: fact.sources for fact in await memory.get_all_facts()}

    return asyncio.run(read())


def lose(record: Path) -> None:
    for path in record.parent.glob("memory.sqlite*"):
        path.unlink()


def lose_with_the_journal_of_its_node(record: Path) -> None:
    lose(record)
    for path in record.parents[2].glob("hives/*/ada.sqlite*"):
        path.unlink()


@pytest.mark.parametrize(
    ("topology", "harm"),
    [
        ("flat", lose),
        ("sharded", lose_with_the_journal_of_its_node),
        thorough("flat", lose_with_the_journal_of_its_node),
        thorough("sharded", lose),
    ],
)
def test_what_an_agent_shared_and_nobody_took_back_is_there_again(hive_mind: HiveMind, topology: str, harm) -> None:
    asyncio.run(shared(hive_mind.home, topology))
    harm(hive_mind.home / "agents" / "ada" / "memory.sqlite")

    done = hive_mind("doctor", "--repair", "--from-hive", "--agent", "ada", "-o", "json")

    assert (done.json["from_hive"]["facts"], done.json["from_hive"]["known"]) == (1, 1), done.err
    assert texts(hive_mind.home) == {SHARED: ("runbook.md", "Ines")}, "neither what was held back nor what was taken back"
    again = hive_mind("doctor", "--repair", "--from-hive", "--agent", "ada")
    assert "ada shared 1 fact that nobody took back: 0 were missing and are back" in again.out


def test_without_a_hive_it_says_so(hive_mind: HiveMind, notes: Path) -> None:
    hive_mind("learn", notes)
    assert "no hive in this home" in hive_mind("doctor", "--repair", "--from-hive").out
    assert hive_mind("doctor", "--from-hive").code == 2

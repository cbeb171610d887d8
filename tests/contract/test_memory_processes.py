"""What agents promise one another when each is a process of its own, and the same command that people use."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterator

import pytest

from hive_mind.embed.none import NoEmbedder
from hive_mind.model.query import Query
from hive_mind.runtime.members.fleet import FleetPlan, open_fleet
from hive_mind.runtime.settings import Settings
from tests.contract.agents import NAMES, Agents, settled
from tests.contract.wires import wire
from tests.sampled import thorough
from tests.waiting import until

pytestmark = pytest.mark.slow

PLACES = [
    ("servicebus and eventhubs", "sharded"),
    *(thorough(("redis", topology)) for topology in ("flat", "federated", "sharded")),
]
HALLS = [f"The {what} in hall {n} is {colour}." for n in range(6) for what, colour in (("pump", "red"), ("door", "blue"))]

Scenario = Callable[[Agents], Awaitable[None]]


@pytest.fixture(scope="module", params=PLACES, ids=lambda place: f"{place[1]} over {place[0]}")
def among(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Scenario], None]]:
    """The same four agents for all tests over one wire, because it takes seconds until they run."""
    wire_name, topology = request.param
    agents = Agents(wire(wire_name), f"t{secrets.token_hex(4)}", tmp_path_factory.mktemp("agents"), topology)
    with asyncio.Runner() as runner:

        def run(scenario: Scenario) -> None:
            try:
                runner.run(asyncio.wait_for(scenario(agents), 300))
            except BaseException as error:
                error.add_note(agents.logs())
                raise

        async def begin(agents: Agents) -> None:
            await agents.begin()
            for number, content in enumerate(HALLS):
                await agents[NAMES[number % 4]].do("store", content=content, confidence=0.7)
            await settled(agents)

        try:
            run(begin)
            yield run
        finally:
            runner.run(agents.end())


def test_all_give_the_answers_a_fleet_in_one_process_gives(among, tmp_path):
    async def in_one_process(topology: str) -> dict[str, list[tuple[str, float]]]:
        plan = FleetPlan(topology, NAMES, group_size=2, replicas=2)  # type: ignore[arg-type]
        async with await open_fleet(Settings(home=tmp_path / "one", store="memory", ann="exact"), plan, NoEmbedder()) as fleet:
            for number, content in enumerate(HALLS):
                await fleet.memory(NAMES[number % 4]).store_fact("", content, 0.7)
            await fleet.settled()
            return {
                question: [(hit.fact.content, hit.score) for hit in await fleet.memory("ben").search_facts(Query(question, 5))]
                for question in ("which pump is in hall 2?", "blue door", "hall 5")
            }

    async def scenario(agents: Agents) -> None:
        assert await agents.contents("ada") == {*HALLS}, "this one has to be the first: other facts change the scores"
        for question, expected in (await in_one_process(agents.topology)).items():
            for name in NAMES:
                found = await agents[name].do("search", query=question, limit=5)
                assert (found["completeness"], found["silent"]) == (1.0, []), name
                hits = sorted((hit["content"], hit["score"]) for hit in found["hits"])
                assert [content for content, _ in hits] == [content for content, _ in sorted(expected)]
                assert [score for _, score in hits] == pytest.approx([score for _, score in sorted(expected)], rel=1e-5)

    among(scenario)


def test_what_is_told_is_acted_on_once_by_each(among):
    async def scenario(agents: Agents) -> None:
        assert await agents["ada"].do("tell", to="ben", text="only you") == {"told": ["ben"]}
        assert sorted((await agents["ben"].do("tell", to="*", text="all of you"))["told"]) == ["ada", "cleo", "dan"]
        await settled(agents)

        told = {name: [(one["sender"], one["text"], one["times"]) for one in await agents[name].do("told")] for name in NAMES}
        all_of_you = [("ben", "all of you", 1)]
        assert told == {"ada": all_of_you, "ben": [("ada", "only you", 1)], "cleo": all_of_you, "dan": all_of_you}

    among(scenario)


def test_an_agent_that_was_killed_comes_back_with_all_it_acknowledged_and_gets_what_it_missed(among):
    async def scenario(agents: Agents) -> None:
        await agents["ada"].do("store", content="Stored before the end.")
        await agents["ada"].do("tell", to="ben", text="told before the end")
        await agents["ada"].kill()
        await agents["cleo"].do("store", content="Stored while ada was away.")
        await agents["cleo"].do("tell", to="ada", text="told while ada was away")
        await agents.begin(["ada"])
        await settled(agents)

        async def have_all() -> bool:
            found = [await agents.contents(name) for name in NAMES]
            return all({"Stored before the end.", "Stored while ada was away."} <= one for one in found)

        await until(have_all, "everybody finds both facts", 15)
        for name, text in (("ada", "told while ada was away"), ("ben", "told before the end")):
            assert [one["times"] for one in await agents[name].do("told") if one["text"] == text] == [1]

    among(scenario)

"""What a running agent is asked about sources: what was learned from where, and to take back all that one said."""

from typing import Any

from hive_mind.agents.agent import LearningAgent
from hive_mind.api import requests as api
from hive_mind.cognition.extractive import ExtractiveReader
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.runtime.calls import AgentCalls
from tests.builders import Home, lines_of
from tests.unit.memory.hives import SmallHive, two

RED, OLD = "The pump in hall 3 is red.", "The mill in Porto is old."


def calls_to(memory: Any) -> AgentCalls:
    return AgentCalls(LearningAgent("ada", memory, ExtractiveReader()), None, is_kept=False)


async def learned(calls: AgentCalls, text: str, source: str) -> None:
    await calls.do(api.Learn(text=text, source=source, whole=True))
    await calls.do(api.Note(source=source, digest=f"digest of {source}", left_out={"picture": 2}))


async def sources(calls: AgentCalls, below: str = "") -> dict[str, tuple[int, int, str]]:
    found = (await calls.do(api.Sources(query=below)))["sources"]
    return {one["source"]: (one["facts"], one["former"], one["digest"]) for one in found}


async def test_sources_are_listed_with_what_holds_and_what_is_former() -> None:
    async with Home().memory() as memory:
        calls = calls_to(memory)
        await learned(calls, f"{RED} {OLD}", "/notes/a.md")
        await learned(calls, OLD, "/notes/a.md")
        await learned(calls, OLD, "/other/b.md")
        everything, below = await sources(calls), await sources(calls, "/notes/")
        done, again = [await calls.do(api.Withdraw(source="/notes/a.md")) for _ in range(2)]
        after, facts = await sources(calls), [fact.content for fact in await memory.get_all_facts()]
    assert everything == {"/notes/a.md": (1, 1, "digest of /notes/a.md"), "/other/b.md": (1, 0, "digest of /other/b.md")}
    assert list(below) == ["/notes/a.md"]
    assert (done, again) == ({"former": 1}, {"former": 0})
    assert after == {"/notes/a.md": (0, 1, ""), "/other/b.md": (1, 0, "digest of /other/b.md")}
    assert facts == [OLD]


async def test_what_a_withdrawn_source_said_leaves_the_hive() -> None:
    home, other = two(SmallHive())
    async with home.memory() as ada, other.memory() as bo:
        calls = calls_to(ada)
        await learned(calls, RED, "/notes/a.md")
        found = [hit.fact.content for hit in await bo.search_facts("pump")]
        await calls.do(api.Withdraw(source="/notes/a.md"))
        assert (found, [hit.fact.content for hit in await bo.search_facts("pump")]) == ([RED], [])


async def test_what_is_noted_of_a_source_does_not_name_it() -> None:
    home = Home()
    async with home.memory() as memory:
        assert isinstance(memory, CognitiveMemory)
        await calls_to(memory).do(api.Note(source="/notes/letter-from-ada.md", digest="digest of it"))
        async with memory.awake() as awake:
            meta, lines = dict(await awake.store.meta()), await lines_of(memory)
    noted = [key for key in meta if key.startswith("learned/")]
    assert len(noted) == 1
    assert "letter" not in noted[0] + meta[noted[0]]
    assert not any("digest of" in line for line in lines)

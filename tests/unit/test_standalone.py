"""The names of the documents, called as they write them; confidences are refused alike, and openings are used alike."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

import hive_mind
from hive_mind import (
    Candidate,
    CognitiveMemory,
    Content,
    FleetPlan,
    HybridJudge,
    InMemoryHiveGraph,
    InvalidInput,
    Judgment,
    JudgmentAction,
    LWWRegister,
    MemberPlan,
    ORSet,
    Query,
    Settings,
    convergence_check,
    run_gossip_round,
)
from hive_mind.embed.none import NoEmbedder
from hive_mind.judge.judgment import Signal
from hive_mind.model.fact import Fact

DOCUMENTS = (
    "HiveController EventBus EvaluationRule RuleSet HybridJudge Judgment CapabilityLevel CalibrationMetrics RuleProposal "
    "SignalWeights Goal SuccessCriterion Constraint InMemoryHiveGraph ORSet LWWRegister GSet run_gossip_round convergence_check"
)


@pytest.mark.parametrize("name", DOCUMENTS.split())
def test_what_the_documents_name_is_found_under_hive_mind(name: str) -> None:
    assert getattr(hive_mind, name).__name__ == name
    assert name in dir(hive_mind)


def hive(name: str, *texts: str) -> InMemoryHiveGraph:
    found = InMemoryHiveGraph(name)
    found.register_agent(f"agent of {name}")
    for text in texts:
        found.promote_fact(f"agent of {name}", text)
    return found


def test_hives_gossip_until_all_know_the_same() -> None:
    source, others = hive("a", "The ferry leaves at nine."), [hive("b", "The pump is red."), hive("c"), hive("d")]
    everybody = [source, *others]
    assert (convergence_check(everybody), convergence_check([])) == (0.0, 0.0)
    assert run_gossip_round(source, everybody) == source.settings.gossip.fanout, "as many peers as a round has, one fact each"
    for _ in range(20):
        for one in everybody:
            run_gossip_round(one, everybody)
    assert convergence_check(everybody) == 1.0
    assert run_gossip_round(source, everybody) == 0, "nothing is told twice"
    assert [fact.content for fact in others[1].query_facts("ferry", limit=1)] == ["The ferry leaves at nine."]


def test_replicas_that_nobody_named_are_different_ones() -> None:
    here, there = ORSet[str](), ORSet[str]()
    here.add("x")
    there.add("y")
    here.merge(there)
    assert sorted(here) == ["x", "y"]
    first, second = LWWRegister[str](), LWWRegister[str]()
    first.set("a", 1.0)
    second.set("b", 1.0)
    first.merge(second)
    second.merge(first)
    assert first.get() == second.get()
    one, other = InMemoryHiveGraph(), InMemoryHiveGraph()
    one.merge_state(other)


def _doors(memory: CognitiveMemory) -> Iterator[Callable[[Any], Any]]:
    graph = hive("h")
    fact = graph.promote_fact("agent of h", "The ferry leaves at nine.")
    yield lambda sure: graph.promote_fact("agent of h", "The pump is red.", confidence=sure)
    yield lambda sure: graph.confirm_fact(fact.id, "agent of h", sure, source="other")
    yield lambda sure: graph.query_facts("ferry", min_confidence=sure)
    yield lambda sure: graph.query_federated("ferry", min_confidence=sure)
    yield lambda sure: Judgment(action=JudgmentAction.ACCEPT, reasoning="so", confidence=sure)
    yield lambda sure: Signal(name="n", origin="o", confidence=sure)
    yield lambda sure: HybridJudge(llm_confidence_threshold=sure)
    yield lambda sure: memory.store_fact("boats", "The ferry leaves at nine.", sure)
    yield lambda sure: memory.store_facts([Candidate("The ferry is red.", "boats", sure)], Content("x", "notes"))
    yield lambda sure: memory.search_facts(Query("ferry", min_confidence=sure))


async def _through(door: Callable[[Any], Any], sure: Any) -> None:
    if isinstance(found := door(sure), Awaitable):
        await found


@pytest.mark.parametrize("sure", [1.5, -0.1, float("nan"), float("inf"), True, "0.5"])
async def test_a_confidence_is_a_number_from_0_to_1_wherever_it_is_given(sure: Any, tmp_path: Path) -> None:
    async with hive_mind.open_memory(Settings(home=tmp_path, embed="none"), "ines") as memory:
        for door in _doors(memory):
            with pytest.raises(InvalidInput, match="a number from 0 to 1"):
                await _through(door, sure)
        assert not await memory.get_all_facts()


def _openings(home: Path) -> dict[str, AbstractAsyncContextManager[Any]]:
    settings = Settings(home=home, embed="none")
    return {
        "open_agent": hive_mind.open_agent(settings, "a"),
        "open_embedder": hive_mind.open_embedder(settings),
        "open_fleet": hive_mind.open_fleet(settings, FleetPlan("flat", ("b", "c")), NoEmbedder()),
        "open_goal_seeking": hive_mind.open_goal_seeking(settings, "a"),
        "open_graph": hive_mind.open_graph(settings, "known"),
        "open_member": hive_mind.open_member(settings, MemberPlan("d", "memory://", "hive", "flat", ("d",)), NoEmbedder()),
        "open_memory": hive_mind.open_memory(settings, "e"),
    }


async def test_whatever_opens_something_is_entered_alike_and_may_be_awaited_too(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, embed="none")
    memory = await hive_mind.open_memory(settings, "known")
    stored: Fact = await memory.store_fact("boats", "The ferry leaves at nine.", 0.9)
    await memory.close()
    openings = _openings(tmp_path)
    assert sorted(openings) == [name for name in sorted(dir(hive_mind)) if name.startswith("open_")]
    for opening in openings.values():
        async with opening as opened:
            assert opened is not None
    async with hive_mind.open_agent(settings, "known") as agent:
        assert [hit.fact.id for hit in await agent.memory.search_facts("ferry")] == [stored.id]
    await (await hive_mind.open_goal_seeking(settings, "known")).close()

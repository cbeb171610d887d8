"""A hive as one object: groups that find each other's facts, and what is found by meaning."""

from collections.abc import Callable
from random import Random

import numpy as np
import pytest

from hive_mind.errors import InvalidInput
from hive_mind.hive.graph import InMemoryHiveGraph
from hive_mind.hive.topology.federated import Federated
from hive_mind.model.ids import fact_id
from tests.hives import PUMP, PUMP_ID, federated
from tests.unit.hive.each_topology import DOOR
from tests.unit.hive.graph.builders import Ticking, contents, embed, graph


def test_a_sure_fact_is_found_by_other_groups_themselves_and_a_less_sure_one_by_asking_all():
    hive = graph(federated())
    hive.register_agent("sol", node="s0")
    hive.promote_fact("ines", PUMP, confidence=0.9)
    hive.promote_fact("ines", DOOR, confidence=0.89)

    assert contents(hive.query_facts("pump", agent_id="sol")) == [PUMP]
    assert hive.query_facts("door", agent_id="sol") == []
    assert contents(hive.query_federated("door", agent_id="sol")) == [DOOR]
    assert contents(hive.query_federated("pump", agent_id="sol")) == [PUMP]


def test_a_group_can_share_with_all_what_is_less_sure_and_another_one_less():
    hive = graph(federated(group_thresholds={"north": 0.3, "south": 1.0}))
    hive.register_agent("sol", node="s0")
    hive.promote_fact("ines", PUMP, confidence=0.3)
    hive.promote_fact("sol", DOOR, confidence=0.99)

    assert sorted(contents(hive.query_facts("pump door", agent_id="sol"))) == [DOOR, PUMP]
    assert hive.query_facts("door", agent_id="ines") == []


@pytest.mark.parametrize("came_by_merging", [False, True])
def test_an_escalated_fact_is_copied_however_unsure_it_is_and_one_that_is_not_there_is_refused(*, came_by_merging):
    there, hive = graph(federated()), graph(federated(), seed=2)
    hive.register_agent("sol", node="s0")
    (there if came_by_merging else hive).promote_fact("ines", DOOR, confidence=0.3)
    hive.merge_state(there)

    for _ in range(2):
        hive.escalate_fact(fact_id(DOOR))

    (fact,) = hive.query_facts("door", agent_id="sol")
    assert (fact.confidence, fact.confirmations, len(fact.provenance)) == (0.3, 0, 1)
    with pytest.raises(InvalidInput, match="there is no fact"):
        hive.escalate_fact(PUMP_ID)
    assert hive.retract_fact(fact.id, "ines") >= 1
    assert hive.query_facts("door", agent_id="sol") == hive.query_federated("door", agent_id="sol") == []


def test_the_best_fact_is_first_wherever_it_lies_and_whatever_matches_nearer_by():
    """Ranks are given once, over candidates of all groups: a rank-1 fact stays at rank 1 whatever group holds it."""
    groups = {f"g{number}": (f"n{number}",) for number in range(5)}
    hive = InMemoryHiveGraph(clock=Ticking(), chance=Random(1), topology=Federated(groups, {"g3": ["valve"]}))
    for number in range(5):
        hive.register_agent(f"a{number}", node=f"n{number}")
        for other in range(10):
            hive.promote_fact(f"a{number}", f"Valve {number}{other} is near the pump.", confidence=0.89)
    hive.promote_fact("a4", "The red pump leaks at the valve.", confidence=0.2)

    for agent in hive.agents():
        assert hive.query_federated("red pump leaks valve", agent_id=agent)[0].content == "The red pump leaks at the valve."


def test_who_gives_vectors_finds_by_meaning_without_saying_more():
    def meaning(text: str) -> np.ndarray:
        is_car = any(word in text for word in ("car", "automobile"))
        return np.array([is_car, not is_car], np.float32)

    hive = graph(embed=meaning)
    hive.promote_fact("ines", "The car is outside.")
    hive.promote_fact("bo", DOOR)

    assert contents(hive.query_facts("automobile", limit=1)) == ["The car is outside."]


class Failing:
    """Makes vectors while it `works`, and then does what it was given."""

    def __init__(self, instead: Callable[[], np.ndarray], *, works: int) -> None:
        self.instead, self.works = instead, works

    def __call__(self, text: str) -> np.ndarray:
        self.works -= 1
        return embed(text) if self.works >= 0 else self.instead()


def no_vector() -> np.ndarray:
    raise RuntimeError("the model is gone")


def used(embedder: Failing) -> InMemoryHiveGraph:
    hive = graph(embed=embedder)
    hive.promote_fact("ines", "The car is outside.")
    hive.promote_fact("bo", DOOR)
    hive.query_facts("the car")
    return hive


@pytest.mark.parametrize("works", [0, 1, 2], ids=["never", "when it was asked for the length", "for one fact"])
@pytest.mark.parametrize("instead", [no_vector, lambda: np.ones((64, 2), np.float32), lambda: np.full(64, np.nan)])
def test_whatever_an_embedder_does_a_hive_goes_on_by_keywords_and_one_line_says_so(instead, works):
    with pytest.warns(RuntimeWarning, match="no embeddings for now, searching by keywords only") as told:
        hive = used(Failing(instead, works=works))
    assert len(told) == 1
    assert contents(hive.query_facts("the car", limit=1)) == ["The car is outside."]
    assert contents(hive.query_federated("door", limit=1)) == [DOOR]

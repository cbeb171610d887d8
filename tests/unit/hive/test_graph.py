"""A hive as one object: what an agent is told when it calls, over every topology."""

from collections.abc import Callable
from random import Random

import numpy as np
import pytest

from hive_mind.errors import InvalidInput
from hive_mind.hive.effects import Now
from hive_mind.hive.graph import InMemoryHiveGraph
from hive_mind.hive.hive_graph import HiveAgent, HiveStatistics
from hive_mind.hive.node import HiveNode
from hive_mind.hive.policy.expiry import ExpirySettings
from hive_mind.hive.replication.gossip import convergence_check
from hive_mind.hive.topology.federated import Federated
from hive_mind.model.evidence import Stamp
from hive_mind.model.ids import fact_id
from hive_mind.ranking.vector import ExactVectors
from tests.builders import words_vector
from tests.hives import FIRST_MS, HOUR_MS, MODERATOR, PUMP, PUMP_ID, Clock, federated, flat, settings, sharded

DOOR = "The door is open."
TOPOLOGIES = {"single": lambda: flat("n0"), "flat": flat, "federated": federated, "sharded": sharded}


class Ticking(Clock):
    """A millisecond passes whenever somebody looks."""

    def __call__(self) -> Now:
        self.pass_(1)
        return super().__call__()


def graph(topology=None, clock: Clock | None = None, tuned=None, seed: int = 1, **options) -> InMemoryHiveGraph:
    made = InMemoryHiveGraph(
        clock=clock or Ticking(), chance=Random(seed), topology=topology or flat("n0"), settings=tuned or settings(), **options
    )
    for number, agent in enumerate(("ines", "bo", MODERATOR)):
        made.register_agent(agent, node=made.topology.nodes[number % len(made.topology.nodes)])
    return made


@pytest.fixture(params=TOPOLOGIES)
def hive(request) -> InMemoryHiveGraph:
    return graph(TOPOLOGIES[request.param]())


def contents(facts) -> list[str]:
    return [fact.content for fact in facts]


# ── agents ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_agents_are_dealt_to_nodes_in_turn_or_put_where_they_are_wanted():
    hive = InMemoryHiveGraph(clock=Ticking(), chance=Random(1), topology=flat("n0", "n1"))
    for name in ("ann", "ben"):
        hive.register_agent(name, "pumps")
    hive.register_agent("cy", node="n0")

    assert {name: agent.node for name, agent in hive.agents().items()} == {"ann": "n0", "ben": "n1", "cy": "n0"}
    for node in hive.host.nodes.values():
        assert node.registry.get("agent/ann") == {"domain": "pumps", "node": "n0"}


def test_trust_is_one_until_a_moderator_pins_it_within_zero_and_two(hive):
    assert hive.host.nodes[hive.agents()["bo"].node].policy.trust("ines", Now(0, 0)) == 1.0

    assert hive.update_trust("ines", 99.0, by=MODERATOR) == 2.0
    assert hive.update_trust("ines", -1.0, by=MODERATOR) == 0.0
    with pytest.raises(InvalidInput, match="only moderators write"):
        hive.update_trust("ines", 2.0, by="ines")


def test_a_rater_may_have_a_slash_in_its_name(hive):
    hive.register_agent("yard/ann")

    hive.rate(MODERATOR, "yard/ann", good=1, bad=0)
    assert hive.rate("yard/ann", "ines", good=10, bad=0) > 1.0


def test_who_is_put_at_a_node_that_is_not_there_is_refused_and_not_known(hive):
    with pytest.raises(InvalidInput, match="no node 'n77' in this hive; there are"):
        hive.register_agent("ann", node="n77")
    assert "ann" not in hive.agents()


def test_agents_are_listed_with_their_domain_their_node_and_the_trust_in_them(hive):
    hive.register_agent("ann", "pumps")
    hive.update_trust("ann", 0.5, by=MODERATOR)

    assert hive.agents()["ann"] == HiveAgent("ann", "pumps", hive.agents()["ann"].node, 0.5)
    assert hive.agents()["bo"] == HiveAgent("bo", "", hive.agents()["bo"].node, 1.0)
    assert list(hive.agents()) == sorted(["ann", "bo", "ines", MODERATOR])


def test_a_name_is_registered_once_until_its_agent_has_gone(hive):
    before = hive.agents()
    with pytest.raises(InvalidInput, match=r"an agent 'bo' is registered already, at n\d: unregister it first"):
        hive.register_agent("bo", "doors")
    assert hive.agents() == before

    hive.unregister_agent("bo")
    assert "bo" not in hive.agents()
    hive.register_agent("bo", "doors")
    assert hive.agents()["bo"].domain == "doors"


def test_registering_one_does_not_look_at_all_the_others(monkeypatch):
    hive = graph(flat())
    for node in hive.host.nodes.values():
        monkeypatch.setattr(node.registry, "with_prefix", lambda prefix: pytest.fail(f"all of {prefix} was looked at"))

    hive.register_agent("ann")
    with pytest.raises(InvalidInput, match="registered already"):
        hive.register_agent("ann")


def test_who_is_not_registered_promotes_and_confirms_nothing_and_what_a_former_agent_said_stays(hive):
    hive.promote_fact("bo", PUMP)
    hive.unregister_agent("bo")

    for name in ("bo", "nobody"):
        with pytest.raises(InvalidInput, match=rf"no agent '{name}' is registered in this hive: call register_agent\('{name}'\)"):
            hive.promote_fact(name, DOOR)
        with pytest.raises(InvalidInput, match=f"no agent '{name}' is registered"):
            hive.confirm_fact(PUMP_ID, name)
        with pytest.raises(InvalidInput, match=f"no agent '{name}' is registered") as refused:
            hive.unregister_agent(name)
        assert "register_agent" in str(refused.value)
    assert contents(hive.query_federated("pump door")) == [PUMP]
    assert hive.retract_fact(PUMP_ID, "bo") >= 0
    assert hive.query_federated("pump") == []


def test_experience_moves_trust_and_nobody_rates_itself(hive):
    assert hive.rate("bo", "ines", good=10, bad=0) == 1.0, "nobody knows bo"
    assert hive.rate(MODERATOR, "bo", good=1, bad=0) > 1.0
    assert hive.rate("bo", "ines", good=10, bad=0) > 1.0
    assert hive.rate(MODERATOR, "bo", good=0, bad=10) < 1.0
    with pytest.raises(InvalidInput, match="a rating is of one agent by another"):
        hive.rate("ines", "ines", good=99, bad=0)


# ── facts ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_fact_that_is_too_large_is_refused_with_the_limit(hive):
    with pytest.raises(InvalidInput, match="at most 64,000 characters"):
        hive.promote_fact("ines", "x" * 64_001)
    with pytest.raises(InvalidInput, match="at most 1,000 entities and labels"):
        hive.promote_fact("ines", PUMP, labels=tuple(str(number) for number in range(1_001)))


def test_what_one_agent_promotes_every_other_finds_until_it_takes_it_back(hive):
    fact = hive.promote_fact("ines", PUMP, "pump", 0.7)
    assert (fact.id, fact.content, fact.confidence, fact.confirmations, fact.status) == (PUMP_ID, PUMP, 0.7, 0, "held")

    for agent in hive.agents():
        assert contents(hive.query_federated("pump", agent_id=agent)) == [PUMP]
    assert hive.retract_fact(fact.id, "ines") >= 1

    for agent in hive.agents():
        assert hive.query_federated("pump", agent_id=agent) == hive.query_federated("", agent_id=agent) == []
        assert hive.query_facts("", agent_id=agent) == []
    assert hive.get_fact(fact.id) is None


def test_another_agents_word_confirms_and_another_reading_of_the_same_source_does_not(hive):
    hive.promote_fact("ines", PUMP, source="a book")
    (fact,) = hive.query_federated("pump")
    assert fact.confirmations == 0

    hive.confirm_fact(PUMP_ID, "bo", source="a book")
    assert hive.query_federated("pump")[0].confirmations == 0
    hive.confirm_fact(PUMP_ID, "bo")
    (fact,) = hive.query_federated("pump")
    assert (fact.confirmations, fact.status) == (1, "confirmed")


def test_what_can_not_be_confirmed_taken_back_or_taken_in_says_why(hive):
    hive.promote_fact("ines", PUMP)

    with pytest.raises(InvalidInput, match="there is no fact 'nonsense' in this hive"):
        hive.confirm_fact("nonsense", "bo")
    with pytest.raises(InvalidInput, match="a confidence is a number from 0 to 1"):
        hive.promote_fact("bo", DOOR, confidence=8100.0)
    with pytest.raises(InvalidInput, match="the text is empty"):
        hive.promote_fact("bo", " ")
    if len(hive.query_facts("pump", agent_id="bo")):
        with pytest.raises(InvalidInput, match="only its author or a moderator may take it back"):
            hive.retract_fact(PUMP_ID, "bo")
    assert contents(hive.query_federated("pump")) == [PUMP]


def test_a_moderator_takes_back_what_others_said(hive):
    hive.promote_fact("ines", PUMP)
    hive.promote_fact("bo", PUMP)

    # The count is of what its own node had; everybody else is told.
    assert hive.retract_fact(PUMP_ID, MODERATOR) >= 0

    assert hive.query_federated("pump") == []
    assert hive.get_fact(PUMP_ID) is None


def test_quarantine_hides_from_every_search_and_shows_by_id(hive):
    hive.promote_fact("ines", PUMP, confidence=0.95)
    with pytest.raises(InvalidInput, match="only moderators write"):
        hive.quarantine_fact(PUMP_ID, by="ines")

    hive.quarantine_fact(PUMP_ID, by=MODERATOR)

    for agent in hive.agents():
        assert hive.query_facts("pump", agent_id=agent) == hive.query_federated("pump", agent_id=agent) == []
    assert hive.get_fact(PUMP_ID).status == "quarantined"
    hive.quarantine_fact(PUMP_ID, by=MODERATOR, is_on=False)
    assert contents(hive.query_federated("pump")) == [PUMP]


def test_least_confidence_and_limit_are_kept(hive):
    for number in range(8):
        hive.promote_fact("ines", f"Pump {number} is red.", confidence=0.1 * (number + 1))

    assert len(hive.query_federated("pump", limit=3)) == 3
    assert {fact.confidence >= 0.6 for fact in hive.query_federated("pump", min_confidence=0.6)} == {True}
    assert len(hive.query_federated("pump", min_confidence=0.6)) == 3
    for query in (hive.query_facts, hive.query_federated):
        with pytest.raises(InvalidInput, match="at least one fact: limit 0 is too small"):
            query("pump", limit=0)


def test_labels_travel_with_a_fact_find_it_and_stay_when_it_is_confirmed(hive):
    fact = hive.promote_fact("ines", PUMP, labels=("hydraulics", "hall 3"))
    hive.promote_fact("bo", DOOR)

    assert fact.statement.labels == ("hydraulics", "hall 3")
    assert hive.confirm_fact(PUMP_ID, "bo").statement == fact.statement
    hive.retract_fact(PUMP_ID, "ines")
    for agent in hive.agents():
        (found,) = hive.query_federated("hydraulics", agent_id=agent)
        assert (found.id, found.statement.labels) == (PUMP_ID, ("hydraulics", "hall 3"))


def test_all_facts_are_listed_newest_first_or_those_about_a_concept(hive):
    for number in range(30):
        hive.promote_fact(("ines", "bo")[number % 2], f"Pump {number} is red.", "pump" if number % 3 else "door", 0.95)
    newest = [f"Pump {number} is red." for number in reversed(range(30))]

    assert contents(hive.list_facts()) == newest
    assert contents(hive.list_facts(7)) == newest[:7]
    assert contents(hive.list_facts(concept="door")) == newest[2::3]
    hive.retract_fact(fact_id(newest[0]), "bo")
    assert contents(hive.list_facts(2)) == newest[1:3]
    with pytest.raises(InvalidInput, match="at least one fact: limit 0 is too small"):
        hive.list_facts(0)


def test_statistics_count_each_fact_once_and_what_is_quarantined_apart(hive):
    assert hive.get_statistics() == HiveStatistics(3, 0, 0, 0, dict.fromkeys(hive.topology.nodes, 0))

    for number in range(10):
        # Sure enough for a copy in every group.
        hive.promote_fact("ines", f"Pump {number} is red.", confidence=0.95)
    hive.confirm_fact(fact_id("Pump 1 is red."), "bo", 0.95)
    hive.quarantine_fact(fact_id("Pump 2 is red."), by=MODERATOR)
    hive.retract_fact(fact_id("Pump 3 is red."), "ines")
    hive.unregister_agent("bo")

    held = hive.get_statistics()
    assert (held.agents, held.facts, held.confirmed, held.quarantined) == (2, 8, 1, 1)
    left = [fact_id(f"Pump {number} is red.") for number in range(10) if number not in (2, 3)]
    kept_by = [hive.topology.write_set(id, hive.agents()["ines"].node, 0.95) for id in left]
    assert held.by_node == {node: sum(node in nodes for nodes in kept_by) for node in hive.topology.nodes}


def test_statistics_leave_out_what_has_expired():
    clock = Clock()
    hive = graph(flat("n0"), clock, settings(expiry=ExpirySettings(is_on=True)))
    hive.promote_fact("ines", PUMP, ttl_ms=HOUR_MS)
    hive.promote_fact("ines", DOOR)
    clock.pass_(2 * HOUR_MS)

    assert hive.get_statistics().facts == len(hive.list_facts()) == 1


# ── federated ─────────────────────────────────────────────────────────────────────────────────────────────────────────


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


def test_an_escalated_fact_is_copied_however_unsure_it_is():
    hive = graph(federated())
    hive.register_agent("sol", node="s0")
    hive.promote_fact("ines", DOOR, confidence=0.3)

    hive.escalate_fact(fact_id(DOOR))

    (fact,) = hive.query_facts("door", agent_id="sol")
    assert (fact.confidence, fact.confirmations, len(fact.provenance)) == (0.3, 0, 1)
    assert hive.retract_fact(fact.id, "ines") >= 1
    assert hive.query_facts("door", agent_id="sol") == hive.query_federated("door", agent_id="sol") == []


def test_a_fact_that_came_by_merging_is_escalated_as_well_and_one_that_is_not_there_is_refused():
    there, hive = graph(federated()), graph(federated(), seed=2)
    hive.register_agent("sol", node="s0")
    there.promote_fact("ines", DOOR, confidence=0.3)
    hive.merge_state(there)

    for _ in range(2):
        hive.escalate_fact(fact_id(DOOR))

    (fact,) = hive.query_facts("door", agent_id="sol")
    assert (fact.confidence, fact.confirmations, len(fact.provenance)) == (0.3, 0, 1)
    with pytest.raises(InvalidInput, match="there is no fact"):
        hive.escalate_fact(PUMP_ID)


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


# ── merging ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def embed(text: str) -> np.ndarray:
    vector = words_vector(text, 64).astype(np.float32)
    return vector / max(float(np.linalg.norm(vector)), 1e-9)


def lasting(seed: int) -> InMemoryHiveGraph:
    tuned = settings(model="m", expiry=ExpirySettings(is_on=True))
    return graph(flat("n0"), tuned=tuned, seed=seed, embed=embed, new_arm=lambda: ExactVectors(64))


def test_merging_brings_facts_embeddings_agents_trust_and_times_to_live():
    here, there = lasting(1), lasting(2)
    there.promote_fact("ines", PUMP, ttl_ms=HOUR_MS)
    there.update_trust("ines", 1.5, by=MODERATOR)
    there.register_agent("sol", "pumps")

    here.merge_state(there)

    node = here.host.nodes["n0"]
    (mine,) = node.partitions.shares["all"].all_sealed()
    (theirs,) = there.host.nodes["n0"].partitions.shares["all"].all_sealed()
    assert mine == theirs
    assert len(mine.assertion.statement.vector) == 128
    assert mine.assertion.ttl_ms == HOUR_MS
    assert node.registry.get("agent/sol") == {"domain": "pumps", "node": "n0"}
    assert node.policy.trust("ines", Now(0, 0)) == 1.5
    assert contents(here.query_facts("pump")) == [PUMP]


def test_merging_brings_removals_and_brings_nothing_back():
    here, there = graph(seed=1), graph(seed=2)
    here.promote_fact("ines", PUMP)
    there.merge_state(here)
    there.retract_fact(PUMP_ID, "ines")

    there.merge_state(here)
    assert there.query_facts("") == []

    here.merge_state(there)
    assert here.query_facts("") == []
    assert here.get_fact(PUMP_ID) is None


def test_replicas_of_one_seed_are_not_merged_as_each_would_take_the_others_facts_for_its_own():
    here, there = graph(), graph()
    here.promote_fact("ines", PUMP)
    there.promote_fact("bo", DOOR)

    with pytest.raises(InvalidInput, match="give each a seed of its own"):
        here.merge_state(there)


def test_merging_with_itself_changes_nothing():
    hive = graph(flat())
    hive.promote_fact("ines", PUMP)
    before = [dict(kept) for kept in hive.host.kept.values()]

    hive.merge_state(hive)

    assert [dict(kept) for kept in hive.host.kept.values()] == before


def test_replicas_converge_by_gossip_and_the_check_says_how_far():
    hive = graph(flat("n0", "n1", "n2", "n3"))
    for name, node in hive.host.nodes.items():
        # Nothing is sent when it is written: gossip alone has to bring it.
        node.outbox.post = lambda *_: ([], [])
        agent = f"agent of {name}"
        hive.register_agent(agent, node=name)
        for number in range(60):
            hive.promote_fact(agent, f"{name} knows {number}.")

    def held() -> list[list[str]]:
        shares = [node.partitions.shares["all"] for node in hive.host.nodes.values()]
        return [[given.assertion.fact_id for given in share.all_sealed()] for share in shares]

    assert convergence_check(held()) == 0.0
    hive.run_gossip(3)
    assert convergence_check(held()) == 1.0
    assert len(held()[0]) == 240


# ── upkeep ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_collecting_names_first_and_removes_then_and_a_refresh_stays():
    clock = Clock()
    hive = graph(flat("n0"), clock, settings(expiry=ExpirySettings(is_on=True)))
    hive.promote_fact("ines", PUMP, ttl_ms=HOUR_MS)
    hive.promote_fact("ines", DOOR, ttl_ms=HOUR_MS)
    assert hive.gc() == []
    clock.pass_(HOUR_MS // 2)
    hive.promote_fact("ines", DOOR, ttl_ms=3 * HOUR_MS)
    clock.pass_(HOUR_MS)

    assert hive.gc(dry_run=True) == [PUMP_ID]
    assert len(hive.host.nodes["n0"].partitions.shares["all"]) == 2
    assert hive.gc() == [PUMP_ID]
    assert len(hive.host.nodes["n0"].partitions.shares["all"]) == 1
    assert hive.gc() == []
    assert contents(hive.query_facts("door")) == [DOOR]


def test_nothing_is_collected_while_forgetting_is_off():
    clock = Clock()
    hive = graph(flat("n0"), clock)
    hive.promote_fact("ines", PUMP, ttl_ms=1)
    clock.pass_(1_000 * HOUR_MS)

    assert hive.gc() == []
    assert contents(hive.query_facts("pump")) == [PUMP]


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_every_node_started_again_has_what_it_had(name):
    hive = graph(TOPOLOGIES[name]())
    for number in range(20):
        hive.promote_fact(("ines", "bo")[number % 2], f"Pump {number} is red.", confidence=0.95 if number % 4 else 0.5)
    hive.retract_fact(fact_id("Pump 7 is red."), "bo")
    hive.quarantine_fact(fact_id("Pump 8 is red."), by=MODERATOR)
    before = sorted(contents(hive.query_federated("red pump", limit=50)))

    for node in list(hive.host.nodes):
        hive.host.add(HiveNode(node, hive.topology, chance=Random(f"{node} again"), settings=hive.settings))

    assert len(before) == 18
    assert sorted(contents(hive.query_federated("red pump", limit=50))) == before
    assert hive.get_fact(fact_id("Pump 8 is red.")).status == "quarantined"


def test_the_stamp_of_a_fact_is_that_of_its_author_for_everybody():
    hive = graph(flat())
    fact = hive.promote_fact("ines", PUMP)

    stamps: set[Stamp] = {node.fact(PUMP_ID, hive.host._clock()).provenance[0].stamp for node in hive.host.nodes.values()}
    assert stamps == {fact.provenance[0].stamp}
    assert FIRST_MS < fact.provenance[0].stamp.ms < FIRST_MS + 1_000

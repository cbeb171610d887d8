"""A hive as one object: what merging brings, what collecting removes, and what a restart leaves."""

from random import Random

import pytest

from hive_mind.errors import InvalidInput
from hive_mind.hive.effects import Now
from hive_mind.hive.graph import InMemoryHiveGraph
from hive_mind.hive.node import HiveNode
from hive_mind.hive.policy.node_policy import ExpirySettings
from hive_mind.hive.replication import convergence_check
from hive_mind.model.ids import fact_id
from hive_mind.ranking.vector import ExactVectors
from tests.hives import HOUR_MS, MODERATOR, PUMP, PUMP_ID, Clock, flat, settings
from tests.unit.hive.each_topology import DOOR, TOPOLOGIES
from tests.unit.hive.graph.builders import contents, embed, graph


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
    assert (len(mine.assertion.statement.vector), mine.assertion.ttl_ms) == (128, HOUR_MS)
    assert node.registry.get("agent/sol") == {"domain": "pumps", "node": "n0"}
    assert node.policy.at(Now(0, 0)).trust("ines") == 1.5
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
    with pytest.raises(InvalidInput, match="both replicas use the same random seed"):
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

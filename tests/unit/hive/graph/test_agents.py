"""A hive as one object: agents that come and go, and the trust in them."""

from random import Random

import pytest

from hive_mind.errors import InvalidInput
from hive_mind.hive import HiveAgent
from hive_mind.hive.effects import Now
from hive_mind.hive.graph import InMemoryHiveGraph
from tests.hives import MODERATOR, PUMP, PUMP_ID, flat
from tests.unit.hive.each_topology import DOOR
from tests.unit.hive.graph.builders import Ticking, contents, graph


def test_agents_are_dealt_to_nodes_in_turn_or_put_where_they_are_wanted():
    hive = InMemoryHiveGraph(clock=Ticking(), chance=Random(1), topology=flat("n0", "n1"))
    for name in ("ann", "ben"):
        hive.register_agent(name, "pumps")
    hive.register_agent("cy", node="n0")

    assert {name: agent.node for name, agent in hive.agents().items()} == {"ann": "n0", "ben": "n1", "cy": "n0"}
    for node in hive.host.nodes.values():
        assert node.registry.get("agent/ann") == {"domain": "pumps", "node": "n0"}


def test_trust_is_one_until_a_moderator_pins_it_within_zero_and_two(hive):
    assert hive.host.nodes[hive.agents()["bo"].node].policy.at(Now(0, 0)).trust("ines") == 1.0
    assert hive.update_trust("ines", 99.0, by=MODERATOR) == 2.0
    assert hive.update_trust("ines", -1.0, by=MODERATOR) == 0.0
    with pytest.raises(InvalidInput, match="only moderators write"):
        hive.update_trust("ines", 2.0, by="ines")


def test_agents_are_listed_with_their_domain_their_node_and_the_trust_in_them(hive):
    hive.register_agent("ann", "pumps")
    hive.update_trust("ann", 0.5, by=MODERATOR)
    assert hive.agents()["ann"] == HiveAgent("ann", "pumps", hive.agents()["ann"].node, 0.5)
    assert hive.agents()["bo"] == HiveAgent("bo", "", hive.agents()["bo"].node, 1.0)
    assert list(hive.agents()) == sorted(["ann", "bo", "ines", MODERATOR])


def test_a_name_is_registered_once_until_its_agent_has_gone_and_at_a_node_that_is_there(hive):
    before = hive.agents()
    with pytest.raises(InvalidInput, match=r"an agent 'bo' is registered already, at n\d: unregister it first"):
        hive.register_agent("bo", "doors")
    with pytest.raises(InvalidInput, match="no node 'n77' in this hive; there are"):
        hive.register_agent("ann", node="n77")
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
    """A rater may have a slash in its name."""
    hive.register_agent("yard/ann")
    assert hive.rate("yard/ann", "ines", good=10, bad=0) == 1.0, "nobody knows who that is"
    assert hive.rate(MODERATOR, "yard/ann", good=1, bad=0) > 1.0
    assert hive.rate("yard/ann", "ines", good=10, bad=0) > 1.0
    assert hive.rate(MODERATOR, "yard/ann", good=0, bad=10) < 1.0
    with pytest.raises(InvalidInput, match="a rating is of one agent by another"):
        hive.rate("ines", "ines", good=99, bad=0)

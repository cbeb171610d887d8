"""A hive as one object: what an agent promotes, confirms, takes back and lists."""

import pytest

from hive_mind.errors import InvalidInput
from hive_mind.hive import HiveStatistics
from hive_mind.hive.policy.node_policy import ExpirySettings
from hive_mind.model.aggregation import Aggregation
from hive_mind.model.ids import fact_id
from tests.hives import HOUR_MS, MODERATOR, PUMP, PUMP_ID, Clock, flat, settings
from tests.unit.hive.each_topology import DOOR
from tests.unit.hive.graph.builders import contents, graph


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
    for content, fields, why in (
        (DOOR, {"confidence": 8100.0}, "a confidence is a number from 0 to 1"),
        (" ", {}, "the text is empty"),
        ("x" * 64_001, {}, "at most 64,000 characters"),
        (DOOR, {"labels": tuple(str(number) for number in range(1_001))}, "at most 1,000 entities and labels"),
    ):
        with pytest.raises(InvalidInput, match=why):
            hive.promote_fact("bo", content, **fields)
    if len(hive.query_facts("pump", agent_id="bo")):
        with pytest.raises(InvalidInput, match="only its author or a moderator may take it back"):
            hive.retract_fact(PUMP_ID, "bo")
    assert contents(hive.query_federated("pump")) == [PUMP]


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
        with pytest.raises(InvalidInput, match=r"`limit` is a whole number, 1 to .*, not 0"):
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
    with pytest.raises(InvalidInput, match=r"`limit` is a whole number, 1 to .*, not 0"):
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


def test_aggregations_are_over_the_whole_hive(hive):
    for number in range(5):
        hive.promote_fact("ines" if number % 2 else "bo", f"Pump D4 moved {number} litres.", "Pump D4")
    hive.promote_fact("bo", "Pump D40 is new.", "Pump D40")

    counted = hive.aggregate_facts(Aggregation("count", "D4"))
    latest, earliest = (hive.aggregate_facts(Aggregation(kind, "D4", 1)) for kind in ("latest", "earliest"))

    assert (counted.count, counted.facts, counted.completeness) == (5, (), 1.0)
    assert contents(latest.facts) == ["Pump D4 moved 4 litres."]
    assert contents(earliest.facts) == ["Pump D4 moved 0 litres."]
    assert hive.aggregate_facts(Aggregation()).count == 6
    with pytest.raises(InvalidInput, match="limit"):
        hive.aggregate_facts(Aggregation("list", "", 0))

"""Settling a hive's facts anew: what goes along, what stays gone, and what nodes need to begin with."""

from random import Random

import pytest

from hive_mind.errors import InvalidInput
from hive_mind.hive.effects import Now, Put
from hive_mind.hive.policy.node_policy import ExpirySettings, PolicySettings
from hive_mind.hive.replication.reliable_channels import CHANNELS, RECEIVED, SENT
from hive_mind.hive.replication.resettlement import JournalMerger, JournalSnapshot, Resettlement, Vouched, attached_to, facts_of
from hive_mind.hive.settings import HiveSettings
from hive_mind.hive.topology.federated import Federated
from hive_mind.model.ids import fact_id
from hive_mind.model.messages import Replicate, SyncStep
from tests import hives
from tests.hives import FORGETFUL, HOUR_MS, MODERATOR, PUMP, PUMP_ID, Hive, assertion, federated, flat, sharded
from tests.resettling import known, moved, read

VALVE = "The valve is open."
NOW = Now(hives.FIRST_MS, 1_000)


def provenance(hive: Hive, id: str = PUMP_ID):
    return known(hive)[id].provenance


def test_a_proof_that_came_before_what_it_is_about_counts():
    hive = Hive(flat("n0", "n1", "n2"))
    hive.down.add("n2")
    hive.say("n0")
    hive.take_back("n0")
    proofs = {key: value for key, value in hive.kept["n0"].items() if key[0] == "proof"}
    late = Hive(flat("n0", "n1", "n2"))
    late.kept["n1"].update(proofs)
    late.kept["n2"].update({key: value for key, value in before_it_was_taken_back().items() if key[0] == "assertion"})

    assert read(late).vouched == ()


def before_it_was_taken_back():
    hive = Hive(flat("n0", "n1", "n2"))
    hive.down.update({"n1", "n2"})
    hive.say("n0")
    return hive.kept["n0"]


def test_of_what_an_agent_says_twice_from_one_root_the_last_word_counts():
    hive = Hive(Federated({"north": ("n0",), "south": ("s0",)}))
    hive.say("n0", confidence=0.5)
    hive.clock.pass_(1_000)
    hive.say("s0", confidence=0.7)

    (fact,) = known(moved(hive, flat("x"))).values()
    assert [(one.agent, one.confidence) for one in fact.provenance] == [("ines", 0.7)]


def test_a_fact_that_two_groups_know_gets_one_home_where_both_count():
    hive = Hive(flat("x"))
    hive.say("x", agent="ann")
    hive.say("x", agent="ben")

    other = moved(hive, federated(), attached={"ann": "n0", "ben": "s0"})

    assert other.who_has() == {"n0", "n1", "s0"}
    assert known(other)[PUMP_ID].confirmations == 1


def test_sure_facts_are_copied_to_every_group():
    hive = Hive(flat("x"))
    hive.say("x", PUMP, confidence=0.95)
    hive.say("x", VALVE, confidence=0.5)

    other = moved(hive, federated(), attached={"ines": "n0"})

    assert other.who_has(PUMP) == {"n0", "n1", "s0", "s1"}
    assert other.who_has(VALVE) == {"n0", "n1"}


def test_vectors_travel_along():
    hive = Hive(flat())
    hive.say("n0", model="m", vector=b"\x00\x3c" * 4)
    (fact,) = known(moved(hive, sharded())).values()
    assert (fact.statement.model, fact.statement.vector) == ("m", b"\x00\x3c" * 4)


def test_trust_moderators_quarantine_and_retractions_hold_on():
    hive = Hive(flat())
    hive.say("n0", PUMP)
    hive.say("n0", VALVE, agent="eve")
    hive.write("n0", "trust/ines", "1.5")
    hive.write("n0", "moderator/max")
    hive.write("n0", f"quarantine/{PUMP_ID}")
    hive.take_back("n0", fact_id(VALVE), by=MODERATOR)

    other = moved(hive, sharded())

    node = other.nodes["n3"]
    assert (node.policy.at(other.clock()).trust("ines"), node.policy.is_moderator("max")) == (1.5, True)
    assert known(other) == {}
    statuses = [fact.status for name in other.nodes if (fact := other.fact(name)) is not None]
    assert set(statuses) == {"quarantined"}


def test_what_was_retracted_can_be_said_again_and_what_was_redacted_can_not():
    hive = Hive(flat())
    hive.say("n0", PUMP, VALVE)
    hive.take_back("n1", PUMP_ID, by=MODERATOR)
    hive.write("n1", f"redacted/{fact_id(VALVE)}")

    other = moved(hive, flat("x", "y"))
    other.clock.pass_(1)
    again, never = other.say("x", PUMP, VALVE)

    assert (again.refused, bool(never.refused)) == ("", True)
    assert list(known(other)) == [PUMP_ID]


def test_who_takes_a_fact_back_afterwards_takes_it_from_everybody():
    hive = Hive(flat())
    hive.say("n0")

    other = moved(hive, sharded(), attached={"ines": "n4"})
    other.take_back("n4")
    other.wait(5_000)

    assert other.who_has() == set()


def test_saying_it_again_at_its_new_node_says_nothing_new():
    hive = Hive(flat())
    hive.say("n0")

    other = moved(hive, sharded(), attached={"ines": "n4"})
    other.sent.clear()
    (held,) = other.say("n4")

    assert held.refused == ""
    assert other.sent == []


def test_what_has_expired_does_not_come_back():
    hive = Hive(flat("x"), FORGETFUL)
    hive.say("x", ttl_ms=HOUR_MS)
    hive.clock.pass_(2 * HOUR_MS)

    assert moved(hive, flat("y"), FORGETFUL).fact("y") is None
    assert facts_of(read(hive), FORGETFUL, Random(1), hive.clock()) == ()


def test_confidence_fades_by_the_age_it_has():
    forgetful = hives.settings(expiry=ExpirySettings(is_on=True, max_age_hours=1_000))
    hive = Hive(flat("x"), forgetful)
    hive.say("x")
    hive.clock.pass_(100 * HOUR_MS)
    before = hive.fact("x").confidence

    assert moved(hive, flat("y"), forgetful).fact("y").confidence == before < 0.5


def test_the_next_word_of_an_agent_is_later_than_all_it_said_by_a_clock_that_ran_ahead_and_those_of_others_are_not():
    hive = Hive(flat("x"))
    hive.clock.wall_ms += 1_000 * HOUR_MS
    hive.say("x", confidence=0.5)
    hive.clock.wall_ms -= 1_000 * HOUR_MS

    other = moved(hive, flat("y", "z"), attached={"ines": "y"})
    other.say("y", confidence=0.6)
    other.say("z", VALVE, agent="ben")

    assert [one.confidence for one in provenance(other)] == [0.6]
    (one,) = provenance(other, fact_id(VALVE))
    assert one.stamp.ms == other.clock.wall_ms


@pytest.mark.parametrize("to", [flat("x", "y"), federated(), sharded()], ids=lambda to: to.name)
def test_every_holder_speaks_for_its_partitions_at_once_and_has_nothing_to_send(to):
    hive = Hive(flat())
    hive.say("n0", *(f"Pump {number} is red." for number in range(30)))

    other = moved(hive, to)

    for node in other.nodes.values():
        assert (node.partitions.sources, node.partitions.leaving, len(node.outbox)) == ({}, {}, 0)
        assert all(share.is_complete for share in node.partitions.shares.values())
    assert len(other.found(to.nodes[-1], "red pump")) == 10
    # Nor do nodes find a difference when they compare.
    other.sent.clear()
    other.wait(60_000)
    steps = [message for _, _, message in other.sent if isinstance(message, SyncStep)]
    assert not any(step.adds or step.removals or step.wants for step in steps)
    assert not any(isinstance(message, Replicate) for _, _, message in other.sent)


def test_a_word_goes_to_the_node_of_its_agent_else_where_it_was_said_else_to_the_heir_of_its_group():
    node_of = attached_to(federated(), {"ines": "n1"}, {"old": "south", "gone": "west"}, {"south": "s0", "north": "n0"})
    nodes = [
        node_of(Vouched(assertion(agent=agent), at)) for agent, at in [("ines", "s1"), ("x", "s1"), ("x", "old"), ("x", "gone")]
    ]
    assert nodes == ["n1", "s1", "s0", "n0"]


def test_more_than_a_quota_moves_into_one_partition():
    hive = Hive(sharded())
    hive.say("n0", *(f"Pump {number} is red." for number in range(20)))
    assert len(known(moved(hive, flat("x"), hives.settings(quota=5)))) == 20


def test_another_tenants_facts_are_refused():
    others = HiveSettings(standing=PolicySettings(tenant="rivals"))
    snapshot = JournalSnapshot((Vouched(assertion()),))
    with pytest.raises(InvalidInput, match="tenant"):
        Resettlement(snapshot, flat("x"), lambda _: "x", others, Random(1), NOW)


def test_a_missing_journal_costs_nothing_that_others_have_and_writes_that_are_nowhere_to_be_found_are_counted():
    hive = Hive(flat())
    hive.say("n0", PUMP)
    snapshot = read(hive, "n0", "n1")
    assert ([one.assertion.fact_id for one in snapshot.vouched], snapshot.lost) == ([PUMP_ID], {})

    hive.is_lost = lambda *_: True
    hive.say("n0", VALVE, "Pump 7 is red.")
    heads = {key: value for key, value in hive.kept["n0"].items() if key[0] == "head"}
    hive.kept["n1"].update(heads)

    assert read(hive, "n0").lost == {"n0": 2}
    assert read(hive).lost == {}


def own_records(snapshot: JournalSnapshot, topology) -> tuple[dict[str, set[tuple[str, bytes]]], int]:
    work = Resettlement(snapshot, topology, lambda _: topology.nodes[0], HiveSettings(), Random(1), NOW)
    tables = (CHANNELS, SENT, RECEIVED, "app.told", "meta")
    found = {made.node: {(one.table, one.key) for one in made.records if one.table in tables} for made in work.journals()}
    return found, work.undelivered


def test_what_was_told_and_not_heard_waits_for_receivers_that_are_still_there():
    number = (1).to_bytes(8, "big")
    kept = [
        Put(CHANNELS, b"n1", number),
        Put(SENT, number + b"n1", b"x"),
        Put(CHANNELS, b"n9", number),
        Put(SENT, number + b"n9", b"x"),
    ]
    kept += [Put(RECEIVED, b"lane", number), Put("app.told", b"1", b"x")]

    found, undelivered = own_records(JournalSnapshot(own={"n0": tuple(kept)}), flat("n0", "n1"))

    assert {(CHANNELS, b"n1"), (SENT, number + b"n1"), (RECEIVED, b"lane"), ("app.told", b"1")} <= found["n0"]
    assert (SENT, number + b"n9") not in found["n0"]
    assert undelivered == 1


def test_boots_of_nodes_that_are_no_more_are_answered_for_by_the_first_one():
    own = {"n1": (Put("meta", b"actor/1", b""),), "gone": (Put("meta", b"actor/2", b""), Put(SENT, bytes(8) + b"n0", b""))}
    found, undelivered = own_records(JournalSnapshot(own=own), flat("n0", "n1"))
    assert ("meta", b"actor/2") in found["n0"]
    assert ("meta", b"actor/1") in found["n1"]
    assert undelivered == 1


def test_a_value_that_no_node_writes_is_an_error():
    with pytest.raises(ValueError, match="Expected"):
        JournalMerger().take("n0", [Put("assertion", b"all\0" + bytes(13), b"nonsense")])

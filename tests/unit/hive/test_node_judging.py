"""What nodes find in each topology of what is under quarantine, not trusted, contradicted or not sure enough."""

import msgspec
import pytest

from hive_mind.model.ids import fact_id
from tests.hives import FIRST_MS, PUMP, PUMP_ID, Hive, flat
from tests.unit.hive.each_topology import DOOR, TOPOLOGIES, ends, hive_over, vouched


@pytest.fixture(params=TOPOLOGIES)
def hive(request) -> Hive:
    return hive_over(request.param)


def test_a_fact_under_quarantine_is_found_by_nobody_and_shown_to_who_asks_for_it(hive):
    here, there = ends(hive)
    hive.say(here)

    assert hive.write(there, f"quarantine/{PUMP_ID}") == ""
    hive.wait(15_000)

    for name in hive.topology.nodes:
        assert hive.found(name) == hive.found(name, "") == []
        assert hive.listed(name).facts == ()
    shown = [fact for name in hive.topology.nodes if (fact := hive.fact(name)) is not None]
    assert {fact.status for fact in shown} == {"quarantined"}

    hive.write(there, f"quarantine/{PUMP_ID}", "false")
    hive.wait(15_000)
    assert hive.found(here) == hive.found(there) == [PUMP]


def test_trust_is_pinned_by_moderators_only_and_clamped(hive):
    here, there = ends(hive)

    assert hive.write(here, "trust/ines", "2.0", by="ines") != ""
    assert hive.nodes[here].policy.trust("ines", hive.clock()) == 1.0
    for value, trust in (("8100", 2.0), ("-3", 0.0), ("1.5", 1.5)):
        assert hive.write(here, "trust/ines", value) == ""
        hive.wait(15_000)
        assert hive.nodes[there].policy.trust("ines", hive.clock()) == trust
    assert hive.write(here, "trust/ines", "NaN") != ""


def test_trust_counts_in_the_evidence_of_what_an_agent_says(hive):
    here, there = ends(hive)
    hive.say(here)
    before = float(hive.ask(there).evidence.trust[0])

    hive.write(here, "trust/ines", "2.0")
    hive.wait(15_000)

    assert float(hive.ask(there).evidence.trust[0]) > before


def test_an_agent_known_to_be_wrong_is_not_found_any_more_and_those_who_confirm_it_are():
    hive = Hive(flat())
    hive.say("n0", "The pump is blue.", agent="liar")
    hive.say("n0", agent="liar")
    hive.say("n0", agent="bo")
    rating = msgspec.json.encode({"good": 0, "bad": 10, "at_ms": FIRST_MS}).decode()
    for rater in ("ann", "ben"):
        assert hive.write("n1", f"rating/{rater}/liar", rating, by=rater) == ""
    hive.wait(15_000)

    assert hive.found("n2", "pump") == [PUMP]
    assert [row.agent for row in vouched(hive, "n2")] == ["bo"]


def test_both_sides_of_a_contradiction_are_found(hive):
    here, there = ends(hive)
    hive.say(here, "The pump holds 5 bar.", "The pump holds 7 bar.")
    assert sorted(hive.found(there, "pump bar")) == ["The pump holds 5 bar.", "The pump holds 7 bar."]


@pytest.mark.parametrize("name", ["single", "flat", "federated"])
def test_what_contradicts_itself_where_it_is_kept_together_is_disputed(name):
    hive = Hive(TOPOLOGIES[name]())
    hive.say("n0", "The pump holds 5 bar.", "The pump holds 7 bar.")
    hive.say("n0", DOOR, concept="door")

    assert {fact.content: fact.status for fact in hive.listed("n0").facts} == {
        "The pump holds 5 bar.": "disputed",
        "The pump holds 7 bar.": "disputed",
        DOOR: "held",
    }


def test_a_fact_disputed_no_more_is_held_again():
    hive = Hive(flat("n0"))
    hive.say("n0", "The pump holds 5 bar.", "The pump holds 7 bar.")
    assert hive.fact("n0", fact_id("The pump holds 5 bar.")).status == "disputed"
    hive.take_back("n0", fact_id("The pump holds 7 bar."))
    assert hive.fact("n0", fact_id("The pump holds 5 bar.")).status == "held"


def test_least_confidence_is_asked_of_all(hive):
    here, there = ends(hive)
    hive.say(here, confidence=0.5)
    assert hive.found(there, least=0.6) == []
    assert hive.found(there, least=0.5) == [PUMP]

"""What nodes promise the agents attached to them, in each topology: one content is one fact, and effects come in their order.

What nodes find in each topology of what is under quarantine, not trusted, contradicted or not sure enough.
"""

import msgspec
import pytest

from hive_mind.errors import InvalidInput
from hive_mind.hive.effects import Acknowledge, Done, Leave, Persist, Promote, Received, Retract, Say, Send, Tick, Write
from hive_mind.hive.node import CLOCK, META
from hive_mind.hive.policy.node_policy import PolicySettings
from hive_mind.hive.settings import HiveSettings
from hive_mind.model.ids import fact_id
from hive_mind.model.messages import Changes, Receipt, Replicate
from tests.hives import FIRST_MS, MODERATOR, PUMP, PUMP_ID, Hive, flat, promotion, settings
from tests.unit.hive.each_topology import DOOR, RIGHT, TOPOLOGIES, ends, hive_over, vouched


@pytest.fixture(params=TOPOLOGIES)
def hive(request) -> Hive:
    return hive_over(request.param)


def test_one_content_is_one_fact_with_the_provenance_of_each_who_said_it():
    for make in (TOPOLOGIES["flat"], TOPOLOGIES["sharded"]):
        hive = Hive(make())
        names = hive.topology.nodes
        for number in range(12):
            hive.say(names[number % len(names)], agent=f"agent {number}", confidence=0.95)
        hive.wait(20_000)

        assert len(hive.ask(names[0]).pool) == 1
        (fact,) = hive.listed(names[0]).facts
        assert (fact.confirmations, fact.status) == (11, "confirmed")
        assert sorted(row.agent for row in fact.provenance) == sorted(f"agent {number}" for number in range(12))


def test_the_same_agent_saying_it_again_adds_nothing_and_writes_nothing_to_the_journal_but_its_clock(hive):
    here, there = ends(hive)
    hive.say(here)
    before, journal = hive.live(here), dict(hive.kept[here])

    hive.say(here)

    assert hive.live(here) == before
    assert {key for key, _ in hive.kept[here].items() ^ journal.items()} <= {(META, CLOCK)}
    assert len(vouched(hive, there)) == 1


def test_what_cannot_be_taken_has_a_reason_and_holds_up_nothing_else(hive):
    here, _ = ends(hive)
    promotions = [promotion(""), promotion(confidence=8100.0), promotion(DOOR), promotion("half \ud800"), promotion(agent="")]
    held = hive.request(here, lambda request: Promote(request, promotions))
    assert [one.refused != "" for one in held] == [True, True, False, True, True]
    assert hive.found(here, DOOR) == [DOOR]


@pytest.mark.parametrize(
    "event",
    [
        Promote("r", [promotion(DOOR)]),
        Retract("r", [PUMP_ID], "ines"),
        Retract("r", [PUMP_ID], MODERATOR),
        Write("r", [("agent/ines", "{}")], "ines"),
    ],
    ids=str,
)
def test_nothing_is_sent_or_answered_before_it_is_durable(event):
    hive = Hive(flat())
    hive.say("n0")

    effects = hive.tell("n0", event)

    assert isinstance(effects[0], Persist)
    assert isinstance(effects[-1], Done)
    assert any(isinstance(effect, Send) for effect in effects[1:-1])


def test_a_clock_that_was_set_back_while_the_node_was_down_makes_nothing_older_than_what_was_said():
    """Otherwise who takes back and says again would not be believed the second time."""
    hive = Hive(flat("n0"))
    hive.say("n0")
    before = hive.fact("n0").provenance[0].stamp

    hive.clock.wall_ms -= 3_600_000
    hive.boot("n0")
    hive.say("n0", DOOR)

    assert hive.fact("n0", fact_id(DOOR)).provenance[0].stamp > before


def test_a_message_that_comes_again_is_receipted_and_written_once():
    hive = Hive(flat())
    first, again = (
        hive.tell("n0", Received("n1", Replicate("p", (Changes("all", (RIGHT,)),)), delivery)) for delivery in ("7", "8")
    )

    # The receipt and the acknowledgement come after what they promise is durable.
    assert [type(effect) for effect in first] == [Persist, Send, Acknowledge]
    assert first[1] == again[0] == Send(("n1",), Receipt("p"))
    assert [type(effect) for effect in again] == [Send, Acknowledge]


def test_a_node_says_when_it_wants_to_be_woken_and_has_nothing_to_do_before():
    hive = Hive(flat())
    hive.wait(40_000)
    node = hive.nodes["n0"]
    assert node.wake_at_ms(hive.clock()) > hive.clock.mono_ms
    assert node.handle(Tick(), hive.clock()) == []


def test_a_quota_keeps_the_newest_of_a_flood_and_everything_of_others():
    hive = Hive(flat(), settings(quota=20))
    hive.say("n0", agent="bo")

    for number in range(0, 60, 10):
        hive.say("n1", *(f"Flood {number + one}." for one in range(10)), agent="flood")
    hive.wait(30_000)

    for name in hive.topology.nodes:
        contents = {given.statement.content for given in hive.live(name)["all"].values()}
        assert contents == {PUMP, *(f"Flood {number}." for number in range(40, 60))}


def test_tenants_do_not_hear_each_other():
    hive = Hive(flat())
    stranger = Hive(flat(), HiveSettings(standing=PolicySettings(tenant="other")))
    stranger.say("n0")

    for _, to, message in stranger.sent:
        hive.tell(to, Received("n0", message))

    assert hive.who_has() == set()
    assert hive.nodes["n1"].refused == {"another tenant's": 1}


@pytest.mark.parametrize("event", [Leave(), Say("request", ("n1",), "note", b"")])
def test_what_only_a_member_can_do_is_refused_and_leaves_nobody_waiting(event):
    hive = Hive(flat())
    with pytest.raises(InvalidInput, match="is not handled by a node"):
        hive.nodes["n0"].handle(event, hive.clock())


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

"""Who makes the next topology, when, and who is in it."""

import pytest

from hive_mind.hive.effects import Persist, Send
from hive_mind.hive.membership import MembershipSettings
from hive_mind.hive.topology import Flat, Topology, log
from hive_mind.hive.topology.federated import Federated
from hive_mind.hive.topology.log import unpack
from hive_mind.model.messages import TopologyUpdate
from tests.unit.hive.beating import ABC, Others, membership, now


def told(effects) -> list[Topology]:
    sent = [effect.message for effect in effects if isinstance(effect, Send)]
    return [unpack(one.steps[-1].topology) for one in sent if isinstance(one, TopologyUpdate)]


def test_the_first_of_those_that_live_takes_in_who_wants_in_after_a_while_and_keeps_it_before_it_tells():
    one = membership()
    others = Others(one)
    others.live(1_000, "b", "c")
    others.beat(1_000, "d", wants_in=True)
    assert told(others.live(3_000, "b", "c", "d", since_ms=1_500, wants_in=True)) == []
    others.beat(3_000, "b", "c", "d", "e", wants_in=True)

    kept, tell, *_ = one.tick(now(3_600))

    assert isinstance(kept, Persist)
    assert isinstance(tell, Send)
    assert (tell.to, tell.message.follows) == (("*",), 1)
    assert one.topology == unpack(tell.message.steps[0].topology)
    assert one.topology.nodes == ("a", "b", "c", "d", "e")
    assert one.topology.epoch == tell.message.epoch > 1
    assert [step.topology for step in one.news()] == [one.topology]


@pytest.mark.parametrize(
    ("name", "heard", "is_proposer"),
    [
        *(("a", "bc", True), ("b", "ac", False), ("b", "c", True), ("c", "", False), ("a", "", False)),
        ("x", "abc", False),
    ],
)
def test_it_is_proposed_by_the_first_that_lives_and_hears_more_than_half(name, heard, is_proposer):
    one = membership(name)

    Others(one).live(9_000, *heard, "y", wants_in=True)

    assert (one.topology != ABC) == is_proposer


@pytest.mark.parametrize(("name", "is_proposer"), [("a", True), ("b", False)])
def test_of_two_the_first_can_go_on_alone(name, is_proposer):
    one = membership(name, Flat(("a", "b")))

    Others(one).live(9_000, "y", wants_in=True)

    assert (one.topology.nodes == ("a", "b", "y")) == is_proposer


def test_who_leaves_is_left_out_though_it_makes_the_topology_itself():
    one = membership(joins="")
    others = Others(one)
    one.leave(now(0))

    assert [topology.nodes for topology in told(others.live(9_000, "b", "c", wants_in=True))] == [("b", "c")]
    assert not one.is_in


def test_the_last_member_stays():
    one = membership(topology=Flat(("a",)))
    one.leave(now(0))

    Others(one).live(9_000)

    assert one.topology.nodes == ("a",)


@pytest.mark.parametrize(("gone_after_ms", "nodes"), [(0, ("a", "b", "c")), (8_000, ("a", "b"))])
def test_only_where_that_was_set_silence_alone_ends_a_membership(gone_after_ms, nodes):
    one = membership(settings=MembershipSettings(gone_after_ms=gone_after_ms))

    Others(one).live(30_000, "b")

    assert one.topology.nodes == nodes


def test_nobody_is_taken_in_who_has_fallen_silent_meanwhile():
    patient = membership(settings=MembershipSettings(settle_ms=6_000))
    waiting = Others(patient)
    waiting.beat(0, "d", wants_in=True)

    waiting.live(12_000, "b", "c")

    assert patient.topology == ABC


def test_a_joiner_may_wish_for_a_group_and_a_bad_wish_is_none():
    one = membership(topology=Federated({"north": ("a", "b"), "south": ("c",)}))
    others = Others(one)
    for ms in range(0, 9_000, 500):
        others.beat(ms, "b", "c")
        others.beat(ms, "x", wants_in=True, group="north")
        others.beat(ms, "y", wants_in=True, group="\0")
        one.tick(now(ms))

    assert one.topology.groups == {"north": ("a", "b", "x"), "south": ("c", "y")}


def test_names_no_topology_could_have_are_not_heard():
    one = membership()

    assert told(Others(one).live(9_000, "b", "c", "*", "", "\0", "x" * 201, wants_in=True)) == []
    assert {state.name for state in one.view(now(9_000))} == {"a", "b", "c"}


def test_two_topologies_of_one_epoch_are_replaced_by_one_of_a_higher():
    one = membership()

    effects = Others(one).live(9_000, "b", "c", digest=b"another!")

    assert [topology.nodes for topology in told(effects)][:1] == [("a", "b", "c")]
    assert one.topology.epoch > 1


def test_nobody_proposes_who_knows_that_others_know_more():
    one = membership()

    Others(one).live(9_000, "b", "c", "d", wants_in=True, epoch=1 << 20)

    assert one.topology == ABC


def test_two_that_propose_at_once_make_different_epochs_and_the_same_one_makes_higher_and_higher():
    epochs = []
    for name in "ab":
        one = membership(name)
        others = Others(one)
        for joiner, since_ms in (("x", 0), ("y", 10_000)):
            heard = {"a": "bc", "b": "c"}[name]
            others.live(since_ms + 9_000, *heard, "x", joiner, since_ms=since_ms, wants_in=True)
            epochs.append(one.topology.epoch)

    assert len(set(epochs)) == 4
    assert epochs[0] < epochs[1]
    assert epochs[2] < epochs[3]


def test_after_the_last_epoch_there_is_none():
    one = membership(topology=Flat(("a", "b", "c"), (1 << 53) - 1))

    Others(one).live(9_000, "b", "c", "d", wants_in=True)

    assert one.topology.nodes == ("a", "b", "c")
    assert "an epoch is between" in one.findings()[0]


def test_more_than_can_be_are_not_taken_in_and_a_person_is_told(monkeypatch):
    monkeypatch.setattr(log, "NODES_MAX", 3)
    one = membership()

    Others(one).live(9_000, "b", "c", "d", wants_in=True)

    assert one.topology == ABC
    assert "between 1 and 3 nodes" in one.findings()[0]

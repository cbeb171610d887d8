"""A node hears of a topology that it does not know: when it asks, what it takes, and what it tells others.

Who makes the next topology, when, and who is in it.
"""

from random import Random

import pytest

from hive_mind.errors import WireError
from hive_mind.hive.effects import Persist, Put, Send
from hive_mind.hive.membership import MEMBERSHIP, Membership, MembershipSettings
from hive_mind.hive.topology import Flat, Topology, log
from hive_mind.hive.topology.federated import Federated
from hive_mind.hive.topology.log import STEPS_MAX, TopologyLog, TopologyVersion, pack, unpack
from hive_mind.model.messages import AnnouncedTopology, TopologyRequest, TopologyUpdate
from tests.members import announced
from tests.unit.hive.beating import ABC, ABCD, SETTINGS, Others, membership, now


def test_who_hears_of_a_higher_epoch_asks_the_sender_and_does_not_ask_everybody():
    others = Others(membership())

    (asked,) = others.beat(100, "b", epoch=1 << 16)
    assert asked == Send(("b",), TopologyRequest(1))
    assert others.beat(200, "c", epoch=1 << 16) == []
    assert others.beat(1_200, "c", epoch=1 << 16) == [Send(("c",), TopologyRequest(1))]
    assert others.beat(3_000, "c", epoch=1) == []


def test_a_higher_topology_is_kept_and_one_that_is_not_changes_nothing():
    one = membership()

    (kept,) = one.receive("b", TopologyUpdate(ABCD.epoch, (announced(ABCD, 1),), 1), now(10))

    assert (one.topology, one.is_learned) == (ABCD, True)
    assert [(step.topology, step.is_next) for step in one.news()] == [(ABCD, True)]
    assert one.news() == ()
    for older in (ABC, ABCD):
        assert one.receive("c", TopologyUpdate(older.epoch, (announced(older),)), now(20)) == []
    again = Membership("a", b"boot two", ABC, SETTINGS, Random(1))
    again.start([*kept.records, Put("meta", b"clock", b"")], now(0))
    assert (again.topology, again.is_learned) == (ABCD, True)


def test_what_a_journal_kept_counts_only_if_it_is_newer():
    newer = Flat(("a", "b"), 7 << 16)
    one = Membership("a", b"boot one", newer, SETTINGS, Random(1))

    one.start([Put(MEMBERSHIP, b"topologies", TopologyLog((TopologyVersion(ABCD, announced(ABCD)),)).packed())], now(0))

    assert (one.topology, one.is_learned) == (newer, False)


def chain(length: int) -> list[Flat]:
    return [Flat(("a", "b", f"x{number}"), (number + 1) << 16) for number in range(length)]


def teller(length: int) -> Membership:
    """One that has gone through so many topologies."""
    one = membership()
    for topology in chain(length):
        one.adopt(topology, now(0))
    return one


def test_who_missed_some_is_told_of_each_in_its_turn():
    steps, behind = chain(3), membership("b")
    (answer,) = teller(3).receive("b", TopologyRequest(1), now(0))
    assert answer.to == ("b",)

    behind.receive("a", answer.message, now(0))

    assert [(step.topology, step.is_next) for step in behind.news()] == [(topology, True) for topology in steps]


def test_who_missed_too_much_is_told_what_holds_and_that_something_lay_between():
    behind = membership("b")
    (answer,) = teller(STEPS_MAX + 1).receive("b", TopologyRequest(1), now(0))

    behind.receive("a", answer.message, now(0))

    (step,) = behind.news()
    topology, is_next = step.topology, step.is_next
    assert (topology, is_next) == (chain(STEPS_MAX + 1)[-1], False)
    for before in (1, chain(2)[0].epoch):
        assert behind.receive("c", TopologyRequest(before), now(0))[0].message.follows == 0


def test_what_would_be_too_much_for_a_message_is_left_out(monkeypatch):
    monkeypatch.setattr(log, "TOPOLOGY_BYTES_MAX", 2 * len(pack(ABCD)))

    (answer,) = teller(3).receive("b", TopologyRequest(1), now(0))

    assert (len(answer.message.steps), answer.message.follows) == (1, 0)


def test_an_arrangement_that_leaves_something_out_is_asked_about_and_not_taken():
    behind = membership("b")
    far = TopologyUpdate(5 << 16, (announced(Flat(("a", "b"), 5 << 16), 4 << 16),), 4 << 16)

    assert behind.receive("a", far, now(0)) == [Send(("a",), TopologyRequest(1))]

    assert behind.topology == ABC


def test_who_knows_no_topology_takes_the_one_it_is_told_and_has_nothing_to_tell():
    one = membership("x", None, joins="")
    assert one.topology is None
    assert one.receive("a", TopologyRequest(0), now(0)) == []
    assert one.suspected(now(9_000)) == set()

    (asked,) = Others(one).beat(10, "a", epoch=ABCD.epoch)
    assert asked.message == TopologyRequest(0)
    one.receive("a", TopologyUpdate(ABCD.epoch, (announced(ABC), announced(ABCD, 1))), now(20))

    assert one.topology == ABCD
    assert [(step.topology, step.is_next) for step in one.news()] == [(ABCD, False)]
    assert not one.is_in


@pytest.mark.parametrize(
    "told",
    [
        TopologyUpdate(9 << 16, ()),
        TopologyUpdate(9 << 16, (AnnouncedTopology(b"nonsense"),)),
        TopologyUpdate(9 << 16, (announced(ABCD),)),
        TopologyUpdate(ABCD.epoch, (announced(ABCD), announced(ABCD, ABCD.epoch))),
        TopologyUpdate(ABCD.epoch, (announced(ABCD), announced(ABC, ABCD.epoch))),
        TopologyUpdate(ABCD.epoch, (announced(ABC), announced(ABCD))),
        TopologyUpdate(ABCD.epoch, (announced(ABCD, ABCD.epoch),), ABCD.epoch),
        TopologyUpdate(ABCD.epoch, (announced(ABCD, -1),)),
        TopologyUpdate(ABCD.epoch, (announced(ABCD),), 1),
        TopologyUpdate(ABCD.epoch, (announced(ABCD),) * (STEPS_MAX + 1)),
        TopologyUpdate(ABCD.epoch, (announced(ABCD, 1, "x" * 201),), 1),
        TopologyUpdate(ABCD.epoch, (AnnouncedTopology(pack(ABCD), "a", 1, bytes(2000)),), 1),
        TopologyUpdate(1 << 60, (announced(ABCD),)),
    ],
)
def test_what_is_no_topology_is_refused_and_has_changed_nothing(told):
    one = membership()

    with pytest.raises(WireError):
        one.receive("mallory", told, now(10))

    assert (one.topology, one.news()) == (ABC, ())


@pytest.mark.parametrize("kept", [b"", b"nonsense", b"\x91\xc4\x01\x00"])
def test_a_journal_that_keeps_nonsense_is_not_believed(kept):
    one = Membership("a", b"boot one", ABC, SETTINGS, Random(1))

    with pytest.raises(WireError):
        one.start([Put(MEMBERSHIP, b"topologies", kept)], now(0))


def test_who_asks_for_what_follows_an_epoch_that_can_not_be_is_told_what_holds():
    (told,) = membership().receive("b", TopologyRequest(-1), now(10))

    assert [step.topology for step in told.message.steps] == [pack(ABC)]


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
    ("name", "members", "heard", "is_proposer"),
    [
        *(("a", "abc", "bc", True), ("b", "abc", "ac", False), ("b", "abc", "c", True), ("c", "abc", "", False)),
        *(("a", "abc", "", False), ("x", "abc", "abc", False)),
        # Of two the first can go on alone.
        *(("a", "ab", "", True), ("b", "ab", "", False)),
    ],
)
def test_it_is_proposed_by_the_first_that_lives_and_hears_more_than_half(name, members, heard, is_proposer):
    one = membership(name, Flat(tuple(members)))

    Others(one).live(9_000, *heard, "y", wants_in=True)

    assert (one.topology.nodes != tuple(members)) == is_proposer
    assert ("y" in one.topology.nodes) == is_proposer


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

"""A node and its membership as one: what goes where, what follows from a change of members, and when a leaver may end."""

from random import Random

import pytest

from hive_mind.errors import BackendUnavailable, InvalidInput
from hive_mind.hive.effects import (
    Acknowledge,
    Done,
    Evict,
    Leave,
    Listing,
    Now,
    Persist,
    Promote,
    Put,
    Rearrange,
    Received,
    Reconnected,
    Say,
    SearchLocal,
    Send,
    Tick,
)
from hive_mind.hive.member import Member
from hive_mind.hive.membership import MEMBERSHIP, Membership, MembershipSettings
from hive_mind.hive.node import HiveNode
from hive_mind.hive.replication.partitions import HELD
from hive_mind.hive.topology import Flat
from hive_mind.model.ids import fact_id
from hive_mind.model.messages import (
    Announce,
    AppMessage,
    Heartbeat,
    ListRequest,
    Replicate,
    SyncOffer,
    TopologyUpdate,
)
from tests.hives import PUMP, Hive, federated, promotion, sharded
from tests.members import STEP_MS, Network, announced

ABC = Flat(("a", "b", "c"))
START = Now(1_700_000_000_000, 0)
SHARDED = sharded(4, 2)


class Built(list):
    """What nodes were built with."""

    def __call__(self, topology, is_founding):
        self.append((topology, is_founding))
        return HiveNode("a", topology, chance=Random(len(self)), is_founding=is_founding)


def member(topology=ABC, kept=(), **more) -> tuple[Member, Built, list]:
    built = Built()
    made = Member(built, Membership("a", b"boot one", topology, MembershipSettings(), Random(1), **more), Random(2))
    return made, built, made.start(kept, START)


def told(topology, follows=0, by="") -> TopologyUpdate:
    return TopologyUpdate(topology.epoch, (announced(topology, follows, by),), follows)


def kept_of(effects) -> list:
    return [record for effect in effects if isinstance(effect, Persist) for record in effect.records]


def later(ms: int) -> Now:
    return Now(START.wall_ms + ms, ms)


def test_who_was_there_from_the_beginning_has_everything_at_once_and_who_is_no_member_yet_does_not_begin_the_hive():
    one, built, effects = member()
    assert built == [(ABC, True)]
    assert (one.name, one.is_ready, one.node.topology) == ("a", True, ABC)
    assert isinstance(effects[0], Persist)
    assert isinstance(effects[-1].message, Heartbeat)
    # So it says at once when the bus was away.
    assert isinstance(one.handle(Reconnected(), later(10))[0].message, Heartbeat)

    assert member(Flat(("b", "c")))[1] == [(Flat(("b", "c")), False)]


def test_the_topology_in_the_journal_is_newer_than_the_one_of_the_beginning():
    newer = ABC.with_nodes("ab")
    first, _, started = member()
    kept = kept_of([*started, *first.handle(Received("b", told(newer, 1)), later(5))])

    again, built, effects = member(kept=[record for record in kept if isinstance(record, Put)])

    assert set(again.node.partitions.shares) == {"all"}
    assert built == [(newer, False)]
    assert MEMBERSHIP in {record.table for record in kept}
    assert all(record.table != MEMBERSHIP for record in kept_of(effects))


def test_who_knows_only_the_bus_can_do_nothing_until_it_hears_of_a_topology():
    one, built, effects = member(None, [Put("meta", b"clock", b"\x93\x01\x01\xc4\x01a")], joins="")
    assert [type(effect) for effect in effects] == [Send]

    for event in (Promote("1", (promotion(),)), Listing("2", 9, 9)):
        with pytest.raises(BackendUnavailable):
            one.handle(event, later(5))
    with pytest.raises(BackendUnavailable):
        _ = one.node
    assert one.handle(Received("b", Announce(()), "delivery"), later(5)) == [Acknowledge("delivery")]
    assert one.handle(Received("b", Announce(())), later(5)) == []
    assert [type(effect) for effect in one.handle(Reconnected(), later(5))] == [Send]
    assert one.search(ListRequest("q", "all", 1, "", 9, 9), later(5)) is None
    assert not one.index_some(later(5))
    assert not one.is_ready
    assert one.has_handed_over(later(5))
    assert one.wake_at_ms(later(5)) <= 1_200
    one.handle(Tick(), later(1_300))

    effects = one.handle(Received("b", told(ABC), "delivery"), later(1_500))

    assert built == [(ABC, False)]
    assert {record.table for record in kept_of(effects)} >= {MEMBERSHIP, HELD}
    assert effects[-1] == Acknowledge("delivery")
    assert isinstance(one.handle(Listing("3", 9, 9), later(1_600)), list)


def test_another_topology_is_kept_with_everything_that_follows_from_it_before_anything_is_said():
    one, _, _ = member(SHARDED)
    joined = SHARDED.with_nodes(["a", *SHARDED.nodes[1:]])

    effects = one.handle(Rearrange(joined), later(5))

    assert one.node.topology == joined
    assert [type(effect) for effect in effects] == [Persist, Send]
    assert {record.table for record in effects[0].records} == {MEMBERSHIP, HELD, "incoming"}
    assert (effects[1].to, effects[1].message) == (("*",), told(joined, SHARDED.epoch, "a"))
    assert one.handle(Rearrange(SHARDED), later(6)) == []


def test_what_is_no_business_of_the_membership_goes_to_the_node():
    one, _, _ = member()
    promoted = one.handle(Promote("1", (promotion(),)), later(5))

    assert [type(effect) for effect in promoted] == [Persist, Send, Done]
    assert isinstance(promoted[1].message, Replicate)
    assert one.search(ListRequest("q", "all", 1, "", 9, 9), later(6)).facts[0].content == "The pump is red."
    assert one.node.fact(fact_id("The pump is red."), later(6)) is not None


@pytest.mark.parametrize(("name", "is_answered"), [("b", True), ("j", True), ("l", True), ("mallory", False)])
def test_questions_are_answered_for_members_and_for_who_comes_or_goes_and_beats(name, is_answered):
    one, _, _ = member()
    one.handle(Received("j", Heartbeat(b"j", 1, 1, wants_in=True)), later(5))
    one.handle(Received("l", Heartbeat(b"l", 1, 1, is_leaving=True)), later(5))

    effects = one.handle(Received(name, ListRequest("q", "all", 1, "", 9, 9), "delivery"), later(10))

    assert any(isinstance(effect, SearchLocal) for effect in effects) == is_answered
    assert effects[-1] == Acknowledge("delivery")
    assert sum(one.membership.refused.values()) == (not is_answered)
    if name in "jl":
        assert one.handle(Received(name, ListRequest("q", "all", 1, "", 9, 9)), later(9_000)) == []


def test_both_are_woken_in_time():
    one, _, _ = member()
    sent = []
    for ms in range(0, 30_000, 100):
        if one.wake_at_ms(later(ms)) <= ms:
            sent += [effect.message for effect in one.handle(Tick(), later(ms)) if isinstance(effect, Send)]

    kinds = [type(message) for message in sent]
    assert kinds.count(Heartbeat) == pytest.approx(30, abs=3)
    assert kinds.count(SyncOffer) >= 4


def test_the_node_knows_whom_not_to_wait_for():
    one, _, _ = member()
    for ms in range(500, 4_000, 500):
        one.handle(Received("b", Heartbeat(b"b", ms, 1)), later(ms))
        one.handle(Tick(), later(ms + 100))

    assert one.node.questions.latencies.suspects == {"c"}
    one.handle(Received("c", Heartbeat(b"c", 1, 1)), later(3_700))
    assert one.node.questions.latencies.suspects == frozenset()


@pytest.mark.parametrize("topology", [Flat(tuple("abcd")), sharded(4, 2)], ids=["flat", "sharded"])
def test_a_leaver_may_end_when_others_have_what_it_holds_and_not_before(topology):
    network, leaver = Network(topology, 2), topology.nodes[0]
    network.tell(leaver, Promote("1", tuple(promotion(f"Pump {number} is red.") for number in range(20))))
    network.beats(5)

    network.leave(leaver)
    while network.membership(leaver).is_in:
        assert not network.member(leaver).has_handed_over(network.now(leaver))
        network.run(STEP_MS)
    assert not network.member(leaver).has_handed_over(network.now(leaver))

    assert network.until(lambda: network.member(leaver).has_handed_over(network.now(leaver)), 40)
    network.kill(leaver)
    network.beats(40)
    for name in network.running():
        network.tell(name, Listing(name, 99, 2_000))
        network.beats(3)
        assert (len(network.answers[name].facts), network.answers[name].missing) == (20, ())


def test_what_nobody_else_has_keeps_a_leaver_from_ending():
    network = Network(ABC, 2)
    network.beats(3)
    network.leave("a")
    assert network.until(lambda: network.member("a").has_handed_over(network.now("a")), 40)

    network.is_cut = lambda *_: True
    network.tell("a", Promote("1", (promotion(),)))
    assert not network.member("a").has_handed_over(network.now("a"))

    network.is_cut = lambda *_: False
    assert network.until(lambda: network.member("a").has_handed_over(network.now("a")), 40)


def test_a_dead_member_does_not_keep_a_leaver_from_ending_as_long_as_another_one_has_it():
    network = Network(Flat(tuple("abcde")), 2)
    network.tell("e", Promote("1", (promotion(),)))
    network.beats(5)
    network.kill("b")

    network.leave("e")

    assert network.until(lambda: network.member("e").has_handed_over(network.now("e")), 60)
    assert "b" in network.member("e").node.topology.nodes


def test_when_all_others_are_dead_a_leaver_does_not_end():
    network = Network(ABC, 2)
    network.tell("a", Promote("1", (promotion(),)))
    network.beats(5)
    network.leave("a")
    while network.membership("a").is_in:
        network.run(STEP_MS)
    network.kill("b")
    network.kill("c")

    network.beats(30)

    assert network.membership("a").suspects == {"b", "c"}
    assert not network.member("a").has_handed_over(network.now("a"))


def test_the_last_member_may_end_and_hands_nothing_over():
    one, _, _ = member(Flat(("a",)))
    one.handle(Promote("1", (promotion(),)), later(5))
    one.handle(Leave(), later(10))
    assert one.has_handed_over(later(20))


def test_who_was_started_again_meanwhile_hears_a_leaver_out():
    """It can't know by itself that the leaver ever was a member."""
    network = Network(Flat(tuple("abc")), 4)
    network.beats(2)
    network.leave("a")
    while network.membership("a").is_in:
        network.run(STEP_MS)
    network.kill("c")
    network.boot("c")

    assert network.until(lambda: network.member("a").has_handed_over(network.now("a")), 60)


def test_who_missed_a_change_in_between_does_not_take_what_it_has_for_everything():
    """n0 gave what it had to n2 while x heard nothing; x asks n0, which has nothing now, which must not mean that nothing is."""
    first = sharded(2, 1)
    hive = Hive(first)
    hive.boot("author", first, is_founding=False)
    hive.say("author", *[f"Pump {number} is red." for number in range(20)])
    hive.wait(15_000)
    hive.boot("x", first, is_founding=False)
    hive.down |= {"x", "author"}
    second = first.with_nodes(["n1", "n2"])
    hive.rearrange(second, knows_former=True)
    hive.wait(60_000)
    third = second.with_nodes(["n1", "x"])
    hive.down.discard("x")
    hive.is_lost = lambda sender, to, _: {sender, to} == {"n2", "x"}

    for name in ("n0", "n1", "n2"):
        hive.tell(name, Rearrange(third))
    hive.tell("x", Rearrange(third, is_next=False))
    hive.wait(30_000)
    listed = hive.listed("n1")
    assert len(listed.facts) < 20
    assert set(listed.missing) == set(third.held_by("x"))

    hive.is_lost = lambda *_: False
    hive.wait(60_000)
    listed = hive.listed("n1")
    assert (len(listed.facts), listed.missing) == (20, ())


def test_who_missed_how_a_group_began_does_not_take_it_for_empty():
    first = federated()
    second = first.with_nodes([*first.nodes, "y"], {"y": "new"})
    third = second.with_nodes([*second.nodes, "x"], {"x": "new"})
    hive = Hive(first)
    hive.boot("x", first, is_founding=False)
    hive.down.add("x")
    hive.rearrange(second, knows_former=True)
    hive.say("y")
    hive.wait(15_000)
    hive.down.discard("x")
    hive.is_lost = lambda sender, to, _: {sender, to} == {"x", "y"}

    for name in second.nodes:
        hive.tell(name, Rearrange(third))
    hive.tell("x", Rearrange(third, is_next=False))
    hive.wait(30_000)

    assert not hive.nodes["x"].partitions.shares["group:new"].is_complete
    hive.is_lost = lambda *_: False
    hive.wait(60_000)
    assert hive.nodes["x"].partitions.shares["group:new"].is_complete
    assert [fact.content for fact in hive.listed("x").facts] == [PUMP]


def test_what_a_dead_member_held_gets_other_holders_once_a_person_puts_it_out():
    network = Network(SHARDED, 2)
    dead, one = SHARDED.nodes[:2]
    network.tell(one, Promote("1", tuple(promotion(f"Pump {number} is red.") for number in range(20))))
    network.beats(10)
    network.kill(dead)
    network.beats(10)

    network.tell(one, Evict(dead))
    network.beats(40)

    for name in network.running():
        topology = network.member(name).node.topology
        assert dead not in topology.nodes
        assert all(len(topology.holders(partition)) == 2 for partition in topology.held_by(name))
        network.tell(name, Listing(name, 99, 2_000))
        network.beats(3)
        assert (len(network.answers[name].facts), network.answers[name].missing) == (20, ())


@pytest.mark.parametrize(
    ("nodes", "who", "why"),
    [("abc", "a", "can't put itself out"), ("abc", "z", "its members are a, b, c"), ("bc", "b", "is not a member itself")],
)
def test_whom_a_member_can_not_put_out(nodes, who, why):
    one, _, _ = member(Flat(tuple(nodes)))
    with pytest.raises(InvalidInput, match=why):
        one.handle(Evict(who), later(10))
    assert one.membership.topology.nodes == tuple(nodes)


@pytest.mark.parametrize("topology", [None, ABC])
def test_what_applications_say_passes_whether_there_is_a_node_yet_and_is_said_again_to_a_member(topology):
    one, _, _ = member(topology=topology, kept=[Put("app.log", b"1", b"kept")])
    one.app_messages.deliver_to(lambda heard: [Put("app.log", heard.id.encode(), heard.data)])

    said = one.handle(Say("request", ("b",), "note", b"hello"), START)
    taken = one.handle(Received("b", AppMessage(b"12345678", 1, 1, "note", b"x"), "delivery"), START)
    again_ms = one.app_messages.wake_at_ms()
    assert again_ms is not None
    assert one.wake_at_ms(START) <= again_ms
    again = one.handle(Tick(), later(again_ms))

    assert [type(effect) for effect in said] == [Persist, Send, Done]
    assert [type(effect) for effect in taken] == [Persist, Send, Acknowledge]
    assert (said[1] in again) == bool(topology)
    assert [record.value for record in one.app_messages.kept] == [b"kept"]

"""Where members seal, a beat is its sender's, and a topology is made by a member of the one before it."""

import msgspec
import pytest

from hive_mind.hive.effects import Received, Send
from hive_mind.hive.heartbeats import mark_of
from hive_mind.hive.membership import Membership
from hive_mind.hive.policy import sealed_heartbeat, sealed_topology
from hive_mind.hive.topology import Flat, Topology
from hive_mind.hive.topology.log import EPOCH_MAX, digest_of, pack, unpack
from hive_mind.model.messages import AnnouncedTopology, Heartbeat, TopologyRequest, TopologyUpdate
from tests.hives import keyring
from tests.members import Network
from tests.unit.hive.beating import ABC, ABCD, membership, now

NOT_SEALED = "a beat that its sender did not seal"
NOT_MADE = "a topology that no member of the one before it made and sealed"


def sealed_membership(name: str = "a", topology: Topology | None = ABC, hive: str = "works", **more) -> Membership:
    return membership(name, topology, seal=keyring(name), hive=hive, **more)


def made(topology: Topology, by: str, follows: int = 1, hive: str = "works", key: str = "") -> AnnouncedTopology:
    """As its maker tells of it; or somebody who has another key."""
    return sealed_topology(keyring(key or by), hive, AnnouncedTopology(pack(topology), by, follows))


def tells(*steps: AnnouncedTopology, follows: int | None = None) -> TopologyUpdate:
    return TopologyUpdate(unpack(steps[-1].topology).epoch, steps, steps[0].follows if follows is None else follows)


def beats(one: Membership, name: str, ms: int, **fields):
    """One of them beats, by its own key. What the node does."""
    told = {"incarnation": b"boot", "number": 1, "epoch": ABC.epoch} | fields
    return one.receive(name, sealed_heartbeat(keyring(name), "works", name, Heartbeat(**told)), now(ms))


def lives(one: Membership, name: str, ms: int, **fields):
    """It beats, and answers where it is asked for that. What the node does then."""
    (asked,) = beats(one, name, ms, **fields)
    assert asked.message.asks
    return beats(one, name, ms, **fields | {"number": fields.get("number", 1) + 1, "answers": mark_of(asked.message)})


def states(one: Membership) -> list:
    return [(state.name, state.state, state.epoch) for state in one.view(now(3_000))]


@pytest.mark.parametrize(
    "forge",
    [
        lambda beat: msgspec.structs.replace(beat, seal=b""),
        lambda beat: msgspec.structs.replace(beat, is_leaving=True),
        lambda beat: msgspec.structs.replace(beat, number=9),
        lambda beat: sealed_heartbeat(keyring("mallory"), "works", "mallory", beat),
        lambda beat: sealed_heartbeat(keyring("b"), "elsewhere", "b", beat),
    ],
    ids=["none", "changed", "renumbered", "of another", "for another hive"],
)
def test_a_beat_without_its_senders_seal_is_not_heard(forge):
    one = sealed_membership()
    forged = forge(sealed_heartbeat(keyring("b"), "works", "b", Heartbeat(b"boot", 1, 1 << 16, wants_in=True)))
    before = states(one)

    assert one.receive("b", forged, now(10)) == []

    assert states(one) == before
    assert one.refused == {NOT_SEALED: 1}


def test_a_forger_does_not_become_a_member_and_who_has_a_key_does():
    network = Network(ABC, 1, only_beats=True, is_sealed=True)
    network.beats(2)
    for number in range(1, 9):
        for name in "abc":
            network.tell(name, Received("mallory", Heartbeat(b"boot", number, 1, wants_in=True)))
            network.tell(name, Received("c", Heartbeat(b"boot", number, 1, is_leaving=True)))
        network.beats(1)
    assert network.agrees_on("abc")
    assert network.membership("a").refused == {NOT_SEALED: 16}

    network.add("d")

    assert network.until(lambda: network.agrees_on("abcd"), 12)


def test_beats_that_a_stranger_kept_bring_back_nobody_who_was_put_out_or_died():
    one = sealed_membership(boot=b"boot two")
    one.adopt(Flat(("a", "b"), 1 << 16), now(0))
    # What "c" said to an earlier boot of this node, before it was put out, and "b" before it died: answers, too.
    former = sealed_membership(boot=b"boot one")
    for name in ("b", "c"):
        (asked,) = beats(former, name, 0)
        answer = mark_of(asked.message)
        for number in range(1, 20):
            beats(one, name, 500 * number, number=number, wants_in=name == "c", answers=answer if number > 1 else b"")
            one.tick(now(500 * number))

    assert one.topology.nodes == ("a", "b")
    assert one.suspected(now(10_000)) == {"b"}
    assert one.outsiders(now(10_000)) == frozenset()

    # One that lives is heard, by its next beats without an answer, too.
    assert lives(one, "b", 11_000, number=30) == []
    assert beats(one, "b", 12_000, number=32) == []
    assert one.suspected(now(15_000)) == frozenset()


def test_an_answer_of_a_boot_that_ended_meanwhile_is_worth_nothing_when_it_is_said_again():
    one = sealed_membership()
    (asked,) = beats(one, "b", 0, incarnation=b"boot one")
    kept = {"incarnation": b"boot one", "number": 2, "answers": mark_of(asked.message), "is_leaving": True}
    beats(one, "b", 0, **kept | {"is_leaving": False})
    lives(one, "b", 5_000, incarnation=b"boot two")

    for number in range(3, 12):
        one.tick(now(3_000 + 1_000 * number))
        beats(one, "b", 3_000 + 1_000 * number, **kept | {"number": number})
        beats(one, "b", 3_000 + 1_000 * number, incarnation=b"boot two", number=number)

    assert [(state.name, state.state) for state in one.view(now(14_500)) if state.name == "b"] == [("b", "alive")]
    assert one.findings() == ()


def test_beats_that_were_lost_in_a_silence_and_are_said_later_keep_nobody_alive():
    one = sealed_membership()
    lives(one, "b", 0)
    one.tick(now(1_000))

    for ms in range(2_000, 20_000, 1_000):
        one.tick(now(ms))
        if ms > 10_000:
            beats(one, "b", ms, number=ms // 1_000)

    assert "b" in one.suspected(now(20_000))
    assert lives(one, "b", 20_000, number=30) == []
    assert "b" not in one.suspected(now(21_000))


def test_who_is_asked_whether_it_lives_answers_that_beat_and_asks_itself_no_more_often_than_it_beats():
    one = sealed_membership()

    (first,) = beats(one, "b", 0, number=7, asks=True)

    assert (first.to, first.message.asks, first.message.answers) == (("b",), True, b"boot" + (7).to_bytes(8, "big"))
    (second,) = beats(one, "b", 10, number=8, asks=True)
    assert not second.message.asks
    assert beats(one, "b", 20, number=9) == []
    (third,) = beats(one, "b", 1_000, number=10)
    assert (third.message.asks, third.message.answers) == (True, b"")


def test_what_a_member_made_is_believed_from_whoever_hands_it_on():
    one = sealed_membership()

    (kept,) = one.receive("anybody", tells(made(ABCD, "b")), now(10))

    assert one.topology == ABCD
    later = Flat(tuple("abd"), 2 << 16)
    (answer,) = one.receive("c", TopologyRequest(1), now(10))
    again = sealed_membership()
    again.start(kept.records, now(0))
    assert again.receive("c", TopologyRequest(1), now(10)) == [answer]
    other = sealed_membership("c")
    other.receive("a", answer.message, now(10))
    other.receive("a", tells(made(later, "d", ABCD.epoch)), now(20))
    assert other.topology == later
    both = sealed_membership("b")
    both.receive("mallory", tells(made(ABCD, "b"), made(later, "d", ABCD.epoch)), now(10))
    assert [step.topology for step in both.news()] == [ABCD, later]
    assert not both.refused | one.refused | again.refused | other.refused


@pytest.mark.parametrize(
    "told",
    [
        tells(AnnouncedTopology(pack(ABCD), "b", 1)),
        tells(made(ABCD, "b", key="mallory")),
        tells(made(ABCD, "mallory")),
        tells(made(ABCD, "d")),
        tells(made(ABCD, "b", hive="elsewhere")),
        tells(msgspec.structs.replace(made(ABCD, "b"), by="c")),
        tells(msgspec.structs.replace(made(ABCD, "b", follows=2), follows=1)),
        tells(msgspec.structs.replace(made(ABCD, "b"), topology=pack(Flat(("mallory",), ABCD.epoch)))),
        tells(made(ABCD, "b"), made(Flat(("x",), 2 << 16), "c", ABCD.epoch, key="x")),
        tells(made(ABCD, "b"), made(Flat(("x",), 2 << 16), "x", ABCD.epoch)),
        tells(made(Flat(("a", "b"), 1 << 16), "b"), made(Flat(("c",), 2 << 16), "c", 1 << 16)),
        tells(made(ABCD, "mallory", 7), follows=0),
        tells(made(ABCD, "mallory", 7)),
    ],
)
def test_a_topology_is_not_believed_that_no_member_of_the_one_before_it_made(told):
    one = sealed_membership()

    assert one.receive("b", told, now(10)) == []

    assert (one.topology, one.refused) == (ABC, {NOT_MADE: 1})
    # Nor does it keep the node from asking who knows.
    assert lives(one, "b", 20, epoch=ABCD.epoch) == [Send(("b",), TopologyRequest(1))]


def test_who_missed_too_much_believes_what_a_member_it_knows_lives_by():
    one, newest = sealed_membership(), Flat(("c", "x"), 20 << 16)
    told = tells(made(newest, "x", 19 << 16), follows=0)
    one.receive("c", told, now(10))
    assert one.topology == ABC

    known = {"epoch": newest.epoch, "digest": digest_of(pack(newest))}
    lives(one, "x", 20, **known)
    one.receive("c", told, now(30))
    assert one.topology == ABC
    lives(one, "c", 40, **known)
    one.receive("c", told, now(50))

    assert one.topology == newest
    assert [(step.topology, step.is_next) for step in one.news()] == [(newest, False)]


def test_of_two_made_from_the_same_one_the_other_is_believed_though_its_maker_is_out_by_then():
    one, without, higher = sealed_membership(), Flat(("a", "b"), 1 << 16), Flat(("a", "b", "c"), (1 << 16) + 1)
    one.receive("a", tells(made(without, "a")), now(10))

    one.receive("c", tells(made(higher, "c"), follows=0), now(20))

    assert one.topology == higher


def test_who_knows_nothing_believes_whoever_has_a_key_and_nobody_else():
    one = sealed_membership("x", None)
    for forged in (AnnouncedTopology(pack(ABCD), "a"), made(ABCD, "a", key="mallory")):
        one.receive("a", tells(forged), now(10))
    assert one.topology is None
    (answer,) = sealed_membership().receive("x", TopologyRequest(0), now(10))

    one.receive("b", answer.message, now(20))

    assert one.topology == ABC


@pytest.mark.parametrize("is_sealed", [False, True])
def test_an_epoch_nobody_can_have_come_to_is_refused_even_from_members(is_sealed):
    one = sealed_membership() if is_sealed else membership()

    assert one.receive("b", tells(made(Flat(("b",), EPOCH_MAX), "b")), now(10)) == []
    assert one.receive("b", sealed_heartbeat(keyring("b"), "works", "b", Heartbeat(b"boot", 1, EPOCH_MAX)), now(20)) == []

    assert one.topology == ABC
    assert list(one.refused.values()) == [2]
    near = Flat(("b",), 1 << 36)
    one.receive("b", tells(made(near, "b")), now(30))
    assert one.topology == near

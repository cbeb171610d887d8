"""Where members seal, a beat is its sender's, and a topology is made by a member of the one before it."""

import msgspec
import pytest

from hive_mind.hive.effects import Received, Send
from hive_mind.hive.membership.membership import Membership
from hive_mind.hive.policy.seal import sealed_beat, sealed_topology
from hive_mind.hive.topology.base import Topology
from hive_mind.hive.topology.codec import EPOCH_MAX, digest_of, pack, unpack
from hive_mind.hive.topology.flat import Flat
from hive_mind.model.messages import Arranged, Arrangement, ArrangementRequest, Beat
from tests.hives import keyring
from tests.members import Network
from tests.unit.hive.beating import ABC, ABCD, membership, now

NOT_SEALED = "a beat that its sender did not seal"
NOT_MADE = "a topology that no member of the one before it made and sealed"


def sealed_membership(name: str = "a", topology: Topology | None = ABC, hive: str = "works", **more) -> Membership:
    return membership(name, topology, seal=keyring(name), hive=hive, **more)


def made(topology: Topology, by: str, follows: int = 1, hive: str = "works", key: str = "") -> Arranged:
    """As its maker tells of it; or somebody who has another key."""
    return sealed_topology(keyring(key or by), hive, Arranged(pack(topology), by, follows))


def tells(*steps: Arranged, follows: int | None = None) -> Arrangement:
    return Arrangement(unpack(steps[-1].topology).epoch, steps, steps[0].follows if follows is None else follows)


def states(one: Membership) -> list:
    return [(state.name, state.state, state.epoch) for state in one.view(now(3_000))]


@pytest.mark.parametrize(
    "forge",
    [
        lambda beat: msgspec.structs.replace(beat, seal=b""),
        lambda beat: msgspec.structs.replace(beat, is_leaving=True),
        lambda beat: msgspec.structs.replace(beat, number=9),
        lambda beat: sealed_beat(keyring("mallory"), "works", "mallory", beat),
        lambda beat: sealed_beat(keyring("b"), "elsewhere", "b", beat),
    ],
    ids=["none", "changed", "renumbered", "of another", "for another hive"],
)
def test_a_beat_without_its_senders_seal_is_not_heard(forge):
    one, forged = sealed_membership(), forge(sealed_beat(keyring("b"), "works", "b", Beat(b"boot", 1, 1 << 16, wants_in=True)))
    before = states(one)

    assert one.receive("b", forged, now(10)) == []

    assert states(one) == before
    assert one.refused == {NOT_SEALED: 1}


def test_a_forger_does_not_become_a_member_and_who_has_a_key_does():
    network = Network(ABC, 1, only_beats=True, is_sealed=True)
    network.beats(2)
    for number in range(1, 9):
        for name in "abc":
            network.tell(name, Received("mallory", Beat(b"boot", number, 1, wants_in=True)))
            network.tell(name, Received("c", Beat(b"boot", number, 1, is_leaving=True)))
        network.beats(1)
    assert network.agrees_on("abc")
    assert network.membership("a").refused == {NOT_SEALED: 16}

    network.add("d")

    assert network.until(lambda: network.agrees_on("abcd"), 12)


def test_what_a_member_made_is_believed_from_whoever_hands_it_on():
    one = sealed_membership()

    (kept,) = one.receive("anybody", tells(made(ABCD, "b")), now(10))

    assert one.topology == ABCD
    later = Flat(tuple("abd"), 2 << 16)
    (answer,) = one.receive("c", ArrangementRequest(1), now(10))
    again = sealed_membership()
    again.start(kept.records, now(0))
    assert again.receive("c", ArrangementRequest(1), now(10)) == [answer]
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
        tells(Arranged(pack(ABCD), "b", 1)),
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

    assert one.topology == ABC
    assert one.refused == {NOT_MADE: 1}
    # Nor does it keep the node from asking who knows.
    beat = sealed_beat(keyring("b"), "works", "b", Beat(b"boot", 1, ABCD.epoch))
    assert one.receive("b", beat, now(20)) == [Send(("b",), ArrangementRequest(1))]


def test_who_missed_too_much_believes_what_a_member_it_knows_lives_by():
    one, newest = sealed_membership(), Flat(("c", "x"), 20 << 16)
    told = tells(made(newest, "x", 19 << 16), follows=0)
    one.receive("c", told, now(10))
    assert one.topology == ABC

    lives = Beat(b"boot", 1, newest.epoch, digest_of(pack(newest)))
    one.receive("x", sealed_beat(keyring("x"), "works", "x", lives), now(20))
    one.receive("c", told, now(30))
    assert one.topology == ABC
    one.receive("c", sealed_beat(keyring("c"), "works", "c", lives), now(40))
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
    for forged in (Arranged(pack(ABCD), "a"), made(ABCD, "a", key="mallory")):
        one.receive("a", tells(forged), now(10))
    assert one.topology is None
    (answer,) = sealed_membership().receive("x", ArrangementRequest(0), now(10))

    one.receive("b", answer.message, now(20))

    assert one.topology == ABC


@pytest.mark.parametrize("is_sealed", [False, True])
def test_an_epoch_nobody_can_have_come_to_is_refused_even_from_members(is_sealed):
    one = sealed_membership() if is_sealed else membership()
    far = Flat(("b",), EPOCH_MAX)

    assert one.receive("b", tells(made(far, "b")), now(10)) == []
    assert one.receive("b", sealed_beat(keyring("b"), "works", "b", Beat(b"boot", 1, EPOCH_MAX)), now(20)) == []

    assert one.topology == ABC
    assert list(one.refused.values()) == [2]
    near = Flat(("b",), 1 << 36)
    one.receive("b", tells(made(near, "b")), now(30))
    assert one.topology == near

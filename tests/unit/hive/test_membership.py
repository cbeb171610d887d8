"""One node's part in the membership, message by message; what a whole network of them does is in tests/laws."""

from random import Random

import msgspec
import pytest

from hive_mind.errors import InvalidInput, WireError
from hive_mind.hive import arrangement, past
from hive_mind.hive.arrangement import EPOCH_MAX, digest_of, pack, unpack
from hive_mind.hive.effects import Now, Persist, Put, Received, Send
from hive_mind.hive.federated import Federated
from hive_mind.hive.flat import Flat
from hive_mind.hive.membership import MEMBERSHIP, Membership, MembershipSettings
from hive_mind.hive.past import STEPS_MAX, Made, Past
from hive_mind.hive.seal import sealed_beat, sealed_topology
from hive_mind.hive.topology import Topology
from hive_mind.model.messages import Arranged, Arrangement, ArrangementRequest, Beat
from tests.hives import keyring
from tests.members import Network, arranged

SETTINGS = MembershipSettings()
ABC = Flat(("a", "b", "c"))
ABCD = Flat(("a", "b", "c", "d"), 1 << 16)


def now(ms: int) -> Now:
    return Now(0, ms)


def membership(name: str = "a", topology: Topology | None = ABC, **more) -> Membership:
    settings = more.pop("settings", SETTINGS)
    made = Membership(name, name.encode() * 8, topology, settings, Random(1), **more)
    made.start([], now(0))
    return made


class Others:
    """Beats of others, numbered as they come."""

    def __init__(self, one: Membership) -> None:
        self.one, self.numbers = one, {}

    def beat(self, ms: int, *names: str, boot: bytes = b"", **fields):
        """They beat; what the node does about the last of them."""
        effects = []
        for name in names:
            incarnation = boot or name.encode() * 8
            number = self.numbers[name, incarnation] = self.numbers.get((name, incarnation), 0) + 1
            topology = self.one.topology
            known = {} if topology is None else {"epoch": topology.epoch, "digest": digest_of(pack(topology))}
            effects = self.one.receive(name, Beat(incarnation, number, **({"epoch": 0} | known | fields)), now(ms))
        return effects

    def live(self, until_ms: int, *names: str, since_ms: int = 0, **fields):
        """They beat every second and the node ticks: everything it sends and keeps."""
        effects = []
        for ms in range(since_ms, until_ms, 500):
            if ms % 1_000 == 0:
                effects += self.beat(ms, *names, **fields)
            effects += self.one.tick(now(ms))
        return effects


def told(effects) -> list[Topology]:
    sent = [effect.message for effect in effects if isinstance(effect, Send)]
    return [unpack(one.steps[-1].topology) for one in sent if isinstance(one, Arrangement)]


# ── beats ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_node_says_to_all_that_it_lives_what_it_knows_and_what_it_wants():
    one = Membership("d", b"boot one", ABC, SETTINGS, Random(1), wants_in=True, group="north")

    (send,) = one.start([], now(5_000))

    assert send.to == ("*",)
    assert send.message == Beat(b"boot one", 1, 1, digest_of(pack(ABC)), wants_in=True, is_leaving=False, group="north")
    assert 900 <= one.wake_at_ms(now(5_000)) - 5_000 <= 1_100
    assert one.tick(now(5_800)) == []
    (again,) = one.tick(now(6_100))
    assert again.message.number == 2


def test_who_is_to_leave_says_so_and_wants_in_no_more():
    one = membership(wants_in=True)

    (send,) = one.leave(now(10))

    assert (send.message.is_leaving, send.message.wants_in) == (True, False)
    assert one.is_leaving


@pytest.mark.parametrize("name", ["", "*", "a\nb", "x" * 201])
def test_a_name_that_is_none_is_refused(name):
    with pytest.raises(InvalidInput):
        membership(name)


# ── silence ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_who_is_silent_for_too_long_is_suspected_until_it_beats_again():
    one = membership()
    others = Others(one)
    others.live(4_000, "b")

    assert one.suspected(now(3_500)) == set()
    assert one.suspected(now(3_501)) == {"c"}
    others.beat(4_000, "c")
    assert one.suspects == set()
    others.live(9_000, "c", since_ms=5_000)
    assert one.suspects == {"b"}


def test_only_members_are_suspected():
    one = membership("x")
    others = Others(one)
    others.live(6_000, "stranger")

    assert one.suspected(now(6_000)) == {"a", "b", "c"}
    others.live(20_000, since_ms=6_000)
    assert "stranger" not in one.suspected(now(20_000))


def test_time_in_which_a_node_slept_itself_is_not_held_against_the_others():
    one = membership()
    others = Others(one)
    others.live(3_000, "b", "c")

    one.tick(now(600_000))

    assert one.suspects == set()
    others.live(606_000, "b", since_ms=601_000)
    assert one.suspects == {"c"}


def test_a_beat_that_was_repeated_or_came_late_changes_nothing():
    one = membership()
    others = Others(one)
    others.live(2_000, "b", "c")
    last = Beat(b"b" * 8, 2, 1, b"")

    for ms in range(2_000, 7_000, 500):
        one.tick(now(ms))
        assert one.receive("b", last, now(ms)) == []

    assert "b" in one.suspects


# ── boots and twins ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_a_former_boot_wanted_counts_no_more():
    one = membership()
    others = Others(one)
    others.beat(0, "b", is_leaving=True)
    others.beat(100, "b", boot=b"boot two")
    others.beat(200, "b", is_leaving=True)

    others.live(9_000, "b", "c", since_ms=500, boot=b"boot two")

    assert one.topology == ABC
    assert one.findings() == ()


def test_two_processes_of_one_name_are_found_out_and_told_once():
    one = membership()
    others = Others(one)
    for ms in range(0, 12_000, 1_000):
        others.live(ms + 1_000, "c", since_ms=ms)
        others.beat(ms, "b", boot=b"boot one")
        others.beat(ms + 500, "b", boot=b"boot two")

    assert one.findings() == ("two processes call themselves b: stop one of them or give it another name",)
    assert one.findings() == ()
    assert [state.name for state in one.view(now(12_000)) if state.has_twin] == ["b"]

    others.live(30_000, "b", "c", since_ms=12_000, boot=b"boot two")
    assert not any(state.has_twin for state in one.view(now(30_000)))


def test_a_process_hears_of_another_one_of_its_own_name():
    one = membership()
    others = Others(one)

    others.live(8_000, "a", boot=b"another!")

    assert len(one.findings()) == 1


def test_what_has_no_number_is_no_beat():
    one = membership()
    others = Others(one)
    for ms in range(0, 9_000, 1_000):
        one.receive("a", Beat(b"", 0, 0), now(ms))
        one.receive("x", Beat(b"", 0, 0), now(ms))
        others.live(ms + 1_000, "b", "c", since_ms=ms)

    assert one.findings() == ()
    assert {state.name for state in one.view(now(9_000))} == {"a", "b", "c"}


def test_a_restart_is_no_twin_though_a_last_beat_comes_late():
    one = membership()
    others = Others(one)
    others.live(3_000, "b", "c", boot=b"boot one")
    others.beat(3_000, "b", boot=b"boot two")
    others.beat(3_200, "b", boot=b"boot one")
    others.live(20_000, "b", "c", since_ms=4_000, boot=b"boot two")
    for ms in range(20_000, 30_000, 1_000):
        one.receive("b", Beat(b"boot one", 4, 1), now(ms))
        others.beat(ms, "b", boot=b"boot two")

    assert one.findings() == ()


def test_when_the_boot_that_counts_was_a_late_echo_the_living_one_counts_again():
    one = membership()
    others = Others(one)
    others.live(3_000, "b", "c", boot=b"living!!")
    others.beat(3_000, "b", boot=b"an echo!")

    others.live(12_000, "b", "c", since_ms=3_500, boot=b"living!!")

    assert one.suspects == set()
    assert [state.incarnation for state in one.view(now(12_000)) if state.name == "b"] == [b"living!!".hex()]


# ── the next topology ─────────────────────────────────────────────────────────────────────────────────────────────────


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
        ("a", "bc", True),
        ("b", "ac", False),
        ("b", "c", True),
        ("c", "", False),
        ("a", "", False),
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
    one = membership(wants_in=True)
    others = Others(one)
    one.leave(now(0))

    effects = others.live(9_000, "b", "c", wants_in=True)

    assert [topology.nodes for topology in told(effects)] == [("b", "c")]
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
    one = membership()
    others = Others(one)
    others.beat(0, "b")
    others.live(2_000, "b", "c")
    others.beat(500, "d", wants_in=True)
    one.tick(now(2_100))
    slow = MembershipSettings(settle_ms=6_000)
    patient = membership(settings=slow)
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

    others = Others(one)
    effects = others.live(9_000, "b", "c", "*", "", "\0", "x" * 201, wants_in=True)

    assert told(effects) == []
    assert {state.name for state in one.view(now(9_000))} == {"a", "b", "c"}


def test_two_topologies_of_one_epoch_are_replaced_by_one_of_a_higher():
    one = membership()

    others = Others(one)
    effects = others.live(9_000, "b", "c", digest=b"another!")

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
    monkeypatch.setattr(arrangement, "NODES_MAX", 3)
    one = membership()

    Others(one).live(9_000, "b", "c", "d", wants_in=True)

    assert one.topology == ABC
    assert "between 1 and 3 nodes" in one.findings()[0]


# ── hearing of a topology ─────────────────────────────────────────────────────────────────────────────────────────────


def test_who_hears_of_a_higher_epoch_asks_the_sender_and_does_not_ask_everybody():
    one = membership()
    others = Others(one)

    (asked,) = others.beat(100, "b", epoch=1 << 16)
    assert asked == Send(("b",), ArrangementRequest(1))
    assert others.beat(200, "c", epoch=1 << 16) == []
    assert others.beat(1_200, "c", epoch=1 << 16) == [Send(("c",), ArrangementRequest(1))]
    assert others.beat(3_000, "c", epoch=1) == []


def test_a_higher_topology_is_kept_and_one_that_is_not_changes_nothing():
    one = membership()

    (kept,) = one.receive("b", Arrangement(ABCD.epoch, (arranged(ABCD, 1),), 1), now(10))

    assert (one.topology, one.is_learned) == (ABCD, True)
    assert [(step.topology, step.is_next) for step in one.news()] == [(ABCD, True)]
    assert one.news() == ()
    for older in (ABC, ABCD):
        assert one.receive("c", Arrangement(older.epoch, (arranged(older),)), now(20)) == []
    again = Membership("a", b"boot two", ABC, SETTINGS, Random(1))
    again.start([*kept.records, Put("meta", b"clock", b"")], now(0))
    assert (again.topology, again.is_learned) == (ABCD, True)


def test_what_a_journal_kept_counts_only_if_it_is_newer():
    newer = Flat(("a", "b"), 7 << 16)
    one = Membership("a", b"boot one", newer, SETTINGS, Random(1))

    one.start([Put(MEMBERSHIP, b"topologies", Past((Made(ABCD, arranged(ABCD)),)).packed())], now(0))

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
    (answer,) = teller(3).receive("b", ArrangementRequest(1), now(0))
    assert answer.to == ("b",)

    behind.receive("a", answer.message, now(0))

    assert [(step.topology, step.is_next) for step in behind.news()] == [(topology, True) for topology in steps]


def test_who_missed_too_much_is_told_what_holds_and_that_something_lay_between():
    behind = membership("b")
    (answer,) = teller(STEPS_MAX + 1).receive("b", ArrangementRequest(1), now(0))

    behind.receive("a", answer.message, now(0))

    ((topology, is_next),) = behind.news()
    assert (topology, is_next) == (chain(STEPS_MAX + 1)[-1], False)
    for before in (1, chain(2)[0].epoch):
        assert behind.receive("c", ArrangementRequest(before), now(0))[0].message.follows == 0


def test_what_would_be_too_much_for_a_message_is_left_out(monkeypatch):
    monkeypatch.setattr(past, "TOPOLOGY_BYTES_MAX", 2 * len(pack(ABCD)))

    (answer,) = teller(3).receive("b", ArrangementRequest(1), now(0))

    assert (len(answer.message.steps), answer.message.follows) == (1, 0)


def test_an_arrangement_that_leaves_something_out_is_asked_about_and_not_taken():
    behind = membership("b")
    far = Arrangement(5 << 16, (arranged(Flat(("a", "b"), 5 << 16), 4 << 16),), 4 << 16)

    assert behind.receive("a", far, now(0)) == [Send(("a",), ArrangementRequest(1))]

    assert behind.topology == ABC


def test_who_knows_no_topology_takes_the_one_it_is_told_and_has_nothing_to_tell():
    one = membership("x", None, wants_in=True)
    assert one.topology is None
    assert one.receive("a", ArrangementRequest(0), now(0)) == []
    assert one.suspected(now(9_000)) == set()

    (asked,) = Others(one).beat(10, "a", epoch=ABCD.epoch)
    assert asked.message == ArrangementRequest(0)
    one.receive("a", Arrangement(ABCD.epoch, (arranged(ABC), arranged(ABCD, 1))), now(20))

    assert one.topology == ABCD
    assert [(step.topology, step.is_next) for step in one.news()] == [(ABCD, False)]
    assert not one.is_in


@pytest.mark.parametrize(
    "told",
    [
        Arrangement(9 << 16, ()),
        Arrangement(9 << 16, (Arranged(b"nonsense"),)),
        Arrangement(9 << 16, (arranged(ABCD),)),
        Arrangement(ABCD.epoch, (arranged(ABCD), arranged(ABCD, ABCD.epoch))),
        Arrangement(ABCD.epoch, (arranged(ABCD), arranged(ABC, ABCD.epoch))),
        Arrangement(ABCD.epoch, (arranged(ABC), arranged(ABCD))),
        Arrangement(ABCD.epoch, (arranged(ABCD, ABCD.epoch),), ABCD.epoch),
        Arrangement(ABCD.epoch, (arranged(ABCD, -1),)),
        Arrangement(ABCD.epoch, (arranged(ABCD),), 1),
        Arrangement(ABCD.epoch, (arranged(ABCD),) * (STEPS_MAX + 1)),
        Arrangement(ABCD.epoch, (arranged(ABCD, 1, "x" * 201),), 1),
        Arrangement(ABCD.epoch, (Arranged(pack(ABCD), "a", 1, bytes(2000)),), 1),
        Arrangement(1 << 60, (arranged(ABCD),)),
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


# ── seals ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

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


# ── for people ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_people_see_who_lives_who_does_not_and_who_wants_what():
    one = membership("a", Flat(tuple("abcd")))
    others = Others(one)
    others.live(3_000, "b", "d", "e", "f")
    others.beat(3_500, "b", is_leaving=True)
    others.beat(3_500, "e", wants_in=True, group="north")
    one.tick(now(3_600))

    seen = {state.name: state for state in one.view(now(4_000))}

    assert {name: state.state for name, state in seen.items()} == {
        "a": "alive",
        "b": "leaving",
        "c": "suspected",
        "d": "alive",
        "e": "joining",
        "f": "stranger",
    }
    assert [name for name, state in seen.items() if state.is_member] == ["a", "b", "c", "d"]
    assert (seen["c"].silent_ms, seen["d"].silent_ms, seen["e"].group) == (None, 2_000, "north")
    assert (seen["d"].incarnation, seen["d"].epoch) == ((b"d" * 8).hex(), 1)


def test_strangers_that_fell_silent_are_forgotten_and_members_are_not():
    one = membership()
    others = Others(one)
    others.live(2_000, "b", "x")

    others.live(200_000, since_ms=2_000)

    silences = {state.name: state.silent_ms for state in one.view(now(200_000))}
    assert silences == {"a": 0, "b": pytest.approx(199_000, abs=1_000), "c": None}


# ── together ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_two_that_both_propose_end_with_one_topology_that_has_all_joiners():
    """b does not hear a, so it believes that it is its turn; everybody else hears both."""
    made = []
    for seed in range(8):
        network = Network(Flat(("a", "b", "c", "d", "e")), seed, only_beats=True)
        network.is_cut = lambda sender, to: (sender, to) == ("a", "b")
        network.delay_ms = 600
        network.beats(8)
        network.add("x")
        network.beats(0.7)
        network.add("y")

        assert network.until(lambda here=network: here.agrees_on("abcdexy"), 12), f"seed {seed}"
        made.append(sorted(epoch >> 16 for epoch in network.epochs))

    assert any(len(set(counters)) < len(counters) for counters in made), "both proposed after the same one"


def test_a_hive_that_is_split_does_not_change_on_both_sides():
    network = Network(Flat(("a", "b", "c", "d", "e")), 3, only_beats=True)
    network.beats(3)
    network.add("w")
    network.add("x")
    network.is_cut = lambda sender, to: (sender in "abx") != (to in "abx")
    network.beats(20)

    assert network.membership("c").topology.nodes == tuple("abcdew")
    assert network.membership("a").topology.nodes == tuple("abcde")
    network.is_cut = lambda *_: False
    assert network.until(lambda: network.agrees_on("abcdewx"), 12)

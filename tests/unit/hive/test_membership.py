"""One node's part in the membership, beat by beat; what a whole network of them does is in tests/laws."""

from random import Random

import pytest

from hive_mind.errors import InvalidInput
from hive_mind.hive.membership import Membership, MembershipSettings
from hive_mind.hive.topology import Flat
from hive_mind.hive.topology.log import digest_of, pack
from hive_mind.model.messages import Heartbeat
from tests.members import Network
from tests.unit.hive.beating import ABC, SETTINGS, Others, membership, now


def test_a_node_says_to_all_that_it_lives_what_it_knows_and_what_it_wants():
    one = Membership("d", b"boot one", ABC, SETTINGS, Random(1), joins="north")

    (send,) = one.start([], now(5_000))

    assert send.to == ("*",)
    assert send.message == Heartbeat(b"boot one", 1, 1, digest_of(pack(ABC)), wants_in=True, is_leaving=False, group="north")
    assert 900 <= one.wake_at_ms(now(5_000)) - 5_000 <= 1_100
    assert one.tick(now(5_800)) == []
    (again,) = one.tick(now(6_100))
    assert again.message.number == 2

    (last,) = one.leave(now(6_200))
    assert (last.message.is_leaving, last.message.wants_in, one.is_leaving) == (True, False, True)


@pytest.mark.parametrize("name", ["", "*", "a\nb", "x" * 201])
def test_a_name_that_is_none_is_refused(name):
    with pytest.raises(InvalidInput):
        membership(name)


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


def test_a_hive_that_is_all_in_one_process_needs_no_beats_and_hears_from_its_host_who_has_stopped():
    one = Membership("a", b"boot", ABC, MembershipSettings(beat_ms=0), Random(1))

    assert one.start([], now(0)) == []
    assert one.wake_at_ms(now(0)) > 1 << 60
    assert one.tick(now(3_600_000)) == []
    assert one.suspects == frozenset()
    one.presume_silent(["b"], now(7_200_000))
    assert one.suspects == {"b"}
    one.tick(now(9_000_000))
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


def test_a_beat_that_lay_unread_for_a_while_counts_from_when_it_came_and_excuses_nobody_else():
    membership_of_a = membership()
    others = Others(membership_of_a)
    others.live(3_000, "b", "c")
    others.beat(3_000, "b")

    for ms in range(4_000, 7_000, 1_000):
        membership_of_a.tick(now(ms))
        others.beat(ms - 499, "c")

    assert membership_of_a.suspected(now(6_500)) == set()
    assert membership_of_a.suspected(now(6_501)) == {"b"}
    assert membership_of_a.silent_ms("c", now(6_501)) == 1_000


def test_a_beat_that_was_repeated_or_came_late_changes_nothing():
    one = membership()
    Others(one).live(2_000, "b", "c")
    last = Heartbeat(b"b" * 8, 2, 1, b"")

    for ms in range(2_000, 7_000, 500):
        one.tick(now(ms))
        assert one.receive("b", last, now(ms)) == []

    assert "b" in one.suspects


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
    # It hears of another one of its own name, too.
    others.live(38_000, "a", since_ms=30_000, boot=b"another!")
    assert len(one.findings()) == 1


def test_what_has_no_number_is_no_beat():
    one = membership()
    others = Others(one)
    for ms in range(0, 9_000, 1_000):
        one.receive("a", Heartbeat(b"", 0, 0), now(ms))
        one.receive("x", Heartbeat(b"", 0, 0), now(ms))
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
        one.receive("b", Heartbeat(b"boot one", 4, 1), now(ms))
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


@pytest.mark.parametrize(
    "beat",
    [
        Heartbeat(bytes(65), 1, 1),
        Heartbeat(b"boot one", 1, 1, bytes(65)),
        Heartbeat(b"boot one", 1, 1, group="x" * 201),
        Heartbeat(b"boot one", 1, 1, seal=bytes(1_025)),
    ],
    ids=["boot", "digest", "group", "seal"],
)
def test_a_beat_longer_than_any_of_ours_is_not_heard_and_not_kept(beat):
    one = membership()

    assert one.receive("x", beat, now(10)) == []
    assert [state.name for state in one.view(now(10))] == ["a", "b", "c"]
    assert one.refused == {"a beat longer than any of ours": 1}

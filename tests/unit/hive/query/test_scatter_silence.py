"""A question to members that are silent, slow or believed dead, in virtual time."""

import pytest

from benchmarks.tail import tail
from hive_mind.hive.effects import Ask
from hive_mind.hive.query import Latencies
from hive_mind.hive.query.rounds import Asker
from hive_mind.hive.query.scatter import Scatter
from hive_mind.hive.topology import ReplicaSet
from tests.unit.hive.scattering import (
    ONE,
    PLAIN,
    SETTINGS,
    TWO,
    asked,
    begun,
    pool_reply,
    scatter_of,
    wait,
    without_rivals,
)


@pytest.mark.parametrize(
    ("deadline_ms", "until_ms", "requests"),
    [
        (2_000, 10_000, [(200, "a"), (400, "b"), (600, "b"), (800, "c"), (1_000, "c")]),
        # Where there is much time, a tenth of it passes before a member is given up.
        (22_000, 5_000, [(200, "a"), (2_400, "b"), (2_600, "b"), (4_800, "c"), (5_000, "c")]),
    ],
)
def test_a_lost_message_is_sent_again_once_then_another_replica_is_asked(deadline_ms, until_ms, requests):
    scatter = begun(ONE, deadline_ms=deadline_ms, latencies=without_rivals())

    assert wait(scatter, until_ms) == [(at_ms, node, "s") for at_ms, node in requests]
    wait(scatter, deadline_ms)
    assert scatter.is_done
    found = scatter.gathered()
    assert (found.completeness, found.missing, found.silent) == (0.0, ("p0", "p1"), ("a", "b", "c"))


def test_every_member_has_its_turn_before_a_short_deadline():
    scatter = begun(ONE, deadline_ms=500, latencies=without_rivals())
    assert {node for _, node, _ in wait(scatter)} >= {"a", "b"}
    assert scatter.is_done


def test_a_slow_reply_gets_a_rival_and_the_first_answer_counts():
    scatter = begun(ONE, latencies=taught(20))

    assert wait(scatter, 20) == [(20, "b", "s")]
    scatter.take("b", pool_reply("s", "1"), 30)
    assert scatter.is_done
    assert scatter.take("a", pool_reply("s", "2"), 31) == []
    assert (scatter.gathered().pool.ids, scatter.gathered().silent) == (("1",), ())


def test_a_reply_that_comes_again_is_no_slow_reply():
    latencies = taught(20)
    scatter = begun(TWO, latencies=latencies)
    for again in range(300):
        scatter.take("a", pool_reply("s", "1"), 10 + again)

    assert not scatter.is_done
    assert latencies.slow_ms == 20


def test_the_time_of_a_reply_counts_only_where_nobody_wonders_which_request_it_is_of():
    once, twice = taught(20, 19), taught(20, 19, without_rivals())
    first, second = scatter_of(ONE, latencies=once), scatter_of(ONE, latencies=twice)
    first.start(0)
    first.take("a", pool_reply("s", "1"), 30)
    assert once.slow_ms == 20

    second.start(0)
    wait(second, 210)
    second.take("a", pool_reply("s", "1"), 220)
    assert twice.slow_ms == SETTINGS.hedge_first_ms


def test_who_lost_a_race_counts_as_slow_if_it_was_asked_once():
    once, twice = taught(20, 18), taught(20, 18, without_rivals())
    for latencies, at_ms in ((once, 150), (twice, 450)):
        scatter = begun(ONE, latencies=latencies)
        assert wait(scatter, at_ms)[-1][1] == "b"
        scatter.take("b", pool_reply("s", "1"), at_ms)
        assert (scatter.is_done, scatter.gathered().silent) == (True, ("a",) if latencies is twice else ())
    # With the reply of the rival that makes twenty, or not.
    assert (once.slow_ms, twice.slow_ms) == (50, SETTINGS.hedge_first_ms)


def test_rivals_have_a_budget():
    latencies = taught(20)
    sets = [ReplicaSet(f"s{n}", (f"a{n}", f"b{n}"), (f"p{n}",)) for n in range(100)]
    scatter = begun(sets, latencies=latencies)
    assert len(wait(scatter, 100)) == SETTINGS.hedge_burst


def test_who_stayed_silent_is_tried_last_until_it_is_heard_of_again():
    latencies = without_rivals()
    first = scatter_of(ONE, latencies=latencies)
    first.start(0)
    wait(first, 450)
    first.take("b", pool_reply("s"), 451)

    second = Scatter(Ask("q", PLAIN, 2_000), Asker("me", ONE, 7, SETTINGS, latencies), 500)
    assert asked(second.start(500)) == [("b", "s")]

    after = 451 + SETTINGS.suspect_ms
    assert asked(Scatter(Ask("q", PLAIN, 2_000), Asker("me", ONE, 7, SETTINGS, latencies), after).start(after)) == [("a", "s")]
    latencies.suspect("a", after)
    latencies.mark_alive("a")
    assert asked(Scatter(Ask("q", PLAIN, 2_000), Asker("me", ONE, 7, SETTINGS, latencies), after).start(after)) == [("a", "s")]


def test_when_all_members_were_silent_they_are_asked_together_and_not_waited_for_to_the_end():
    latencies = without_rivals()
    for node in "abc":
        latencies.suspect(node, 0)
    scatter = scatter_of(ONE, latencies=latencies)

    assert asked(scatter.start(0)) == [("a", "s"), ("b", "s"), ("c", "s")]
    wait(scatter, 400)
    assert scatter.is_done
    assert scatter.gathered().silent == ("a", "b", "c")


def believed_dead(*nodes: str) -> Latencies:
    latencies = without_rivals()
    latencies.suspects = frozenset(nodes)
    return latencies


def test_who_is_believed_dead_is_asked_last_also_after_those_that_were_silent():
    latencies = believed_dead("a")
    latencies.suspect("b", 0)

    scatter = scatter_of(ONE, latencies=latencies)

    assert asked(scatter.start(0)) == [("c", "s")]
    assert [(ms, node) for ms, node, _ in wait(scatter, 900)] == [
        (200, "c"),
        (400, "b"),
        (600, "b"),
        (800, "a"),
        (800 + SETTINGS.doubted_ms // 2, "a"),
    ]
    assert not scatter.is_done, "c and b live, and may still answer"


def test_a_set_whose_members_are_all_believed_dead_is_asked_and_hardly_waited_for():
    scatter = scatter_of([*TWO, ReplicaSet("u", ("x", "y", "z"), ("p3",))], latencies=believed_dead("x", "y", "z"))

    assert asked(scatter.start(0)) == [("a", "s"), ("c", "t"), ("x", "u"), ("y", "u"), ("z", "u")]
    scatter.take("a", pool_reply("s", "1"), 5)
    scatter.take("c", pool_reply("t", "2"), 5)
    wait(scatter, SETTINGS.doubted_ms)

    assert scatter.is_done
    found = scatter.gathered()
    assert (found.missing, found.silent, set(found.pool.ids)) == (("p3",), ("x", "y", "z"), {"1", "2"})


def test_one_that_is_believed_dead_and_lives_is_heard():
    latencies = believed_dead("a", "b", "c")
    scatter = begun(ONE, latencies=latencies)

    scatter.take("b", pool_reply("s", "1"), 30)

    assert scatter.is_done
    assert scatter.gathered().completeness == 1.0
    assert latencies.suspects == {"a", "c"}


def test_nobody_asks_the_dead_because_somebody_is_slow():
    latencies = taught(20)
    latencies.suspects = frozenset("bc")
    scatter = begun(ONE, latencies=latencies)
    assert wait(scatter, 200) == [(200, "a", "s")]


def test_when_only_the_dead_are_left_they_are_asked_together():
    scatter = begun(ONE, latencies=believed_dead("b", "c"))

    assert asked(scatter.take("a", pool_reply("s", "1", missing=("p1",)), 5)) == [("b", "s"), ("c", "s")]
    wait(scatter, 5 + SETTINGS.doubted_ms)
    assert scatter.is_done
    assert scatter.gathered().missing == ("p1",)


def test_a_node_that_others_believe_dead_still_asks_itself_first():
    assert asked(scatter_of(ONE, node="c", latencies=believed_dead("a", "b", "c")).start(0)) == [("me", "s")]


def test_a_member_that_died_costs_one_question():
    latencies = taught(10)
    waits = []
    for number in range(4):
        start = 1_000 * number
        scatter = Scatter(Ask("q", PLAIN, 900), Asker("me", ONE, 7, SETTINGS, latencies), start)
        pending = [(start + 3, node) for node, _ in asked(scatter.start(start)) if node != "a"]
        while not scatter.is_done:
            now, node = min([*pending, (scatter.wake_at_ms, "")])
            if node:
                scatter.take(node, pool_reply("s"), now)
            else:
                pending += [(now + 3, other) for other, _ in asked(scatter.tick(now)) if other != "a"]
        waits.append(now - start)

    assert waits == [13, 3, 3, 3]


def test_one_slow_reply_in_a_hundred_does_not_make_every_question_slow():
    figures = tail("rivals for the slow", questions=200)
    assert figures.p99_ms <= 60
    assert figures.extra_load <= 0.06
    assert figures.complete_at_200_ms >= 0.99
    assert figures.complete == 1.0


def taught(slow_ms: int, times: int = 50, latencies: Latencies | None = None) -> Latencies:
    latencies = latencies or Latencies()
    for _ in range(times):
        latencies.observe(slow_ms)
    assert latencies.slow_ms == (slow_ms if times >= 20 else SETTINGS.hedge_first_ms)
    return latencies


def test_a_member_that_left_a_question_open_is_late_until_it_answers_in_time():
    latencies = without_rivals()
    scatter = begun(TWO, latencies=latencies)
    scatter.take("a", pool_reply("s", "1"), 30)
    wait(scatter)
    assert latencies.late(2_000) == ("c", "d")

    following = scatter_of(TWO, latencies=latencies)
    following.start(0)
    following.take("c", pool_reply("t", "2"), 90)
    assert latencies.late(2_000) == ("d",)
    assert latencies.late(2_000 + 60_000) == ()


def test_a_member_whose_replies_stay_late_is_late_though_nobody_asks_and_one_that_was_away_is_not():
    latencies = Latencies()
    for sent_ms, received_ms in ((10_000, 60_000), (50_000, 66_000)):
        latencies.exchanged("back", received_ms - sent_ms, received_ms)
    for sent_ms, received_ms in ((57_000, 60_000), (60_000, 63_000)):
        latencies.exchanged("slow", received_ms - sent_ms, received_ms)
    assert latencies.late(66_000) == ("slow",)

    latencies.exchanged("slow", SETTINGS.deadline_ms, 67_000)
    assert latencies.late(67_000) == ()

"""A question and its members, message by message, in virtual time."""

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pytest

from benchmarks.tail import tail
from hive_mind.hive.effects import Ask, SearchLocal, Send
from hive_mind.hive.latencies import Latencies, ScatterSettings
from hive_mind.hive.scatter import FAVOURED_DEPTH, Scatter
from hive_mind.hive.topology import ReplicaSet
from hive_mind.model.messages import FactsReply, PoolReply, PoolRequest, SearchReply, StatisticsReply, StatisticsRequest
from hive_mind.model.probe import Anchors, EvidenceColumns, Pool, Probe
from hive_mind.model.scores import TermStatistics

SETTINGS = ScatterSettings()
RED = Probe(("red", "red", "pump"), Anchors(), None, depth=10)
PLAIN = Probe((), Anchors(), None, depth=10)
ONE = (ReplicaSet("s", ("a", "b", "c"), ("p0", "p1")),)
TWO = (ReplicaSet("s", ("a", "b"), ("p0", "p1")), ReplicaSet("t", ("c", "d"), ("p2",)))


def scatter_of(
    read_set: Sequence[ReplicaSet], probe: Probe = PLAIN, deadline_ms: int = 2_000, node: str = "me", **more: Any
) -> Scatter:
    latencies = more.pop("latencies", None) or Latencies()
    return Scatter(Ask("q", probe, deadline_ms, 0.3), tuple(read_set), node, 7, SETTINGS, latencies, 0, **more)


def pool_reply(part: str, *ids: str, missing: tuple[str, ...] = (), confirmations: float = 0.2) -> PoolReply:
    scores = np.arange(1, len(ids) + 1, dtype=np.float32)
    half = np.full(len(ids), 0.5, dtype=np.float32)
    pool = Pool(ids, scores, np.full(len(ids), np.nan, np.float32), np.zeros(len(ids), np.float32))
    return PoolReply("q", part, pool, EvidenceColumns(np.full(len(ids), confirmations, np.float32), half, half), missing)


def statistics_reply(part: str, documents: int = 1, missing: tuple[str, ...] = ()) -> StatisticsReply:
    return StatisticsReply("q", part, TermStatistics(documents, 10.0 * documents, {"red": documents}), missing)


def asked(effects: Sequence[Send | SearchLocal]) -> list[tuple[str, str]]:
    """(node, replica set) of each request; the node itself as "me"."""
    return [
        (effect.to[0], effect.message.replica_set) if isinstance(effect, Send) else ("me", effect.request.replica_set)
        for effect in effects
    ]


def wait(scatter: Scatter, until_ms: int = 10_000) -> list[tuple[int, str, str]]:
    """Lets time pass: (when, node, replica set) of each request."""
    out: list[tuple[int, str, str]] = []
    while scatter.wake_at_ms is not None and scatter.wake_at_ms <= until_ms:
        now_ms = scatter.wake_at_ms
        out += [(now_ms, *one) for one in asked(scatter.tick(now_ms))]
    return out


def test_terms_are_counted_everywhere_before_anybody_scores_by_them():
    own = TermStatistics(5, 50.0, {"pump": 5})
    scatter = scatter_of(TWO, Probe(RED.terms, RED.anchors, None, 10, own))

    counting = scatter.start(0)
    assert asked(counting) == [("a", "s"), ("c", "t")]
    assert all(isinstance(one.message, StatisticsRequest) and one.message.terms == ("red", "pump") for one in counting)
    assert scatter.take("a", statistics_reply("s", 2), 5) == []
    searching = scatter.take("c", statistics_reply("t", 3), 8)

    assert asked(searching) == [("a", "s"), ("c", "t")]
    for one in searching:
        assert one.message.probe.statistics == TermStatistics(10, 100.0, {"pump": 5, "red": 5})
        assert (one.message.epoch, one.message.confidence_min, one.message.left_ms) == (7, 0.3, 1_992)
    scatter.take("a", pool_reply("s", "1"), 10)
    scatter.take("c", pool_reply("t", "2"), 11)
    assert scatter.is_done
    assert scatter.wake_at_ms is None
    found = scatter.gathered()
    assert (set(found.pool.ids), found.completeness, found.silent) == ({"1", "2"}, 1.0, ())
    assert found.holders == {"1": "a", "2": "c"}
    assert (found.asked, found.requests, found.partitions) == (("a", "c"), 4, 3)
    assert found.statistics.documents == 10


@pytest.mark.parametrize(
    ("read_set", "probe", "is_counted"),
    [
        (TWO, RED, True),
        (ONE, RED, False),
        (ONE, Probe(RED.terms, RED.anchors, None, 10, TermStatistics(1, 1.0)), True),
        (TWO, PLAIN, False),
    ],
)
def test_terms_are_counted_only_where_there_is_something_to_add_up(read_set, probe, is_counted: bool):
    first = scatter_of(read_set, probe).start(0)[0]

    assert isinstance(first.message, StatisticsRequest) == is_counted


def test_a_node_asks_itself_first_and_without_a_message():
    scatter = scatter_of(ONE, node="c")

    (effect,) = scatter.start(0)

    assert isinstance(effect, SearchLocal)
    assert effect.reply_to == "c"
    scatter.take("c", pool_reply("s", "1"), 1)
    assert scatter.is_done
    assert (scatter.gathered().requests, scatter.gathered().asked, scatter.gathered().holders) == (0, (), {"1": "c"})


def test_a_lost_message_is_sent_again_once_then_another_replica_is_asked():
    scatter = scatter_of(ONE, latencies=without_rivals())
    scatter.start(0)

    assert wait(scatter) == [(200, "a", "s"), (400, "b", "s"), (600, "b", "s"), (800, "c", "s"), (1_000, "c", "s")]
    assert scatter.is_done
    found = scatter.gathered()
    assert (found.completeness, found.missing, found.silent) == (0.0, ("p0", "p1"), ("a", "b", "c"))


def test_a_replica_in_place_of_a_silent_one_completes_the_answer_and_the_silent_one_is_named():
    scatter = scatter_of(ONE, latencies=without_rivals())
    scatter.start(0)
    wait(scatter, 450)

    scatter.take("b", pool_reply("s", "1"), 460)

    assert scatter.is_done
    assert (scatter.gathered().completeness, scatter.gathered().silent) == (1.0, ("a",))


def test_every_member_has_its_turn_before_a_short_deadline():
    scatter = scatter_of(ONE, deadline_ms=500, latencies=without_rivals())
    scatter.start(0)

    assert {node for _, node, _ in wait(scatter)} >= {"a", "b"}
    assert scatter.is_done


def test_a_slow_reply_gets_a_rival_and_the_first_answer_counts():
    latencies = taught(20)
    scatter = scatter_of(ONE, latencies=latencies)
    scatter.start(0)

    assert wait(scatter, 20) == [(20, "b", "s")]
    scatter.take("b", pool_reply("s", "1"), 30)
    assert scatter.is_done
    assert scatter.take("a", pool_reply("s", "2"), 31) == []
    assert (scatter.gathered().pool.ids, scatter.gathered().silent) == (("1",), ())


def test_rivals_have_a_budget():
    latencies = taught(20)
    sets = [ReplicaSet(f"s{n}", (f"a{n}", f"b{n}"), (f"p{n}",)) for n in range(100)]
    scatter = scatter_of(sets, latencies=latencies)
    scatter.start(0)

    assert len(wait(scatter, 100)) == SETTINGS.hedge_burst


def test_what_a_member_cant_speak_for_another_one_adds():
    scatter = scatter_of(ONE)
    scatter.start(0)

    assert asked(scatter.take("a", pool_reply("s", "1", "2", missing=("p1",)), 5)) == [("b", "s")]
    scatter.take("b", pool_reply("s", "2", "3", missing=("p0",)), 9)

    assert scatter.is_done
    found = scatter.gathered()
    assert (sorted(found.pool.ids), found.completeness) == (["1", "2", "3"], 1.0)
    # The same evidence, seen at two replicas, is no second confirmation.
    assert found.evidence.confirmations.tolist() == pytest.approx([0.2, 0.2, 0.2])
    assert found.holders == {"1": "a", "2": "a", "3": "b"}


def test_what_nobody_speaks_for_is_missing_and_not_waited_for():
    scatter = scatter_of([ReplicaSet("s", ("a", "b"), ("p0", "p1")), ReplicaSet("empty", (), ("p2",))])
    scatter.start(0)
    scatter.take("a", pool_reply("s", "1", missing=("p1", "p9")), 5)

    scatter.take("b", pool_reply("s", "1", missing=("p1",)), 9)

    assert scatter.is_done
    assert (scatter.gathered().missing, scatter.gathered().completeness) == (("p1", "p2"), pytest.approx(1 / 3))


def test_replicas_are_counted_once_and_the_one_that_speaks_for_most_is_believed():
    scatter = scatter_of(TWO, RED)
    scatter.start(0)
    scatter.take("a", statistics_reply("s", 2, missing=("p0", "p1")), 3)
    scatter.take("b", statistics_reply("s", 9), 4)

    effects = scatter.take("c", statistics_reply("t", 1), 5)

    assert effects[0].message.probe.statistics.documents == 10


def test_counting_takes_half_of_the_time_at_most():
    scatter = scatter_of(TWO, RED, latencies=without_rivals())
    scatter.start(0)
    scatter.take("a", statistics_reply("s", 2), 3)

    late = [one for one in wait(scatter, 1_000) if one[0] == 1_000]

    assert late == [(1_000, "a", "s"), (1_000, "c", "t"), (1_000, "d", "t")]


def test_a_set_that_was_not_counted_in_time_and_answers_later_is_named():
    scatter = scatter_of(TWO, RED, deadline_ms=1_000)
    scatter.start(0)
    scatter.take("a", statistics_reply("s", 2), 5)
    wait(scatter, 600)
    scatter.take("a", pool_reply("s", "1"), 610)
    scatter.take("c", pool_reply("t", "2"), 620)

    found = scatter.gathered()

    assert (set(found.pool.ids), found.completeness, found.uncounted) == ({"1", "2"}, 1.0, ("t",))


def test_a_replica_that_speaks_for_less_does_not_replace_better_figures():
    scatter = scatter_of(TWO, RED)
    scatter.start(0)
    scatter.take("a", statistics_reply("s", 9, missing=("p1",)), 3)
    scatter.take("b", statistics_reply("s", 2, missing=("p0", "p1")), 4)

    effects = scatter.take("c", statistics_reply("t", 1), 5)

    assert effects[0].message.probe.statistics.documents == 10


@pytest.mark.parametrize("deadline_ms", [0, -5])
def test_without_time_it_is_over_at_once(deadline_ms: int):
    scatter = scatter_of(TWO, RED, deadline_ms)

    assert scatter.start(0) == []
    assert scatter.is_done
    assert (scatter.gathered().completeness, scatter.gathered().missing) == (0.0, ("p0", "p1", "p2"))


def test_a_hive_without_partitions_is_complete():
    scatter = scatter_of((), RED)

    assert scatter.start(0) == []
    assert scatter.is_done
    assert scatter.gathered().completeness == 1.0


@pytest.mark.parametrize(
    ("sender", "reply"),
    [
        ("mallory", pool_reply("s", "9")),
        ("b", pool_reply("s", "9")),
        ("c", pool_reply("s", "9")),
        ("a", pool_reply("nowhere", "9")),
        ("a", pool_reply("t", "9")),
        ("a", statistics_reply("s")),
        ("a", FactsReply("q", ())),
        ("a", msgspec.structs.replace(pool_reply("s", "9"), query="other")),
    ],
)
def test_what_was_not_asked_for_changes_nothing(sender: str, reply: SearchReply):
    scatter = scatter_of(TWO)
    scatter.start(0)

    assert scatter.take(sender, reply, 1) == []

    assert not scatter.is_done
    assert (len(scatter.gathered().pool), scatter.gathered().completeness) == (0, 0.0)


def test_a_reply_counts_once_and_not_after_the_end():
    scatter = scatter_of(TWO)
    scatter.start(0)
    scatter.take("a", pool_reply("s", "1"), 1)
    scatter.take("a", pool_reply("s", "2"), 2)
    wait(scatter)

    scatter.take("c", pool_reply("t", "3"), 2_001)

    assert scatter.gathered().pool.ids == ("1",)
    assert scatter.gathered().silent == ("c", "d")


def test_columns_that_do_not_fit_together_are_no_answer():
    broken = pool_reply("s", "1", "2")
    crooked = PoolReply("q", "s", broken.pool, EvidenceColumns())
    poisoned = pool_reply("s", "1")
    poisoned.pool.keyword[0] = np.nan
    scatter = scatter_of(ONE)
    scatter.start(0)

    for reply in (crooked, poisoned):
        assert scatter.take("a", reply, 1) == []
        assert not scatter.is_done

    counting = scatter_of(TWO, RED)
    counting.start(0)
    counting.take("c", statistics_reply("t"), 1)
    assert counting.take("a", StatisticsReply("q", "s", TermStatistics(3, 3.0, {"red": -9})), 1) == []


def test_who_stayed_silent_is_tried_last_until_it_is_heard_of_again():
    latencies = without_rivals()
    first = scatter_of(ONE, latencies=latencies)
    first.start(0)
    wait(first, 450)
    first.take("b", pool_reply("s"), 451)

    second = Scatter(Ask("q", PLAIN, 2_000), ONE, "me", 7, SETTINGS, latencies, 500)
    assert asked(second.start(500)) == [("b", "s")]

    after = 451 + SETTINGS.suspect_ms
    assert asked(Scatter(Ask("q", PLAIN, 2_000), ONE, "me", 7, SETTINGS, latencies, after).start(after)) == [("a", "s")]
    latencies.suspect("a", after)
    latencies.heard("a")
    assert asked(Scatter(Ask("q", PLAIN, 2_000), ONE, "me", 7, SETTINGS, latencies, after).start(after)) == [("a", "s")]


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


def test_a_dead_group_costs_a_question_little_of_its_deadline():
    scatter = scatter_of(TWO, RED, latencies=believed_dead("c", "d"))
    scatter.start(0)
    scatter.take("a", statistics_reply("s"), 5)
    assert not scatter.is_done
    wait(scatter, SETTINGS.doubted_ms)
    scatter.take("a", pool_reply("s", "1"), SETTINGS.doubted_ms + 5)

    (*_, (ended_ms, *_)) = wait(scatter) or [(0,)]

    assert scatter.is_done
    assert ended_ms <= 2 * SETTINGS.doubted_ms
    assert (scatter.gathered().missing, scatter.gathered().uncounted) == (("p2",), ("t",))


def test_one_that_is_believed_dead_and_lives_is_heard():
    latencies = believed_dead("a", "b", "c")
    scatter = scatter_of(ONE, latencies=latencies)
    scatter.start(0)

    scatter.take("b", pool_reply("s", "1"), 30)

    assert scatter.is_done
    assert scatter.gathered().completeness == 1.0
    assert latencies.suspects == {"a", "c"}


def test_nobody_asks_the_dead_because_somebody_is_slow():
    latencies = taught(20)
    latencies.suspects = frozenset("bc")
    scatter = scatter_of(ONE, latencies=latencies)
    scatter.start(0)

    assert wait(scatter, 200) == [(200, "a", "s")]


def test_when_only_the_dead_are_left_they_are_asked_together():
    scatter = scatter_of(ONE, latencies=believed_dead("b", "c"))
    scatter.start(0)

    effects = scatter.take("a", pool_reply("s", "1", missing=("p1",)), 5)

    assert asked(effects) == [("b", "s"), ("c", "s")]
    wait(scatter, 5 + SETTINGS.doubted_ms)
    assert scatter.is_done
    assert scatter.gathered().missing == ("p1",)


def test_a_node_that_others_believe_dead_still_asks_itself_first():
    scatter = scatter_of(ONE, node="c", latencies=believed_dead("a", "b", "c"))

    assert asked(scatter.start(0)) == [("me", "s")]


def test_a_member_that_died_costs_one_question():
    latencies = taught(10)
    waits = []
    for number in range(4):
        start = 1_000 * number
        scatter = Scatter(Ask("q", PLAIN, 900), ONE, "me", 7, SETTINGS, latencies, start)
        pending = [(start + 3, node) for node, _ in asked(scatter.start(start)) if node != "a"]
        while not scatter.is_done:
            now, node = min([*pending, (scatter.wake_at_ms, "")])
            if node:
                scatter.take(node, pool_reply("s"), now)
            else:
                pending += [(now + 3, other) for other, _ in asked(scatter.tick(now)) if other != "a"]
        waits.append(now - start)

    assert waits == [13, 3, 3, 3]


def test_a_favoured_set_gives_more_candidates_and_the_merged_pool_is_as_deep_as_ever():
    scatter = scatter_of(TWO, favoured=frozenset({"t"}))

    depths = {effect.message.replica_set: effect.message.probe.depth for effect in scatter.start(0)}

    assert depths == {"s": 10, "t": 10 * FAVOURED_DEPTH}
    scatter.take("a", pool_reply("s", *[f"s{n}" for n in range(10)]), 1)
    scatter.take("c", pool_reply("t", *[f"t{n}" for n in range(30)]), 1)
    assert len(scatter.gathered().pool) == 10


def test_one_slow_reply_in_a_hundred_does_not_make_every_question_slow():
    figures = tail("one round", (), questions=400)

    assert figures.p99_ms <= 60
    assert figures.extra_load <= 0.06
    assert figures.complete_at_200_ms >= 0.99
    assert figures.complete == 1.0
    assert tail("two rounds", ("red",), questions=150).p99_ms <= 120


def test_nobody_is_asked_twice_as_much_because_all_are_slow():
    latencies = Latencies()
    for _ in range(1_000):
        latencies.asked()

    assert sum(latencies.take_hedge() for _ in range(1_000)) == SETTINGS.hedge_burst


def without_rivals() -> Latencies:
    latencies = Latencies()
    while latencies.take_hedge():
        pass
    return latencies


def taught(slow_ms: int) -> Latencies:
    latencies = Latencies()
    for _ in range(50):
        latencies.observe(slow_ms)
    assert latencies.slow_ms == slow_ms
    return latencies


@pytest.mark.parametrize("request_type", [PoolRequest, StatisticsRequest])
def test_requests_say_how_much_time_is_left(request_type: type):
    scatter = scatter_of(TWO, RED if request_type is StatisticsRequest else PLAIN, 1_000)

    (first, _) = scatter.start(100)

    assert isinstance(first.message, request_type)
    assert first.message.left_ms == (450 if request_type is StatisticsRequest else 900)

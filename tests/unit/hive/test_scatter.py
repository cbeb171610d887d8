"""A question and its members, message by message, in virtual time: who is asked what, and what an answer says."""

import msgspec
import numpy as np
import pytest

from hive_mind.hive.effects import SearchLocal
from hive_mind.hive.scatter import FAVOURED_DEPTH
from hive_mind.hive.topology import ReplicaSet
from hive_mind.model.messages import FactsReply, PoolReply, PoolRequest, SearchReply, StatisticsReply, StatisticsRequest
from hive_mind.model.probe import EvidenceColumns, Probe
from hive_mind.model.scores import TermStatistics
from tests.unit.hive.scattering import ONE, PLAIN, RED, TWO, asked, pool_reply, scatter_of, statistics_reply, wait, without_rivals


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


def test_a_favoured_set_gives_more_candidates_and_the_merged_pool_is_as_deep_as_ever():
    scatter = scatter_of(TWO, favoured=frozenset({"t"}))

    depths = {effect.message.replica_set: effect.message.probe.depth for effect in scatter.start(0)}

    assert depths == {"s": 10, "t": 10 * FAVOURED_DEPTH}
    scatter.take("a", pool_reply("s", *[f"s{n}" for n in range(10)]), 1)
    scatter.take("c", pool_reply("t", *[f"t{n}" for n in range(30)]), 1)
    assert len(scatter.gathered().pool) == 10


@pytest.mark.parametrize("request_type", [PoolRequest, StatisticsRequest])
def test_requests_say_how_much_time_is_left(request_type: type):
    scatter = scatter_of(TWO, RED if request_type is StatisticsRequest else PLAIN, 1_000)

    (first, _) = scatter.start(100)

    assert isinstance(first.message, request_type)
    assert first.message.left_ms == (450 if request_type is StatisticsRequest else 900)

"""A question and its members, message by message, in virtual time: who is asked what, and what an answer says."""

from dataclasses import replace
from math import sqrt

import msgspec
import numpy as np
import pytest

from hive_mind.hive.effects import SearchLocal
from hive_mind.hive.query.scatter import FOR_MORE
from hive_mind.hive.topology import ReplicaSet
from hive_mind.model.gathered import NOWHERE, EvidenceColumns, Probe
from hive_mind.model.messages import FactsReply, PoolReply, PoolRequest, SearchReply
from hive_mind.model.query import TermStatistics
from hive_mind.ranking.inverted import gains_of, parts_of, settings_for
from tests.unit.hive.scattering import ONE, RED, TWO, asked, begun, pool_reply, red_reply, scatter_of, wait


def test_members_score_by_what_they_know_and_the_asker_by_what_all_know():
    own = TermStatistics(5, 50.0, {"pump": 5}, 500.0)
    scatter = scatter_of(TWO, Probe(RED.terms, RED.anchors, None, 10, beside=own))

    asking = scatter.start(0)
    assert asked(asking) == [("a", "s"), ("c", "t")]
    for one in asking:
        assert (one.message.probe.statistics, one.message.probe.beside) == (None, own)
        assert (one.message.epoch, one.message.confidence_min, one.message.left_ms) == (7, 0.3, 2_000)
    assert scatter.take("a", red_reply("s", "1", documents=2), 5) == []
    assert scatter.take("c", red_reply("t", "2", "3", documents=3), 8) == []

    assert scatter.is_done
    assert scatter.wake_at_ms is None
    found = scatter.gathered()
    assert (set(found.pool.ids), found.completeness, found.silent) == ({"1", "2", "3"}, 1.0, ())
    assert found.holders == {"1": "a", "2": "c", "3": "c"}
    assert (found.asked, found.requests, found.partitions) == (("a", "c"), 2, 3)
    together = TermStatistics(10, 100.0, {"pump": 5, "red": 5}, 1000.0)
    assert found.statistics == together
    # "red" is asked for twice. The last is longer, and so worth less. What members made of it themselves plays no part.
    settings = settings_for(together)
    assert sorted(found.pool.keyword.tolist(), reverse=True) == pytest.approx(
        parts_of(np.float32([10, 10, 11]), np.float32([1, 1, 1]), gains_of({"red": sqrt(2)}, together, settings), 10.0, settings)
    )


def test_who_may_have_more_by_the_figures_of_all_is_asked_by_these():
    scatter = begun(TWO, RED)
    scatter.take("a", red_reply("s", *[f"s{n}" for n in range(10)], documents=10), 5)
    shallow = red_reply("t", *[f"t{n}" for n in range(10)], documents=30)

    (more,) = scatter.take("c", shallow, 8)

    assert (more.to, more.message.query) == (("c",), "q" + FOR_MORE)
    assert more.message.probe.statistics == TermStatistics(40, 400.0, {"red": 40}, 4000.0)
    assert (more.message.probe.beside, more.message.probe.depth) == (None, 10)
    assert scatter.take("c", msgspec.structs.replace(shallow, query="q" + FOR_MORE), 9) == []
    assert scatter.is_done
    assert (scatter.gathered().missing, len(scatter.gathered().pool)) == ((), 10)


def test_who_left_out_nothing_that_matters_is_not_asked_again():
    scatter = begun(TWO, RED)
    scatter.take("a", red_reply("s", *[f"s{n}" for n in range(10)], documents=10), 5)
    shallow = red_reply("t", *[f"t{n}" for n in range(10)], documents=100)
    # Half of what the others are worth, some 0.002: so is all that it left out, or less.
    pool = msgspec.structs.replace(shallow.pool, keyword=np.full(10, 0.001, np.float32))

    assert scatter.take("c", msgspec.structs.replace(shallow, pool=pool), 8) == []
    assert scatter.is_done


def test_a_node_asks_itself_first_and_without_a_message():
    scatter = scatter_of(ONE, node="c")
    (effect,) = scatter.start(0)

    assert isinstance(effect, SearchLocal)
    assert effect.reply_to == "c"
    scatter.take("c", pool_reply("s", "1"), 1)
    assert scatter.is_done
    assert (scatter.gathered().requests, scatter.gathered().asked, scatter.gathered().holders) == (0, (), {"1": "c"})


def test_what_nobody_speaks_for_is_missing_and_not_waited_for():
    scatter = begun([ReplicaSet("s", ("a", "b"), ("p0", "p1")), ReplicaSet("empty", (), ("p2",))])
    scatter.take("a", pool_reply("s", "1", missing=("p1", "p9")), 5)

    scatter.take("b", pool_reply("s", "1", missing=("p1",)), 9)

    assert scatter.is_done
    assert (scatter.gathered().missing, scatter.gathered().completeness) == (("p1", "p2"), pytest.approx(1 / 3))


def test_replicas_are_counted_once_and_the_one_that_speaks_for_most_is_believed():
    scatter = begun(TWO, RED)
    wait(scatter, 450)
    scatter.take("b", red_reply("s", "1", documents=2, missing=("p0",)), 451)
    scatter.take("a", red_reply("s", "1", documents=9), 452)

    scatter.take("c", red_reply("t", "2"), 453)

    assert scatter.is_done
    assert scatter.gathered().statistics.documents == 10


@pytest.mark.parametrize("deadline_ms", [0, -5])
def test_without_time_it_is_over_at_once(deadline_ms: int):
    scatter = scatter_of(TWO, RED, deadline_ms)
    assert scatter.start(0) == []
    assert scatter.is_done
    assert (scatter.gathered().completeness, scatter.gathered().missing) == (0.0, ("p0", "p1", "p2"))


@pytest.mark.parametrize(
    ("sender", "reply"),
    [
        ("mallory", pool_reply("s", "9")),
        ("b", pool_reply("s", "9")),
        ("c", pool_reply("s", "9")),
        ("a", pool_reply("nowhere", "9")),
        ("a", pool_reply("t", "9")),
        ("a", FactsReply("q", ())),
        ("a", msgspec.structs.replace(pool_reply("s", "9"), query="other")),
    ],
)
def test_what_was_not_asked_for_changes_nothing(sender: str, reply: SearchReply):
    scatter = begun(TWO)
    assert scatter.take(sender, reply, 1) == []
    assert not scatter.is_done
    assert (len(scatter.gathered().pool), scatter.gathered().completeness) == (0, 0.0)


def test_a_reply_counts_once_and_not_after_the_end():
    scatter = begun(TWO)
    scatter.take("a", pool_reply("s", "1"), 1)
    scatter.take("a", pool_reply("s", "2"), 2)
    wait(scatter)

    scatter.take("c", pool_reply("t", "3"), 2_001)

    assert scatter.gathered().pool.ids == ("1",)
    assert scatter.gathered().silent == ("c", "d")


def test_columns_that_do_not_fit_together_are_no_answer():
    broken = pool_reply("s", "1", "2")
    crooked = PoolReply("q", "s", broken.pool, EvidenceColumns())
    misplaced = PoolReply("q", "s", broken.pool, msgspec.structs.replace(broken.evidence, places=NOWHERE))
    poisoned = pool_reply("s", "1")
    poisoned.pool.keyword[0] = np.nan
    scatter = begun(ONE)

    for reply in (crooked, misplaced, poisoned):
        assert scatter.take("a", reply, 1) == []
        assert not scatter.is_done


@pytest.mark.parametrize(
    "changes",
    [
        {"statistics": TermStatistics(3, 3.0, {"red": -9}, 3.0)},
        {"statistics": TermStatistics(3, np.inf, {"red": 3}, np.inf)},
        {"statistics": TermStatistics(3, 30.0, {"red": 3})},
        {"statistics": TermStatistics(3, 30.0, {"red": 3}, 200.0)},
        {"lengths": np.float32([10])},
        {"lengths": np.float32([10, -1])},
        {"lengths": np.float32([10, np.nan])},
        {"counts": (2,)},
        {"counts": (3, -1)},
        {"counts": (1, 0)},
        {"rows": b"\0\0"},
        {"rows": b"\0\0\2\0"},
        {"weights": np.float32([1, -1])},
        {"weights": np.float32([1, np.inf])},
        {"weights": np.float32([1])},
    ],
)
def test_occurrences_that_can_be_none_are_no_answer(changes: dict):
    honest = red_reply("s", "1", "2")
    scatter = begun(ONE, RED)

    false = msgspec.structs.replace(honest, words=msgspec.structs.replace(honest.words, **changes))
    assert scatter.take("a", false, 1) == []
    assert scatter.take("a", msgspec.structs.replace(honest, words=None), 1) == []
    assert not scatter.is_done

    scatter.take("a", honest, 1)
    assert scatter.is_done


@pytest.mark.parametrize("documents", [0, 3, 1 << 62])
@pytest.mark.parametrize(
    "statistics",
    [
        TermStatistics(0, 1e300, {"red": 1 << 62}),
        TermStatistics((1 << 64) - 1, 1.7e308, {"red": (1 << 64) - 1, "pump": 1}),
        TermStatistics(1, 0.0, {"red": 1 << 63}),
        TermStatistics(0, 0.0, {}),
    ],
)
def test_absurd_statistics_of_a_member_do_no_harm(documents: int, statistics: TermStatistics):
    scatter = begun(TWO, RED)
    honest = red_reply("s", *[f"s{n}" for n in range(10)], documents=documents)
    own = msgspec.structs.replace(honest.words, statistics=replace(honest.words.statistics, total_length=1.7e308))
    scatter.take("a", msgspec.structs.replace(honest, words=own) if documents == 3 else honest, 1)
    lie = red_reply("t", *[f"t{n}" for n in range(10)])
    words = msgspec.structs.replace(lie.words, statistics=statistics)

    scatter.take("c", msgspec.structs.replace(lie, words=words), 2)
    wait(scatter)

    assert scatter.is_done
    found = scatter.gathered()
    assert set(found.missing) <= {"p0", "p1", "p2"}
    assert np.isfinite(found.pool.keyword).all()


def test_requests_say_how_much_time_is_left():
    (first, _) = scatter_of(TWO, deadline_ms=1_000).start(100)
    assert isinstance(first.message, PoolRequest)
    assert first.message.left_ms == 900

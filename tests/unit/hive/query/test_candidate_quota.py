"""How many candidates a replica set is asked for, and what happens when it may have more."""

import numpy as np
import pytest

from hive_mind.hive.effects import Ask, Send
from hive_mind.hive.query import Latencies, ScatterSettings
from hive_mind.hive.query.rounds import Asker
from hive_mind.hive.query.scatter import DOMAIN_ROUTING_PRIORITY_MULTIPLIER, FOR_MORE, Scatter, first_depth
from hive_mind.hive.topology import ReplicaSet
from hive_mind.model.gathered import Anchors, EvidenceColumns, Pool, Probe
from hive_mind.model.messages import PoolReply

DEPTH, SETS = 100, 50
FIRST = 12
PROBE = Probe((), Anchors(), np.ones(2, np.float32), DEPTH)
READ_SET = tuple(ReplicaSet(f"s{n}", (f"a{n}", f"b{n}"), (f"p{n}", f"q{n}")) for n in range(SETS))


def scatter_of(deadline_ms: int = 2_000, favoured: frozenset[str] = frozenset()) -> Scatter:
    return Scatter(Ask("q", PROBE, deadline_ms), Asker("me", READ_SET, 7, ScatterSettings(), Latencies()), 0, favoured)


def begun(deadline_ms: int = 2_000) -> Scatter:
    scatter = scatter_of(deadline_ms)
    scatter.start(0)
    return scatter


def reply(name: str, count: int, depth: int, best: float = 0.1, missing: tuple[str, ...] = ()) -> PoolReply:
    """So many candidates of falling cosine; where it was asked for all of them, to the second question."""
    semantic = np.linspace(best, best / 2, count, dtype=np.float32)
    half, none = np.full(count, 0.5, np.float32), np.zeros(count, np.float32)
    pool = Pool(tuple(f"{name}/{n:03}" for n in range(count)), none, semantic, none)
    return PoolReply("q" + FOR_MORE * (depth == DEPTH), name, pool, EvidenceColumns(half, half, half), missing)


def depths(effects) -> dict[str, int]:
    return {one.to[0]: one.message.probe.depth for one in effects if isinstance(one, Send)}


def answered_but_for(scatter: Scatter, *silent: str, now_ms: int = 5) -> list:
    """Everybody answers with what is expected, and s0 with better candidates than all others; what is sent then."""
    out = []
    for one in READ_SET:
        if one.name not in silent:
            best = 0.9 if one.name == "s0" else 0.1
            out += scatter.take(one.members[0], reply(one.name, FIRST, FIRST, best), now_ms)
    return out


def a_half_is_spoken_for(scatter: Scatter, until_ms: int) -> None:
    """Of s0, which has better candidates than all others; the rest of it is asked for, of b0, which says nothing until then."""
    for one in READ_SET[1:]:
        scatter.take(one.members[0], reply(one.name, FIRST, FIRST), 5)
    scatter.take("a0", reply("s0", FIRST, FIRST, 0.9, missing=("q0",)), 6)
    while scatter.wake_at_ms <= until_ms:
        scatter.tick(scatter.wake_at_ms)


@pytest.mark.parametrize(
    ("share", "expected"), [(1 / 50, 12), (1 / 10, 27), (1 / 5, 42), (1 / 4, 49), (0.3, 100), (1.0, 100), (2.0, 100)]
)
def test_a_set_is_asked_for_what_it_may_have_by_chance_and_for_all_where_little_would_be_saved(share: float, expected: int):
    assert first_depth(100, share) == expected


def test_who_gave_all_it_was_asked_for_and_nothing_too_weak_is_asked_for_more():
    scatter = scatter_of()
    assert set(depths(scatter.start(0)).values()) == {FIRST}

    assert depths(answered_but_for(scatter)) == {"a0": DEPTH}
    assert scatter.take("a0", reply("s0", FIRST, FIRST, 0.9), 8) == [], "a first answer that comes twice is not the longer one"
    assert not scatter.is_done
    scatter.take("a0", reply("s0", 60, DEPTH, 0.9), 9)

    assert scatter.is_done
    found = scatter.gathered()
    assert {f"s0/{n:03}" for n in range(60)} <= set(found.pool.ids)
    assert (found.completeness, found.requests, len(found.asked)) == (1.0, SETS + 1, SETS)
    assert found.holders["s0/059"] == "a0"


def test_who_has_no_more_than_the_others_is_asked_once():
    scatter = begun()

    for one in READ_SET:
        assert scatter.take(one.members[0], reply(one.name, FIRST - 1, FIRST), 5) == []

    assert scatter.is_done
    assert scatter.gathered().requests == SETS


def test_where_the_longer_answer_stays_out_another_replica_gives_it():
    scatter = begun()
    answered_but_for(scatter)

    while "b0" not in (asked := depths(scatter.tick(now_ms := scatter.wake_at_ms))):
        pass
    assert asked == {"b0": DEPTH}
    scatter.take("b0", reply("s0", 60, DEPTH, 0.9), now_ms + 5)

    assert scatter.is_done
    found = scatter.gathered()
    assert (found.completeness, "s0/059" in found.pool.ids) == (1.0, True)


def test_what_may_have_been_left_out_and_nobody_gave_counts_as_missing():
    scatter = begun()
    answered_but_for(scatter)

    while not scatter.is_done:
        scatter.tick(scatter.wake_at_ms)

    found = scatter.gathered()
    assert found.missing == ("p0", "q0")
    assert set(found.silent) >= {"a0", "b0"}
    assert "s0/000" in found.pool.ids


def test_a_longer_answer_that_lacks_a_partition_lacks_it():
    scatter = begun()
    answered_but_for(scatter)

    (again,) = scatter.take("a0", reply("s0", 60, DEPTH, 0.9, missing=("q0",)), 9)
    assert depths([again]) == {"b0": DEPTH}
    scatter.take("b0", reply("s0", 30, DEPTH, 0.9, missing=("q0",)), 12)

    assert scatter.is_done
    assert scatter.gathered().missing == ("q0",)


def test_one_who_is_slow_does_not_keep_the_others_from_being_asked_for_more():
    scatter = begun(1_000)
    answered_but_for(scatter, "s9")

    sent = []
    while scatter.wake_at_ms <= 750:
        now_ms = scatter.wake_at_ms
        sent += [(now_ms, *one) for one in depths(scatter.tick(now_ms)).items()]

    assert [one for one in sent if one[2] == DEPTH] == [(750, "a0", DEPTH)]
    scatter.take("a0", reply("s0", 60, DEPTH, 0.9), 760)
    assert not scatter.is_done
    # This one may have more too, and there is time left.
    assert depths(scatter.take("b9", reply("s9", FIRST, FIRST, 0.8), 800)) == {"b9": DEPTH}
    scatter.take("b9", reply("s9", 40, DEPTH, 0.8), 820)

    assert scatter.is_done
    found = scatter.gathered()
    assert (found.completeness, "s0/059" in found.pool.ids, "s9/039" in found.pool.ids) == (1.0, True, True)


def test_who_answers_last_and_may_have_more_when_time_is_over_is_missing():
    scatter = begun(1_000)
    answered_but_for(scatter, "s9")
    while scatter.wake_at_ms < 1_000:
        scatter.tick(scatter.wake_at_ms)

    scatter.take("b9", reply("s9", FIRST, FIRST, 0.95), 999)
    assert not scatter.is_done
    scatter.tick(1_000)

    assert scatter.is_done
    assert scatter.gathered().missing == ("p0", "p9", "q0", "q9")


def test_what_members_of_a_set_gave_counts_in_whatever_order_and_to_whichever_question():
    def play(*later: tuple[str, PoolReply]) -> Scatter:
        scatter = begun()
        a_half_is_spoken_for(scatter, until_ms=1_500)
        for sender, one in later:
            scatter.take(sender, one, 1_600)
        return scatter

    longer = ("a0", reply("s0", 60, DEPTH, 0.9, missing=("q0",)))
    half = np.full(3, 0.5, np.float32)
    rest = Pool(("qq/0", "qq/1", "qq/2"), np.zeros(3, np.float32), half, np.zeros(3, np.float32))
    other = ("b0", PoolReply("q", "s0", rest, EvidenceColumns(half, half, half), ("p0",)))
    ends = [play(longer, other), play(other, longer)]

    assert all(one.is_done for one in ends)
    one, two = (end.gathered() for end in ends)
    assert sorted(one.pool.ids) == sorted(two.pool.ids)
    assert {"qq/1", "s0/059"} <= set(one.pool.ids)
    assert (one.missing, two.missing) == ((), ())


def test_who_speaks_for_everything_in_the_end_need_not_be_waited_for_twice():
    scatter = begun()
    a_half_is_spoken_for(scatter, until_ms=1_500)

    scatter.take("a0", reply("s0", 60, DEPTH, 0.9), 1_600)

    assert scatter.is_done
    assert scatter.gathered().completeness == 1.0


def test_what_another_member_speaks_for_meanwhile_is_asked_for_in_full_too():
    scatter = begun(1_000)
    a_half_is_spoken_for(scatter, until_ms=750)

    scatter.take("b0", reply("s0", FIRST, FIRST, 0.9), 760)
    assert depths(scatter.take("a0", reply("s0", 60, DEPTH, 0.9, missing=("q0",)), 770)) == {"b0": DEPTH}
    scatter.take("b0", reply("s0", 60, DEPTH, 0.9), 780)

    assert scatter.is_done
    assert scatter.gathered().missing == ()


def test_an_answer_of_somebody_who_was_given_up_counts_as_long_as_the_question_lasts():
    latencies = Latencies()
    latencies.suspects = frozenset({"a9", "b9"})
    scatter = Scatter(Ask("q", PROBE, 2_000), Asker("me", READ_SET, 7, ScatterSettings(), latencies), 0)
    scatter.start(0)
    answered_but_for(scatter, "s9")
    while "a0" not in depths(scatter.tick(now_ms := scatter.wake_at_ms)):
        pass

    scatter.take("a9", reply("s9", 5, FIRST, 0.95), now_ms + 5)
    scatter.take("a0", reply("s0", 60, DEPTH, 0.9), now_ms + 9)

    assert scatter.is_done
    found = scatter.gathered()
    assert (found.missing, "a9" in found.silent, "s9/004" in found.pool.ids) == ((), False, True)


def test_what_the_answers_of_others_made_needless_is_not_waited_for():
    scatter = begun(1_000)
    slow = [one.name for one in READ_SET[40:]]
    for one in READ_SET[:40]:
        scatter.take(one.members[0], reply(one.name, FIRST, FIRST, 0.2 if one.name == "s0" else 0.01), 5)
    while scatter.wake_at_ms <= 750:
        scatter.tick(scatter.wake_at_ms)

    for name in slow:
        assert not scatter.is_done
        scatter.take(f"b{name[1:]}", reply(name, FIRST - 1, FIRST, 0.9), 760)

    assert scatter.is_done
    found = scatter.gathered()
    assert (found.missing, "a0" in found.silent) == ((), False)


def test_a_favoured_set_is_asked_for_more_than_all_at_once_and_the_merged_pool_is_as_deep_as_ever():
    scatter = scatter_of(favoured=frozenset({"s0"}))

    asked = depths(scatter.start(0))

    assert (asked.pop("a0"), set(asked.values())) == (DOMAIN_ROUTING_PRIORITY_MULTIPLIER * DEPTH, {FIRST})
    for one in READ_SET:
        asked_for = DOMAIN_ROUTING_PRIORITY_MULTIPLIER * DEPTH if one.name == "s0" else FIRST
        count = 200 if one.name == "s0" else FIRST - 1
        scatter.take(one.members[0], reply(one.name, count, asked_for, 0.9 if one.name == "s0" else 0.1), 5)
    assert scatter.is_done
    found = scatter.gathered()
    assert (found.requests, len(found.pool)) == (SETS, DEPTH)

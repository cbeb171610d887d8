from hive_mind.crdt import COUNTER_MAX, MS_MAX, HybridClock
from hive_mind.model.evidence import Stamp

HERE, THERE = b"here....", b"there..."
HOUR_MS = 3_600_000


def test_it_counts_on_while_the_wall_clock_stands_still_or_goes_back_from_where_it_was_kept():
    clock = HybridClock(HERE)
    assert [clock.tick(5), clock.tick(5), clock.tick(2)] == [Stamp(5, 0, HERE), Stamp(5, 1, HERE), Stamp(5, 2, HERE)]
    assert HybridClock(HERE, Stamp(9, 3, THERE)).tick(1) == Stamp(9, 4, HERE)
    assert HybridClock(HERE, Stamp(9, COUNTER_MAX, HERE)).tick(9) == Stamp(10, 0, HERE), "a full counter borrows"


def test_a_stamp_from_too_far_in_the_future_is_refused_and_moves_nothing():
    clock = HybridClock(HERE)
    assert not clock.take(Stamp(60_001), 0)
    assert clock.last == Stamp(0)
    assert clock.take(Stamp(60_000), 0)
    assert clock.take(Stamp(10 * HOUR_MS), 0, drift_ms=None)


def test_numbers_that_would_not_travel_are_refused_however_large_the_drift():
    clock = HybridClock(HERE)
    for stamp in (Stamp(MS_MAX + 1), Stamp(-1), Stamp(1, COUNTER_MAX + 1), Stamp(1, -1)):
        assert not clock.take(stamp, 0, drift_ms=None)


def test_a_clock_that_ran_ahead_returns_when_the_wall_clock_is_right_again_and_one_within_the_drift_is_not_pulled_back():
    clock = HybridClock(HERE)
    stamp = clock.tick(60_000)
    clock.pull_back(0, 60_000)
    assert clock.last == stamp

    clock.tick(10 * HOUR_MS)
    clock.pull_back(HOUR_MS, 60_000)
    assert clock.tick(HOUR_MS + 1) == Stamp(HOUR_MS + 1, 0, HERE)

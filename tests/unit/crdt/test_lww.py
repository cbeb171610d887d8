import pytest

from hive_mind.crdt import HybridClock, LWWRegister
from hive_mind.model.evidence import Stamp

HOUR_S, HOUR_MS = 3_600.0, 3_600_000


def test_the_last_write_counts_in_whatever_order_writes_arrive():
    register = LWWRegister("alice")
    assert register.get() is None
    assert register.set("new", 2.0)
    assert not register.set("old", 1.0)
    assert register.get() == "new"


@pytest.mark.parametrize("values", [("x", "y"), (1, True), (10, "10"), ({"a": 1}, [1]), (None, 0)])
@pytest.mark.parametrize("names", [("alice", "bob"), ("", ""), ("alice", "alice")])
def test_equal_timestamps_do_not_diverge(values, names):
    here, there = LWWRegister(names[0]), LWWRegister(names[1])
    here.set(values[0], 7.0)
    there.set(values[1], 7.0)

    first, second = LWWRegister.from_dict(here.to_dict()), LWWRegister.from_dict(there.to_dict())
    first.merge(there)
    second.merge(here)

    assert first == second
    assert (type(first.get()), first.get()) == (type(second.get()), second.get())


def test_of_two_writers_at_one_time_the_greater_name_counts_whatever_the_values():
    here, there = LWWRegister("alice"), LWWRegister("bob")
    here.set("zzz", 7.0)
    there.set("aaa", 7.0)
    here.merge(there)
    assert here.get() == "aaa"


def test_a_writer_who_writes_twice_at_one_time_means_the_second():
    register = LWWRegister("alice")
    register.set("b", 7.0)
    register.set("a", 7.0)
    other = LWWRegister("bob")
    other.merge(register)

    assert register.get() == other.get() == "a"


def test_seconds_and_stamps_are_one_time():
    register = LWWRegister("alice")
    register.set("by stamp", Stamp(2_000, 1, b"bob....."))
    assert not register.set("by seconds", 2.0)
    assert register.set("later", 2.001)


def test_a_skewed_wall_clock_can_not_bring_a_revoked_value_back_for_ever():
    """Mallory's clock is an hour ahead. Whoever revokes has seen the write and so writes later than it."""
    trust, moderator = LWWRegister("mallory"), HybridClock(b"moderate")
    ahead = HybridClock(b"mallory.").tick(HOUR_MS)
    trust.set(2.0, ahead)

    assert moderator.take(ahead, wall_ms=0, drift_ms=None)
    revoked = LWWRegister("moderator")
    revoked.merge(trust)
    assert revoked.set(0.0, moderator.tick(1))
    trust.merge(revoked)
    revoked.merge(trust)

    assert trust.get() == revoked.get() == 0.0


def test_a_write_from_too_far_in_the_future_is_not_taken():
    here, there = LWWRegister("here"), LWWRegister("there")
    here.set(0.0, 10.0)
    there.set(2.0, 10.0 + HOUR_S)

    assert not here.merge(there, not_after_ms=70_000)
    assert here.get() == 0.0
    assert here.merge(there, not_after_ms=2 * HOUR_MS)


@pytest.mark.parametrize("timestamp", [float("nan"), float("inf"), -float("inf")])
def test_what_is_no_time_is_refused(timestamp):
    with pytest.raises(ValueError, match="not a timestamp"):
        LWWRegister("alice").set("x", timestamp)
    with pytest.raises(ValueError, match="not a timestamp"):
        LWWRegister.from_dict({"value": 1, "ms": timestamp, "counter": 0, "actor": ""})


def test_a_register_merges_with_itself_and_with_an_empty_one():
    register = LWWRegister("alice")
    register.set("x", 1.0)
    before = register.to_dict()

    assert not register.merge(register)
    assert not register.merge(LWWRegister())
    assert register.to_dict() == before

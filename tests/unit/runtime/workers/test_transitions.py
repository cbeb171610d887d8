"""When something last changed."""

from hive_mind.runtime.workers import Transitions


def test_what_stays_as_it_is_keeps_its_time_and_what_changes_gets_a_new_one() -> None:
    now = 1_000
    transitions = Transitions(lambda: now)

    assert transitions.since_ms("ann", "connected", True) == 1_000
    now = 2_000
    assert transitions.since_ms("ann", "connected", True) == 1_000
    assert transitions.since_ms("bob", "connected", True) == 2_000
    now = 3_000
    assert transitions.since_ms("ann", "connected", False) == 3_000
    now = 4_000
    assert transitions.since_ms("ann", "connected", True) == 4_000
    assert transitions.since_ms("bob", "connected", True) == 2_000

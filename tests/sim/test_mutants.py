"""The harness sees: each known bug, put back, is caught by a storm within 500 seeds or by a directed scenario.

The seeds are searched in order from 0, so a test ends with the first that catches it. REPLICATION.md 5.3 lists the bugs.
"""

from collections.abc import Callable

import pytest

from tests.sim.mutants import MUTANTS
from tests.sim.scenarios import (
    a_backup_gives_out_no_dot_twice,
    a_backup_hears_of_everything_again,
    a_clock_an_hour_behind_shortens_no_life,
    a_crash_anywhere_loses_nothing_acknowledged,
    a_reply_to_an_earlier_boot_is_dropped,
    the_later_of_two_writes_counts,
)
from tests.sim.storms import storm

HUNTS: dict[str, Callable[[], str]] = {
    "ack_before_fsync": a_crash_anywhere_loses_nothing_acknowledged,
    "dual_write": storm("sharded", "crash,disk,loss", crash_boundary_share=0.005, is_brokered=True),
    "ack_on_poll": storm("flat", "crash,disk,loss", is_brokered=True),
    "no_incarnation": storm("flat", "restore,crash,disk,loss", delay_ms=20_000, loss=0.5, restore_share=0.05, crash_share=0.2),
    "incarnation_counted": a_backup_gives_out_no_dot_twice,
    "session_not_bound": a_reply_to_an_earlier_boot_is_dropped,
    "gc_by_local_clock": storm("flat", "clock,stall", clock_error_ms=40 * 3_600_000),
    "clock_without_round_trip": storm("flat", "stall", operations=100, first=24, stall_share=0.1, delay_ms=20_000),
    "no_drift_bound": storm("flat", "clock", clock_error_ms=40 * 3_600_000),
    "hlc_not_advanced": the_later_of_two_writes_counts,
    "absolute_ttl_unsynced": a_clock_an_hour_behind_shortens_no_life,
    "no_dedupe": storm("flat", "duplication,loss", duplication=0.5, delay_ms=20_000),
    "remove_forgets_context": storm("flat", "loss,duplication"),
    "trust_decides_membership": storm("flat", "partition", first=5),
    "push_top_k_only": a_backup_hears_of_everything_again,
    "no_clamp": storm("flat", "none", operations=100, first=9),
}


def test_every_mutant_is_hunted():
    assert set(HUNTS) == set(MUTANTS)
    assert len(HUNTS) == 16


@pytest.mark.parametrize("name", HUNTS)
def test_the_harness_sees_it(name):
    with MUTANTS[name]():
        caught = HUNTS[name]()
    assert caught
    # A mutant that merely breaks is no mutant.
    assert "raises" not in caught

"""Killed at any moment, small or grown, a memory opens again with everything acknowledged and nothing half done.

`make chaos-store` kills a thousand times, also with 200,000 facts; these are a few dozen.
"""

from pathlib import Path

import pytest

from tests.chance import seed_of_this_run
from tests.crash import learn_storm, store_storm

KILLS = 2 * store_storm.KILLS_PER_LIFE
# Of four, one or two are usual.
_INSIDE_MIN = 2


@pytest.mark.slow
def test_kills_lose_nothing_and_some_hit_a_checkpoint(slow_disk: Path) -> None:
    report = store_storm.storm(seed_of_this_run(), KILLS, slow_disk, (76, 4_000))
    again = f"python -m tests.crash.store_storm --seed {report.seed} --kills {KILLS} --sizes 76,4000"
    assert not report.violations, f"{report.violations}; {again}"
    assert report.writes > KILLS
    assert report.killed_inside >= _INSIDE_MIN, f"{report}; {again}"


@pytest.mark.slow
def test_learning_that_is_killed_in_its_first_checkpoint_loses_nothing_and_is_completed(tmp_path: Path) -> None:
    report = learn_storm.storm(seed_of_this_run(), 2, tmp_path, facts=1_000, lines=3_000)
    assert not report.violations, report.violations
    assert min(report.learned) > 0
    assert report.ends == 1

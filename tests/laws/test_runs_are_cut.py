"""The crash law of runs: wherever the power fails, the run comes to the same end, and nothing happens twice without a word."""

import os
from pathlib import Path

import pytest

from tests.laws.run_stories import STORIES
from tests.laws.run_world import Result, Story, run

SEEDS = int(os.environ.get("HIVE_RUN_SEEDS", "1"))
"""Orders in which parallel calls end; more take longer."""


def twice_unasked(result: Result, once: frozenset[str]) -> list[str]:
    """Calls that happened twice though nobody was asked whether they should."""
    asked = sum("may have run" in title for title in result.items.values())
    twice = [call for call, times in result.happened.items() if times > 1 and call.split(":")[0] in once]
    return twice if len(twice) > asked else []


@pytest.mark.parametrize("name", STORIES)
def test_a_run_comes_to_its_end(name: str, tmp_path: Path) -> None:
    result = run(STORIES[name], tmp_path)
    assert result.state.outcome == "accepted", result.state.reason
    assert all(times == 1 for times in result.happened.values())


@pytest.mark.parametrize("name", STORIES)
def test_a_power_cut_at_any_boundary_changes_nothing(name: str, tmp_path: Path) -> None:
    story: Story = STORIES[name]
    whole = run(story, tmp_path / "whole")
    assert whole.boundaries > 20
    for seed in range(SEEDS):
        for cut_at in range(1, whole.boundaries + 1):
            cut = run(story, tmp_path / f"{seed}-{cut_at}", cut_at, seed)
            assert cut.told == whole.told, f"seed {seed}, cut at {cut_at}"
            assert not twice_unasked(cut, story.once), f"seed {seed}, cut at {cut_at}"

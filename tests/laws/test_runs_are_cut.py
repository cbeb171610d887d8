"""The crash law of runs: wherever the power fails, the run comes to the same end, and nothing happens twice without a word."""

import os
from pathlib import Path

import pytest

from tests.laws.run_stories import STORIES
from tests.laws.run_world import Result, Story, run
from tests.sampled import thorough, usually

SEEDS = int(os.environ.get("HIVE_RUN_SEEDS", "1"))
"""Orders in which parallel calls end; more take longer."""


def twice_unasked(result: Result, once: frozenset[str]) -> list[str]:
    """Calls that happened twice though nobody was asked whether they should."""
    asked = sum("may have run" in title for title in result.items.values())
    twice = [call for call, times in result.happened.items() if times > 1 and call.split(":")[0] in once]
    return twice if len(twice) > asked else []


def without_notice(result: Result) -> list[str]:
    """Items of which nobody was notified before a person decided, whatever was cut."""
    return [title for id, title in result.items.items() if not result.happened.get(f"notice {id}")]


@pytest.mark.parametrize("is_everywhere", [False, thorough(True)], ids=["news", "everywhere"])
@pytest.mark.parametrize("name", usually(STORIES, "sub-agents", "fan-out", "scopes"))
def test_a_power_cut_at_any_boundary_changes_nothing(name: str, is_everywhere: bool, tmp_path: Path) -> None:
    """Where nothing more was left behind than at the boundary before, the next process finds the same."""
    story: Story = STORIES[name]
    whole = run(story, tmp_path / "whole")
    assert whole.state.outcome == "accepted", whole.state.reason
    assert all(times == 1 for times in whole.happened.values())
    assert len(whole.news) > 20
    for seed in range(SEEDS):
        for cut_at in range(1, whole.boundaries + 1) if is_everywhere else whole.news:
            cut = run(story, tmp_path / f"{seed}-{cut_at}", cut_at, seed)
            assert cut.told == whole.told, f"seed {seed}, cut at {cut_at}"
            assert not twice_unasked(cut, story.once), f"seed {seed}, cut at {cut_at}"
            assert not story.is_notified or not without_notice(cut), f"seed {seed}, cut at {cut_at}"

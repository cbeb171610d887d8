"""Writes that touch the same fact follow one another; others run together; nobody's giving up tears one apart."""

import asyncio

import pytest

from hive_mind.memory.opening import Commits, PlannedCommit
from hive_mind.store import Change, SetMeta

SOMETHING = [SetMeta("k", "v")]


class GatedStore:
    """A store whose writes wait for their gate, so that a test decides what is under way."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.under_way = 0
        self.most_at_once = 0
        self.failure: Exception | None = None

    async def write(self, changes: list[Change]) -> None:
        assert changes
        self.under_way += 1
        self.most_at_once = max(self.most_at_once, self.under_way)
        await self.gate.wait()
        self.under_way -= 1
        if self.failure:
            raise self.failure


async def settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_plans_for_one_fact_see_what_the_one_before_did():
    store, commits, seen = GatedStore(), Commits(), []

    def plan(number: int) -> PlannedCommit[None]:
        planned_on = list(seen)
        assert len(planned_on) == number, "planned before the write in front of it was applied"
        return PlannedCommit(SOMETHING, lambda: seen.append(number))

    tasks = [asyncio.create_task(commits.run(store, ["a", str(n)], lambda n=n: plan(n))) for n in range(5)]
    store.gate.set()
    await asyncio.gather(*tasks)

    assert seen == [0, 1, 2, 3, 4]
    assert store.most_at_once == 1
    assert not commits._busy


async def test_plans_for_different_facts_are_under_way_together():
    store, commits = GatedStore(), Commits()
    tasks = [asyncio.create_task(commits.run(store, [str(n)], lambda: PlannedCommit(SOMETHING, lambda: None))) for n in range(5)]
    await settled()
    store.gate.set()
    await asyncio.gather(*tasks)

    assert store.most_at_once == 5


async def test_nothing_is_shown_before_it_is_durable_and_nothing_of_a_write_that_failed():
    store, commits, shown = GatedStore(), Commits(), []
    task = asyncio.create_task(commits.run(store, ["a"], lambda: PlannedCommit(SOMETHING, lambda: shown.append(1))))
    await settled()
    assert shown == []

    store.failure = OSError("disk full")
    store.gate.set()
    with pytest.raises(OSError, match="disk full"):
        await task
    assert shown == []
    store.failure = None
    await commits.run(store, ["a"], lambda: PlannedCommit(SOMETHING, lambda: shown.append(2)))
    assert shown == [2]


async def test_a_caller_who_gives_up_does_not_stop_the_write_and_finishing_waits_for_it():
    store, commits, shown = GatedStore(), Commits(), []
    task = asyncio.create_task(commits.run(store, ["a"], lambda: PlannedCommit(SOMETHING, lambda: shown.append(1))))
    await settled()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    finishing = asyncio.create_task(commits.finish())
    await settled()
    assert not finishing.done()
    store.gate.set()
    await finishing
    assert shown == [1]


async def test_a_plan_that_fails_blocks_nobody():
    store, commits = GatedStore(), Commits()
    store.gate.set()

    def impossible() -> PlannedCommit[None]:
        raise ValueError("no plan")

    with pytest.raises(ValueError, match="no plan"):
        await commits.run(store, ["a"], impossible)
    assert await commits.run(store, ["a"], lambda: PlannedCommit([], lambda: "done")) == "done"

"""Following a ledger: nobody sleeps through an append, and nobody who looks often leaves anything behind."""

import asyncio
import gc
from collections.abc import Awaitable, Callable

import pytest

from hive_mind.errors import BackendUnavailable
from hive_mind.ledger import Arrivals, Page, followed
from hive_mind.model.entry import Entry

ENTRY = Entry("step", b"", 0, "run/1", 0, 1)


async def soon(waiting: Awaitable[Entry]) -> Entry:
    return await asyncio.wait_for(waiting, 60)


async def test_what_is_appended_while_a_follower_looks_and_finds_nothing_is_given_to_it_at_once() -> None:
    arrivals, appended = Arrivals(), list[Entry]()

    async def newer(since: int) -> Page:
        found = appended[since:]
        if not appended:
            appended.append(ENTRY)
            arrivals.notify()
        return Page(found, since + len(found))

    assert await soon(anext(followed(newer, arrivals, 0, every_s=None))) == ENTRY


async def test_a_follower_that_waits_is_woken_from_another_thread() -> None:
    arrivals, appended, looked = Arrivals(), list[Entry](), asyncio.Event()

    async def newer(since: int) -> Page:
        looked.set()
        return Page(appended[since:], len(appended))

    waiting = asyncio.ensure_future(anext(followed(newer, arrivals, 0, every_s=None)))
    await looked.wait()
    appended.append(ENTRY)
    await asyncio.to_thread(arrivals.notify)

    assert await soon(waiting) == ENTRY


def test_who_looks_often_for_what_nobody_tells_of_finds_it_and_keeps_nothing() -> None:
    async def scenario() -> None:
        arrivals, looks = Arrivals(), 0

        async def newer(since: int) -> Page:
            nonlocal looks
            looks += 1
            return Page([ENTRY] if looks > 200 else [], 1 if looks > 200 else since)

        before = futures()
        following = followed(newer, arrivals, 0, every_s=0.0001)
        assert await soon(anext(following)) == ENTRY
        assert futures() - before < 10

    asyncio.run(scenario())


def futures() -> int:
    gc.collect()
    # Not `isinstance`, which asks an object for its class: some of torch answer with a warning.
    return sum(issubclass(type(one), asyncio.Future) for one in gc.get_objects())


@pytest.mark.parametrize("closes_while", ["looking", "waiting"])
async def test_a_ledger_that_is_closed_ends_those_who_follow(closes_while: str) -> None:
    arrivals, looked = Arrivals(), asyncio.Event()

    async def newer(since: int) -> Page:
        looked.set()
        if closes_while == "looking":
            arrivals.end()
            raise BackendUnavailable("sqlite", "the ledger is closed")
        return Page([], since)

    following = asyncio.ensure_future(everything(newer, arrivals))
    await looked.wait()
    arrivals.end()

    assert await asyncio.wait_for(following, 60) == []


async def everything(newer: Callable[[int], Awaitable[Page]], arrivals: Arrivals) -> list[Entry]:
    return [entry async for entry in followed(newer, arrivals, 0, every_s=None)]


async def test_a_disk_that_fails_is_told_to_who_follows() -> None:
    async def newer(since: int) -> Page:
        raise BackendUnavailable("sqlite", f"the disk is away behind {since}")

    with pytest.raises(BackendUnavailable, match="the disk is away"):
        await everything(newer, Arrivals())


def test_a_follower_whose_event_loop_ended_harms_nobody_who_appends() -> None:
    arrivals, loop = Arrivals(), asyncio.new_event_loop()
    waiting = loop.create_task(arrivals.after(0, timeout_s=None))
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()

    arrivals.notify()

    assert arrivals.count == 1
    assert not waiting.done()
    # It will never be; without this it would complain about that.
    waiting._log_destroy_pending = False  # type: ignore[attr-defined]

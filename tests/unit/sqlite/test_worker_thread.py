"""The thread of a file, when the file can't be opened or its callers are gone."""

import asyncio
from collections.abc import Sequence

import pytest

from hive_mind.awaiting import settle
from hive_mind.errors import BackendUnavailable
from hive_mind.sqlite import Worker


class Numbers:
    def __init__(self) -> None:
        self.kept: list[int] = []

    def write(self, items: Sequence[int]) -> None:
        self.kept += items

    def close(self) -> None:
        self.kept.append(-1)


def unopenable() -> Numbers:
    raise OSError("no such disk")


async def test_one_that_could_not_be_opened_can_be_closed_and_says_that_it_is() -> None:
    worker: Worker[Numbers, int] = Worker(unopenable, "numbers")
    with pytest.raises(OSError, match="no such disk"):
        await worker.start()

    async with asyncio.timeout(60):
        await worker.close()
        await worker.close()
    with pytest.raises(BackendUnavailable, match="numbers is closed"):
        await worker.write([1])


async def test_what_was_asked_comes_in_order_and_before_the_end() -> None:
    made = Numbers()
    worker: Worker[Numbers, int] = Worker(lambda: made, "numbers")
    await worker.start()
    writes = [asyncio.create_task(worker.write([number])) for number in range(3)]
    seen = asyncio.create_task(worker.do(lambda numbers: list(numbers.kept)))
    await asyncio.sleep(0)
    writes[1].cancel()
    await worker.close()

    assert await seen == [0, 1, 2]
    assert made.kept == [0, 1, 2, -1]


async def test_who_waits_on_a_loop_that_is_closed_keeps_nobody_else_waiting() -> None:
    gone = asyncio.new_event_loop()
    lost = gone.create_future()
    gone.close()
    waiter, done = (asyncio.get_running_loop().create_future() for _ in range(2))
    done.set_result("before")

    settle([lost, waiter, done], "now")
    assert await waiter == "now"
    assert await done == "before"

    refused = asyncio.get_running_loop().create_future()
    settle([refused], error=OSError("no"))
    with pytest.raises(OSError, match="no"):
        await refused

"""Programs of ours begin as copies only inside `installed`, also where several tasks are inside at the same time."""

import asyncio

from tests.servers.forked_async import installed


async def test_the_last_of_several_to_leave_puts_back_what_was_there() -> None:
    before, may_leave = asyncio.create_subprocess_exec, asyncio.Event()

    async def first() -> None:
        with installed():
            await asyncio.sleep(0)

    async def second() -> None:
        with installed():
            await may_leave.wait()

    leaving, staying = asyncio.create_task(first()), asyncio.create_task(second())
    await leaving
    assert asyncio.create_subprocess_exec is not before

    may_leave.set()
    await staying
    assert asyncio.create_subprocess_exec is before

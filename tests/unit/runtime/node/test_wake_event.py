"""One task that is woken."""

import asyncio

from hive_mind.runtime.node.outgoing import Bell


def test_it_wakes_who_waits_once_however_often_it_is_rung() -> None:
    async def whole() -> None:
        bell, woken = Bell(), 0

        async def sleeper() -> None:
            nonlocal woken
            while True:
                await bell.wait()
                bell.clear()
                woken += 1

        task = asyncio.create_task(sleeper())
        await asyncio.sleep(0)
        for rounds in (1, 2):
            bell.ring()
            bell.ring()
            await asyncio.sleep(0.001)
            assert (woken, bell.is_rung) == (rounds, False)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        # Nobody is left to wake.
        bell.ring()

    asyncio.run(whole())


async def test_what_was_rung_before_somebody_waited_is_not_forgotten() -> None:
    bell = Bell()
    bell.ring()
    await asyncio.wait_for(bell.wait(), 60)

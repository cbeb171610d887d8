"""A task is ended although the SDK swallows what should end it."""

import asyncio

from hive_mind.bus.servicebus import account


async def test_a_task_that_goes_on_after_it_was_cancelled_is_cancelled_again(monkeypatch):
    monkeypatch.setattr(account, "_NOTICED_WITHIN_S", 0.01)
    swallowed = []

    async def work():
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                swallowed.append(True)
                if len(swallowed) == 3:
                    raise

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    await asyncio.wait_for(account.end(task), 60)
    assert (task.cancelled(), len(swallowed)) == (True, 3)

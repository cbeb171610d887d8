"""Every bus: closing waits for what is in hand, ends in time, and leaves nothing behind."""

import asyncio
import os
import time

import psutil
import pytest

from hive_mind.errors import BackendUnavailable
from tests.contract.bus_builders import Run, World

# What leaves something behind each time leaves more than its own noise after this many.
LIVES = int(os.environ.get("HIVE_LIVES", "8"))


async def test_closing_waits_for_what_is_not_acknowledged_and_refuses_the_rest(world: World) -> None:
    bob = await world.listener()
    await world.publish("one", "two")
    one, two = await bob.take(2)

    closing = asyncio.create_task(world.bus.close())
    await asyncio.sleep(0)
    with pytest.raises(BackendUnavailable, match="closed"):
        await world.publish("late")
    with pytest.raises(BackendUnavailable, match="closed"):
        await world.listener("late")
    await one.ack()
    await asyncio.sleep(world.harness.quiet_s)
    assert not closing.done()
    await two.ack()
    await closing
    await world.bus.close()


async def test_closing_ends_after_its_drain_time(world: World) -> None:
    bob = await world.listener()
    await world.publish("never acknowledged")
    await bob.take()
    await world.bus.close(drain_s=0.01)

    assert list(bob.inbox.take(1)) == []
    assert not world.bus.health.is_connected


def test_many_lives_leave_no_thread_task_or_socket_behind(with_bus: Run) -> None:
    async def scenario(world: World) -> None:
        bob = await world.listener()
        await world.publish("hello")
        await (await bob.take())[0].nack(delay_s=60)

    for _ in range(2):
        with_bus(scenario)
    before = psutil.Process().num_fds()
    for _ in range(LIVES):
        with_bus(scenario)

    # A broker in this process, or what stands before one, takes a moment to see that its clients have gone. What other tests left
    # open in this process may come and go meanwhile, but not once for each life.
    until = time.monotonic() + 10
    while psutil.Process().num_fds() >= before + LIVES and time.monotonic() < until:
        time.sleep(0.01)
    assert psutil.Process().num_fds() < before + LIVES

"""A hub of the development broker, buses to it, and what tests wait for."""

import asyncio
import gc
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from hive_mind.bus import BusSettings, EventBus, eventhubs
from hive_mind.bus.address import address_of
from hive_mind.devbroker import BrokerThread
from tests.contract.bus_builders import Listener, threads_after
from tests.contract.buses.eventhubs import PARTITIONS, collect_sockets
from tests.heap import set_aside

QUICK = BusSettings(connect_timeout_s=20, reconnect_s_max=0.2)

Scenario = Callable[..., Awaitable[None]]


@contextmanager
def hub() -> Iterator[BrokerThread]:
    """A broker with a hub."""
    set_aside()
    gc.disable()
    with BrokerThread() as thread:
        thread.add_hub("hive", PARTITIONS, ["mine"])
        yield thread
    collect_sockets()
    gc.enable()


async def opened(broker: BrokerThread, options: str = "", **settings: Any) -> EventBus:
    address = address_of(f"eventhubs://127.0.0.1:{broker.port}/hive{options}")
    return await eventhubs.open(address, replace(QUICK, **settings))


async def heard(to: Listener, number: int = 1) -> list[str]:
    """What so many deliveries say, acknowledged; they have some seconds to come."""
    async with asyncio.timeout(20):
        return await to.take_and_ack(number)


def run(scenario: Scenario, *given: Any) -> None:
    before = threading.active_count()
    asyncio.run(scenario(*given))
    assert threads_after(before) <= before

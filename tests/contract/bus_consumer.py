"""A process that subscribes, takes, and acknowledges nothing, until it is killed: `bus_consumer BACK_END HIVE NAME COUNT`.

The address is read from standard input, because it may hold a password. It says "taken" when it has so many.
"""

import asyncio
import sys
from pathlib import Path

import msgspec

from hive_mind import backends
from hive_mind.bus import BusSettings, Subscription
from hive_mind.bus.address import BusAddress
from tests.contract.bus_builders import Listener


async def main(back_end: str, hive: str, name: str, count: int, address: BusAddress, settings: BusSettings) -> None:
    bus = await backends.load("bus", back_end).open(address, settings)
    listener = Listener(bus, hive)
    listener.inbox = await bus.subscribe(Subscription(hive, name), listener.ring)
    print("ready", flush=True)
    await listener.take(count)
    print("taken", flush=True)
    await asyncio.sleep(600)


if __name__ == "__main__":
    told = msgspec.json.decode(sys.stdin.readline(), type=tuple[BusAddress, str, str | None])
    where = BusSettings(credential=told[1], state=Path(told[2]) if told[2] else None)
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), told[0], where))

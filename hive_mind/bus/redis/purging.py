"""Deleting what hives left on a Redis server: their streams, names and dead letters."""

from collections.abc import Sequence

from hive_mind.bus.address import BusAddress
from hive_mind.bus.base import BusSettings
from hive_mind.bus.redis import keys
from hive_mind.bus.redis.wire import Place, Wire

_LOOKED_AT = 1000


async def purge(address: BusAddress, settings: BusSettings, hives: Sequence[str]) -> int:
    """Delete every key of these hives; how many there were. Nobody may use them. Raises `BackendError`."""
    wire = Wire(Place(address, settings))
    try:
        await wire.connect()
        return sum([await _purged(wire, hive) for hive in hives])
    finally:
        await wire.close()


async def _purged(wire: Wire, hive: str) -> int:
    deleted, cursor = 0, b"0"
    while True:
        cursor, found = await wire.one("SCAN", cursor, "MATCH", keys.all_of(hive), "COUNT", _LOOKED_AT)
        if found:
            deleted += await wire.one("UNLINK", *found)
        if cursor == b"0":
            return deleted

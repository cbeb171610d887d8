"""How a Redis server does, as far as a hive depends on it: memory left, its clock, and keys that something else has taken.

Asked every few seconds, so that an operator reads of a full server or a foreign key before guessing at silent members.
"""

import time
from collections.abc import Iterable

from hive_mind.bus.base import BrokerVitals
from hive_mind.bus.redis import keys
from hive_mind.bus.redis.server import lines_of
from hive_mind.bus.redis.wire import Command, Wire

_NAMES_MAX = 1000
_KEYS_NAMED_MAX = 3


async def look(wire: Wire, hives: Iterable[tuple[str, str]]) -> BrokerVitals:
    """Of the server, for these subscriptions, each a hive and a name. Raises `BackendError`."""
    before_ms = time.time_ns() // 1_000_000
    clock, memory = await wire.call(("TIME",), ("INFO", "memory"))
    after_ms = time.time_ns() // 1_000_000
    told = dict(lines_of(memory))
    used = int(told.get("used_memory", 0)) - int(told.get("mem_not_counted_for_evict", 0))
    limit = int(told.get("maxmemory", 0)) or int(told.get("total_system_memory", 0))
    ahead_ms = 0 if isinstance(clock, Exception) else (before_ms + after_ms) // 2 - int(clock[0]) * 1000 - int(clock[1]) // 1000
    return BrokerVitals(used, limit, ahead_ms, await _astray(wire, hives))


async def _astray(wire: Wire, hives: Iterable[tuple[str, str]]) -> str:
    """Keys of these hives that are not of the type that a hive gives them, and what to do; "" where there are none."""
    wanted: dict[bytes, bytes] = {}
    for hive, own in hives:
        (replied,) = await wire.call(("HKEYS", keys.names(hive)))
        names = [] if isinstance(replied, Exception) else [name.decode() for name in replied[:_NAMES_MAX]]
        streams = [key for name in {own, *names} for key in keys.read_by(hive, name)]
        wanted |= dict.fromkeys([*streams, keys.letters(hive)], b"stream")
        wanted |= dict.fromkeys([keys.names(hive), keys.owners(hive)], b"hash")
    asked: list[Command] = [("TYPE", key) for key in wanted]
    types = await wire.call(*asked) if asked else []
    found = {key: type for key, type in zip(wanted, types, strict=True) if type not in (wanted[key], b"none")}
    found = {key: type for key, type in found.items() if isinstance(type, bytes)}
    if not found:
        return ""
    some = list(found.items())[:_KEYS_NAMED_MAX]
    named = ", ".join(f"{key.decode()} is a {type.decode()} and should be a {wanted[key].decode()}" for key, type in some)
    remedy = "delete these keys (DEL), or give the hive a database of its own"
    return f"redis: another program writes to this database: {named}; {remedy}"

"""Removes all that a hive is to forget from a Redis server: in its streams, read or not, in its dead letters, in its log.

Deleting an entry only marks it: its bytes stay until everything beside it is deleted, too. So a stream that has one of them is
emptied. Unread entries are lost to their readers, as on a network; nodes send unconfirmed messages again, without erased facts.
Dead letters are dropped, all of them: those deleted there before may still have their bytes.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence

from hive_mind.bus.address import BusAddress
from hive_mind.bus.base import BusSettings, Envelope
from hive_mind.bus.codec import decode
from hive_mind.bus.redis import keys
from hive_mind.bus.redis.wire import ServerAddress, Wire, pairs
from hive_mind.errors import BackendError, BackendTimeout, WireError

IsMeant = Callable[[Envelope], bool]

_PAGE = 1000
_POLL_S, _WRITTEN_WITHIN_S = 0.1, 60.0


async def scrub(
    address: BusAddress, settings: BusSettings, hives: Sequence[str], names: Collection[str], is_meant: IsMeant
) -> str:
    """Empty streams of these hives that have what is meant. Nothing stays: "". Raises `BackendError` where files have it."""
    del names
    wire = Wire(ServerAddress(address, settings))
    try:
        await wire.connect()
        for hive in hives:
            for stream in await _streams(wire, hive):
                if stream == keys.letters(hive) or await _has_it(wire, stream, is_meant):
                    await wire.one("XTRIM", stream, "MAXLEN", "0")
        await _written_anew(wire)
        return ""
    finally:
        await wire.close()


async def _streams(wire: Wire, hive: str) -> list[bytes]:
    found: set[bytes] = set()
    cursor = b"0"
    while True:
        cursor, some = await wire.one("SCAN", cursor, "MATCH", keys.all_of(hive), "COUNT", _PAGE, "TYPE", "stream")
        found.update(some)
        if cursor == b"0":
            return sorted(found)


async def _has_it(wire: Wire, stream: bytes, is_meant: IsMeant) -> bool:
    start = b"-"
    while True:
        page = await wire.one("XRANGE", stream, start, "+", "COUNT", _PAGE)
        if any(_is_meant(pairs(fields), is_meant) for _, fields in page):
            return True
        if len(page) < _PAGE:
            return False
        start = keys.after(page[-1][0])


def _is_meant(fields: dict[bytes, bytes], is_meant: IsMeant) -> bool:
    """Unreadable entries may hold anything."""
    try:
        return keys.BODY in fields and is_meant(decode(fields[keys.BODY]))
    except WireError:
        return True


async def _written_anew(wire: Wire) -> None:
    """Redis gives the room of what was deleted to what comes next; its files keep it until they are written anew."""
    state = await _persistence(wire)
    if state.get("aof_enabled") == "1":
        await _until_done(wire, "BGREWRITEAOF", "aof_rewrite")
    if (pairs(await wire.one("CONFIG", "GET", "save")).get(b"save") or b"") != b"":
        await _until_done(wire, "BGSAVE", "rdb_bgsave")


async def _until_done(wire: Wire, order: str, name: str) -> None:
    await wire.one(order)
    until_s = asyncio.get_running_loop().time() + _WRITTEN_WITHIN_S
    while True:
        state = await _persistence(wire)
        if state.get(f"{name}_in_progress") == "0" and state.get(f"{name}_scheduled", "0") == "0":
            break
        if asyncio.get_running_loop().time() > until_s:
            raise BackendTimeout("redis", f"{order} is not done after {_WRITTEN_WITHIN_S:g} s; erase again later")
        await asyncio.sleep(_POLL_S)
    if state.get(f"{'aof_last_bgrewrite' if name == 'aof_rewrite' else 'rdb_last_bgsave'}_status") != "ok":
        raise BackendError("redis", f"{order} failed: look at the server's log and its disk, then erase again")


async def _persistence(wire: Wire) -> dict[str, str]:
    lines = (await wire.one("INFO", "persistence")).decode().splitlines()
    return dict(line.split(":", 1) for line in lines if ":" in line)

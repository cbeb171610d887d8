"""The state of queues in Redis, and dead letters there: for people that look, and for those that put things right.

Those are what nodes of an earlier version put aside, and what was delivered as often as it may be while nobody could take it.

Removes all that a hive is to forget from a Redis server: in its streams, read or not, in its dead letters, in its log.

Deleting an entry only marks it: its bytes stay until everything beside it is deleted, too. So a stream that has one of them is
emptied. Unread entries are lost to their readers, as on a network; nodes send unconfirmed messages again, without erased facts.
Dead letters are dropped, all of them: those deleted there before may still have their bytes.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from typing import Any

from hive_mind.bus.address import BusAddress
from hive_mind.bus.base import ATTEMPTS_MAX, BusSettings, DeadLetter, Envelope, QueueState
from hive_mind.bus.codec import dead_letter, decode
from hive_mind.bus.redis import keys
from hive_mind.bus.redis.claims import Group
from hive_mind.bus.redis.wire import ServerAddress, Wire, pairs
from hive_mind.errors import BackendError, BackendTimeout, WireError

_PAGE = 1000
# The id of an entry that was given up: the kind of its stream, its reader, and its id there.
_PLACE, _INBOX, _ALL = "|", "inbox", "all"


async def listed(wire: Wire, hive: str, limit: int) -> list[DeadLetter]:
    """The oldest."""
    letters = [_letter(id, fields) async for id, fields in _entries(wire, keys.letters(hive))]
    letters += [letter async for letter in _given_up(wire, hive)]
    return sorted(letters, key=lambda letter: letter.at_ms)[:limit]


async def dropped(wire: Wire, hive: str, ids: Sequence[str]) -> int:
    letter_ids = [id for id in dict.fromkeys(ids) if id.replace("-", "", 1).isdecimal()]
    count = int(await wire.one("XDEL", keys.letters(hive), *letter_ids)) if letter_ids else 0
    for kind, name, id in [id.split(_PLACE, 2) for id in dict.fromkeys(ids) if id.count(_PLACE) > 1]:
        stream = keys.everyone(hive) if kind == _ALL else keys.inbox(hive, name)
        count += int(await wire.one("XACK", stream, name, id))
    return count


async def _given_up(wire: Wire, hive: str) -> AsyncIterator[DeadLetter]:
    """Entries that were read as often as a subscriber takes one, and never acknowledged."""
    common = await _groups(wire, keys.everyone(hive))
    for name in sorted(await wire.one("HKEYS", keys.names(hive))):
        inbox = keys.inbox(hive, name.decode())
        for kind, stream, groups in ((_INBOX, inbox, await _groups(wire, inbox)), (_ALL, keys.everyone(hive), common)):
            group = Group(wire, stream, name.decode(), keys.ONLY_CONSUMER)
            entries = await group.pending() if name in groups and groups[name][b"pending"] else ()
            for entry in [entry for entry in entries if entry.deliveries >= ATTEMPTS_MAX]:
                reason = f"delivered {entry.deliveries} times and never acknowledged"
                id = _PLACE.join((kind, name.decode(), entry.id.decode()))
                for _, fields in await wire.one("XRANGE", stream, entry.id, entry.id):
                    body = pairs(fields).get(keys.BODY, b"")
                    yield dead_letter(name.decode(), body, entry.deliveries, reason, id, keys.time_of(entry.id))


async def states(wire: Wire, hive: str) -> list[QueueState]:
    """One for each name that was sent to or subscribed."""
    names = sorted(await wire.one("HKEYS", keys.names(hive)))
    dead: Counter[bytes] = Counter()
    async for _, fields in _entries(wire, keys.letters(hive)):
        dead[fields[b"name"]] += 1
    now_s, micros = await wire.one("TIME")
    now_ms = int(now_s) * 1000 + int(micros) // 1000
    common = await _groups(wire, keys.everyone(hive))
    return [await _state(wire, hive, name, common, dead[name], now_ms) for name in names]


async def _state(wire: Wire, hive: str, name: bytes, common: dict[bytes, Any], dead: int, now_ms: int) -> QueueState:
    inbox, everyone = keys.inbox(hive, name.decode()), keys.everyone(hive)
    groups = await _groups(wire, inbox)
    waiting = pending = 0
    oldest = []
    for stream, group in ((inbox, groups.get(name)), (everyone, common.get(name))):
        if group is None and stream == everyone:
            continue
        after = group[b"last-delivered-id"] if group else b"0"
        first = await wire.one("XRANGE", stream, keys.after(after), "+", "COUNT", 1)
        oldest += [keys.time_of(entry[0]) for entry in first]
        pending += group[b"pending"] if group else 0
        waiting += await _behind(wire, stream, group) if first else 0
    return QueueState(name.decode(), waiting, pending, dead, max(now_ms - min(oldest), 0) / 1000 if oldest else None)


async def _behind(wire: Wire, stream: bytes, group: dict[bytes, Any] | None) -> int:
    """How many entries a group has not read. Servers before 7 don't tell, and none does after a deletion."""
    if group and group.get(b"lag") is not None:
        return int(group[b"lag"])
    count, start = 0, keys.after(group[b"last-delivered-id"] if group else b"0")
    while True:
        page = await wire.one("XRANGE", stream, start, "+", "COUNT", _PAGE)
        count += len(page)
        if len(page) < _PAGE:
            return count
        start = keys.after(page[-1][0])


async def _groups(wire: Wire, stream: bytes) -> dict[bytes, dict[bytes, Any]]:
    (reply,) = await wire.call(("XINFO", "GROUPS", stream))
    return {} if isinstance(reply, Exception) else {group[b"name"]: group for group in map(pairs, reply)}


async def _entries(wire: Wire, stream: bytes) -> AsyncIterator[tuple[bytes, dict[bytes, bytes]]]:
    start = b"-"
    while True:
        page = await wire.one("XRANGE", stream, start, "+", "COUNT", _PAGE)
        for id, fields in page:
            yield id, pairs(fields)
        if len(page) < _PAGE:
            return
        start = keys.after(page[-1][0])


def _letter(id: bytes, fields: dict[bytes, bytes]) -> DeadLetter:
    name, attempts, reason = fields[b"name"].decode(), int(fields[b"attempts"]), fields[b"reason"].decode()
    return dead_letter(name, fields[keys.BODY], attempts, reason, id.decode(), int(fields[b"at"]))


IsMeant = Callable[[Envelope], bool]


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
    streams: set[bytes] = set()
    cursor = b"0"
    while True:
        cursor, page = await wire.one("SCAN", cursor, "MATCH", keys.all_of(hive), "COUNT", _PAGE, "TYPE", "stream")
        streams.update(page)
        if cursor == b"0":
            return sorted(streams)


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

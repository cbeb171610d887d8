"""Dead letters and the state of queues in Redis: for people that look, and for those that put things right."""

import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from typing import Any

from hive_mind.bus.base import DeadLetter, QueueState
from hive_mind.bus.codec import decode, encode
from hive_mind.bus.redis import keys
from hive_mind.bus.redis.wire import Command, Wire, pairs, value
from hive_mind.errors import WireError

# Enough to see what goes wrong; the oldest are dropped first.
LETTERS_MAX = 100_000
_PAGE = 1000


def keeping(hive: str, name: str, attempts: int, reason: str, data: bytes) -> Command:
    fields = ("name", name, "reason", reason, "attempts", attempts, "at", time.time_ns() // 1_000_000, keys.BODY, data)
    return ("XADD", keys.letters(hive), "MAXLEN", "~", LETTERS_MAX, "*", *fields)


async def listed(wire: Wire, hive: str, limit: int) -> list[DeadLetter]:
    """The oldest."""
    letters: list[DeadLetter] = []
    async for id, fields in _entries(wire, keys.letters(hive)):
        if len(letters) >= limit:
            break
        letters.append(_letter(id, fields))
    return letters


async def replayed(wire: Wire, hive: str, ids: Sequence[str]) -> int:
    """Give readable ones to their names again: each is either a dead letter or sent, never both or neither."""
    count = 0
    for letter in await _of(wire, hive, ids):
        if letter.envelope is None:
            continue
        again = encode(letter.envelope)
        replies = await wire.call(
            ("MULTI",),
            ("HSETNX", keys.names(hive), letter.name, 0),
            ("XADD", keys.inbox(hive, letter.name), "*", keys.BODY, again),
            ("XDEL", keys.letters(hive), letter.id),
            ("EXEC",),
        )
        value(replies[-1])
        count += 1
    return count


async def dropped(wire: Wire, hive: str, ids: Sequence[str]) -> int:
    known = [letter.id for letter in await _of(wire, hive, ids)]
    return int(await wire.one("XDEL", keys.letters(hive), *known)) if known else 0


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


async def _of(wire: Wire, hive: str, ids: Sequence[str]) -> list[DeadLetter]:
    wanted = [id for id in dict.fromkeys(ids) if all(part.isdecimal() for part in id.split("-", 1))]
    if not wanted:
        return []
    replies = await wire.call(*(("XRANGE", keys.letters(hive), id, id) for id in wanted))
    return [_letter(id, pairs(fields)) for reply in replies for id, fields in value(reply)]


def _letter(id: bytes, fields: dict[bytes, bytes]) -> DeadLetter:
    data = fields[keys.BODY]
    try:
        envelope = decode(data)
    except WireError:
        envelope = None
    name, attempts, reason = fields[b"name"].decode(), int(fields[b"attempts"]), fields[b"reason"].decode()
    return DeadLetter(name, envelope, attempts, reason, id.decode(), int(fields[b"at"]), b"" if envelope else data)

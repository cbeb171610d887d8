"""Trims the streams of a hive, so that they hold unread entries and not much else.

A stream may lose entries that all its groups have acknowledged, and, of those older than the hive keeps things, also entries that
only names absent for as long have not read. A moment is kept in any case, for watchers. Brief entries are dropped in any case.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from hive_mind.bus.address import BusAddress
from hive_mind.bus.base import BRIEF_S, BusSettings
from hive_mind.bus.redis import keys
from hive_mind.bus.redis.wire import Command, ServerAddress, Wire, pairs, value

EVERY_S = 2.0
_WATCHED_MS = 2000
# A name that was seen within this time is alive, however little is kept: readers report every few seconds.
_ALIVE_FOR_MS = 60_000

_LOOKED_AT = 1000


async def trim(wire: Wire, hive: str, kept_s: float) -> None:
    """Once around, unless another process has just done it. Raises `BackendError`."""
    lock: Command = ("SET", keys.keeper(hive), "1", "NX", "PX", int(EVERY_S * 900))
    got_it, seen, (now_s, micros) = [value(one) for one in await wire.call(lock, ("HGETALL", keys.names(hive)), ("TIME",))]
    if got_it is None:
        return
    now_ms = int(now_s) * 1000 + int(micros) // 1000
    old_ms = now_ms - int(kept_s * 1000)
    names = {name.decode(): int(when) for name, when in pairs(seen).items()}
    gone = {name for name, when in names.items() if when < min(old_ms, now_ms - _ALIVE_FOR_MS)}
    lasting = [keys.everyone(hive), *(keys.inbox(hive, name) for name in names)]
    # An ephemeral message that is unread by now is useless, whether its reader is alive or not.
    brief = [keys.brief(hive), *(keys.brief_inbox(hive, name) for name in names)]
    await _cut(wire, lasting, gone.__contains__, _Times(old_ms, now_ms))
    await _cut(wire, brief, lambda _: True, _Times(now_ms - int(BRIEF_S * 1000), now_ms))
    await _forget(wire, hive, gone, old_ms)


class _Times(NamedTuple):
    """By the server's clock, ms: older entries are kept only for names that are not gone; and now."""

    old_ms: int
    now_ms: int


async def _cut(wire: Wire, streams: Sequence[bytes], is_gone: Callable[[str], bool], times: _Times) -> None:
    commands: list[Command] = []
    for stream, positions in (await _positions(wire, streams)).items():
        old = (times.old_ms, 0)
        bounds = [max(position, old) if is_gone(name.decode()) else position for name, position in positions.items()]
        ms, number = min([*bounds, (times.now_ms - _WATCHED_MS, 0)]) if bounds else old
        commands.append(("XTRIM", stream, "MINID", "~", f"{max(ms, 0)}-{number}"))
    if commands:
        await wire.call(*commands)


async def _positions(wire: Wire, streams: Sequence[bytes]) -> dict[bytes, dict[bytes, tuple[int, int]]]:
    """Of each stream there is, the first entry that each group is not done with."""
    found: dict[bytes, dict[bytes, tuple[int, int]]] = {}
    behind: list[tuple[bytes, bytes]] = []
    for stream, reply in zip(streams, await wire.call(*(("XINFO", "GROUPS", stream) for stream in streams)), strict=True):
        if isinstance(reply, Exception):
            # Nothing was ever sent there.
            continue
        found[stream] = {}
        for group in map(pairs, reply):
            found[stream][group[b"name"]] = keys.parts(keys.after(group[b"last-delivered-id"]))
            if group[b"pending"]:
                behind.append((stream, group[b"name"]))
    replies = await wire.call(*(("XPENDING", stream, name) for stream, name in behind)) if behind else ()
    for (stream, name), reply in zip(behind, replies, strict=True):
        if not isinstance(reply, Exception) and reply[1] is not None:
            found[stream][name] = min(found[stream][name], keys.parts(reply[1]))
    return found


async def _forget(wire: Wire, hive: str, gone: Iterable[str], old_ms: int) -> None:
    """Forget names that were away too long and to which nobody has sent anything since."""
    for name in gone:
        own = keys.inbox(hive, name), keys.brief_inbox(hive, name)
        replies = await wire.call(*(("XINFO", "STREAM", stream) for stream in own))
        last = [pairs(reply)[b"last-generated-id"] for reply in replies if not isinstance(reply, Exception)]
        if any(keys.time_of(id) >= old_ms for id in last):
            continue
        await wire.call(
            ("DEL", *own),
            *(("XGROUP", "DESTROY", common, name) for common in (keys.everyone(hive), keys.brief(hive))),
            ("HDEL", keys.owners(hive), name),
            ("HDEL", keys.names(hive), name),
        )


async def purge(address: BusAddress, settings: BusSettings, hives: Sequence[str]) -> int:
    """Delete every key of these hives; how many there were. Nobody may use them. Raises `BackendError`."""
    wire = Wire(ServerAddress(address, settings))
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

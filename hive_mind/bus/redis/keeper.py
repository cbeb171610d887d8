"""Trims the streams of a hive, so that they hold what somebody still has to read and not much else.

A stream may lose what all its groups have acknowledged, and, of what is older than the hive keeps things, also what only names
have not read that were away for as long. A moment is kept in any case, for those who watch. What is brief is dropped in any case.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from hive_mind.bus.base import BRIEF_S
from hive_mind.bus.redis import keys
from hive_mind.bus.redis.wire import Command, Wire, pairs, value

EVERY_S = 2.0
_WATCHED_MS = 2000
# Whoever showed itself within this time is there, however little is kept: readers do so every few seconds.
_ALIVE_FOR_MS = 60_000


async def trim(wire: Wire, hive: str, kept_s: float) -> None:
    """Once around, unless another process has just done it. Raises `BackendError`."""
    lock: Command = ("SET", keys.keeper(hive), "1", "NX", "PX", int(EVERY_S * 900))
    got_it, seen, (now_s, micros) = [value(one) for one in await wire.call(lock, ("HGETALL", keys.names(hive)), ("TIME",))]
    if got_it is None:
        return
    now_ms = int(now_s) * 1000 + int(micros) // 1000
    old_ms = now_ms - int(kept_s * 1000)
    gone = {name for name, when in pairs(seen).items() if int(when) < min(old_ms, now_ms - _ALIVE_FOR_MS)}
    inboxes = {name: keys.inbox(hive, name.decode()) for name in pairs(seen)}
    streams = [keys.everyone(hive), *inboxes.values()]
    # Whoever has not read it by now has no use for it.
    commands: list[Command] = [("XTRIM", keys.brief(hive), "MINID", "~", now_ms - int(BRIEF_S * 1000))]
    for stream, positions in (await _positions(wire, streams)).items():
        old = (old_ms, 0)
        bounds = [max(position, old) if name in gone else position for name, position in positions.items()]
        ms, number = min([*bounds, (now_ms - _WATCHED_MS, 0)]) if bounds else old
        commands.append(("XTRIM", stream, "MINID", "~", f"{max(ms, 0)}-{number}"))
    await wire.call(*commands)
    await _forget(wire, hive, {name: inboxes[name] for name in gone}, old_ms)


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


async def _forget(wire: Wire, hive: str, gone: dict[bytes, bytes], old_ms: int) -> None:
    """Forget names that were away too long and to which nobody has sent anything since."""
    replies: Iterable[Any] = await wire.call(*(("XINFO", "STREAM", inbox) for inbox in gone.values())) if gone else ()
    for (name, inbox), reply in zip(gone.items(), replies, strict=True):
        if not isinstance(reply, Exception) and keys.time_of(pairs(reply)[b"last-generated-id"]) >= old_ms:
            continue
        await wire.call(
            ("DEL", inbox),
            *(("XGROUP", "DESTROY", common, name) for common in (keys.everyone(hive), keys.brief(hive))),
            ("HDEL", keys.owners(hive), name),
            ("HDEL", keys.names(hive), name),
        )

"""A Redis server's kind and set-up, as far as that matters to a bus.

How it does is memory left, its clock, and keys that something else has taken: asked every few seconds, so that an operator reads
of a full server or a foreign key before guessing at silent members.

Trims the streams of a hive, so that they hold unread entries and not much else.

A stream may lose entries that all its groups have acknowledged, and, of those older than the hive keeps things, also entries that
only names absent for as long have not read. A moment is kept in any case, for watchers. Brief entries are dropped in any case.
"""

import asyncio
import logging
import random
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from hive_mind.bus.address import BusAddress
from hive_mind.bus.base import BRIEF_S, BrokerVitals, BusCapabilities, BusSettings
from hive_mind.bus.redis import keys
from hive_mind.bus.redis.wire import SCATTERED, Command, ServerAddress, Wire, pairs, value
from hive_mind.errors import BackendRejected, BackendThrottled, BackendUnavailable
from hive_mind.retry import RetrySettings, delay_s

_log = logging.getLogger(__name__)

ENVELOPE_BYTES_MAX = 16 << 20
_VERSION_MIN = (6, 2)
_STARTING = RetrySettings(delay_first_s=0.05, delay_max_s=0.5)

_NAMES_MAX = 1000
_KEYS_NAMED_MAX = 3


async def inspected(place: ServerAddress) -> BusCapabilities:
    """Log in and look. Raises `BackendRejected`, or `BackendUnavailable` when it does not answer or goes on starting."""
    wire = Wire(place)
    try:
        async with asyncio.timeout(place.settings.connect_timeout_s):
            info = await _server_info(wire)
    except TimeoutError as error:
        raise BackendUnavailable(
            "redis", f"{place.address} did not answer within {place.settings.connect_timeout_s:g} s"
        ) from error
    finally:
        await wire.close()
    _refuse(info)
    settings = place.settings
    return BusCapabilities(
        is_durable=True,
        survives_restart=info.get("aof_enabled") == "1",
        can_share=True,
        can_watch=True,
        envelope_bytes_max=settings.envelope_bytes_max or ENVELOPE_BYTES_MAX,
    )


async def _server_info(wire: Wire) -> dict[str, str]:
    """The server's `INFO`; nothing where this user may not ask."""
    attempt = 0
    while True:
        try:
            await wire.connect()
            await wire.one("PING")
        except BackendUnavailable as error:
            if "LOADING" not in str(error).upper():
                raise
            attempt += 1
            await asyncio.sleep(delay_s(attempt, _STARTING, rng=random.Random()))  # noqa: S311 - jitter
        else:
            replies = await wire.call(("INFO", "server"), ("INFO", "persistence"), ("INFO", "memory"))
            return dict(line for reply in replies for line in lines_of(reply))


def lines_of(reply: Any) -> list[tuple[str, str]]:
    """The lines of `INFO`, by name; nothing of an error."""
    if not isinstance(reply, bytes):
        return []
    return [(name, value) for name, mark, value in (line.partition(":") for line in reply.decode().splitlines()) if mark]


def _refuse(info: dict[str, str]) -> None:
    version = info.get("redis_version", "")
    if version and tuple(int(part) for part in version.split(".")[:2]) < _VERSION_MIN:
        raise BackendRejected("redis", f"the server is version {version}; streams need 6.2 or newer")
    if info.get("redis_mode") == "cluster":
        raise BackendRejected("redis", SCATTERED)
    if info.get("maxmemory", "0") != "0" and info.get("maxmemory_policy", "noeviction") != "noeviction":
        _log.warning(
            "this Redis server drops keys when its memory is full, and messages with them: set maxmemory-policy noeviction"
        )


async def refuse_full(address: BusAddress, settings: BusSettings) -> None:
    """Raises `BackendThrottled` for a server that takes nothing: present members may read it empty, and none can begin."""
    wire = Wire(ServerAddress(address, settings))
    try:
        await wire.connect()
        info = dict(lines_of(await wire.one("INFO", "memory")))
    finally:
        await wire.close()
    limit, used = int(info.get("maxmemory", 0)), int(info.get("used_memory", 0)) - int(info.get("mem_not_counted_for_evict", 0))
    if 0 < limit < used and info.get("maxmemory_policy") == "noeviction":
        raise BackendThrottled(
            "redis",
            f"the server's memory is full, {used:,} of {limit:,} bytes: give it more (CONFIG SET maxmemory), or delete what "
            "nobody reads",
        )


async def look(wire: Wire, hives: Iterable[tuple[str, str]]) -> BrokerVitals:
    """Of the server, for these subscriptions, each a hive and a name. Raises `BackendError`."""
    before_ms = time.time_ns() // 1_000_000
    clock, memory = await wire.call(("TIME",), ("INFO", "memory"))
    after_ms = time.time_ns() // 1_000_000
    info = dict(lines_of(memory))
    used = int(info.get("used_memory", 0)) - int(info.get("mem_not_counted_for_evict", 0))
    limit = int(info.get("maxmemory", 0)) or int(info.get("total_system_memory", 0))
    ahead_ms = 0 if isinstance(clock, Exception) else (before_ms + after_ms) // 2 - int(clock[0]) * 1000 - int(clock[1]) // 1000
    return BrokerVitals(used, limit, ahead_ms, await _astray(wire, hives))


async def _astray(wire: Wire, hives: Iterable[tuple[str, str]]) -> str:
    """Keys of these hives that are not of the type that a hive gives them, and what to do; "" where there are none."""
    wanted: dict[bytes, bytes] = {}
    for hive, own_streams in hives:
        (replied,) = await wire.call(("HKEYS", keys.names(hive)))
        names = [] if isinstance(replied, Exception) else [name.decode() for name in replied[:_NAMES_MAX]]
        streams = [key for name in {own_streams, *names} for key in keys.read_by(hive, name)]
        wanted |= dict.fromkeys([*streams, keys.letters(hive)], b"stream")
        wanted |= dict.fromkeys([keys.names(hive), keys.owners(hive)], b"hash")
    commands: list[Command] = [("TYPE", key) for key in wanted]
    types = await wire.call(*commands) if commands else []
    foreign = {key: type for key, type in zip(wanted, types, strict=True) if type not in (wanted[key], b"none")}
    foreign = {key: type for key, type in foreign.items() if isinstance(type, bytes)}
    if not foreign:
        return ""
    shown = list(foreign.items())[:_KEYS_NAMED_MAX]
    foreign_names = ", ".join(
        f"{key.decode()} is a {type.decode()} and should be a {wanted[key].decode()}" for key, type in shown
    )
    remedy = "delete these keys (DEL), or give the hive a database of its own"
    return f"redis: another program writes to this database: {foreign_names}; {remedy}"


EVERY_S = 2.0
_WATCHED_MS = 2000
# A name that was seen within this time is alive, however little is kept: readers report every few seconds.
_ALIVE_FOR_MS = 60_000

_LOOKED_AT = 1000


async def trim(wire: Wire, hive: str, kept_s: float) -> None:
    """Once around, unless another process has just done it. Raises `BackendError`."""
    lock: Command = ("SET", keys.keeper(hive), "1", "NX", "PX", int(EVERY_S * 900))
    got_it, seen_names, (now_s, micros) = [
        value(reply) for reply in await wire.call(lock, ("HGETALL", keys.names(hive)), ("TIME",))
    ]
    if got_it is None:
        return
    now_ms = int(now_s) * 1000 + int(micros) // 1000
    old_ms = now_ms - int(kept_s * 1000)
    names = {name.decode(): int(when) for name, when in pairs(seen_names).items()}
    absent = {name for name, when in names.items() if when < min(old_ms, now_ms - _ALIVE_FOR_MS)}
    lasting = [keys.everyone(hive), *(keys.inbox(hive, name) for name in names)]
    # An ephemeral message that is unread by now is useless, whether its reader is alive or not.
    brief = [keys.brief(hive), *(keys.brief_inbox(hive, name) for name in names)]
    await _cut(wire, lasting, absent.__contains__, _Times(old_ms, now_ms))
    await _cut(wire, brief, lambda _: True, _Times(now_ms - int(BRIEF_S * 1000), now_ms))
    await _forget(wire, hive, absent, old_ms)


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
    foreign: dict[bytes, dict[bytes, tuple[int, int]]] = {}
    behind: list[tuple[bytes, bytes]] = []
    for stream, reply in zip(streams, await wire.call(*(("XINFO", "GROUPS", stream) for stream in streams)), strict=True):
        if isinstance(reply, Exception):
            # Nothing was ever sent there.
            continue
        foreign[stream] = {}
        for group in map(pairs, reply):
            foreign[stream][group[b"name"]] = keys.parts(keys.after(group[b"last-delivered-id"]))
            if group[b"pending"]:
                behind.append((stream, group[b"name"]))
    replies = await wire.call(*(("XPENDING", stream, name) for stream, name in behind)) if behind else ()
    for (stream, name), reply in zip(behind, replies, strict=True):
        if not isinstance(reply, Exception) and reply[1] is not None:
            foreign[stream][name] = min(foreign[stream][name], keys.parts(reply[1]))
    return foreign


async def _forget(wire: Wire, hive: str, absent: Iterable[str], old_ms: int) -> None:
    """Forget names that were away too long and to which nobody has sent anything since."""
    for name in absent:
        own_streams = keys.inbox(hive, name), keys.brief_inbox(hive, name)
        replies = await wire.call(*(("XINFO", "STREAM", stream) for stream in own_streams))
        last = [pairs(reply)[b"last-generated-id"] for reply in replies if not isinstance(reply, Exception)]
        if any(keys.time_of(id) >= old_ms for id in last):
            continue
        await wire.call(
            ("DEL", *own_streams),
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
        cursor, foreign = await wire.one("SCAN", cursor, "MATCH", keys.all_of(hive), "COUNT", _LOOKED_AT)
        if foreign:
            deleted += await wire.one("UNLINK", *foreign)
        if cursor == b"0":
            return deleted

"""A Redis server from outside: its kind and set-up, how it does, its queues and dead letters, what is trimmed and what is
forgotten.

How it does is memory left, its clock, and keys that something else has taken: asked every few seconds, so that an operator reads
of a full server or a foreign key before guessing at silent members.

A stream may lose entries that all its groups have acknowledged, and, of those older than the hive keeps things, also entries that
only names absent for as long have not read. A moment is kept in any case, for watchers. Brief entries are dropped in any case.

Dead letters are what nodes of an earlier version put aside, and what was delivered as often as it may be while nobody could take
it.

To forget is to empty a stream that has something of it: deleting an entry only marks it, and its bytes stay until everything
beside it is deleted, too. Unread entries are lost to their readers, as on a network; nodes send unconfirmed messages again,
without erased facts. Dead letters are dropped, all of them: those deleted there before may still have their bytes.
"""

import asyncio
import logging
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from hive_mind.bus import ATTEMPTS_MAX, BRIEF_S, BrokerVitals, BusCapabilities, BusSettings, DeadLetter, QueueState
from hive_mind.bus.address import BusAddress
from hive_mind.bus.codec import IsMeant, dead_letter, may_be_meant
from hive_mind.bus.redis import keys
from hive_mind.bus.redis.keys import Group
from hive_mind.bus.redis.wire import NEEDED, SCATTERED, Command, ServerAddress, Wire, milliseconds, pairs, value
from hive_mind.errors import BackendError, BackendRejected, BackendThrottled, BackendTimeout, BackendUnavailable
from hive_mind.retry import RetrySettings, delay_s

_log = logging.getLogger(__name__)

ENVELOPE_BYTES_MAX = 16 << 20
_VERSION_MIN = (6, 2)
COMMANDS = (
    *("PING", "TIME", "CLIENT", "TYPE", "SCAN", "DEL", "UNLINK", "SET", "HSETNX", "HKEYS", "HGET", "HSET", "HGETALL", "HDEL"),
    *("XADD", "XREAD", "XREADGROUP", "XGROUP", "XACK", "XCLAIM", "XPENDING", "XINFO", "XTRIM", "XRANGE", "XDEL"),
)
"""The commands without which members fall silent, or nobody can look after them."""
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
            *replies, known = await wire.call(
                *(("INFO", section) for section in ("server", "persistence", "memory")), ("COMMAND", "INFO", *COMMANDS)
            )
            info = dict(line for reply in replies for line in lines_of(reply))
            if isinstance(known, list) and (missing := [name for name, it in zip(COMMANDS, known, strict=True) if not it]):
                info["missing"] = ", ".join(missing)
            return info


def lines_of(reply: Any) -> list[tuple[str, str]]:
    """The lines of `INFO`, by name; nothing of an error."""
    if not isinstance(reply, bytes):
        return []
    return [(name, value) for name, mark, value in (line.partition(":") for line in reply.decode().splitlines()) if mark]


def _refuse(info: dict[str, str]) -> None:
    version = info.get("redis_version", "")
    if version and tuple(int(part) for part in version.split(".")[:2]) < _VERSION_MIN:
        raise BackendRejected("redis", f"the server is version {version}: {NEEDED}")
    if missing := info.get("missing"):
        raise BackendRejected("redis", f"the server does not know {missing}: {NEEDED}")
    if info.get("redis_mode") == "cluster":
        raise BackendRejected("redis", SCATTERED)
    if info.get("maxmemory", "0") != "0" and info.get("maxmemory_policy", "noeviction") != "noeviction":
        _log.warning(
            "this Redis server drops keys when its memory is full, and messages with them: set maxmemory-policy noeviction"
        )


async def refuse_full(address: BusAddress, settings: BusSettings) -> None:
    """Raises `BackendThrottled` for a server that takes nothing: present members may read it empty, and none can begin."""
    async with _connected(address, settings) as wire:
        info = dict(lines_of(await wire.one("INFO", "memory")))
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
    ahead_ms = 0 if isinstance(clock, Exception) else (before_ms + after_ms) // 2 - milliseconds(clock)
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


async def trim(wire: Wire, hive: str, kept_s: float) -> None:
    """Once around, unless another process has just done it. Raises `BackendError`."""
    lock: Command = ("SET", keys.keeper(hive), "1", "NX", "PX", int(EVERY_S * 900))
    if await wire.one(*lock) is None:
        return
    seen_names, time = [value(reply) for reply in await wire.call(("HGETALL", keys.names(hive)), ("TIME",))]
    now_ms = milliseconds(time)
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
    count = 0
    async with _connected(address, settings) as wire:
        for hive in hives:
            async for page in _scanned(wire, hive):
                count += await wire.one("UNLINK", *page) if page else 0
    return count


_PAGE = 1000
# The id of an entry that was given up: the kind of its stream, its reader, and its id there.
_PLACE, _INBOX, _ALL = "|", "inbox", "all"


async def listed(wire: Wire, hive: str, limit: int) -> list[DeadLetter]:
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
            group = Group(wire, stream, name.decode())
            entries = await group.pending() if name in groups and groups[name][b"pending"] else ()
            for entry in [entry for entry in entries if entry.deliveries >= ATTEMPTS_MAX]:
                reason = f"delivered {entry.deliveries} times and never acknowledged"
                id = _PLACE.join((kind, name.decode(), entry.id.decode()))
                for _, fields in await wire.one("XRANGE", stream, entry.id, entry.id):
                    body = pairs(fields).get(keys.BODY, b"")
                    yield dead_letter(name.decode(), body, entry.deliveries, reason, id, keys.time_of(entry.id))


async def states(wire: Wire, hive: str) -> list[QueueState]:
    names = sorted(await wire.one("HKEYS", keys.names(hive)))
    dead: Counter[bytes] = Counter()
    async for _, fields in _entries(wire, keys.letters(hive)):
        dead[fields[b"name"]] += 1
    now_ms = milliseconds(await wire.one("TIME"))
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
    start = keys.after(group[b"last-delivered-id"] if group else b"0")
    return sum([len(page) async for page in _pages(wire, stream, start)])


async def _groups(wire: Wire, stream: bytes) -> dict[bytes, dict[bytes, Any]]:
    (reply,) = await wire.call(("XINFO", "GROUPS", stream))
    return {} if isinstance(reply, Exception) else {group[b"name"]: group for group in map(pairs, reply)}


async def _entries(wire: Wire, stream: bytes) -> AsyncIterator[tuple[bytes, dict[bytes, bytes]]]:
    async for page in _pages(wire, stream, b"-"):
        for id, fields in page:
            yield id, pairs(fields)


async def _pages(wire: Wire, stream: bytes, start: bytes) -> AsyncIterator[Sequence[Any]]:
    """All entries from `start` on."""
    page: Sequence[Any] = (b"",) * _PAGE
    while len(page) == _PAGE:
        page = await wire.one("XRANGE", stream, start, "+", "COUNT", _PAGE)
        yield page
        start = keys.after(page[-1][0]) if page else start


async def _scanned(wire: Wire, hive: str, *options: str) -> AsyncIterator[Sequence[bytes]]:
    """Names of all keys of a hive; a page may be empty, and a name come twice."""
    cursor = b""
    while cursor != b"0":
        cursor, page = await wire.one("SCAN", cursor or b"0", "MATCH", keys.all_of(hive), "COUNT", _PAGE, *options)
        yield page


@asynccontextmanager
async def _connected(address: BusAddress, settings: BusSettings) -> AsyncIterator[Wire]:
    wire = Wire(ServerAddress(address, settings))
    try:
        await wire.connect()
        yield wire
    finally:
        await wire.close()


def _letter(id: bytes, fields: dict[bytes, bytes]) -> DeadLetter:
    name, attempts, reason = fields[b"name"].decode(), int(fields[b"attempts"]), fields[b"reason"].decode()
    return dead_letter(name, fields[keys.BODY], attempts, reason, id.decode(), int(fields[b"at"]))


_POLL_S, _WRITTEN_WITHIN_S = 0.1, 60.0


async def scrub(
    address: BusAddress, settings: BusSettings, hives: Sequence[str], names: Collection[str], is_meant: IsMeant
) -> str:
    """Empty streams of these hives that have what is meant. Nothing stays: "". Raises `BackendError` where files have it."""
    del names
    async with _connected(address, settings) as wire:
        for hive in hives:
            streams = {stream async for page in _scanned(wire, hive, "TYPE", "stream") for stream in page}
            for stream in sorted(streams):
                if stream == keys.letters(hive) or await _has_it(wire, stream, is_meant):
                    await wire.one("XTRIM", stream, "MAXLEN", "0")
        # Redis gives the room of what was deleted to what comes next; its files keep it until they are written anew.
        state = await _persistence(wire)
        if state.get("aof_enabled") == "1":
            await _until_done(wire, "BGREWRITEAOF", "aof_rewrite")
        if (pairs(await wire.one("CONFIG", "GET", "save")).get(b"save") or b"") != b"":
            await _until_done(wire, "BGSAVE", "rdb_bgsave")
        return ""


async def _has_it(wire: Wire, stream: bytes, is_meant: IsMeant) -> bool:
    async for _, fields in _entries(wire, stream):
        if keys.BODY in fields and may_be_meant(fields[keys.BODY], is_meant):
            return True
    return False


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
    return dict(lines_of(await wire.one("INFO", "persistence")))

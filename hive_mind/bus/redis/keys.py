"""How a hive is laid out in Redis: which key holds what, and entries that were read and never acknowledged.

Names are quoted, so that no hive can read another's keys by a clever name.

Redis keeps unacknowledged entries in a list per group, with a count of deliveries. Those that the last process of a name left are
ours at once.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from hive_mind.bus.redis.wire import Command, Wire, pairs, value

BODY = b"e"
"""The field of an entry that has the envelope's bytes."""

CONSUMER = "only"
"""The consumer of every group: always the same, so the next process owns what the last one left."""


@lru_cache(maxsize=65_536)
def inbox(hive: str, name: str) -> bytes:
    """Stream: messages to a name. Its one group is called like the name."""
    return f"hive:{_quoted(hive)}:inbox:{_quoted(name)}".encode()


@lru_cache(maxsize=1024)
def everyone(hive: str) -> bytes:
    """Stream: messages to everyone. A group for each name."""
    return f"hive:{_quoted(hive)}:all".encode()


@lru_cache(maxsize=1024)
def brief(hive: str) -> bytes:
    """Stream: messages to everyone that are soon worth nothing. A group for each name."""
    return f"hive:{_quoted(hive)}:brief".encode()


@lru_cache(maxsize=65_536)
def brief_inbox(hive: str, name: str) -> bytes:
    """Stream: messages to a name that are soon worth nothing. Its one group is called like the name."""
    return f"hive:{_quoted(hive)}:brief:{_quoted(name)}".encode()


def brief_of(hive: str, name: str) -> tuple[bytes, ...]:
    """Those of the streams that a name reads whose messages are soon worth nothing."""
    return brief_inbox(hive, name), brief(hive)


def read_by(hive: str, name: str) -> tuple[bytes, ...]:
    return inbox(hive, name), everyone(hive), *brief_of(hive, name)


def letters(hive: str) -> bytes:
    """Stream: dead letters, with name, reason, attempts, time and bytes."""
    return f"hive:{_quoted(hive)}:dlq".encode()


def names(hive: str) -> bytes:
    """Hash: every name that was sent to or subscribed, and when its subscriber was last alive (server's clock, ms; 0: never)."""
    return f"hive:{_quoted(hive)}:names".encode()


def owners(hive: str) -> bytes:
    """Hash: the process that subscribed last under a name which is not shared."""
    return f"hive:{_quoted(hive)}:owners".encode()


def keeper(hive: str) -> bytes:
    """String that expires: somebody is trimming this hive's streams."""
    return f"hive:{_quoted(hive)}:keeper".encode()


def all_of(hive: str) -> bytes:
    """A pattern that all keys of a hive fit, and no other's: characters of patterns are quoted in names."""
    return f"hive:{_quoted(hive)}:*".encode()


def time_of(id: bytes) -> int:
    return int(id.partition(b"-")[0])


def parts(id: bytes) -> tuple[int, int]:
    """The time, and the number within it: ids are in this order."""
    ms, _, number = id.partition(b"-")
    return int(ms), int(number or 0)


def after(id: bytes) -> bytes:
    ms, number = parts(id)
    return b"%d-%d" % (ms, number + 1)


def _quoted(name: str) -> str:
    return quote(name, safe="")


_PAGE = 500


@dataclass(frozen=True, slots=True)
class Pending:
    """An entry that was read and not acknowledged, and how often it was read."""

    id: bytes
    deliveries: int


@dataclass(frozen=True, slots=True)
class Claimed:
    """An entry that is ours now."""

    id: bytes
    fields: Sequence[bytes]
    deliveries: int


class Group:
    """One group of one stream."""

    def __init__(self, wire: Wire, key: bytes, name: str) -> None:
        self._wire, self.key, self._name = wire, key, name

    async def exists(self) -> bool:
        """Whether it is there. Raises `BackendRejected` where this user may not know."""
        (reply,) = await self._wire.call(("XINFO", "GROUPS", self.key))
        if isinstance(reply, Exception):
            if "no such key" in str(reply):
                return False
            value(reply)
        return any(pairs(group)[b"name"] == self._name.encode() for group in reply)

    async def create(self, start: str) -> None:
        """Make it, and its stream if missing; another process may do so at the same time."""
        (reply,) = await self._wire.call(("XGROUP", "CREATE", self.key, self._name, start, "MKSTREAM"))
        if not (isinstance(reply, Exception) and "BUSYGROUP" in str(reply)):
            value(reply)

    def page(self, start: bytes = b"-") -> Command:
        """The command that lists entries that are pending, as many as `pending` reads at a time."""
        return "XPENDING", self.key, self._name, start, "+", _PAGE

    async def pending(self, page: Sequence[Any] | None = None) -> list[Pending]:
        """All of them; the first page may be here already."""
        page = await self._wire.one(*self.page()) if page is None else page
        pending = [Pending(id, deliveries) for id, _, _, deliveries in page]
        while len(page) == _PAGE:
            page = await self._wire.one(*self.page(after(pending[-1].id)))
            pending += [Pending(id, deliveries) for id, _, _, deliveries in page]
        return pending

    async def claim(self, pending: Iterable[Pending]) -> list[Claimed]:
        """Make entries ours, in order; each counts as delivered once more. Entries trimmed away meanwhile are acknowledged."""
        deliveries = {entry.id: entry.deliveries for entry in pending}
        ids, claimed = list(deliveries), list[Claimed]()
        for start in range(0, len(ids), _PAGE):
            page = ids[start : start + _PAGE]
            entries = await self._wire.one("XCLAIM", self.key, self._name, CONSUMER, 0, *page)
            claimed += [Claimed(entry[0], entry[1], deliveries[entry[0]] + 1) for entry in entries if entry]
        if deleted_ids := set(ids).difference(entry.id for entry in claimed):
            await self._wire.call(("XACK", self.key, self._name, *sorted(deleted_ids)))
        return claimed

    async def release(self, deliveries: Iterable[tuple[bytes, int]]) -> None:
        """Leave entries to the next, with the count of deliveries that is true, and as old as if nobody had touched them."""
        by_count: dict[int, list[bytes]] = {}
        for id, count in deliveries:
            by_count.setdefault(count, []).append(id)
        commands: list[Command] = [
            ("XCLAIM", self.key, self._name, CONSUMER, 0, *ids, "IDLE", 0, "RETRYCOUNT", count, "JUSTID")
            for count, ids in by_count.items()
        ]
        for reply in await self._wire.call(*commands) if commands else ():
            value(reply)

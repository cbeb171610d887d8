"""Entries that were read and never acknowledged: their consumers, and how a live consumer takes them over.

Redis keeps them in a list per group, with a consumer, an age and a count of deliveries. Entries that the last process of a name
left are ours at once; those that another live consumer holds are not, and it shows that it lives by resetting their age.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from hive_mind.bus.redis.keys import after
from hive_mind.bus.redis.wire import Command, Wire, pairs, value

_PAGE = 500


@dataclass(frozen=True, slots=True)
class Pending:
    """An entry that was read and not acknowledged, and how often it was read."""

    id: bytes
    consumer: bytes
    deliveries: int


@dataclass(frozen=True, slots=True)
class Claimed:
    """An entry that is ours now."""

    id: bytes
    fields: Sequence[bytes]
    deliveries: int


class Group:
    """One group of one stream, as one of its consumers sees it."""

    def __init__(self, wire: Wire, key: bytes, name: str, consumer: str) -> None:
        self._wire, self.key, self._name, self._consumer = wire, key, name, consumer

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

    async def pending(self, *, idle_ms: int = 0, is_mine: bool = False) -> list[Pending]:
        """All pending entries, or those of this consumer, or those idle for at least `idle_ms`."""
        pending: list[Pending] = []
        start = b"-"
        while True:
            idle: Command = ("IDLE", idle_ms) if idle_ms else ()
            whose: Command = (self._consumer,) if is_mine else ()
            page = await self._wire.one("XPENDING", self.key, self._name, *idle, start, "+", _PAGE, *whose)
            pending += [Pending(id, consumer, deliveries) for id, consumer, _, deliveries in page]
            if len(page) < _PAGE:
                return pending
            start = after(pending[-1].id)

    async def claim(self, pending: Iterable[Pending], *, idle_ms: int = 0) -> list[Claimed]:
        """Make entries ours, in order; each counts as delivered once more. Entries trimmed away meanwhile are acknowledged."""
        deliveries = {one.id: one.deliveries for one in pending}
        ids, claimed = list(deliveries), []
        for start in range(0, len(ids), _PAGE):
            page = ids[start : start + _PAGE]
            entries = await self._wire.one("XCLAIM", self.key, self._name, self._consumer, idle_ms, *page)
            claimed += [Claimed(entry[0], entry[1], deliveries[entry[0]] + 1) for entry in entries if entry]
        if not idle_ms and (deleted_ids := set(ids).difference(one.id for one in claimed)):
            await self._wire.call(("XACK", self.key, self._name, *sorted(deleted_ids)))
        return claimed

    async def renew(self, held_ids: Collection[bytes]) -> None:
        """Show that what is held here, and was taken by nobody else, is being dealt with."""
        own_ids = [entry.id for entry in await self.pending(is_mine=True) if entry.id in held_ids]
        for start in range(0, len(own_ids), _PAGE):
            page = own_ids[start : start + _PAGE]
            await self._wire.one("XCLAIM", self.key, self._name, self._consumer, 0, *page, "JUSTID")

    async def release(self, deliveries: Iterable[tuple[bytes, int]], idle_ms: int) -> None:
        """Leave entries to the next, with the count of deliveries that is true, and as old as if nobody had touched them."""
        by_count: dict[int, list[bytes]] = {}
        for id, count in deliveries:
            by_count.setdefault(count, []).append(id)
        commands: list[Command] = [
            ("XCLAIM", self.key, self._name, self._consumer, 0, *ids, "IDLE", idle_ms, "RETRYCOUNT", count, "JUSTID")
            for count, ids in by_count.items()
        ]
        for reply in await self._wire.call(*commands) if commands else ():
            value(reply)

    async def forget_idle_consumers(self, idle_ms: int) -> None:
        """Drop consumers of processes that are long gone and left nothing."""
        for consumer in await self._wire.one("XINFO", "CONSUMERS", self.key, self._name):
            info = dict(zip(consumer[::2], consumer[1::2], strict=True))
            if info[b"pending"] == 0 and info[b"idle"] > idle_ms:
                await self._wire.one("XGROUP", "DELCONSUMER", self.key, self._name, info[b"name"])

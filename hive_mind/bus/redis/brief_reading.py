"""Brief messages of a name, read without a word to the server about each: they are worth nothing by the time they were lost.

A group would write down that each of its members has each message, and then that it is done with it: of heartbeats that was most
of what an idle hive wrote. The position of the reader is kept here; the group has it now and then, so that what was read
can be trimmed, and the next reader of this name knows where to go on.
"""

import asyncio
import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from hive_mind.bus.redis import keys
from hive_mind.bus.redis.claims import Group
from hive_mind.bus.redis.wire import REPLY_WITHIN_S, Command, ServerAddress, Wire, begin, keep_reading, pairs, value
from hive_mind.retry import RetrySettings

BLOCK_MS = 1000
READ_MAX = 64
"""Entries of each stream at a time."""


class Room(Protocol):
    """A mailbox, as far as it takes more."""

    @property
    def room(self) -> int: ...

    async def until_room(self, timeout_s: float | None = None) -> None:
        """Return when there is some, or the time is up."""
        ...


Offer = Callable[[tuple[bytes, bytes], Sequence[bytes] | None], None]


class BriefReader:
    """Reads these streams, which may be none, from `start` to `stop`. `begin` and `mark` go over the wire of another one."""

    def __init__(self, place: ServerAddress, streams: Sequence[bytes], name: str, mailbox: Room, offer: Offer) -> None:
        self._wire, self._streams, self._name = Wire(place), streams, name
        self._mailbox, self._offer = mailbox, offer
        self._read_up_to: dict[bytes, bytes] = {}
        self._marked: dict[bytes, bytes] = {}
        self._task: asyncio.Task[None] | None = None
        self._delays = RetrySettings(delay_first_s=0.1, delay_max_s=place.settings.reconnect_s_max)
        self._rng = random.Random()  # noqa: S311 - jitter

    @property
    def is_connected(self) -> bool:
        """As far as is known; where there is nothing to read, it is."""
        return not self._streams or self._wire.is_connected

    async def begin(self, wire: Wire, start: str) -> None:
        """Go on where this name was; where the server does not know it, at `start`. Raises `BackendError`."""
        for stream in self._streams:
            group = Group(wire, stream, self._name, keys.ONLY_CONSUMER)
            if not await group.exists():
                await group.create(start)
            # An earlier version noted them one by one.
            if left := [one.id for one in await group.pending()]:
                await wire.call(("XACK", stream, self._name, *left))
            groups = map(pairs, await wire.one("XINFO", "GROUPS", stream))
            position = next(one[b"last-delivered-id"] for one in groups if one[b"name"] == self._name.encode())
            self._read_up_to[stream] = self._marked[stream] = position

    async def start(self, note: Callable[[str], None]) -> None:
        """Connect and read. Raises `BackendError`."""
        if self._streams:
            await self._wire.connect()
            reading = keep_reading(self._wire, self._read, self._delays, self._rng, on=f"what is brief for {self._name}")
            self._task = begin(reading, f"redis brief reader of {self._name}", note)

    async def mark(self, wire: Wire) -> None:
        """Let the server know how far this one has read. Raises `BackendError`."""
        moved = {stream: id for stream, id in self._read_up_to.items() if self._marked[stream] != id}
        if moved:
            # One that is full refuses, and trims what is old all the same.
            await wire.call(*(("XGROUP", "SETID", stream, self._name, id) for stream, id in moved.items()))
            self._marked |= moved

    async def stop(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    async def close(self) -> None:
        await self.stop()
        await self._wire.close()

    async def _read(self) -> None:
        room = self._mailbox.room
        if not room:
            await self._mailbox.until_room(BLOCK_MS / 1000)
            return
        streams = [self._read_up_to[stream] for stream in self._streams]
        command: Command = ("XREAD", "COUNT", min(room, READ_MAX), "BLOCK", BLOCK_MS, "STREAMS", *self._streams, *streams)
        (reply,) = await self._wire.call(command, within_s=REPLY_WITHIN_S + BLOCK_MS / 1000)
        for stream, entries in value(reply) or ():
            self._take(stream, entries)

    def _take(self, stream: bytes, entries: Iterable[Any]) -> None:
        for id, fields in entries:
            self._read_up_to[stream] = id
            self._offer((stream, id), fields)

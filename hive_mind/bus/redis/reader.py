"""Brief messages of a name, read without a word to the server about each: they are worth nothing by the time they were lost.

A group would write down that each of its members has each message, and then that it is done with it: of heartbeats that was most
of what an idle hive wrote. The position of the reader is kept here; the group has it now and then, so that what was read
can be trimmed, and the next reader of this name knows where to go on.

One subscription on Redis: reads a name's own stream and the hive's common ones into a mailbox.

It owns a connection, because reading blocks one. At the start and after every reconnect it first takes what was delivered here
and never acknowledged; only then it reads on. It waits until it next looks after what is held.

Brief messages come over a connection of their own and are acknowledged to nobody. Those to everybody, which are beats, are read
together where the subscriber lets them wait: of a hive of a hundred, each would wake all the others a hundred times a second.
"""

import asyncio
import logging
import random
import secrets
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, Protocol

from hive_mind.bus import Delivery, Subscription
from hive_mind.bus.mailbox import Mailbox, MailboxDelivery
from hive_mind.bus.redis import keys
from hive_mind.bus.redis.keys import Group
from hive_mind.bus.redis.outgoing import RedisSender
from hive_mind.bus.redis.wire import REPLY_WITHIN_S, Command, ServerAddress, Wire, begin, keep_reading, milliseconds, pairs, value
from hive_mind.errors import BackendError
from hive_mind.retry import RetrySettings, delay_s

BLOCK_MS = 1000
READ_MAX = 64
"""Entries of each stream at a time."""


Native = tuple[bytes, bytes]
"""A stream and an id in it."""
Offer = Callable[[Native, Sequence[bytes] | None, int], None]
"""An entry, its fields, and for how long it lay there in milliseconds."""
# A name that is new here hears the others, and they it, without delay.
_QUICK_S = 10.0


class BriefReader:
    """Reads these streams, which may be none, from `start` to `stop`. `begin` and `mark` go over the wire of another one."""

    def __init__(self, place: ServerAddress, streams: Sequence[bytes], name: str, mailbox: Mailbox[Native], offer: Offer) -> None:
        self._wire, self._streams, self._name = Wire(place), streams, name
        self._mailbox, self._offer = mailbox, offer
        self._read_up_to: dict[bytes, bytes] = {}
        self._marked: dict[bytes, bytes] = {}
        self._gathers_at = 0.0
        self._is_behind = False
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
            group = Group(wire, stream, self._name)
            if not await group.exists():
                await group.create(start)
            # An earlier version noted them one by one.
            if left := [group_state.id for group_state in await group.pending()]:
                await wire.call(("XACK", stream, self._name, *left))
            groups = map(pairs, await wire.one("XINFO", "GROUPS", stream))
            position = next(
                group_state[b"last-delivered-id"] for group_state in groups if group_state[b"name"] == self._name.encode()
            )
            self._read_up_to[stream] = self._marked[stream] = position

    async def start(self, note: Callable[[str], None]) -> None:
        """Connect and read. Raises `BackendError`."""
        if self._streams:
            await self._wire.connect()
            self._gathers_at = asyncio.get_running_loop().time() + _QUICK_S
            reading = keep_reading(self._wire, self._read, self._delays, self._rng, on=f"what is brief for {self._name}")
            self._task = begin(reading, f"redis brief reader of {self._name}", note)

    def marks(self) -> list[Command]:
        """Commands that let the server know how far this one has read. One that is full refuses, and trims what is old anyhow."""
        moved = {stream: id for stream, id in self._read_up_to.items() if self._marked[stream] != id}
        self._marked |= moved
        return [("XGROUP", "SETID", stream, self._name, id) for stream, id in moved.items()]

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
        count, own, common = min(room, READ_MAX), self._streams[:-1], self._streams[-1:]
        gather_ms = int(self._mailbox.subscription.gather_s() * 1000)
        if not gather_ms or asyncio.get_running_loop().time() < self._gathers_at:
            (reply,) = await self._call(self._reading(count, BLOCK_MS, self._streams))
            self._take(reply)
            return
        # Its own wakes it at once, and whatever came for all meanwhile is read behind that in the same round trip.
        wait_ms = 1 if self._is_behind else gather_ms
        reply, replied, time = await self._call(self._reading(count, wait_ms, own), self._reading(count, 0, common), ("TIME",))
        self._is_behind = self._take(replied, milliseconds(value(time)), gather_ms) >= count
        self._take(reply)

    async def _call(self, *commands: Command) -> list[Any]:
        return await self._wire.call(*commands, within_s=REPLY_WITHIN_S + BLOCK_MS / 1000)

    def _reading(self, count: int, block_ms: int, streams: Sequence[bytes]) -> Command:
        block = ("BLOCK", block_ms) if block_ms else ()
        return "XREAD", "COUNT", count, *block, "STREAMS", *streams, *(self._read_up_to[stream] for stream in streams)

    def _take(self, reply: Any, now_ms: int = 0, gather_ms: int = 0) -> int:
        """How many there were. They waited for that long at most, until `now_ms` by the server's clock, which their ids have."""
        count = 0
        for stream, entries in value(reply) or ():
            count += len(entries)
            for id, fields in entries:
                self._read_up_to[stream] = id
                self._offer((stream, id), fields, min(max(now_ms - keys.time_of(id), 0), gather_ms))
        return count


_log = logging.getLogger(__name__)

# Bytes of each stream at a time.
_READ_FIRST = 16
_READ_BYTES = 32 << 20
# How often a reader shows that it lives and looks for what got lost between it and the server.
_LOOK_EVERY_S = 2.0
_FLUSHES_MAX = 3


class Pace:
    """How many entries to ask for at a time: Redis counts no bytes, so it is by those that came last, and grows step by step."""

    def __init__(self) -> None:
        self.count = _READ_FIRST

    def note(self, sizes: Iterable[int]) -> None:
        """`sizes`: bytes of each entry that came."""
        if largest := max(sizes, default=0):
            self.count = max(min(2 * self.count, READ_MAX, _READ_BYTES // largest), 1)


class StreamReaderListener(Protocol):
    """Calls of a reader to its bus."""

    outgoing: RedisSender
    settled: asyncio.Event
    """Set when something was."""

    def forget(self, reader: "StreamReader") -> None:
        """The reader was closed."""


class StreamReader:
    """See `bus.Inbox`. Begins with `start`."""

    def __init__(
        self, owner: StreamReaderListener, place: ServerAddress, subscription: Subscription, on_ready: Callable[[], None]
    ) -> None:
        self.subscription = subscription
        self.mailbox: Mailbox[Native] = Mailbox(subscription, on_ready, self)
        self.reconnects, self.error = 0, ""
        self._owner, self._wire = owner, Wire(place)
        self._token = secrets.token_hex(8)
        hive, name = subscription.hive, subscription.name
        self._keys = keys.inbox(hive, name), keys.everyone(hive)
        self._groups = [Group(self._wire, key, name) for key in self._keys]
        self._brief = BriefReader(place, keys.brief_of(hive, name), name, self.mailbox, self._offer_brief)
        # Entries off the mailbox and not yet off the broker.
        self._settling: set[Native] = set()
        self._pace = Pace()
        self._look_at = self._clock_s = 0.0
        self._is_stopping = self._is_reading = self._is_closed = self._has_signed = False
        self._client_id = 0
        self._task: asyncio.Task[None] | None = None
        self._delays = RetrySettings(delay_first_s=0.1, delay_max_s=place.settings.reconnect_s_max)
        self._rng = random.Random()  # noqa: S311 - jitter

    @property
    def is_connected(self) -> bool:
        return self._wire.is_connected and self._brief.is_connected and self._task is not None and not self._task.done()

    def take(self, deliveries_max: int) -> Sequence[Delivery]:
        return self.mailbox.take(deliveries_max)

    async def start(self) -> None:
        """Connect, and take up what the last one of this name left. Raises `BackendError`."""
        try:
            await self._connect()
            await self._make_groups("0" if self.subscription.start == "earliest" else "$")
            await self._look(is_first=True)
            await self._brief.start(self._note)
        except BaseException:
            await self._wire.close()
            await self._brief.close()
            raise
        self._task = begin(self._run(), f"redis reader of {self.subscription.name}", self._note)

    async def stop(self) -> None:
        """Read nothing more; held entries stay."""
        task, self._task = self._task, None
        self._is_stopping = True
        if task is None:
            return
        await self._brief.stop()
        if self._is_reading:
            # Better than to break off: entries the server is just handing out would count as delivered.
            self._owner.outgoing.post(("CLIENT", "UNBLOCK", self._client_id))
            await asyncio.wait([task], timeout=_LOOK_EVERY_S + 1)
        task.cancel()
        await asyncio.wait([task])

    async def close(self) -> None:
        """Give the name free. Unacknowledged entries are left to the next of this name."""
        if self._is_closed:
            return
        self._is_closed = True
        await self.stop()
        await self.mailbox.finish()
        left = [(delivery, delivery.attempt - (not self.mailbox.is_out(delivery))) for delivery in self.mailbox.held]
        self.mailbox.end()
        self._owner.forget(self)
        with suppress(BackendError):
            # See that what was settled is off the broker before the next of this name looks there.
            outgoing = self._owner.outgoing
            for _ in range(_FLUSHES_MAX):
                if self._settling and outgoing.is_connected:
                    # Acknowledgements travel with whatever is sent next.
                    await outgoing.send([("PING",)], 0, 0.0)
            await self._release([delivery_count for delivery_count in left if delivery_count[0].native[0] in self._keys])
            await self._wire.call(*self._brief.marks())
        await self._wire.close()
        await self._brief.close()

    def settled(self, native: Native) -> None:
        if native[0] in self._keys:
            self._settling.add(native)
            self._owner.outgoing.acknowledge(native[0], self.subscription.name, native[1], self._acknowledged)
        self._owner.settled.set()

    def _acknowledged(self, key: bytes, ids: Sequence[bytes]) -> None:
        self._settling.difference_update([(key, id) for id in ids])

    async def _run(self) -> None:
        failures = 0
        while not self._is_stopping:
            try:
                if not self._wire.is_connected:
                    await self._connect()
                    self.reconnects += 1
                    self._look_at = 0.0
                if asyncio.get_running_loop().time() >= self._look_at:
                    await self._look()
                else:
                    await self._read()
                failures = 0
            except BackendError as error:
                failures += 1
                self.error = str(error)
                await self._mend(error, failures)

    def _note(self, error: str) -> None:
        self.error = error

    async def _connect(self) -> None:
        await self._wire.connect()
        self._client_id = int(await self._wire.one("CLIENT", "ID"))

    async def _mend(self, error: BackendError, failures: int) -> None:
        if "NOGROUP" in str(error):
            # The server has forgotten everything. Whatever it has now came later, and nobody has read it.
            with suppress(BackendError):
                await self._make_groups("0")
                return
        _log.debug("%s: reading failed, trying again: %s", self._keys[0].decode(), error)
        await asyncio.sleep(delay_s(failures, self._delays, rng=self._rng))

    async def _make_groups(self, start: str) -> None:
        for group in self._groups:
            # Looked for first: a server that is full refuses to create even what is there, and must be read all the same.
            if not await group.exists():
                await group.create(start)
        await self._brief.begin(self._wire, start)

    async def _read(self) -> None:
        room = self.mailbox.room
        if not room:
            await self.mailbox.until_room(BLOCK_MS / 1000)
            return
        count, name = min(room, self._pace.count), self.subscription.name
        left_s = max(self._look_at - asyncio.get_running_loop().time(), 0.0)
        options: Command = ("GROUP", name, keys.CONSUMER, "COUNT", count, "BLOCK", int(left_s * 1000) + 1)
        streams: Command = ("STREAMS", *self._keys, *(">" for _ in self._keys))
        self._is_reading = True
        try:
            (reply,) = await self._wire.call(("XREADGROUP", *options, *streams), within_s=REPLY_WITHIN_S + left_s)
        finally:
            self._is_reading = False
        entries_read = [((key, entry[0]), entry[1]) for key, entries in value(reply) or () for entry in entries]
        self._pace.note(len(fields[1]) for _, fields in entries_read if fields)
        if len(entries_read) > 1 and entries_read[0][0][0] != entries_read[-1][0][0]:
            entries_read.sort(key=lambda one: keys.time_of(one[0][1]))
        for native, fields in entries_read:
            self._offer(native, fields)

    def _offer(self, native: Native, fields: Sequence[bytes] | None, attempt: int = 1) -> None:
        self.mailbox.read(native, fields[1] if fields else b"", attempt)

    def _offer_brief(self, native: Native, fields: Sequence[bytes] | None, waited_ms: int) -> None:
        self.mailbox.read(native, fields[1] if fields else b"", 1, waited_ms)

    async def _look(self, *, is_first: bool = False) -> None:
        """Show that this name is alive, and find what was delivered and is in nobody's hands: in one round trip."""
        hive, name, now = self.subscription.hive, self.subscription.name, asyncio.get_running_loop().time()
        self._look_at = now + min(_LOOK_EVERY_S, self.subscription.ack_wait_s / 3)
        if is_first:
            self._clock_s = milliseconds(await self._wire.one("TIME")) / 1000 - now
        sign: Command = ("HGET", keys.owners(hive), name) if self._has_signed else ("HSET", keys.owners(hive), name, self._token)
        # On a server that is full the first two fail, and what matters is that somebody reads.
        _, owner, time, *pages = await self._wire.call(
            ("HSET", keys.names(hive), name, int((self._clock_s + now) * 1000)),
            sign,
            ("TIME",),
            *(group.page() for group in self._groups),
            *self._brief.marks(),
        )
        # One that was demoted is hung up on.
        self._wire.linked()
        self._clock_s = milliseconds(value(time)) / 1000 - now
        if not self._has_signed:
            self._has_signed = not isinstance(owner, Exception)
        elif value(owner) not in (None, self._token.encode()):
            # Another process has subscribed under this name later: it has everything now.
            self._is_stopping = True
            self.mailbox.end()
            self.error = f"another process has subscribed as {self.subscription.name!r}; this one gets no more messages"
            _log.error("hive %s: %s", self.subscription.hive, self.error)
            return
        for group, page in zip(self._groups, pages, strict=False):
            # Entries delivered here and lost on the way; at the start, those that the name's last process left.
            pending = await group.pending(value(page))
            held_ids = {*self.mailbox.natives} | self._settling if pending else set()
            lost = [entry for entry in pending if (group.key, entry.id) not in held_ids]
            for entry in await group.claim(lost) if lost else ():
                # A delivery that this very process never got does not count as an attempt.
                self._offer((group.key, entry.id), entry.fields, entry.deliveries - (not is_first))

    async def _release(self, left: Sequence[tuple[MailboxDelivery[Native], int]]) -> None:
        if not self._wire.is_connected:
            return
        for group in self._groups:
            await group.release((delivery.native[1], count) for delivery, count in left if delivery.native[0] == group.key)

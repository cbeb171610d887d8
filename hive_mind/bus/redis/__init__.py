"""A bus over Redis Streams: `redis://[user:password@]host[:port][/database]`, or `rediss://` with TLS.

A stream for each name and one for everyone, so that a message to all is sent once. After its first subscription a name gets what
is published while it is away, for as long as `kept_s`; messages to a name that never subscribed are kept as long, for subscribers
that begin with the earliest. Brief messages have streams of their own, of which no more than a minute is kept. The server must
keep streams (`maxmemory-policy noeviction`), and a log of them (`appendonly yes`) if they are to outlive it. Any server from 6.2
on will do that is not one of a cluster: a reader waits for four streams at once, which have to be in one place.

Seeing everything that is published in a hive: reads all its streams, and takes nothing from anybody.
"""

import asyncio
import random
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import reduce

from hive_mind.bus import (
    DEAD_LETTERS_SHOWN,
    DRAIN_S,
    EVERYONE,
    PUBLISH_TIMEOUT_S,
    BrokerVitals,
    BusCapabilities,
    BusHealth,
    BusSettings,
    DeadLetter,
    Envelope,
    Inbox,
    Key,
    QueueState,
    Subscription,
    key_of,
)
from hive_mind.bus.address import BusAddress, refuse_plaintext
from hive_mind.bus.codec import decode, encode
from hive_mind.bus.mailbox import drained
from hive_mind.bus.redis import admin, keys
from hive_mind.bus.redis.admin import ENVELOPE_BYTES_MAX, EVERY_S, inspected, look, purge, refuse_full, scrub, trim
from hive_mind.bus.redis.outgoing import COMMANDS_MAX, RedisSender
from hive_mind.bus.redis.reader import StreamReader
from hive_mind.bus.redis.wire import (
    REPLY_WITHIN_S,
    AdminClient,
    Command,
    Packed,
    ServerAddress,
    Wire,
    begin,
    keep_reading,
    pack,
    pairs,
    value,
)
from hive_mind.errors import BackendError, BackendUnavailable, InvalidInput, MessageTooLarge, WireError
from hive_mind.retry import RetrySettings

__all__ = ["RedisBus", "open", "purge", "refuse_full", "scrub"]

_KNOWN_MAX = 100_000
# Rounds of the keeper between two looks at memory, clock and keys of the server: they change slowly, and every process looks.
_VITALS_EVERY = 5
# And between two trims by a process that sends next to nothing: then the streams hardly grow, whatever others may send, who trim.
_TRIM_IDLE_EVERY, _LITTLE_BYTES = 10, 1 << 16


async def open(address: BusAddress, settings: BusSettings) -> "RedisBus":
    """A bus over a server that answers, and lets us in. Raises `ConfigError` or `BackendError`."""
    if not address.host or not (address.path or "0").isdecimal() or address.options:
        raise InvalidInput(
            f"{address} is not the address of a Redis server: write redis://host:6379/0, with a number behind the slash"
        )
    refuse_plaintext(address)
    place = ServerAddress(address, settings)
    bus = RedisBus(place, await inspected(place))
    await bus.start()
    return bus


class RedisBus:
    """See `bus.EventBus`."""

    def __init__(self, place: ServerAddress, capabilities: BusCapabilities) -> None:
        self.capabilities = capabilities
        self.outgoing = RedisSender(place, lambda: self._noted.clear())
        self._place = place
        self._bytes_max = capabilities.envelope_bytes_max or ENVELOPE_BYTES_MAX
        self._admin = AdminClient(place)
        self._readers: list[StreamReader] = []
        self._watchers: list[BusWatch] = []
        self._hives: set[str] = set()
        # Names that this process has noted on the server, and when.
        self._noted: dict[tuple[str, str], float] = {}
        self._former = BusHealth(is_connected=True)
        self._vitals: BrokerVitals | None = None
        self._sent_bytes = 0
        """Since it last trimmed, without what is for all and dropped soon."""
        self._is_closed = False
        self.settled = asyncio.Event()
        self._keeper: asyncio.Task[None] | None = None

    async def start(self) -> None:
        await self.outgoing.start()
        self._keeper = begin(self._keep(), "redis keeper", lambda _: None)

    @property
    def health(self) -> BusHealth:
        is_connected = not self._is_closed and self.outgoing.is_connected and all(reader.is_connected for reader in self._readers)
        former = self._former
        own = replace(
            former,
            is_connected=is_connected,
            reconnects=former.reconnects + self.outgoing.reconnects,
            last_error=self.outgoing.error or former.last_error,
            vitals=self._vitals,
        )
        return reduce(_with, self._readers, own)

    async def publish(self, envelopes: Sequence[Envelope], *, timeout_s: float = PUBLISH_TIMEOUT_S) -> None:
        self._refuse_if_closed()
        commands, size = self._commands(envelopes)
        until = asyncio.get_running_loop().time() + timeout_s
        for start in range(0, len(commands), COMMANDS_MAX):
            batch = commands[start : start + COMMANDS_MAX]
            left_s = max(until - asyncio.get_running_loop().time(), 0.0) if start else timeout_s
            await self.outgoing.send(batch, size * len(batch) // len(commands), left_s)

    async def subscribe(self, subscription: Subscription, on_ready: Callable[[], None]) -> Inbox:
        self._refuse_if_closed()
        place = subscription.hive, subscription.name
        if any((reader.subscription.hive, reader.subscription.name) == place for reader in self._readers):
            raise InvalidInput(f"{subscription.name!r} is taken in hive {subscription.hive!r}; give this node another name")
        reader = StreamReader(self, self._place, subscription, on_ready)
        # Before anything is waited for: nobody else may take the name meanwhile.
        self._readers.append(reader)
        try:
            await reader.start()
        except BaseException:
            self._readers.remove(reader)
            raise
        self._hives.add(subscription.hive)
        return reader

    async def watch(self, hive: str, on_envelope: Callable[[Envelope], None]) -> "BusWatch":
        self._refuse_if_closed()
        watcher = BusWatch(self._place, hive, on_envelope, self._watchers.remove)
        try:
            await watcher.start()
        except BaseException:
            await watcher.close()
            raise
        self._watchers.append(watcher)
        return watcher

    async def queues(self, hive: str) -> Sequence[QueueState]:
        """The server's counts. Messages a subscriber has read ahead count as unacknowledged."""
        return await self._admin.ask(lambda wire: admin.states(wire, hive))

    async def dead_letters(self, hive: str, *, limit: int = DEAD_LETTERS_SHOWN) -> Sequence[DeadLetter]:
        return await self._admin.ask(lambda wire: admin.listed(wire, hive, limit))

    async def drop(self, hive: str, ids: Sequence[str]) -> int:
        return await self._admin.ask(lambda wire: admin.dropped(wire, hive, ids))

    async def close(self, *, drain_s: float = DRAIN_S) -> None:
        """Read nothing more, wait until what was read is acknowledged or the time is up, and hang up."""
        self._is_closed = True
        keeper, self._keeper = self._keeper, None
        if keeper is None:
            return
        keeper.cancel()
        await asyncio.gather(*(reader.stop() for reader in self._readers), *(watch.close() for watch in tuple(self._watchers)))
        await drained(lambda: all(reader.mailbox.is_drained for reader in self._readers), self.settled, drain_s)
        await asyncio.gather(*(reader.close() for reader in tuple(self._readers)))
        # Acknowledgements take a round trip, also where there is no time to drain.
        await self.outgoing.close(max(drain_s, 0.5))
        await asyncio.wait([keeper])
        await self._admin.close()

    def forget(self, reader: StreamReader) -> None:
        self._former = _with(self._former, reader)
        self._readers.remove(reader)
        self.settled.set()

    def _commands(self, envelopes: Sequence[Envelope]) -> tuple[list[Command | Packed], int]:
        """The commands that add them, and how many bytes that is."""
        commands: list[Command | Packed] = []
        size = 0
        for envelope in envelopes:
            data, hive = encode(envelope), envelope.hive
            if len(data) > self._bytes_max:
                raise MessageTooLarge("redis", len(data), self._bytes_max)
            size += len(data) * len(envelope.target)
            self._hives.add(hive)
            if envelope.target == EVERYONE:
                stream = keys.brief(hive) if envelope.is_brief else keys.everyone(hive)
                commands.append(pack(b"XADD", stream, b"*", keys.BODY, data))
                self._sent_bytes += 0 if envelope.is_brief else len(data)
                continue
            self._sent_bytes += len(data) * len(envelope.target)
            for name in envelope.target:
                if (hive, name) not in self._noted:
                    # The command that makes a name known to watching, listing and trimming.
                    if len(self._noted) >= _KNOWN_MAX:
                        self._noted.clear()
                    self._noted[hive, name] = asyncio.get_running_loop().time()
                    commands.append(("HSETNX", keys.names(hive), name, 0))
                stream = keys.brief_inbox(hive, name) if envelope.is_brief else keys.inbox(hive, name)
                commands.append(pack(b"XADD", stream, b"*", keys.BODY, data))
        return commands, size

    async def _keep(self) -> None:
        rng = random.Random()  # noqa: S311 - jitter
        kept_s, rounds = self._place.settings.kept_s, -1
        while True:
            await asyncio.sleep(EVERY_S * rng.uniform(0.8, 1.2))
            now = asyncio.get_running_loop().time()
            # A name nobody subscribes to is forgotten some time after; until then it is noted again.
            self._noted = {place: when for place, when in self._noted.items() if now - when < kept_s / 2}
            rounds += 1
            is_due = rounds % _TRIM_IDLE_EVERY == 0 or self._sent_bytes > _LITTLE_BYTES
            self._sent_bytes = 0 if is_due else self._sent_bytes
            for hive in tuple(self._hives) if is_due else ():
                with suppress(BackendError):
                    await self._admin.ask(lambda wire, hive=hive: trim(wire, hive, kept_s))  # type: ignore[misc]
            if rounds % _VITALS_EVERY:
                continue
            readers_here = [(reader.subscription.hive, reader.subscription.name) for reader in self._readers]
            with suppress(BackendError):
                self._vitals = await self._admin.ask(lambda wire, readers_here=readers_here: look(wire, readers_here))  # type: ignore[misc]

    def _refuse_if_closed(self) -> None:
        if self._is_closed:
            raise BackendUnavailable("redis", "the bus is closed; open another one")


def _with(health: BusHealth, reader: StreamReader) -> BusHealth:
    return reader.mailbox.added_to(health, reader.reconnects, reader.error)


# New names are noticed within this time; nothing that was sent to them meanwhile is missed.
_BLOCK_MS = 250
_COUNT = 256
# An envelope to many is in many streams, and shown once.
_SHOWN_MAX = 10_000


class BusWatch:
    """See `bus.Watch`. Begins with `start`."""

    def __init__(
        self, place: ServerAddress, hive: str, on_envelope: Callable[[Envelope], None], forget: "Callable[[BusWatch], None]"
    ) -> None:
        self._wire, self._hive, self._on_envelope, self._forget = Wire(place), hive, on_envelope, forget
        self._read_up_to: dict[bytes, bytes] = {}
        self._shown: OrderedDict[Key, None] = OrderedDict()
        self._delays = RetrySettings(delay_first_s=0.1, delay_max_s=place.settings.reconnect_s_max)
        self._rng = random.Random()  # noqa: S311 - jitter
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Connect, and note where everything ends now. Raises `BackendError`."""
        await self._wire.connect()
        names = await self._wire.one("HKEYS", keys.names(self._hive))
        streams = self._streams(names)
        for stream, reply in zip(streams, await self._wire.call(*(("XINFO", "STREAM", key) for key in streams)), strict=True):
            self._read_up_to[stream] = b"0" if isinstance(reply, Exception) else pairs(reply)[b"last-generated-id"]
        reading = keep_reading(self._wire, self._read, self._delays, self._rng, on=f"watching hive {self._hive}")
        self._task = begin(reading, f"redis watch of {self._hive}", lambda _: None)

    async def close(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
            self._forget(self)
        await self._wire.close()

    async def _read(self) -> None:
        for stream in self._streams(await self._wire.one("HKEYS", keys.names(self._hive))):
            # A stream that was not there before began later, so all of it is new.
            self._read_up_to.setdefault(stream, b"0")
        streams: Command = ("STREAMS", *self._read_up_to, *self._read_up_to.values())
        (reply,) = await self._wire.call(
            ("XREAD", "COUNT", _COUNT, "BLOCK", _BLOCK_MS, *streams), within_s=REPLY_WITHIN_S + _BLOCK_MS / 1000
        )
        entries_read = [(entry, stream) for stream, entries in value(reply) or () for entry in entries]
        entries_read.sort(key=lambda entry_of_stream: keys.time_of(entry_of_stream[0][0]))
        for (id, fields), stream in entries_read:
            self._read_up_to[stream] = id
            self._show(fields[1])

    def _streams(self, names: Iterable[bytes]) -> list[bytes]:
        common = keys.everyone(self._hive), keys.brief(self._hive)
        streams = [stream for name in names for stream in keys.read_by(self._hive, name.decode())]
        return list(dict.fromkeys([*common, *streams]))

    def _show(self, data: bytes) -> None:
        try:
            envelope = decode(data)
        except WireError:
            # Its reader puts it aside.
            return
        key = key_of(envelope)
        if key not in self._shown:
            self._shown[key] = None
            while len(self._shown) > _SHOWN_MAX:
                self._shown.popitem(last=False)
            self._on_envelope(envelope)

"""Channels: messages from one node to another, numbered without a gap, kept until confirmed, and acted on once and in order.

The sender's end keeps unconfirmed messages. The receiver's end knows how far it got, and writes that together with its effects.
Messages between applications go through a hive by them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import msgspec

from hive_mind.errors import BackendThrottled, InvalidInput
from hive_mind.hive import Chance
from hive_mind.hive.effects import (
    Acknowledge,
    Delete,
    Done,
    Effect,
    Event,
    Kept,
    Now,
    Persist,
    Put,
    Received,
    Reconnected,
    Record,
    Say,
    Send,
    Tick,
)
from hive_mind.hive.policy.admission import can_travel
from hive_mind.hive.topology.log import EVERYBODY, is_name
from hive_mind.model.decoding import msgpack_decoder
from hive_mind.model.messages import AppMessage, AppMessageReceipt

FIRST_RETRY_MS = 2_000


def retry_ms(attempts: int, first_ms: int, last_ms: int, chance: Chance) -> int:
    """How long to wait after a number of attempts: `first_ms`, doubled with each, at most `last_ms`.

    Half of it is jitter, so that members that missed the same message don't speak at once.
    """
    step = min(first_ms << min(attempts, 16), last_ms)
    return step // 2 + chance.randrange(max(step // 2, 1))


CHANNELS, SENT, RECEIVED = "tell-lanes", "tell-said", "tell-heard"

CHANNEL_BYTES = 8
# A sender begins another channel only when it has lost its memory.
_HEARD_MAX = 100_000
_KEYS_BYTES_MAX = 8 << 20
# Out-of-order messages over all channels. Sender names prove nothing, so the bound is global.
_EARLY_BYTES_MAX = 32 << 20
# Python's overhead for one, besides its content.
_MESSAGE_BYTES = 512


@dataclass(frozen=True, slots=True)
class ChannelSettings:
    """`window`: how many may be under way to one receiver. `unconfirmed_max`: how many may wait for one that is away.

    `first_retry_ms` doubles up to `last_retry_ms`: lower them and what got lost comes sooner, and slow receivers get more twice.
    """

    window: int = 64
    unconfirmed_max: int = 10_000
    first_retry_ms: int = FIRST_RETRY_MS
    last_retry_ms: int = 30_000


@dataclass(frozen=True, slots=True)
class IncomingMessage:
    """Something another node said. `id` is the same however often it comes."""

    id: str
    sender: str
    kind: str
    data: bytes


Act = Callable[[IncomingMessage], Sequence[Record]]


@dataclass(slots=True)
class _Channel:
    """To one receiver. `waiting` is unconfirmed, by number, in order."""

    id: bytes
    next: int = 1
    waiting: dict[int, tuple[str, bytes]] = field(default_factory=dict)
    attempts: int = 0
    due_ms: int | None = None

    @property
    def first(self) -> int:
        return next(iter(self.waiting), self.next)


class Sender:
    """The senders' ends of all channels of one node."""

    def __init__(self, settings: ChannelSettings, chance: Chance) -> None:
        self._settings, self._chance = settings, chance
        self._channels: dict[str, _Channel] = {}

    def waiting(self, receiver: str) -> int:
        return len(self._channels[receiver].waiting) if receiver in self._channels else 0

    def unconfirmed(self) -> int:
        return sum(len(channel.waiting) for channel in self._channels.values())

    def wake_at_ms(self) -> int | None:
        return min((channel.due_ms for channel in self._channels.values() if channel.due_ms is not None), default=None)

    def load(self, records: Iterable[Put], mono_ms: int) -> None:
        """Take back what is unconfirmed: it is said again soon. Sorted as a journal gives it."""
        for record in records:
            if record.table == CHANNELS:
                self._channels[record.key.decode()] = _Channel(
                    record.value[CHANNEL_BYTES:], _number(record.value[:CHANNEL_BYTES])
                )
            elif record.table == SENT:
                channel = self._channels[record.key[CHANNEL_BYTES:].decode()]
                channel.waiting[_number(record.key[:CHANNEL_BYTES])] = msgpack_decoder(tuple[str, bytes])(record.value)
                channel.due_ms = mono_ms

    def send(self, receiver: str, kind: str, data: bytes, mono_ms: int) -> tuple[list[Record], list[Send]]:
        """Put it into the receiver's channel: records to persist, and what to send afterwards."""
        fresh = _Channel(self._chance.getrandbits(8 * CHANNEL_BYTES).to_bytes(CHANNEL_BYTES, "big"))
        channel = self._channels.setdefault(receiver, fresh)
        number, channel.next = channel.next, channel.next + 1
        channel.waiting[number] = kind, data
        records: list[Record] = [
            Put(CHANNELS, receiver.encode(), _bytes(channel.next) + channel.id),
            Put(SENT, _key(receiver, number), msgspec.msgpack.encode((kind, data))),
        ]
        if number >= channel.first + self._settings.window:
            return records, []
        if channel.due_ms is None:
            self._set_due(channel, mono_ms)
        return records, [_send(receiver, channel, number)]

    def confirmed(self, receiver: str, receipt: AppMessageReceipt, mono_ms: int) -> tuple[list[Record], list[Send]]:
        """The receiver got so far: records to forget, and messages that may now be sent."""
        channel = self._channels.get(receiver)
        if channel is None or channel.id != receipt.lane:
            return [], []
        former, numbers = channel.first, [number for number in channel.waiting if number <= receipt.up_to]
        for number in numbers:
            del channel.waiting[number]
        if numbers:
            channel.attempts, channel.due_ms = 0, None
            if channel.waiting:
                self._set_due(channel, mono_ms)
        window = self._settings.window
        fresh = range(max(former + window, channel.first), min(channel.first + window, channel.next))
        return [Delete(SENT, _key(receiver, number)) for number in numbers], [
            _send(receiver, channel, number) for number in fresh
        ]

    def due(self, mono_ms: int, is_there: Callable[[str], bool] = lambda _: True) -> Iterator[Send]:
        """Retransmissions, only to members that are present: the broker keeps the first copy for the others."""
        for receiver, channel in self._channels.items():
            if channel.due_ms is not None and channel.due_ms <= mono_ms:
                channel.attempts += 1
                self._set_due(channel, mono_ms)
                if not is_there(receiver):
                    continue
                end = channel.first + self._settings.window
                yield from (_send(receiver, channel, number) for number in channel.waiting if number < end)

    def hasten(self, mono_ms: int) -> None:
        for channel in self._channels.values():
            channel.attempts, channel.due_ms = 0, mono_ms if channel.waiting else None

    def _set_due(self, channel: _Channel, mono_ms: int) -> None:
        settings = self._settings
        channel.due_ms = mono_ms + retry_ms(channel.attempts, settings.first_retry_ms, settings.last_retry_ms, self._chance)


@dataclass(slots=True)
class _Progress:
    """`early` came before something that is still missing; it comes again if this is forgotten."""

    up_to: int = 0
    early: dict[int, AppMessage] = field(default_factory=dict)


class Receiver:
    """The receivers' ends of all channels to one node."""

    def __init__(self, settings: ChannelSettings) -> None:
        self._settings = settings
        self._channels: dict[bytes, _Progress] = {}
        self._keys_bytes = 0
        self.early_bytes = 0
        """How much waits for something that is missing."""

    def load(self, records: Iterable[Put]) -> None:
        self._channels |= {record.key: _Progress(_number(record.value)) for record in records if record.table == RECEIVED}
        self._keys_bytes = sum(map(len, self._channels))

    def receive(self, sender: str, message: AppMessage, act: Act) -> tuple[list[Record], list[Send]]:
        """Act on it, if it is its turn, and on what waited for it; once. Records to persist, and the receipt to send then."""
        key = message.lane + sender.encode()
        if len(message.lane) != CHANNEL_BYTES or (progress := self._progress(key)) is None:
            return [], []
        # Messages confirmed once are not waited for, though this node may have lost its memory of them.
        former, progress.up_to = progress.up_to, max(progress.up_to, message.first - 1)
        # Until its turn. Where too much waits only what has its turn now is taken; the rest comes again.
        is_near = progress.up_to < message.number <= progress.up_to + 2 * self._settings.window
        has_room = message.number == progress.up_to + 1 or self.early_bytes + _size(message) <= _EARLY_BYTES_MAX
        if is_near and has_room and message.number not in progress.early:
            progress.early[message.number] = message
            self.early_bytes += _size(message)
        records: list[Record] = []
        while (turn := progress.early.get(progress.up_to + 1)) is not None:
            records += act(IncomingMessage(f"{turn.lane.hex()}-{turn.number}", sender, turn.kind, turn.data))
            progress.up_to += 1
        self._forget(progress)
        if (progress.up_to or progress.early) and key not in self._channels:
            self._channels[key] = progress
            self._keys_bytes += len(key)
        if progress.up_to > former:
            records.append(Put(RECEIVED, key, _bytes(progress.up_to)))
        is_known = message.number <= progress.up_to
        return records, [Send((sender,), AppMessageReceipt(message.lane, progress.up_to))] if is_known else []

    def _progress(self, key: bytes) -> _Progress | None:
        """How far a channel got; None for one more than this node remembers."""
        is_full = len(self._channels) >= _HEARD_MAX or self._keys_bytes + len(key) > _KEYS_BYTES_MAX
        return self._channels.get(key) or (None if is_full else _Progress())

    def _forget(self, progress: _Progress) -> None:
        for number in [number for number in progress.early if number <= progress.up_to]:
            self.early_bytes -= _size(progress.early.pop(number))


def _size(message: AppMessage) -> int:
    return len(message.data) + 4 * len(message.kind) + _MESSAGE_BYTES


def _key(receiver: str, number: int) -> bytes:
    return _bytes(number) + receiver.encode()


def _bytes(number: int) -> bytes:
    return number.to_bytes(8, "big")


def _number(data: bytes) -> int:
    return int.from_bytes(data, "big")


def _send(receiver: str, channel: _Channel, number: int) -> Send:
    kind, data = channel.waiting[number]
    return Send((receiver,), AppMessage(channel.id, number, channel.first, kind, data))


APPLICATION = "app."
"""How the names of an application's own tables in the journal begin."""
DATA_BYTES_MAX = 64 * 1024
KIND_CHARACTERS_MAX = 1_000


class AppMessages:
    """Of one node. `members` receive broadcasts. `is_there` tells which members are alive: only they get retransmissions."""

    def __init__(
        self,
        name: str,
        members: Callable[[], Iterable[str]],
        chance: Chance,
        settings: ChannelSettings | None = None,
        *,
        is_there: Callable[[str, Now], bool] = lambda *_: True,
    ) -> None:
        self.name, self._members, self.is_there = name, members, is_there
        self._settings = settings or ChannelSettings()
        self._sender, self._receiver = Sender(self._settings, chance), Receiver(self._settings)
        self._handler: Act | None = None
        self.kept: tuple[Put, ...] = ()
        """The application's records when the node started."""
        self.failed = 0
        """How often the handler raised; then nothing was written, and it is not asked again."""

    def deliver_to(self, handler: Act | None) -> None:
        """Maps a message to the application's writes. Without a handler nothing is confirmed."""
        self._handler = handler

    @property
    def unconfirmed(self) -> int:
        return self._sender.unconfirmed()

    def wake_at_ms(self) -> int | None:
        """When something is to be said again, if anything is."""
        return self._sender.wake_at_ms()

    def start(self, journal: Iterable[Kept], now: Now) -> list[Kept]:
        """Take back what was kept; the records of others."""
        records = list(journal)
        puts = [record for record in records if isinstance(record, Put)]
        self.kept = tuple(record for record in puts if record.table.startswith(APPLICATION))
        self._sender.load(puts, now.mono_ms)
        self._receiver.load(puts)
        return [record for record in records if not _is_ours(record.table)]

    def handle(self, event: Event, now: Now) -> list[Effect]:
        """Effects of an event on what is said and heard, in this order."""
        match event:
            case Say():
                return self._say(event, now.mono_ms)
            case Received(sender, AppMessage() as message, delivery):
                # Messages before their turn are kept until then, so they may not be larger than any sender's limit.
                _refuse_larger(message.kind, message.data)
                handler = self._handler
                records, sends = self._receiver.receive(sender, message, partial(self._act, handler)) if handler else ([], [])
                return [*_persisted(records), *sends, *_acknowledged(delivery)]
            case Received(sender, AppMessageReceipt() as receipt, delivery):
                records, sends = self._sender.confirmed(sender, receipt, now.mono_ms)
                return [*_persisted(records), *sends, *_acknowledged(delivery)]
            case Tick():
                return [*self._sender.due(now.mono_ms, lambda name: self.is_there(name, now))]
            case Reconnected():
                self._sender.hasten(now.mono_ms)
        return []

    def _say(self, event: Say, mono_ms: int) -> list[Effect]:
        is_for_all = event.to == (EVERYBODY,)
        to = tuple(dict.fromkeys(self._members() if is_for_all else event.to))
        if is_for_all:
            to = tuple(name for name in to if name != self.name)
        if self.name in to or not all(map(is_name, to)):
            raise InvalidInput("send to another node, by its name, or to everybody")
        _refuse_larger(event.kind, event.data)
        if not can_travel(event.kind):
            raise InvalidInput("the kind of a message contains an unpaired surrogate")
        if full := [name for name in to if self._sender.waiting(name) >= self._settings.unconfirmed_max]:
            raise BackendThrottled("hive", f"{', '.join(full)} confirms nothing; send more when it is back")
        messages = [self._sender.send(receiver, event.kind, event.data, mono_ms) for receiver in to]
        records = [record for some_records, _ in messages for record in some_records]
        return [*_persisted(records), *(send for _, sends in messages for send in sends), Done(event.request, to)]

    def _act(self, handler: Act, message: IncomingMessage) -> Sequence[Record]:
        try:
            records = list(handler(message))
            if any(not record.table.startswith(APPLICATION) for record in records):
                raise InvalidInput(f"the names of an application's tables begin with {APPLICATION!r}")
        except Exception:  # noqa: BLE001 - a guest: a message it can't take now it can't take later
            self.failed += 1
            return []
        return records


def _refuse_larger(kind: str, data: bytes) -> None:
    if len(data) > DATA_BYTES_MAX:
        raise InvalidInput(f"{len(data)} bytes of data: at most {DATA_BYTES_MAX:,} fit one message")
    if len(kind) > KIND_CHARACTERS_MAX:
        raise InvalidInput(f"the kind of a message has at most {KIND_CHARACTERS_MAX} characters")


def _is_ours(table: str) -> bool:
    return table in (CHANNELS, SENT, RECEIVED) or table.startswith(APPLICATION)


def _persisted(records: Sequence[Record]) -> list[Effect]:
    return [Persist(records)] if records else []


def _acknowledged(delivery: str) -> list[Effect]:
    return [Acknowledge(delivery)] if delivery else []

"""Messages between applications through a hive: each is acted on once, and in order, whatever is lost or repeated."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from hive_mind.errors import BackendThrottled, InvalidInput
from hive_mind.hive.chance import Chance
from hive_mind.hive.effects import (
    Acknowledge,
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
    Tick,
)
from hive_mind.hive.policy.admission import can_travel
from hive_mind.hive.replication.reliable_channels import (
    CHANNELS,
    RECEIVED,
    SENT,
    Act,
    ChannelSettings,
    IncomingMessage,
    Receiver,
    Sender,
)
from hive_mind.hive.topology.codec import EVERYBODY, is_name
from hive_mind.model.messages import AppMessage, AppMessageReceipt

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
        """How much was said and not yet confirmed."""
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
        to = self._receivers(event)
        messages = [self._sender.send(receiver, event.kind, event.data, mono_ms) for receiver in to]
        records = [record for some_records, _ in messages for record in some_records]
        return [*_persisted(records), *(send for _, sends in messages for send in sends), Done(event.request, to)]

    def _receivers(self, event: Say) -> tuple[str, ...]:
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
        return to

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

"""Reading one partition from one position on, in a thread, until it fails or is stopped.

The SDK's public `receive` fetches as many events at once as it allows the broker to send ahead, and returns only when that many
have come or none came for a while: either every event waits (seconds, where few come), or each one costs a round trip. Its
consumer below that fetches as they come while many are sent ahead, and says at once when the broker refuses it.
"""

import asyncio
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from azure.eventhub import EventData, EventHubConsumerClient

from hive_mind.bus import codec
from hive_mind.bus.base import UNREADABLE_BYTES_MAX, Envelope
from hive_mind.bus.eventhubs.clients import BACKEND, Clients, Socket, translated, unpack
from hive_mind.errors import BackendError, BackendUnavailable, WireError
from hive_mind.settling import call_on

# Events on their way to us: as many as a round trip of some milliseconds can carry, and a loop digests at once.
_AHEAD = 300
# Events that wait for the event loop; then the thread waits.
_UNSEEN_MAX = 2000


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An event that is no envelope. `hive` is the one it claims to be of; "" where it is of another program."""

    hive: str
    data: bytes
    """The first of it."""
    reason: str


@dataclass(frozen=True, slots=True)
class Token:
    """A ping that a reader sent to itself, to test that it still receives."""

    text: bytes


@dataclass(frozen=True, slots=True)
class SequencedEvent:
    """An event and its sequence number; None for what is nobody's here."""

    number: int
    what: Envelope | Unreadable | Token | None
    size: int
    """Bytes."""


class Reading:
    """A thread that reads from `start` on and hands over what it sees, in order, on the event loop."""

    def __init__(
        self,
        clients: Clients,
        partition: int,
        start: int,
        hives: Callable[[], frozenset[str]],
        on_seen: Callable[[Sequence[SequencedEvent]], None],
    ) -> None:
        self._clients, self._partition, self._start, self._hives, self._on_seen = clients, partition, start, hives, on_seen
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[BackendError | None] = self._loop.create_future()
        """Becomes the error that ended it; None when it was stopped."""
        self._unseen: list[SequencedEvent] = []
        self._lock = threading.Lock()
        self._has_room = threading.Event()
        self._has_room.set()
        self._is_stopping = False
        self.thread = threading.Thread(target=self._run, name=f"eventhubs read {partition}", daemon=True)
        self.thread.start()

    def stop(self) -> None:
        """Read nothing more; `ended` follows soon."""
        self._is_stopping = True
        self._has_room.set()

    def abandon(self) -> None:
        """Wait no longer for a thread that hangs in the SDK."""
        self.stop()
        self._end(None)

    def _show(self) -> None:
        with self._lock:
            events, self._unseen = self._unseen, []
        self._has_room.set()
        if not self.ended.done() and not self._is_stopping:
            self._on_seen(events)

    def _end(self, error: BackendError | None) -> None:
        if not self.ended.done():
            self.ended.set_result(error)

    # ── in the thread ────────────────────────────────────────────────────────────────────────────────────────────────

    def _run(self) -> None:
        error: BackendError | None = None
        client = self._clients.consumer()
        try:
            self._read(client)
        except Exception as failure:  # noqa: BLE001 - any error belongs to the supervisor
            error = translated(failure)
            error.__cause__ = failure
        finally:
            client.close()
        call_on(self._loop, self._end, error)

    def _read(self, client: EventHubConsumerClient) -> None:
        consumer, socket = self._consumer(client), Socket()
        try:
            while not self._is_stopping and not _is_open(consumer, socket):
                pass
            # Fetch one by one what is sent ahead.
            consumer._prefetch = 1  # noqa: SLF001 - see the top
            while not self._is_stopping:
                consumer.receive(batch=True, max_batch_size=_AHEAD)
                if not consumer.running:
                    raise BackendUnavailable(BACKEND, "the connection was lost")
        finally:
            consumer.close()
            socket.close()

    def _consumer(self, client: EventHubConsumerClient) -> Any:
        # After a number rather than from it on: the number that will come next is refused as unknown. "-1" is the very beginning.
        after: int | str = self._start - 1 if self._start > 0 else "-1"
        # Any: it is typed for `receive`, which wraps the function it hands on.
        create: Any = client._create_consumer  # noqa: SLF001 - see the top
        consumer = create(self._clients.group, str(self._partition), after, self._take, prefetch=_AHEAD)
        # Reading all the time is enough to keep a connection alive.
        consumer._keep_alive = None  # noqa: SLF001
        return consumer

    def _take(self, events: Sequence[EventData]) -> None:
        hives = self._hives()
        sequenced_events = [_seen(event, hives) for event in events]
        with self._lock:
            is_first, is_full = not self._unseen, len(self._unseen) + len(sequenced_events) > _UNSEEN_MAX
            self._unseen += sequenced_events
            if is_full:
                self._has_room.clear()
        if is_first:
            call_on(self._loop, self._show)
        self._has_room.wait()


def _is_open(consumer: Any, socket: Socket) -> bool:
    try:
        is_open = bool(consumer._open())  # noqa: SLF001 - see the top
        socket.look(consumer)
        return is_open
    except Exception as error:
        socket.look(consumer)
        raise consumer._handle_exception(error, is_consumer=True) from error  # noqa: SLF001


def _seen(event: EventData, hives: frozenset[str]) -> SequencedEvent:
    body = _body_of(event)
    return SequencedEvent(event.sequence_number or 0, _what(body, hives), len(body))


def _what(body: bytes, hives: frozenset[str]) -> Envelope | Unreadable | Token | None:
    """The meaning of an event with these bytes."""
    sent = unpack(body)
    if sent is None:
        return Unreadable("", b"", "no hive sent it")
    if not sent.hive:
        return Token(sent.data) if sent.data else None
    if sent.hive not in hives:
        return None
    try:
        return codec.decode(sent.data)
    except WireError as error:
        return Unreadable(sent.hive, sent.data[:UNREADABLE_BYTES_MAX], str(error))


def _body_of(event: EventData) -> bytes:
    """The bytes of an event; those of another program may have none, or some value instead."""
    # Any: it is typed for what is sent.
    body: Any = event.body
    if not isinstance(body, Iterable) or isinstance(body, bytes | str | Mapping):
        return b""
    try:
        return b"".join(body)
    except TypeError:
        return b""

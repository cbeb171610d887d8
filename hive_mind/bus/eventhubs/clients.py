"""How an event hub is reached and written to: host, transport and identity, the SDK's errors, an event's bytes, a partition's
sender.

Off this machine everything is encrypted. On loopback a development broker is spoken to in plain text, unless a certificate says
that it speaks TLS.

An event is a mark, the hive it belongs to, and an envelope. The hive stands before the envelope so that readers of other hives
need not understand the rest. It is no property of the event, because the SDK takes longer to write one property than all the
rest.

The SDK blocks, and may wait for ever on a broker that took a connection and says nothing: each call gets a thread of its own that
no caller has to wait for, so neither closing a bus nor the end of the process hangs on that.

A partition's sender is a thread with a queue in front of it. Envelopes that wait together go out as one batch: many small
publishers cost no more than one that sends many envelopes at a time. An envelope that a busy broker refused, or that got lost
with a connection, is sent again until nobody waits for it any more: that can put it on the hub twice, and readers recognise it by
its id.
"""

import asyncio
import logging
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential, TokenCredential
from azure.core.exceptions import ClientAuthenticationError
from azure.eventhub import EventData, EventDataBatch, EventHubConsumerClient, EventHubProducerClient, TransportType
from azure.eventhub.exceptions import AuthenticationError, EventHubError

from hive_mind.awaiting import Waiter, settle
from hive_mind.bus import BusSettings
from hive_mind.bus._azure import credential_of
from hive_mind.bus.address import BusAddress
from hive_mind.errors import BackendError, BackendRejected, BackendThrottled, BackendUnavailable, InvalidInput
from hive_mind.retry import RetrySettings, delay_s

BACKEND = "eventhubs"

Credential = AzureNamedKeyCredential | AzureSasCredential | TokenCredential

_PORT, _PORT_PLAIN = 5671, 5672
# The ends of AMQP conditions that no repetition changes.
_FINAL = {
    "not-found": "there is no such hub, partition or consumer group",
    "unauthorized-access": "these credentials may not do that",
    "resource-limit-exceeded": "a quota is used up, such as five readers of a partition in one group; use another ?group=",
    "link:stolen": "an exclusive reader took the partition; use another ?group=",
    "not-allowed": "the broker does not allow it",
}
_BUSY = frozenset({"server-busy", "timeout"})

# Events that begin otherwise were not sent by a hive. No text begins like that.
_MARK = b"\x93hive"
_LENGTH_BYTES = 2

AROUND_BYTES = 2048
"""Bytes of an event beside its envelope: this frame, with a name of 256 characters, and its place in a batch."""

T = TypeVar("T")

# A silent SDK: its errors and its retries are ours to report.
for _name in ("azure.eventhub", "azure.identity"):
    if logging.getLogger(_name).level == logging.NOTSET:
        logging.getLogger(_name).setLevel(logging.CRITICAL)


@dataclass(frozen=True)
class Clients:
    """Makes the SDK's clients for one hub. They never retry: the caller decides."""

    hub: str
    host: str
    port: int
    group: str
    credential: Credential = field(repr=False)
    is_plain: bool
    certificate: Path | None
    timeout_s: float

    @cached_property
    def place(self) -> str:
        return f"{self.host}/{self.hub}".lower()

    def producer(self) -> EventHubProducerClient:
        """A client that sends. It connects when it is first used."""
        return EventHubProducerClient(self._namespace, self.hub, self.credential, **self._options)

    def consumer(self) -> EventHubConsumerClient:
        """A client that receives, and asks for properties."""
        return EventHubConsumerClient(self._namespace, self.hub, self.group, self.credential, **self._options)

    @property
    def _namespace(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}" if self.is_plain else host

    @cached_property
    def _options(self) -> dict[str, Any]:
        options: dict[str, Any] = {"retry_total": 0, "retry_backoff_factor": 0.02, "auth_timeout": self.timeout_s}
        options["transport_type"] = TransportType.Amqp
        if self.is_plain:
            options["use_tls"] = False
        elif self.port != _PORT:
            options["custom_endpoint_address"] = f"sb://{self._namespace}:{self.port}"
        if self.certificate is not None:
            options["connection_verify"] = str(self.certificate)
        return options


def clients_for(address: BusAddress, settings: BusSettings) -> Clients:
    """How to reach what `address` names. Raises `InvalidInput` for an address or a credential that can't be used."""
    if not address.host:
        raise InvalidInput("an event hub is named by eventhubs://NAMESPACE.servicebus.windows.net/HUB")
    is_plain = address.is_loopback and settings.certificate is None
    port = address.port or (_PORT_PLAIN if is_plain else _PORT)
    return Clients(
        hub=address.path or "hive",
        host=address.host,
        port=port,
        group=address.option("group", "$Default"),
        credential=credential_of(address, settings.credential) or _identity(),
        is_plain=is_plain,
        certificate=settings.certificate,
        timeout_s=settings.connect_timeout_s,
    )


def _identity() -> Credential:
    # Slow to import, and needed in the cloud only.
    from azure.identity import DefaultAzureCredential

    return DefaultAzureCredential(exclude_interactive_browser_credential=True)


class Socket:
    """The socket below one of the SDK's senders or receivers. When a connection breaks, the SDK forgets it without closing it."""

    def __init__(self) -> None:
        self._transport: Any = None

    def look(self, link: Any) -> None:
        """Remember what a link runs over now, and close what it ran over before."""
        connection = getattr(getattr(link, "_handler", None), "_connection", None)
        transport = getattr(connection, "_transport", None)
        if transport is not self._transport:
            self.close()
            self._transport = transport

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()
            self._transport = None


@contextmanager
def translating() -> Iterator[None]:
    try:
        yield
    except (EventHubError, ClientAuthenticationError, OSError, ValueError) as error:
        raise translated(error) from error


C = TypeVar("C", EventHubConsumerClient, EventHubProducerClient)


@contextmanager
def asking(client: C) -> Iterator[C]:
    """A client for one question."""
    try:
        with translating():
            yield client
    finally:
        client.close()


def translated(error: Exception) -> BackendError:
    if isinstance(error, BackendError):
        return error
    condition = str(getattr(error, "error", None) or "")
    # The first line: the others repeat it, or are for support.
    text = str(error).partition("\n")[0]
    if condition in _BUSY:
        return BackendThrottled(BACKEND, f"the broker is busy ({text}); send less, or later")
    if isinstance(error, AuthenticationError | ClientAuthenticationError):
        return BackendRejected(BACKEND, f"the credentials were refused ({text})")
    if condition in _FINAL:
        return BackendRejected(BACKEND, f"{_FINAL[condition]} ({text})")
    return BackendUnavailable(BACKEND, text or type(error).__name__)


@dataclass(frozen=True, slots=True)
class Event:
    """An event's content. The empty hive is for messages of senders and readers to themselves."""

    hive: str
    data: bytes


def pack(event: Event) -> bytes:
    hive = event.hive.encode()
    return b"".join((_MARK, len(hive).to_bytes(_LENGTH_BYTES, "big"), hive, event.data))


def unpack(body: bytes) -> Event | None:
    """The event in a body; None if no hive sent it."""
    start = len(_MARK) + _LENGTH_BYTES
    if not body.startswith(_MARK) or len(body) < start:
        return None
    end = start + int.from_bytes(body[len(_MARK) : start], "big")
    return Event(body[start:end].decode(errors="replace"), body[end:]) if len(body) >= end else None


async def off_loop(work: Callable[[], T], name: str) -> T:
    """The result or error of `work`. A cancelled caller leaves it to end by itself."""
    waiter: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    def run() -> None:
        try:
            result = work()
        except Exception as error:  # noqa: BLE001 - it belongs to the caller
            settle([waiter], error=error)
        else:
            settle([waiter], result)

    thread = threading.Thread(target=run, name=f"eventhubs {name}", daemon=True)
    thread.start()
    try:
        return await waiter
    finally:
        if not waiter.cancelled():
            # It has nothing left to do but return.
            thread.join()


# Event Hubs drops a connection that was silent for four minutes, and opening another costs the next message half a second. So a
# sender that nobody uses says something now and then; one that is used never does. One that failed tries sooner to be well.
_SILENT_S, _FAILED_S = 120.0, 1.0
# Jobs that go out together. More would make the first of them wait for its answer.
_TOGETHER_MAX = 500
_PAUSES = RetrySettings(delay_first_s=0.05, delay_max_s=2.0)


@dataclass(eq=False, slots=True)
class _Job:
    events: Sequence[Event]
    deadline: float
    waiter: asyncio.Future[None] | None
    error: BackendError | None = field(default=None)

    @property
    def is_wanted(self) -> bool:
        """Whether sending it makes sense: its publisher waits for it, and nothing of it failed."""
        return self.error is None and not (self.waiter is not None and self.waiter.done())


_STOP = _Job((), 0.0, None)


class PartitionSender:
    """Sends to one partition, in the order in which it was asked."""

    def __init__(self, clients: Clients, partition: int, batch_bytes_max: int) -> None:
        self.last_error, self.is_failing = "", False
        self._clients, self._partition, self._bytes_max = clients, str(partition), batch_bytes_max
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        self._socket = Socket()
        self._is_closing = threading.Event()
        self._rng = random.Random()  # noqa: S311 - keeps a fleet from trying again in step, hides nothing
        self._thread = threading.Thread(target=self._run, name=f"eventhubs send {partition}", daemon=True)
        self._thread.start()

    def send(self, events: Sequence[Event], timeout_s: float) -> asyncio.Future[None]:
        """Done when the broker has accepted all. A cancelled send leaves each event whole or unsent."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._jobs.put(_Job(events, time.monotonic() + timeout_s, waiter))
        return waiter

    def close(self) -> None:
        """Send nothing more; the thread ends soon."""
        self._is_closing.set()
        self._jobs.put(_STOP)

    def join(self, timeout_s: float) -> bool:
        """Wait for the thread; whether it ended."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _hello(self) -> _Job:
        return _Job((Event("", b""),), time.monotonic() + self._clients.timeout_s, None)

    def _run(self) -> None:
        client = self._clients.producer()
        # Opens the sender before somebody waits for it.
        self._send(client, [self._hello()])
        while (jobs := self._next()) is not None:
            self._send(client, jobs)
        client.close()
        self._socket.close()

    def _next(self) -> list[_Job] | None:
        """Jobs that wait, at least one; None when it is time to end."""
        try:
            jobs = [self._jobs.get(timeout=_FAILED_S if self.is_failing else _SILENT_S)]
        except Empty:
            return [self._hello()]
        with suppress(Empty):
            while len(jobs) < _TOGETHER_MAX:
                jobs.append(self._jobs.get_nowait())
        if _STOP in jobs:
            _settle(jobs, BackendUnavailable(BACKEND, "the bus was closed before this was sent"))
            return None
        return jobs

    def _send(self, client: EventHubProducerClient, jobs: Sequence[_Job]) -> None:
        for batch, riders in self._batches(jobs):
            error = self._deliver(client, batch, riders)
            self.is_failing = error is not None and error.retryable
            self.last_error = str(error) if error is not None else self.last_error
            for job in riders:
                job.error = error
        _settle(jobs)

    def _batches(self, jobs: Sequence[_Job]) -> Iterable[tuple[EventDataBatch, list[_Job]]]:
        """As few batches as the link allows. Nothing follows of a job of which something failed."""
        batch, riders = self._batch(), list[_Job]()
        for job in jobs:
            for event in job.events if job.is_wanted else ():
                data = EventData(pack(event))
                try:
                    batch.add(data)
                except ValueError:
                    yield batch, riders
                    batch, riders = self._batch(), []
                    if not job.is_wanted:
                        break
                    batch.add(data)
                if not riders or riders[-1] is not job:
                    riders.append(job)
        if riders:
            yield batch, riders

    def _batch(self) -> EventDataBatch:
        return EventDataBatch(max_size_in_bytes=self._bytes_max, partition_id=self._partition)

    def _deliver(self, client: EventHubProducerClient, batch: EventDataBatch, riders: Sequence[_Job]) -> BackendError | None:
        """Send until it is accepted, or nobody waits, or it makes no sense. None: accepted."""
        error, attempt = BackendError(BACKEND, "not sent: no attempt was made"), 0
        while deadlines := [job.deadline for job in riders if job.is_wanted]:
            remaining_s = max(deadlines) - time.monotonic()
            if remaining_s <= 0 and attempt:
                break
            try:
                client.send_batch(batch, timeout=max(remaining_s, 0.1))
                self._socket.look(client._producers[self._partition])  # noqa: SLF001 - see `Socket`
            except Exception as failure:  # noqa: BLE001 - any error belongs to the publisher
                error, attempt = translated(failure), attempt + 1
                error.__cause__ = failure
            else:
                return None
            pause_s = delay_s(attempt, _PAUSES, rng=self._rng)
            is_awaited = any(job.waiter is not None for job in riders)
            if not (error.retryable and is_awaited) or pause_s > remaining_s or self._is_closing.wait(pause_s):
                break
        return error


def _settle(jobs: Sequence[_Job], error: BackendError | None = None) -> None:
    by_error: dict[BackendError | None, list[Waiter]] = {}
    for job in jobs:
        if job.waiter is not None:
            by_error.setdefault(job.error or error, []).append(job.waiter)
    for reason, waiters in by_error.items():
        settle(waiters, error=reason)

"""How to reach an event hub: host, transport and identity, and the meaning of the SDK's errors.

Off this machine everything is encrypted. On loopback a development broker is spoken to in plain text, unless a certificate says
that it speaks TLS.

The bytes of an event: a mark, the hive it belongs to, and an envelope.

The hive stands before the envelope so that readers of other hives need not understand the rest. It is no property of the
event, because the SDK takes longer to write one property than all the rest.

Calls of a blocking SDK, off the event loop.

Each gets a thread of its own that no caller has to wait for: the SDK may wait for ever on a broker that took a connection and
says nothing, and neither closing a bus nor the end of the process may hang on that.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential, TokenCredential
from azure.core.exceptions import ClientAuthenticationError
from azure.eventhub import EventHubConsumerClient, EventHubProducerClient, TransportType
from azure.eventhub.exceptions import AuthenticationError, EventHubError

from hive_mind.bus._azure import credential_of
from hive_mind.bus.address import BusAddress
from hive_mind.bus.base import BusSettings
from hive_mind.errors import BackendError, BackendRejected, BackendThrottled, BackendUnavailable, InvalidInput
from hive_mind.settling import settle

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
        """Names the hub, whichever way it is reached."""
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
    """The SDK's errors as ours."""
    try:
        yield
    except (EventHubError, ClientAuthenticationError, OSError, ValueError) as error:
        raise translated(error) from error


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

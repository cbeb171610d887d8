"""How Service Bus is reached and spoken to: clients from an address and settings, the SDK's errors, names of entities, and
messages.

Plain AMQP is for this machine only: the development broker, or Microsoft's emulator in its container. Everything else is TLS. A
secret is handed to the SDK and kept nowhere else. Texts of the SDK are shortened: they repeat whole frames.

Messages are envelopes, or pings that only prove that a subscription hears. A subscription is called `<hive>.<node>`; a message
says in its property `target` whether it is for `<hive>.<node>` or, as `<hive>.*`, for everyone in the hive. So two correlation
filters per subscription are enough, and hives share a topic unseen. Entities have at most 50 characters, and upper and lower case
are the same there: names that do not fit get a label with a hash.
"""

import asyncio
import hashlib
import logging
import re
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, TypeVar

from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential
from azure.core.credentials_async import AsyncTokenCredential
from azure.servicebus import ServiceBusMessage, ServiceBusReceivedMessage, ServiceBusSubQueue, TransportType
from azure.servicebus import exceptions as sdk
from azure.servicebus.aio import ServiceBusClient, ServiceBusReceiver, ServiceBusSender

from hive_mind.bus import BRIEF_S, EVERYONE, BusSettings, Envelope, Key, key_of
from hive_mind.bus._azure import bytes_of, credential_of
from hive_mind.bus.address import AZURE, BusAddress
from hive_mind.errors import (
    BackendError,
    BackendNotInstalled,
    BackendRejected,
    BackendThrottled,
    BackendTimeout,
    BackendUnavailable,
    InvalidInput,
)
from hive_mind.regex import regex

TOPIC = "hive"

_PLAIN_PORT = 5672
_TLS_PORT = 5671
# We reconnect ourselves: with a limit, jitter and a look at what is still held.
_CLIENT: dict[str, Any] = {"retry_total": 0, "user_agent": "hive-mind"}
_LINK: dict[str, Any] = {
    # Pings keep connections alive; the SDK's own task would hold up closing for a second.
    "keep_alive": 0,
    # How long the SDK looks at a silent socket before it looks up; closing takes twice that.
    "socket_timeout": 0.05,
}
# A connection that is gone is not worth more.
CLOSE_S = 2.0

Credential = AzureNamedKeyCredential | AzureSasCredential | AsyncTokenCredential

L = TypeVar("L", bound=ServiceBusSender | ServiceBusReceiver)

_NOTICED_WITHIN_S = 1.0

NAME = "servicebus"

# The service does not say how long; its documentation advises to wait at least this long.
_BUSY_RETRY_S = 10.0
_TEXT_CHARS_MAX = 200


class Line(Generic[L]):
    """One link to an entity, with the client and the connection it has to itself."""

    def __init__(self, client: ServiceBusClient, link: L) -> None:
        self._client, self.link = client, link
        self._transport: Any = None

    async def open(self) -> L:
        """Connect. Raises what the SDK raises."""
        await self.link.__aenter__()
        self._transport = getattr(getattr(getattr(self.link, "_handler", None), "_connection", None), "_transport", None)
        return self.link

    async def close(self) -> None:
        """Hang up; whatever goes wrong now, it is over."""
        for part in (self.link, self._client):
            with suppress(Exception):
                async with asyncio.timeout(CLOSE_S):
                    await part.close()
        # The SDK forgets the socket of a connection that broke before it could say goodbye.
        if (writer := getattr(self._transport, "writer", None)) is not None:
            writer.close()
            with suppress(Exception):
                async with asyncio.timeout(CLOSE_S):
                    await writer.wait_closed()


@dataclass(frozen=True, slots=True)
class Account:
    """A place on a broker, and what opens it."""

    host: str
    port: int
    topic: str
    credential: Credential = field(repr=False)
    is_encrypted: bool
    certificate: str | None = None

    @property
    def is_cloud(self) -> bool:
        """Whether it is Azure itself, which has a management API and keeps what it accepted."""
        return self.host.endswith(AZURE)

    def to_topic(self) -> Line[ServiceBusSender]:
        """A line to send by. It connects when something is asked of it."""
        client = self._client()
        return Line(client, client.get_topic_sender(self.topic, **_LINK))

    def from_subscription(
        self, path: str, *, ahead: int = 1, sub_queue: ServiceBusSubQueue | None = None
    ) -> Line[ServiceBusReceiver]:
        """A line to read by; `ahead` messages come without being asked for. It connects when something is asked of it."""
        client = self._client()
        link = client.get_subscription_receiver(self.topic, path, sub_queue=sub_queue, prefetch_count=ahead, **_LINK)
        return Line(client, link)

    async def close(self) -> None:
        if isinstance(self.credential, AsyncTokenCredential):
            await self.credential.close()

    def _client(self) -> ServiceBusClient:
        if not self.is_encrypted:
            return ServiceBusClient.from_connection_string(self._emulator(), **_CLIENT)
        options = dict(_CLIENT)
        if self.certificate is not None:
            options["connection_verify"] = self.certificate
        if self.port != _TLS_PORT:
            options |= {"custom_endpoint_address": f"sb://{self.host}:{self.port}", "transport_type": TransportType.Amqp}
        return ServiceBusClient(self.host, self.credential, **options)

    def _emulator(self) -> str:
        endpoint = f"Endpoint=sb://{self.host}:{self.port};UseDevelopmentEmulator=true"
        if isinstance(self.credential, AzureSasCredential):
            return f"{endpoint};SharedAccessSignature={self.credential.signature}"
        if isinstance(self.credential, AzureNamedKeyCredential):
            name, key = self.credential.named_key
            return f"{endpoint};SharedAccessKeyName={name};SharedAccessKey={key}"
        raise InvalidInput("a development broker takes a key, not a token")


def account_of(address: BusAddress, settings: BusSettings) -> Account:
    """Raises `ConfigError` for what can't be meant."""
    if not address.host:
        raise InvalidInput("a Service Bus is named like servicebus://NAMESPACE.servicebus.windows.net/hive")
    is_plain = address.is_loopback and settings.certificate is None and address.option("tls") != "true"
    if address.option("tls") == "false" and not address.is_loopback:
        raise InvalidInput(f"{address} is not on this machine: Service Bus requires TLS there; leave out tls=false")
    topic = address.path or TOPIC
    return Account(
        address.host,
        address.port or (_PLAIN_PORT if is_plain else _TLS_PORT),
        topic,
        credential_of(address, settings.credential, topic) or _identity(),
        not is_plain,
        str(settings.certificate) if settings.certificate is not None else None,
    )


def silence() -> None:
    """The SDK logs every reconnect as an error with a traceback; we report it in one line. A level set elsewhere is kept."""
    log = logging.getLogger("azure.servicebus")
    if log.level == logging.NOTSET:
        log.setLevel(logging.CRITICAL)


def _identity() -> Credential:
    try:
        from azure.identity.aio import DefaultAzureCredential
    except ModuleNotFoundError as error:
        raise BackendNotInstalled("bus", "servicebus", "servicebus") from error
    return DefaultAzureCredential(exclude_interactive_browser_credential=True)


async def end(task: "asyncio.Task[None]") -> None:
    """Cancel it until it has ended: the SDK sometimes takes a cancellation for a broken connection, and goes on."""
    while not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=_NOTICED_WITHIN_S)


class Missing(BackendRejected):
    """An entity that is not there."""


def translated(error: BaseException, where: str) -> BackendError:
    """`where` says what was tried, such as "topic 'hive'"."""
    match error:
        case BackendError():
            return error
        case sdk.ServiceBusServerBusyError():
            return BackendThrottled(NAME, f"{where}: the namespace is busy; send less, or later", _BUSY_RETRY_S)
        case sdk.ServiceBusQuotaExceededError():
            return BackendThrottled(NAME, f"{where} is full: let its subscriptions be read, or give it more room")
        case sdk.MessageSizeExceededError():
            return BackendRejected(NAME, f"{where} does not accept messages of this size")
        case sdk.ServiceBusAuthenticationError() | sdk.ServiceBusAuthorizationError():
            return BackendRejected(
                NAME, f"{where}: access denied; check the key's name, the key, and that it has the rights Send and Listen"
            )
        case sdk.MessagingEntityNotFoundError():
            return Missing(NAME, f"{where} does not exist")
        case sdk.MessagingEntityDisabledError():
            return BackendRejected(NAME, f"{where} is disabled; enable it")
        case sdk.OperationTimeoutError() | TimeoutError():
            return BackendTimeout(NAME, f"{where}: no answer in time")
        case _:
            return BackendUnavailable(NAME, f"{where}: {short(error)}")


def short(error: BaseException) -> str:
    return (" ".join(str(error).split()) or type(error).__name__)[:_TEXT_CHARS_MAX]


_PING = "hive-mind.ping"
# A node that was away finds no heap of them.
_PING_TTL = timedelta(seconds=60)
# Less than a second is no limit to the SDK, and AMQP counts milliseconds in 32 bits.
_KEPT_S_MIN, _KEPT_S_MAX = 1.0, 49 * 86_400.0

TARGET = "target"
"""The property that filters look at."""

_PLAIN = regex(r"[a-z0-9](?:[a-z0-9_]|-(?!-))*")
_CHARS_MAX = 24
_SLUG_CHARS = 6
_MESSAGE_ID_CHARS_MAX = 128


@dataclass(slots=True, eq=False)
class LockedMessage:
    """A message that we hold the lock of. Its identity is the sequence number, not the lock."""

    message: ServiceBusReceivedMessage
    locked_at: float
    """By the event loop's clock, when the lock was last taken or renewed."""
    is_taken: bool = False
    """Whether a subscriber had it in hand."""

    @property
    def number(self) -> int | None:
        return self.message.sequence_number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LockedMessage) and self.number == other.number

    def __hash__(self) -> int:
        return hash(self.number)


def messages_of(envelope: Envelope, data: bytes, kept_s: float) -> list[ServiceBusMessage]:
    return [message_to(name, envelope, data, kept_s) for name in envelope.target]


def message_to(name: str, envelope: Envelope, data: bytes, kept_s: float) -> ServiceBusMessage:
    """It has everything filters and people want to see outside."""
    kept_s = min(kept_s, BRIEF_S) if envelope.is_brief else kept_s
    time_to_live = timedelta(seconds=max(kept_s, _KEPT_S_MIN)) if kept_s < _KEPT_S_MAX else None
    target, key = target_of(envelope.hive, name), key_of(envelope)
    return ServiceBusMessage(
        data,
        message_id=message_id_of(envelope.hive, key, target),
        application_properties={TARGET: target, "type": envelope.type},
        content_type="application/vnd.msgpack",
        correlation_id=envelope.correlation_id[:128] or None,
        time_to_live=time_to_live,
    )


def ping_of(target: str, token: str) -> ServiceBusMessage:
    return ServiceBusMessage(
        token.encode(),
        message_id=f"{_PING}/{token}",
        application_properties={TARGET: target},
        subject=_PING,
        time_to_live=_PING_TTL,
    )


def is_ping(message: ServiceBusReceivedMessage) -> bool:
    return message.subject == _PING


def data_of(message: ServiceBusReceivedMessage) -> bytes:
    return bytes_of(message.raw_amqp_message.body)


def attempt_of(message: ServiceBusReceivedMessage) -> int:
    return int(message.delivery_count or 0) + 1


def lock_s_of(message: ServiceBusReceivedMessage) -> float | None:
    """An upper bound of how long locks last, by the broker's clock alone: ours may be wrong."""
    until, since = message.locked_until_utc, message.enqueued_time_utc
    return (until - since).total_seconds() if until is not None and since is not None else None


def leave_to_broker(message: ServiceBusReceivedMessage) -> None:
    """Whether a lock has run out, the broker says. The SDK would compare its time with our clock and not even ask."""
    message._expiry = datetime.max.replace(tzinfo=UTC)  # noqa: SLF001 - has no public name


def text_of(value: Any) -> str:
    """A property as text; the SDK gives bytes."""
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value or "")


def label_of(name: str) -> str:
    """A name as it is where it can be, else its beginning and a hash behind two dashes, which no name is let to have itself."""
    if len(name) <= _CHARS_MAX and _PLAIN.fullmatch(name) and name[-1] not in "-_":
        return name
    slug = re.sub(r"[^a-z0-9]", "", name.lower(), flags=re.ASCII)[:_SLUG_CHARS] or "x"
    return f"{slug}--{_digest(name)[: _CHARS_MAX - 2 - len(slug)]}"


def subscription_of(hive: str, name: str) -> str:
    return f"{label_of(hive)}.{label_of(name)}"


def target_of(hive: str, name: str) -> str:
    return f"{label_of(hive)}.{EVERYONE[0]}" if name == EVERYONE[0] else subscription_of(hive, name)


def target_of_all(subscription: str) -> str:
    return f"{subscription.partition('.')[0]}.{EVERYONE[0]}"


def name_of(hive: str, subscription: str) -> str | None:
    """The node of a subscription, as far as its label tells; None for one of another hive."""
    its_hive, _, name = subscription.partition(".")
    return name if name and its_hive == label_of(hive) else None


def message_id_of(hive: str, key: Key, target: str) -> str:
    """The same for the same envelope and target, so that the broker's duplicate detection drops what is sent again."""
    parts = (key.sender, key.id, key.mark)
    plain = f"{label_of(hive)}/{'/'.join(filter(None, parts))}/{target}"
    return plain if len(plain) <= _MESSAGE_ID_CHARS_MAX else _digest("\0".join((hive, *parts, target)))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()

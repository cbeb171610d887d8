"""Makes clients: address and credentials, for the SDK, from an address and settings.

Plain AMQP is for this machine only: the development broker, or Microsoft's emulator in its container. Everything else is TLS.
A secret is handed to the SDK and kept nowhere else.

The meaning of the SDK's errors is here, too. Texts of the SDK are shortened: they repeat whole frames.
"""

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential
from azure.core.credentials_async import AsyncTokenCredential
from azure.servicebus import ServiceBusSubQueue, TransportType
from azure.servicebus import exceptions as sdk
from azure.servicebus.aio import ServiceBusClient, ServiceBusReceiver, ServiceBusSender

from hive_mind.bus._azure import credential_of
from hive_mind.bus.address import AZURE, BusAddress
from hive_mind.bus.base import BusSettings
from hive_mind.errors import (
    BackendError,
    BackendNotInstalled,
    BackendRejected,
    BackendThrottled,
    BackendTimeout,
    BackendUnavailable,
    InvalidInput,
)

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

"""The broker: a server, its connections, its entities, and the faults it was ordered to make.

For development and tests. It keeps everything in memory and nothing over a restart.

A link's address says which entity it is for, whether its client may use it, and what is made when it is not there yet.

Authorisation: shared access signatures, checked as the service checks them.
"""

import asyncio
import base64
import hashlib
import hmac
import ssl
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote_plus

from hive_mind.devbroker.amqp import NOT_FOUND, UNAUTHORIZED, AmqpError
from hive_mind.devbroker.amqp.connection import Connection
from hive_mind.devbroker.amqp.entity import Entity, EntityHost, ManagementReply, Message, Timer
from hive_mind.devbroker.amqp.link import address_path
from hive_mind.devbroker.amqp.switchboard import (
    CBS,
    MANAGEMENT,
    READ,
    Fault,
    Faults,
    Limits,
    Peer,
    RequestEntity,
    Requests,
    RoutedLink,
    note_audience,
)
from hive_mind.devbroker.config import Entities
from hive_mind.devbroker.eventhub import Retention

_SAS = "SharedAccessSignature "
_MANAGEMENT = "$management"

# A web token is taken at its word; its own expiry is not read.
_JWT_LIFE_S = 3600.0


@dataclass(frozen=True)
class Keys:
    """Names of keys and the keys, and the one web token that is let in, if any."""

    by_name: Mapping[str, str]
    jwt: str | None = None

    def __repr__(self) -> str:
        return f"Keys({', '.join(self.by_name)})"

    def is_login(self, name: str, key: str) -> bool:
        token = self.by_name.get(name)
        return token is not None and hmac.compare_digest(token.encode(), key.encode())

    def check(self, token: str, audience: str, now: float) -> tuple[str, float]:
        """The path, in lower case, that a token opens, and until when. Raises `AmqpError`."""
        path = audience_path(audience)
        # One client calls its signatures "jwt", so the token itself tells what it is.
        if token.startswith(_SAS):
            parts = dict(part.partition("=")[::2] for part in token.removeprefix(_SAS).split("&"))
            resource, expiry = parts.get("sr", ""), parts.get("se", "")
            key = self.by_name.get(unquote_plus(parts.get("skn", "")))
            if key is None:
                raise _refused("InvalidSignature: there is no key of that name")
            if not hmac.compare_digest(_signature(key, resource, expiry), unquote_plus(parts.get("sig", "")).encode()):
                raise _refused("InvalidSignature: the token has an invalid signature")
            if not (expiry.isascii() and expiry.isdigit()) or int(expiry[:12]) < now:
                raise _refused("ExpiredToken: the token is expired")
            if not is_within(path, audience_path(unquote_plus(resource))):
                raise _refused("InvalidAudience: the token is for another resource")
            return path, float(expiry[:12])
        if self.jwt is not None and hmac.compare_digest(token.encode(), self.jwt.encode()):
            return path, now + _JWT_LIFE_S
        raise _refused("InvalidToken: neither a valid signature nor the web token of this broker")


def audience_path(audience: str) -> str:
    """The entity that an audience means, in lower case; "" is the whole namespace."""
    return address_path(audience).lower().removesuffix(_MANAGEMENT).rstrip("/")


def is_within(path: str, resource: str) -> bool:
    return not resource or path == resource or path.startswith(f"{resource}/")


def _signature(key: str, resource: str, expiry: str) -> bytes:
    return base64.b64encode(hmac.new(key.encode(), f"{resource}\n{expiry}".encode(), hashlib.sha256).digest())


def _refused(description: str) -> AmqpError:
    return AmqpError("com.microsoft:auth-failed", description)


_OPERATION, _NAME = "operation", "name"


class Router:
    """Leads links to entities."""

    def __init__(self, host: EntityHost, entities: Entities, keys: Keys, *, needs_token: bool) -> None:
        self._host, self._entities, self._keys, self._needs_token = host, entities, keys, needs_token
        self._cbs = RequestEntity(self._put_token, _token_place)
        self._management = RequestEntity(self._manage, _management_place)

    def route(self, link: RoutedLink) -> Entity | Requests:
        address = link.address.lower()
        if address == CBS:
            link.requests = self._cbs
            return self._cbs
        if address.endswith(MANAGEMENT):
            if path := _managed_path(link):
                self._authorise(link, path)
            link.requests = self._management
            return self._management
        self._authorise(link, address)
        return self._entity(link.address, is_hub=_means_hub(link))

    def _authorise(self, link: RoutedLink, path: str) -> None:
        now, token, lower_path = self._host.now(), link.peer.authorised, path.lower()
        if self._needs_token and not any(
            expires > now and is_within(lower_path, resource) for resource, expires in token.items()
        ):
            raise AmqpError(UNAUTHORIZED, f"there is no valid token for '{path}' on this connection")

    def _entity(self, path: str, *, is_hub: bool | None) -> Entity:
        entity = self._entities.find(path, is_hub=is_hub) or self._entities.make(path, is_hub=is_hub)
        if entity is None:
            kind = "event hub" if is_hub else "messaging entity"
            remark = "; what has this name is of the other kind" if self._entities.find(path) else ""
            raise AmqpError(NOT_FOUND, f"the {kind} '{path}' could not be found{remark}")
        return entity

    def _put_token(self, link: RoutedLink, request: Message) -> ManagementReply:
        application_map = request.application_map
        if application_map.get(_OPERATION) != "put-token":
            return ManagementReply(400, "only put-token is supported", None)
        path, expires = self._keys.check(str(request.value()), str(application_map.get(_NAME, "")), self._host.now())
        note_audience(link, path, expires)
        self._host.count("tokens")
        return ManagementReply(202, "Accepted", None)

    def _manage(self, link: RoutedLink, request: Message) -> ManagementReply:
        path = _managed_path(link, request)
        self._authorise(link, path.lower())
        self._host.count("management requests")
        # On a connection for such requests alone clients don't say which they are.
        is_about_hub = request.application_map.get(_OPERATION) == READ and "/" not in path
        is_hub = True if is_about_hub else _means_hub(link)
        return self._entity(path, is_hub=is_hub).manage(request)


def _means_hub(link: RoutedLink) -> bool | None:
    """Which kind of entity its client asks for; None where it does not say."""
    agent = link.peer.agent
    return True if "eventhub" in agent else False if "servicebus" in agent else None


def _managed_path(link: RoutedLink, request: Message | None = None) -> str:
    """The entity is in the address; or the address is that of the whole namespace, and the entity in the request."""
    path = link.address[: -len(MANAGEMENT)].rstrip("/")
    return path or str(request.application_map.get(_NAME) or "") if request else path


def _token_place(_link: RoutedLink, request: Message) -> tuple[str, str]:
    return "cbs", audience_path(str(request.application_map.get(_NAME) or ""))


def _management_place(link: RoutedLink, request: Message) -> tuple[str, str]:
    return "mgmt", f"{_managed_path(link, request)}/{MANAGEMENT}"


# The name is that of every new namespace, the key that of Microsoft's emulators: neither is a secret.
KEY_NAME, KEY = "RootManageSharedAccessKey", "SAS_KEY_VALUE"

# Connections get this long to answer a `close` before they are cut.
_FAREWELL_S = 1.0

_BACKLOG = 512


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """How a broker behaves. With `auto_partitions` above 0 it makes what clients ask for: see `entities`."""

    key_name: str = KEY_NAME
    key: str = field(default=KEY, repr=False)
    jwt: str | None = field(default=None, repr=False)
    """The one web token that is let in beside signatures."""
    needs_token: bool = True
    auto_partitions: int = 0
    limits: Limits = field(default_factory=Limits)
    retention: Retention = field(default_factory=Retention)
    clock: Callable[[], float] = time.time


class Broker:
    """See `amqp.switchboard.Switchboard` for what connections use, and `amqp.entity.EntityHost` for what entities use."""

    name = "hive-mind-broker"

    def __init__(self, settings: BrokerSettings | None = None) -> None:
        self.settings = settings or BrokerSettings()
        self.limits = self.settings.limits
        self.keys = Keys({self.settings.key_name: self.settings.key}, self.settings.jwt)
        self.faults = Faults()
        self.stats: Counter[str] = Counter()
        self.entities = Entities(self, auto_partitions=self.settings.auto_partitions, retention=self.settings.retention)
        self.host, self.port = "", 0
        self._router = Router(self, self.entities, self.keys, needs_token=self.settings.needs_token)
        self._connections: set[Peer] = set()
        self._timers: set[asyncio.TimerHandle] = set()
        self._server: asyncio.Server | None = None
        self._last_is_gone = asyncio.Event()
        self._is_stopped = False

    async def start(self, host: str = "127.0.0.1", port: int = 0, *, tls: ssl.SSLContext | None = None) -> int:
        """Listen; port 0 takes a free one. Returns the port. Raises `OSError`."""
        loop = asyncio.get_running_loop()
        # This name may stand for two addresses, of which each would get a port of its own.
        host = "127.0.0.1" if host == "localhost" else host
        self._server = await loop.create_server(lambda: Connection(self), host, port, ssl=tls, backlog=_BACKLOG)
        self.host, self.port = host, self._server.sockets[0].getsockname()[1]
        return self.port

    async def stop(self, *, is_graceful: bool = True) -> None:
        self._is_stopped = True
        if self._server is not None:
            self._server.close()
        for connection in list(self._connections):
            connection.finish(is_graceful=is_graceful)
        if self._connections:
            try:
                await asyncio.wait_for(self._last_is_gone.wait(), _FAREWELL_S)
            except TimeoutError:
                self.drop_connections()
                await asyncio.sleep(0)
        for timer in list(self._timers):
            timer.cancel()

    def connection_string(self, entity: str = "", *, is_emulator: bool = True) -> str:
        """The connection string for a client. As that of an emulator it makes clients speak without TLS, and to this port."""
        host = "127.0.0.1" if self.host in ("", "0.0.0.0", "::") else self.host  # noqa: S104 - compared, not bound to
        parts = [
            f"Endpoint=sb://{f'[{host}]' if ':' in host else host}:{self.port}",
            f"SharedAccessKeyName={self.settings.key_name}",
        ]
        parts += [f"SharedAccessKey={self.settings.key}"]
        parts += ["UseDevelopmentEmulator=true"] if is_emulator else []
        parts += [f"EntityPath={entity}"] if entity else []
        return ";".join(parts) + ";"

    def drop_connections(self) -> int:
        dropped = list(self._connections)
        for connection in dropped:
            connection.abort()
        return len(dropped)

    @property
    def connections(self) -> int:
        return len(self._connections)

    def connected(self, peer: Peer) -> bool:
        self.count("connections")
        self._connections.add(peer)
        return len(self._connections) <= self.limits.connections_max and not self._is_stopped

    def disconnected(self, peer: Peer) -> None:
        self._connections.discard(peer)
        if self._is_stopped and not self._connections:
            self._last_is_gone.set()

    def is_login(self, user: str, password: str) -> bool:
        return self.keys.is_login(user, password)

    def route(self, link: RoutedLink) -> Entity | Requests:
        self.count("links")
        return self._router.route(link)

    def take_fault(self, kind: str, address: str) -> Fault | None:
        fault = self.faults.take(kind, address)
        if fault is not None:
            self.count(f"faults {kind} {fault.action}")
        return fault

    def now(self) -> float:
        """Seconds since 1970."""
        return self.settings.clock()

    def count(self, name: str, by: int = 1) -> None:
        self.stats[name] += by

    def call_soon(self, callback: Callable[[], object]) -> None:
        asyncio.get_running_loop().call_soon(callback)

    def call_later(self, delay_s: float, callback: Callable[[], object]) -> Timer:
        timers = self._timers

        def call() -> None:
            timers.discard(timer)
            if not self._is_stopped:
                callback()

        timer = asyncio.get_running_loop().call_later(delay_s, call)
        timers.add(timer)
        return _Timer(timer, timers)


@dataclass(frozen=True, slots=True)
class _Timer:
    """A handle that also leaves the broker's list when it is cancelled."""

    handle: asyncio.TimerHandle
    timers: set[asyncio.TimerHandle]

    def cancel(self) -> None:
        self.timers.discard(self.handle)
        self.handle.cancel()

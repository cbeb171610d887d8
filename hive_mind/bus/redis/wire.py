"""One connection to a Redis server: commands in, replies out, in one round trip; and what its errors mean to us.

redis-py connects, logs in and parses. Its own timeouts and repetitions are off: on some versions they swallow the cancellation
of a task, and they would send again what may not be sent again without anybody knowing.

Tasks nobody waits for: if one fails in a way it should not, somebody hears of it.

A connection for what is asked now and then: queues, dead letters, trimming. One question at a time.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from redis.asyncio.connection import Connection, SSLConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import (
    AuthenticationError,
    AuthorizationError,
    ClusterCrossSlotError,
    MovedError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
)

from hive_mind.bus import BusSettings
from hive_mind.bus.address import BusAddress
from hive_mind.errors import BackendError, BackendRejected, BackendThrottled, BackendUnavailable, reason_of
from hive_mind.retry import RetrySettings, delay_s

Command = tuple[str | bytes | int, ...]
Packed = bytes
"""A command as it goes over the wire."""

REPLY_WITHIN_S = 10.0
"""A server that is silent for longer counts as gone, even where the connection seems open."""

SCATTERED = (
    "the server is part of a cluster, which would scatter the streams of a hive: use one without (on Azure, the "
    "clustering policy NoCluster)"
)

NEEDED = "it takes Redis 6.2 or newer, or Valkey, with no command renamed or switched off"

# Said by a server that is starting, failing over or busy with a script: it will be fine.
_PASSING = ("LOADING", "READONLY", "CLUSTERDOWN", "MASTERDOWN", "TRYAGAIN", "BUSY", "MISCONF", "NOREPLICAS")

_NOT_CONNECTED = "not connected"

_log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Where the server is and how to get in."""

    address: BusAddress
    settings: BusSettings

    def connection(self) -> Connection:
        where, settings = self.address, self.settings
        options: dict[str, Any] = {
            "host": where.host or "127.0.0.1",
            "port": where.port or 6379,
            "db": int(where.path or 0),
            "username": where.user or None,
            "password": where.password or settings.credential or None,
            "socket_timeout": None,
            "socket_connect_timeout": settings.connect_timeout_s,
            "socket_keepalive": True,
            "retry": Retry(NoBackoff(), 0),
            "protocol": 2,
            "client_name": "hive-mind",
        }
        if not where.is_encrypted:
            return Connection(**options)
        ca = None if settings.certificate is None else str(settings.certificate)
        return SSLConnection(**options, ssl_ca_certs=ca, ssl_cert_reqs="required", ssl_check_hostname=True)


class Wire:
    """Belongs to one task at a time."""

    def __init__(self, place: ServerAddress) -> None:
        self._place = place
        self._connection: Connection | None = None
        self._why_not = _NOT_CONNECTED

    @property
    def is_connected(self) -> bool:
        return self._connection is not None

    async def connect(self) -> None:
        """Connect and log in, anew where it is connected. Raises `BackendRejected` or `BackendUnavailable`."""
        await self.close()
        connection = self._place.connection()
        try:
            async with asyncio.timeout(self._place.settings.connect_timeout_s):
                await connection.connect()  # type: ignore[no-untyped-call]
        except BaseException as error:
            await connection.disconnect(nowait=True)
            if not isinstance(error, RedisError | OSError):
                raise
            raise meaning(error) from error
        self._connection, self._why_not = connection, _NOT_CONNECTED

    async def call(self, *commands: Command | Packed, within_s: float = REPLY_WITHIN_S) -> list[Any]:
        """The replies, in order; an error is among them as an exception. Raises `BackendUnavailable`, then nothing is known.

        Hangs up on a server that only takes reads: another one leads now, and has the same name for new connections.
        """
        connection = self.linked()
        try:
            async with asyncio.timeout(within_s):
                packed = [command if type(command) is bytes else pack(*command) for command in commands]
                await connection.send_packed_command(packed, check_health=False)
                replies = [await _reply(connection) for _ in commands]
        except BaseException as error:
            self._connection = None
            await connection.disconnect(nowait=True)
            if not isinstance(error, RedisError | OSError):
                raise
            raise meaning(error) from error
        if any(isinstance(reply, ReadOnlyError) for reply in replies):
            self._connection, self._why_not = None, "the server takes only reads, as one that was demoted; connecting anew"
            await connection.disconnect(nowait=True)
        return replies

    def linked(self) -> Connection:
        """The connection. Raises `BackendUnavailable` where there is none."""
        if self._connection is None:
            raise BackendUnavailable("redis", self._why_not)
        return self._connection

    async def one(self, *command: str | bytes | int) -> Any:
        """The reply to one command. Raises what it says."""
        return value((await self.call(command))[0])

    async def close(self) -> None:
        if self._connection is not None:
            connection, self._connection = self._connection, None
            await connection.disconnect()


def pack(*parts: str | bytes | int) -> Packed:
    """A command as Redis wants it. redis-py's way of doing it takes several times as long: it was most of what a publish cost."""
    chunks = [b"*%d\r\n" % len(parts)]
    for part in parts:
        data = part if type(part) is bytes else str(part).encode()
        chunks.append(b"$%d\r\n%b\r\n" % (len(data), data))
    return b"".join(chunks)


def value(reply: Any) -> Any:
    if isinstance(reply, RedisError):
        raise meaning(reply) from reply
    return reply


def milliseconds(time: Sequence[bytes]) -> int:
    """Of the server's clock, as `TIME` says it."""
    seconds, micros = time
    return int(seconds) * 1000 + int(micros) // 1000


def pairs(flat: Sequence[Any]) -> dict[bytes, Any]:
    return dict(zip(flat[::2], flat[1::2], strict=True))


def meaning(error: Exception) -> BackendError:
    """One of our errors. The texts of Redis name hosts and users, never passwords."""
    text, cause = f"{error}" or type(error).__name__, error.__cause__ or error.__context__
    if isinstance(cause, OSError) and reason_of(cause) not in text:
        # Some versions keep to themselves what was wrong, such as a certificate.
        text = f"{text} ({reason_of(cause)})"
    text = text.rstrip(".")
    if text.startswith("unknown command"):
        # It goes on with what was sent, which may be somebody's facts.
        return BackendRejected("redis", f"the server has an {text.partition(', with args')[0]}: {NEEDED}")
    if isinstance(error, OutOfMemoryError):
        return BackendThrottled("redis", "its memory is full; let members read, or give it more (maxmemory)")
    if isinstance(error, AuthenticationError | AuthorizationError | NoPermissionError):
        return BackendRejected("redis", f"{text}; check the user, its password and its rights (ACL)")
    if isinstance(error, MovedError | ClusterCrossSlotError):
        return BackendRejected("redis", SCATTERED)
    if isinstance(error, ResponseError) and not text.startswith(_PASSING) and type(error) is ResponseError:
        return BackendRejected("redis", text)
    return BackendUnavailable("redis", f"not reachable or not ready: {text}; check that it runs and can be reached from here")


async def _reply(connection: Connection) -> Any:
    try:
        return await connection.read_response()
    except ResponseError as error:
        return error


async def keep_reading(
    wire: Wire, read_once: Callable[[], Awaitable[None]], delays: RetrySettings, rng: random.Random, *, on: str
) -> None:
    """Read on and on, and connect again with growing pauses. Failures are for the debug log: others say them."""
    failures = 0
    while True:
        try:
            if not wire.is_connected:
                await wire.connect()
            await read_once()
            failures = 0
        except BackendError as error:
            failures += 1
            _log.debug("%s: %s", on, error)
            await asyncio.sleep(delay_s(failures, delays, rng=rng))


def begin(work: Coroutine[Any, Any, None], name: str, on_failure: Callable[[str], None]) -> "asyncio.Task[None]":
    """A task that logs what ends it, and tells `on_failure`."""
    task = asyncio.create_task(work, name=name)

    def ended(finished: "asyncio.Task[None]") -> None:
        if not finished.cancelled() and (error := finished.exception()) is not None:
            _log.error("%s has stopped: %s", name, error, exc_info=error)
            on_failure(f"{name} has stopped: {error}")

    task.add_done_callback(ended)
    return task


class AdminClient:
    """Connects when somebody first asks, and again after trouble."""

    def __init__(self, place: ServerAddress) -> None:
        self._wire = Wire(place)
        self._turn = asyncio.Lock()

    async def ask(self, question: Callable[[Wire], Awaitable[T]]) -> T:
        """Raises what the question raises, and `BackendError` when nobody can be asked."""
        async with self._turn:
            if not self._wire.is_connected:
                await self._wire.connect()
            return await question(self._wire)

    async def close(self) -> None:
        async with self._turn:
            await self._wire.close()

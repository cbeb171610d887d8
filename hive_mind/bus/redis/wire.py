"""One connection to a Redis server: commands in, replies out, in one round trip; and what its errors mean to us.

Nothing is sent again: what may not be done twice would be, without anybody knowing.

Tasks nobody waits for: if one fails in a way it should not, somebody hears of it.

A connection for what is asked now and then: queues, dead letters, trimming. One question at a time.
"""

import asyncio
import logging
import random
import ssl
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from hive_mind.bus import BusSettings
from hive_mind.bus.address import BusAddress
from hive_mind.bus.redis.connection import Connection, Packed, ReplyError, connected
from hive_mind.errors import BackendError, BackendRejected, BackendThrottled, BackendUnavailable, reason_of
from hive_mind.retry import RetrySettings, delay_s

Command = tuple[str | bytes | int, ...]

REPLY_WITHIN_S = 10.0
"""A server that is silent for longer counts as gone, even where the connection seems open."""

SCATTERED = (
    "the server is part of a cluster, which would scatter the streams of a hive: use one without (on Azure, the "
    "clustering policy NoCluster)"
)

_DEMOTED = "READONLY"
# Said by a server that is starting, failing over or busy with a script: it will be fine.
_PASSING = frozenset({"LOADING", _DEMOTED, "CLUSTERDOWN", "MASTERDOWN", "TRYAGAIN", "BUSY", "MISCONF", "NOREPLICAS"})
_FORBIDDEN = frozenset({"NOAUTH", "NOPERM", "WRONGPASS"})
# Errors that have no code of their own: that it has no passwords or another one, and that it has no room.
_NO_PASSWORD, _TOO_MANY = ("AUTH <password> called", "Client sent AUTH", "invalid password"), "max number of clients"

_NOT_CONNECTED = "not connected"

_log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Where the server is and how to get in."""

    address: BusAddress
    settings: BusSettings

    async def connection(self) -> Connection:
        """One that is logged in. Raises `OSError` or `ReplyError`."""
        where, settings = self.address, self.settings
        tls = ssl.create_default_context() if where.is_encrypted else None
        if tls is not None and settings.certificate is not None:
            tls.load_verify_locations(cafile=str(settings.certificate))
        connection = await connected(where.host or "127.0.0.1", where.port or 6379, tls)
        password, database = where.password or settings.credential, int(where.path or 0)
        login = (where.user, password) if where.user else (password,) if password else ()
        commands = [pack("AUTH", *login)] if login else []
        commands += [pack("CLIENT", "SETNAME", "hive-mind"), *([pack("SELECT", database)] if database else ())]
        try:
            for reply in await connection.call(commands, settings.connect_timeout_s):
                if isinstance(reply, ReplyError):
                    raise reply
        except BaseException:
            connection.abort()
            raise
        return connection


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
        try:
            async with asyncio.timeout(self._place.settings.connect_timeout_s):
                connection = await self._place.connection()
        except (OSError, ReplyError) as error:
            raise meaning(error) from error
        self._connection, self._why_not = connection, _NOT_CONNECTED

    async def call(self, *commands: Command | Packed, within_s: float = REPLY_WITHIN_S) -> list[Any]:
        """The replies, in order; an error is among them as an exception. Raises `BackendUnavailable`, then nothing is known.

        Hangs up on a server that only takes reads: another one leads now, and has the same name for new connections.
        """
        connection = self.linked()
        packed = [command if type(command) is bytes else pack(*command) for command in commands]
        try:
            replies = await connection.call(packed, within_s)
        except BaseException as error:
            self._connection = None
            connection.abort()
            if not isinstance(error, OSError):
                raise
            raise meaning(error) from error
        if any(isinstance(reply, ReplyError) and reply.code == _DEMOTED for reply in replies):
            self._connection, self._why_not = None, "the server takes only reads, as one that was demoted; connecting anew"
            connection.abort()
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
            await connection.close()


def pack(*parts: str | bytes | int) -> Packed:
    """A command as Redis wants it."""
    chunks = [b"*%d\r\n" % len(parts)]
    for part in parts:
        data = part if type(part) is bytes else str(part).encode()
        chunks.append(b"$%d\r\n%b\r\n" % (len(data), data))
    return b"".join(chunks)


def value(reply: Any) -> Any:
    if isinstance(reply, ReplyError):
        raise meaning(reply) from reply
    return reply


def milliseconds(time: Sequence[bytes]) -> int:
    """Of the server's clock, as `TIME` says it."""
    seconds, micros = time
    return int(seconds) * 1000 + int(micros) // 1000


def pairs(flat: Sequence[Any]) -> dict[bytes, Any]:
    return dict(zip(flat[::2], flat[1::2], strict=True))


def meaning(error: OSError | ReplyError) -> BackendError:
    """One of our errors. The texts of Redis name hosts and users, never passwords."""
    text = (reason_of(error) if isinstance(error, OSError) else str(error)).rstrip(".")
    code = error.code if isinstance(error, ReplyError) else ""
    if code == "OOM":
        return BackendThrottled("redis", "its memory is full; let members read, or give it more (maxmemory)")
    if code in _FORBIDDEN or (code == "ERR" and text.startswith(_NO_PASSWORD)):
        return BackendRejected("redis", f"{text}; check the user, its password and its rights (ACL)")
    if code in ("MOVED", "CROSSSLOT"):
        return BackendRejected("redis", SCATTERED)
    if code and code not in _PASSING and not text.startswith(_TOO_MANY):
        return BackendRejected("redis", text)
    return BackendUnavailable("redis", f"not reachable or not ready: {text}; check that it runs and can be reached from here")


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

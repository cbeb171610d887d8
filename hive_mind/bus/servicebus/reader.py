"""Reads one subscription: one task owns the receiver, because the SDK's clients can't be shared by tasks.

In turns it settles what is done with and takes the next message. Messages are locked for us, not removed; those that this
process holds are renewed. When the connection breaks, the task connects anew and goes on with what it holds: the
broker gives out again what it has not heard of, and the mailbox knows it.

Locks are renewed over a connection of its own. The SDK reads and writes under one lock per connection, so a renewal on the
reader's would wait for its next message. A link that is only used for management is never given credit, so nothing is delivered
to it.
"""

import asyncio
import random
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, Protocol

from azure.servicebus import ServiceBusReceivedMessage
from azure.servicebus.aio import ServiceBusReceiver
from azure.servicebus.exceptions import MessageLockLostError

from hive_mind.bus.servicebus.account import CLOSE_S, Account, Line, end, translated
from hive_mind.errors import BackendError
from hive_mind.retry import RetrySettings, delay_s

# A silent subscription is left so often to settle what is done with.
_TURN_S = 0.05
_OPEN_S = 10.0
# Sent ahead of being asked for. More would be locked while nobody looks at it, less would wait for the network each time.
_AHEAD_MAX = 64

Deed = Literal["complete", "give back", "release"]

# Of one request; an answer takes milliseconds.
_REQUEST_S = 10.0


class LockRenewer:
    """Connects when first asked, and again after a failure."""

    def __init__(self, account: Account, subscription: str) -> None:
        self._account, self._subscription = account, subscription
        self._line: Line[ServiceBusReceiver] | None = None
        self._lock = asyncio.Lock()

    async def renew(self, message: ServiceBusReceivedMessage) -> bool:
        """Keep a lock for another while; False when it is gone. Raises `BackendError`."""
        async with self._lock:
            try:
                async with asyncio.timeout(_REQUEST_S):
                    await (await self._link()).renew_message_lock(message)
            except MessageLockLostError:
                return False
            except Exception as error:
                await self.close()
                raise translated(error, f"subscription {self._subscription!r}") from error
            return True

    async def close(self) -> None:
        line, self._line = self._line, None
        if line is not None:
            await line.close()

    async def _link(self) -> ServiceBusReceiver:
        if self._line is None:
            self._line = self._account.from_subscription(self._subscription)
            await self._line.open()
        return self._line.link


@dataclass(frozen=True, slots=True)
class Settlement:
    """How a message is to be settled at the broker."""

    message: ServiceBusReceivedMessage
    deed: Deed


class QueueReaderHost(Protocol):
    """The owner of a reader."""

    @property
    def may_read(self) -> bool: ...

    def read(self, message: ServiceBusReceivedMessage) -> None: ...

    def all_settled(self) -> None:
        """Nothing is left to tell the broker."""
        ...


class QueueReader:
    """`ahead`: how many messages may come without being asked for. `start` it, and `close` it in the end."""

    def __init__(self, account: Account, subscription: str, host: QueueReaderHost, *, ahead: int, reconnect_s_max: float) -> None:
        self._account, self._subscription, self._host = account, subscription, host
        self._ahead = max(1, min(ahead, _AHEAD_MAX))
        self._delays = RetrySettings(delay_first_s=0.1, delay_max_s=reconnect_s_max)
        self._rng = random.Random()  # noqa: S311 - jitter
        self._lock_renewer = LockRenewer(account, subscription)
        self._line: Line[ServiceBusReceiver] | None = None
        self._settlements: deque[Settlement] = deque()
        self._bell = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        # Messages since the receiver last asked for more; see `_is_between_windows`.
        self._in_window = 0
        self._failures = 0
        self._is_stopping = self._is_closed = False
        self.reconnects = 0
        self.error = ""

    @property
    def is_connected(self) -> bool:
        return self._line is not None

    @property
    def is_settled(self) -> bool:
        return not self._settlements

    @property
    def lock_renewer(self) -> LockRenewer:
        return self._lock_renewer

    async def start(self) -> None:
        """Connect. Raises `BackendError`."""
        await self._connect()
        self._task = asyncio.create_task(self._run(), name=f"servicebus {self._subscription}")

    def settle(self, settlement: Settlement) -> None:
        self._settlements.append(settlement)
        self._bell.set()

    def ring(self) -> None:
        self._bell.set()

    async def reconnect(self) -> None:
        """The connection looks sound but is not: take another one."""
        self.error = "nothing was heard"
        await self._stop()
        if self._is_closed:
            return
        self._task = asyncio.create_task(self._run(), name=f"servicebus {self._subscription}")

    async def close(self) -> None:
        """Stop reading, tell the broker what is left to tell, hang up."""
        self._is_closed = True
        await self._stop(is_final=True)
        await self._lock_renewer.close()

    # ── the task ─────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _run(self) -> None:
        while not self._is_stopping:
            try:
                await self._turn()
            except Exception as error:  # noqa: BLE001 - the SDK raises whatever its sockets do
                self._note(translated(error, f"subscription {self._subscription!r}"))
                await self._hang_up()

    async def _turn(self) -> None:
        if self._line is None:
            await self._reconnect()
        elif self._settlements:
            await self._settle(self._line.link)
        elif self._host.may_read or not self._is_between_windows:
            messages = await self._line.link.receive_messages(1, max_wait_time=_TURN_S)
            self._failures = 0
            for message in messages:
                self._in_window += 1
                self._host.read(message)
        else:
            self._bell.clear()
            if not (self._settlements or self._host.may_read or self._is_stopping):
                await self._bell.wait()

    @property
    def _is_between_windows(self) -> bool:
        """Whether everything the receiver asked for is here. Only then can it stop: the rest would be locked in vain."""
        return self._in_window % (self._ahead + 1) == 0

    async def _settle(self, receiver: ServiceBusReceiver) -> None:
        while self._settlements:
            # One that fails is not tried again: an acknowledged message comes once more and is known, the rest is decided anew.
            await _settle(receiver, self._settlements.popleft())
        self._host.all_settled()

    async def _reconnect(self) -> None:
        if self._failures:
            await asyncio.sleep(delay_s(self._failures, self._delays, rng=self._rng))
        await self._connect()
        self.reconnects += 1

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _connect(self) -> None:
        line = self._account.from_subscription(self._subscription, ahead=self._ahead)
        # Newer versions wait for an answer to each settlement, a round trip apiece. What gets lost comes again, and is known.
        line.link._await_settlement_outcome = False  # noqa: SLF001 - has no public name
        try:
            async with asyncio.timeout(_OPEN_S):
                await line.open()
        except BaseException as error:
            await line.close()
            if not isinstance(error, Exception):
                raise
            raise translated(error, f"subscription {self._subscription!r} of topic {self._account.topic!r}") from error
        self._line, self._in_window = line, 0

    async def _stop(self, *, is_final: bool = False) -> None:
        task, self._task = self._task, None
        if task is not None:
            await self._end(task)
        if is_final and self._line is not None:
            with suppress(Exception):
                async with asyncio.timeout(CLOSE_S):
                    await self._settle(self._line.link)
        await self._hang_up()

    async def _end(self, task: "asyncio.Task[None]") -> None:
        """At the end of its turn if it can be: within one, the SDK may take it for a broken connection."""
        self._is_stopping = True
        self._bell.set()
        await asyncio.wait([task], timeout=_TURN_S * 4)
        await end(task)
        self._is_stopping = False

    async def _hang_up(self) -> None:
        line, self._line = self._line, None
        if line is not None:
            await line.close()

    def _note(self, error: BackendError) -> None:
        self._failures += 1
        self.error = str(error)


async def _settle(receiver: ServiceBusReceiver, settlement: Settlement) -> None:
    """Messages of a lost connection the SDK settles by their lock; if that ran out, they come again, and are known."""
    message = settlement.message
    with suppress(MessageLockLostError):
        match settlement.deed:
            case "complete":
                await receiver.complete_message(message)
            case "give back":
                await receiver.abandon_message(message)
            case "release":
                await _release(receiver, message)


async def _release(receiver: ServiceBusReceiver, message: ServiceBusReceivedMessage) -> None:
    """Give it back without counting it as a delivery, as the SDK does with what nobody asked it for."""
    try:
        handler = receiver._handler  # noqa: SLF001 - nothing of this has a public name
        await handler.settle_messages_async(message._delivery_id, message._delivery_tag, "released")  # noqa: SLF001
    except Exception:  # noqa: BLE001 - it came over another connection, or the SDK has changed
        await receiver.abandon_message(message)

"""One subscription of this process: its inbox with the mailbox, and what reads it.

Everything the mailbox holds stays locked, not removed: locks are renewed in the middle of their time. A ping to itself proves
that the subscription gets its messages; any other message proves it as well.

One task owns the receiver, because the SDK's clients can't be shared by tasks. In turns it settles what is done with and takes
the next message. When the connection breaks, it connects anew and goes on with what it holds: the broker gives out again what it
has not heard of, and the mailbox knows it.

Locks are renewed over a connection of its own. The SDK reads and writes under one lock per connection, so a renewal on the
reader's would wait for its next message. A link that is only used for management is never given credit, so nothing is delivered
to it.
"""

import asyncio
import logging
import random
import secrets
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, Protocol

from azure.servicebus import ServiceBusReceivedMessage
from azure.servicebus.aio import ServiceBusReceiver
from azure.servicebus.exceptions import MessageLockLostError

from hive_mind.bus import EVERYONE, BusHealth, BusSettings, Delivery, Subscription
from hive_mind.bus.mailbox import Mailbox
from hive_mind.bus.servicebus.account import (
    CLOSE_S,
    NAME,
    TARGET,
    Account,
    Line,
    LockedMessage,
    attempt_of,
    data_of,
    end,
    is_ping,
    leave_to_broker,
    lock_s_of,
    ping_of,
    subscription_of,
    target_of,
    translated,
)
from hive_mind.bus.servicebus.outgoing import TopicSender
from hive_mind.errors import BackendError, BackendRejected
from hive_mind.retry import RetrySettings, delay_s

_log = logging.getLogger(__name__)

# The longest there is; the first message tells the truth.
_LOCK_S_MAX = 300.0
# Locks shorter than this can't be kept over a network.
_LOCK_S_MIN = 1.0
# How often it looks what is to be renewed, unless locks are shorter than Azure lets them be.
_LOOK_S = 1.0


class SubscriptionInboxListener(Protocol):
    """Calls of an inbox to its bus."""

    def settled(self) -> None:
        """All settlements have reached the broker."""

    def forget(self, inbox: "ServiceBusInbox") -> None:
        """It is closed; the name is free."""


class ServiceBusInbox:
    """See `bus.Inbox`."""

    def __init__(
        self,
        account: Account,
        outgoing: TopicSender,
        subscription: Subscription,
        on_ready: Callable[[], None],
        settings: BusSettings,
        owner: SubscriptionInboxListener,
    ) -> None:
        self.subscription = subscription
        self.path = subscription_of(subscription.hive, subscription.name)
        self.mailbox: Mailbox[LockedMessage] = Mailbox(subscription, on_ready, self)
        self.reader = QueueReader(
            account,
            self.path,
            self,
            # With what is in hand, never more than the subscriber asked for.
            ahead=subscription.inflight_max,
            reconnect_s_max=settings.reconnect_s_max,
        )
        self.is_draining = False
        self._outgoing, self._topic, self._owner = outgoing, account.topic, owner
        self._lock_s = _LOCK_S_MAX
        self._signs = 0
        self._sign: asyncio.Future[None] | None = None
        self._renewing: asyncio.Task[None] | None = None

    async def start(self, within_s: float) -> None:
        """Return when it hears. Raises `BackendError`."""
        await self.reader.start()
        if not await self.probe(within_s):
            raise BackendRejected(
                NAME,
                f"subscription {self.path!r} of topic {self._topic!r} does not get what is sent to it; it needs two correlation "
                f"rules, {TARGET} = {self.path!r} and {TARGET} = {target_of(self.subscription.hive, EVERYONE[0])!r}",
            )
        self._renewing = asyncio.create_task(self._renew(), name=f"servicebus locks {self.path}")

    async def probe(self, within_s: float) -> bool:
        """Send a ping to itself; whether it arrives in time."""
        before, self._sign = self._signs, asyncio.get_running_loop().create_future()
        await self._outgoing.publish([ping_of(self.path, secrets.token_hex(8))], within_s)
        if self._signs == before:
            await asyncio.wait([self._sign], timeout=within_s)
        return self._signs > before

    @property
    def can_receive(self) -> bool:
        """Whether silence would mean something."""
        return self.may_read and self.reader.is_connected

    @property
    def is_drained(self) -> bool:
        return self.mailbox.is_drained and self.reader.is_settled

    def added_to(self, health: BusHealth) -> BusHealth:
        return self.mailbox.added_to(health, self.reader.reconnects, self.reader.error)

    def take(self, deliveries_max: int) -> Sequence[Delivery]:
        deliveries = self.mailbox.take(deliveries_max)
        for delivery in deliveries:
            if not delivery.letter:
                delivery.native.is_taken = True
        if deliveries:
            self.reader.ring()
        return deliveries

    async def close(self) -> None:
        await self.mailbox.finish()
        if self.mailbox.is_closed:
            return
        natives = self.mailbox.natives
        self.mailbox.end()
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.wait([self._renewing])
        for locked in natives:
            # A message not handed out was not delivered: it must not lose one of its attempts.
            self.reader.settle(Settlement(locked.message, "give back" if locked.is_taken else "release"))
        await self.reader.close()
        self._owner.forget(self)

    def settled(self, native: LockedMessage) -> None:
        self.reader.settle(Settlement(native.message, "complete"))

    @property
    def may_read(self) -> bool:
        return self.mailbox.room > 0 and not (self.is_draining or self.mailbox.is_closed)

    def read(self, message: ServiceBusReceivedMessage) -> None:
        """A message came: an envelope, a ping, or neither."""
        lock_s = lock_s_of(message)
        if lock_s is not None:
            self._lock_s = max(min(self._lock_s, lock_s), _LOCK_S_MIN)
        self._signs += 1
        if self._sign is not None and not self._sign.done():
            self._sign.set_result(None)
        leave_to_broker(message)
        if self.mailbox.is_closed:
            self.reader.settle(Settlement(message, "release"))
            return
        if is_ping(message):
            self.reader.settle(Settlement(message, "complete"))
            return
        locked = LockedMessage(message, asyncio.get_running_loop().time())
        self.mailbox.read(locked, data_of(message), attempt_of(message))

    def all_settled(self) -> None:
        self._owner.settled()

    async def _renew(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(min(self._lock_s / 8, _LOOK_S))
            for locked in self.mailbox.natives:
                if loop.time() - locked.locked_at >= self._lock_s / 2:
                    await self._renew_one(locked)

    async def _renew_one(self, locked: LockedMessage) -> None:
        began = asyncio.get_running_loop().time()
        try:
            is_ours = await self.reader.lock_renewer.renew(locked.message)
        except BackendError as error:
            _log.debug("subscription %s: a lock was not renewed: %s", self.path, error)
            return
        leave_to_broker(locked.message)
        # One that is lost comes again; there is nothing left to renew.
        locked.locked_at = began if is_ours else float("inf")


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
                    if self._line is None:
                        self._line = self._account.from_subscription(self._subscription)
                        await self._line.open()
                    await self._line.link.renew_message_lock(message)
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


@dataclass(frozen=True, slots=True)
class Settlement:
    """How a message is to be settled at the broker."""

    message: ServiceBusReceivedMessage
    deed: Deed


class QueueReader:
    """`ahead`: how many messages may come without being asked for. `start` it, and `close` it in the end."""

    def __init__(
        self, account: Account, subscription: str, host: "ServiceBusInbox", *, ahead: int, reconnect_s_max: float
    ) -> None:
        self._account, self._subscription, self._host = account, subscription, host
        self._ahead = max(1, min(ahead, _AHEAD_MAX))
        self._delays = RetrySettings(delay_first_s=0.1, delay_max_s=reconnect_s_max)
        self._rng = random.Random()  # noqa: S311 - jitter
        self.lock_renewer = LockRenewer(account, subscription)
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
        await self.lock_renewer.close()

    async def _run(self) -> None:
        while not self._is_stopping:
            try:
                if self._line is None:
                    if self._failures:
                        await asyncio.sleep(delay_s(self._failures, self._delays, rng=self._rng))
                    await self._connect()
                    self.reconnects += 1
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
            except Exception as error:  # noqa: BLE001 - the SDK raises whatever its sockets do
                self._note(translated(error, f"subscription {self._subscription!r}"))
                await self._hang_up()

    @property
    def _is_between_windows(self) -> bool:
        """Whether everything the receiver asked for is here. Only then can it stop: the rest would be locked in vain."""
        return self._in_window % (self._ahead + 1) == 0

    async def _settle(self, receiver: ServiceBusReceiver) -> None:
        while self._settlements:
            # One that fails is not tried again: an acknowledged message comes once more and is known, the rest is decided anew.
            await _settle(receiver, self._settlements.popleft())
        self._host.all_settled()

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
                # Give it back without counting it as a delivery, as the SDK does with what nobody asked it for.
                try:
                    handler = receiver._handler  # noqa: SLF001 - nothing of this has a public name
                    await handler.settle_messages_async(message._delivery_id, message._delivery_tag, "released")  # noqa: SLF001
                except Exception:  # noqa: BLE001 - it came over another connection, or the SDK has changed
                    await receiver.abandon_message(message)

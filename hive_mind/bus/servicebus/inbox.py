"""One subscription of this process: its reader, its mailbox, and their checks.

Everything the mailbox holds stays locked: locks are renewed in the middle of their time. A ping to itself proves that the
subscription gets its messages; any other message proves it as well.
"""

import asyncio
import logging
import secrets
from collections.abc import Callable, Sequence
from typing import Protocol

from azure.servicebus import ServiceBusReceivedMessage

from hive_mind.bus import codec
from hive_mind.bus.base import EVERYONE, BusHealth, BusSettings, Delivery, Subscription
from hive_mind.bus.mailbox import Mailbox
from hive_mind.bus.servicebus.account import (
    NAME,
    TARGET,
    Account,
    LockedMessage,
    attempt_of,
    data_of,
    is_ping,
    leave_to_broker,
    lock_s_of,
    ping_of,
    subscription_of,
    target_of,
)
from hive_mind.bus.servicebus.outgoing import TopicSender
from hive_mind.bus.servicebus.reader import QueueReader, Settlement
from hive_mind.errors import BackendError, BackendRejected, WireError

_log = logging.getLogger(__name__)

# The longest there is; the first message tells the truth.
_LOCK_S_MAX = 300.0
# Locks shorter than this can't be kept over a network.
_LOCK_S_MIN = 1.0
# How often it looks what is to be renewed, unless locks are shorter than Azure lets them be.
_LOOK_S = 1.0
_UNDECODABLE = "not an envelope of this version"


class SubscriptionInboxListener(Protocol):
    """Calls of an inbox to its bus."""

    def settled(self) -> None:
        """All settlements have reached the broker."""
        ...

    def forget(self, inbox: "ServiceBusInbox") -> None:
        """It is closed; the name is free."""
        ...


class ServiceBusInbox:
    """See `base.Inbox`."""

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
        # Of several that share a subscription any may get the ping; there the broker's word for the link has to do.
        if not self.subscription.is_shared and not await self.probe(within_s):
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
        """Whether silence would mean something: it reads, and nobody else reads in its place."""
        return self.may_read and self.reader.is_connected and not self.subscription.is_shared

    @property
    def is_drained(self) -> bool:
        """Whether nothing is held and the broker knows it."""
        return self.mailbox.is_drained and self.reader.is_settled

    def added_to(self, health: BusHealth) -> BusHealth:
        """Its counts and its trouble, beside those of others."""
        return self.mailbox.added_to(health, self.reader.reconnects, self.reader.error)

    # ── for the subscriber ───────────────────────────────────────────────────────────────────────────────────────────

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

    # ── for the mailbox ──────────────────────────────────────────────────────────────────────────────────────────────

    def settled(self, native: LockedMessage) -> None:
        self.reader.settle(Settlement(native.message, "complete"))

    # ── for the reader ───────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def may_read(self) -> bool:
        return self.mailbox.room > 0 and not (self.is_draining or self.mailbox.is_closed)

    def read(self, message: ServiceBusReceivedMessage) -> None:
        """A message came: an envelope, a ping, or neither."""
        self._show_sign(message)
        leave_to_broker(message)
        if self.mailbox.is_closed:
            self.reader.settle(Settlement(message, "release"))
            return
        if is_ping(message):
            self.reader.settle(Settlement(message, "complete"))
            return
        data, locked = data_of(message), LockedMessage(message, asyncio.get_running_loop().time())
        try:
            envelope = codec.decode(data)
        except WireError as error:
            self.mailbox.refuse(locked, data, attempt_of(message), f"{_UNDECODABLE}: {error}")
        else:
            self.mailbox.offer(locked, envelope, attempt_of(message), len(data))

    def all_settled(self) -> None:
        """Nothing is left to tell the broker."""
        self._owner.settled()

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _show_sign(self, message: ServiceBusReceivedMessage) -> None:
        lock_s = lock_s_of(message)
        if lock_s is not None:
            self._lock_s = max(min(self._lock_s, lock_s), _LOCK_S_MIN)
        self._signs += 1
        if self._sign is not None and not self._sign.done():
            self._sign.set_result(None)

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

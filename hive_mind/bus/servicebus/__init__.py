"""A bus over Azure Service Bus, or over the development broker: one topic, and on it a subscription per node.

Messages carry their target as a property, subscriptions have a filter on it; see `account`. Azure keeps accepted messages until
they are acknowledged; the development broker keeps it as long as it runs. The address is
`servicebus://NAMESPACE.servicebus.windows.net/TOPIC` or `servicebus://127.0.0.1:5672/TOPIC`; the credential is a connection
string, or for Azure none: then `azure-identity` finds the signed-in identity.

The topic needs the tier Standard or Premium, and had better detect duplicates: messages sent again after a broken connection are
then dropped before they are paid for. Subscriptions are made where the identity may manage them; made by hand, they need the two
rules of `admin`, long locks, and more deliveries than a subscriber's `attempts_max`.

Makes sure from time to time that subscriptions still hear, and keeps the sender's connection from falling asleep.

A link can look sound and be dead: then nothing fails, nothing comes. Two pings in a row that nobody hears, and the reader
connects anew.
"""

import asyncio
import logging
import random
import secrets
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import reduce
from weakref import WeakKeyDictionary

from hive_mind.bus import (
    DEAD_LETTERS_SHOWN,
    DRAIN_S,
    PUBLISH_TIMEOUT_S,
    BusCapabilities,
    BusHealth,
    BusSettings,
    DeadLetter,
    Envelope,
    Inbox,
    QueueState,
    Subscription,
    Watch,
    codec,
)
from hive_mind.bus.address import BusAddress
from hive_mind.bus.mailbox import drained
from hive_mind.bus.servicebus.account import (
    NAME,
    Account,
    Missing,
    account_of,
    end,
    messages_of,
    name_of,
    ping_of,
    silence,
    subscription_of,
)
from hive_mind.bus.servicebus.admin import AdminClient, Counts, DeadLetters, scrub
from hive_mind.bus.servicebus.inbox import ServiceBusInbox
from hive_mind.bus.servicebus.outgoing import TopicSender
from hive_mind.errors import BackendError, BackendUnavailable, ConfigError, InvalidInput, MessageTooLarge

__all__ = ["ServiceBus", "open", "scrub"]


async def open(address: BusAddress, settings: BusSettings) -> "ServiceBus":
    """Connect. `?names=a,b` lists the nodes to show dead letters of, where the broker does not list subscriptions."""
    account = account_of(address, settings)
    silence()
    bus = ServiceBus(account, settings, [*settings.names, *filter(None, address.option("names").split(","))])
    try:
        async with asyncio.timeout(settings.connect_timeout_s):
            await bus.connect()
    except TimeoutError as error:
        await account.close()
        raise BackendUnavailable(NAME, f"{address} does not answer within {settings.connect_timeout_s:g} s") from error
    except BaseException:
        await account.close()
        raise
    return bus


class ServiceBus:
    """See `bus.EventBus`."""

    def __init__(self, account: Account, settings: BusSettings, names: Iterable[str] = ()) -> None:
        self._account, self._settings = account, settings
        self._outgoing = TopicSender(account, settings.reconnect_s_max)
        self._admin = AdminClient(account)
        self._inboxes: dict[tuple[str, str], ServiceBusInbox] = {}
        self._known = set(names)
        self._watchdog = Watchdog(self._outgoing, self._all, settings.watch_every_s)
        self._past = BusHealth(True)
        self._settled = asyncio.Event()
        self._is_closed = False

    async def connect(self) -> None:
        """For `open`. Raises `BackendError`."""
        try:
            await self._outgoing.open()
        except Missing as error:
            raise self._admin.advised(error) from error
        self._watchdog.start()

    @property
    def capabilities(self) -> BusCapabilities:
        """Capabilities of Azure; the development broker keeps nothing over a restart."""
        return BusCapabilities(is_durable=True, survives_restart=self._account.is_cloud, envelope_bytes_max=self._bytes_max)

    @property
    def health(self) -> BusHealth:
        boxes = self._all()
        is_connected = not self._is_closed and self._outgoing.is_connected and all(box.reader.is_connected for box in boxes)
        counted = reduce(lambda so_far, box: box.added_to(so_far), boxes, self._past)
        reconnects, error = counted.reconnects + self._outgoing.reconnects, self._outgoing.error or counted.last_error
        return replace(counted, is_connected=is_connected, reconnects=reconnects, last_error=error)

    async def publish(self, envelopes: Sequence[Envelope], *, timeout_s: float = PUBLISH_TIMEOUT_S) -> None:
        self._refuse_if_closed()
        messages = []
        for envelope in envelopes:
            data = codec.encode(envelope)
            if len(data) > self._bytes_max:
                raise MessageTooLarge(NAME, len(data), self._bytes_max)
            messages += messages_of(envelope, data, self._settings.kept_s)
        if messages:
            await self._outgoing.publish(messages, timeout_s)

    async def subscribe(self, subscription: Subscription, on_ready: Callable[[], None]) -> Inbox:
        """Read a subscription of the topic. In the cloud it is made if it is not there and we may. `start` has no meaning here:
        kept messages are delivered, and it keeps from the moment it was made."""
        self._refuse_if_closed()
        place = subscription.hive, subscription.name
        if place in self._inboxes:
            raise InvalidInput(f"{subscription.name!r} is taken in hive {subscription.hive!r}; give this node another name")
        inbox = ServiceBusInbox(self._account, self._outgoing, subscription, on_ready, self._settings, self)
        self._inboxes[place] = inbox
        try:
            await self._start(inbox)
        except BaseException:
            await inbox.close()
            raise
        return inbox

    async def watch(self, hive: str, on_envelope: Callable[[Envelope], None]) -> Watch:
        """Can't: it would need a subscription of its own, and every copy is paid for."""
        del hive, on_envelope
        raise ConfigError("Service Bus can't be watched; watch a member, or use a Redis bus to develop")

    async def queues(self, hive: str) -> Sequence[QueueState]:
        """Of the names known here; only Azure gives counts, and only with the right Manage."""
        counts = await self._admin.counts()
        states = []
        for name, path in sorted((await self._paths(hive, counts)).items()):
            waiting, dead = counts.get(path, (None, None))
            inbox = self._inboxes.get((hive, name))
            in_hand = len(inbox.mailbox.held) - inbox.mailbox.waiting if inbox else None
            states.append(QueueState(name, waiting, in_hand, dead))
        return states

    async def dead_letters(self, hive: str, *, limit: int = DEAD_LETTERS_SHOWN) -> Sequence[DeadLetter]:
        letters: list[DeadLetter] = []
        for name, path in sorted((await self._paths(hive)).items()):
            # A known name may never have subscribed.
            with suppress(Missing):
                letters += await DeadLetters(self._account, path, name).list(limit)
        return sorted(letters, key=lambda letter: letter.at_ms)[:limit]

    async def drop(self, hive: str, ids: Sequence[str]) -> int:
        numbers: dict[str, set[int]] = {}
        for path, _, number in (id.rpartition("/") for id in ids):
            if number.isascii() and number.isdigit():
                numbers.setdefault(path, set()).add(int(number))
        paths = {name: path for name, path in (await self._paths(hive)).items() if path in numbers}
        return sum([await DeadLetters(self._account, path, name).drop(numbers[path]) for name, path in paths.items()])

    async def close(self, *, drain_s: float = DRAIN_S) -> None:
        """Send what waits, read nothing more, wait until everything was settled or the time is up."""
        if self._is_closed:
            return
        self._is_closed = True
        await self._watchdog.stop()
        for box in self._all():
            box.is_draining = True
        deadline = asyncio.get_running_loop().time() + drain_s
        await drained(lambda: all(box.is_drained for box in self._all()), self._settled, drain_s)
        await asyncio.gather(*(box.close() for box in self._all()))
        await self._outgoing.close(max(deadline - asyncio.get_running_loop().time(), 0.0))
        await self._account.close()

    def settled(self) -> None:
        """For inboxes: all settlements have reached the broker."""
        self._settled.set()

    def forget(self, inbox: ServiceBusInbox) -> None:
        self._past = inbox.added_to(self._past)
        del self._inboxes[inbox.subscription.hive, inbox.subscription.name]

    @property
    def _bytes_max(self) -> int:
        limit = self._settings.envelope_bytes_max
        return self._outgoing.message_bytes_max if limit is None else min(limit, self._outgoing.message_bytes_max)

    async def _start(self, inbox: ServiceBusInbox) -> None:
        within_s = self._settings.connect_timeout_s
        try:
            async with asyncio.timeout(within_s):
                try:
                    # Half of it, so that the reason can still be reported.
                    await inbox.start(within_s / 2)
                except Missing as error:
                    if not await self._admin.make(inbox.path):
                        raise self._admin.advised(error, inbox.path) from error
                    await inbox.start(within_s / 2)
        except TimeoutError as error:
            raise BackendUnavailable(NAME, f"subscription {inbox.path!r} is not ready within {within_s:g} s") from error

    async def _paths(self, hive: str, counts: Counts | None = None) -> dict[str, str]:
        """Of subscriptions by the node's name, as far as we know any."""
        counts = await self._admin.counts() if counts is None else counts
        names = self._known | {name for its_hive, name in self._inboxes if its_hive == hive}
        paths = {name: subscription_of(hive, name) for name in names}
        used_paths = set(paths.values())
        listed = {path: name_of(hive, path) for path in counts if path not in used_paths}
        return paths | {name: path for path, name in listed.items() if name is not None}

    def _all(self) -> list[ServiceBusInbox]:
        return [*self._inboxes.values()]

    def _refuse_if_closed(self) -> None:
        if self._is_closed:
            raise BackendUnavailable(NAME, "the bus is closed; open another one")


_log = logging.getLogger(__name__)

_MISSES_MAX = 2
# An answer takes milliseconds.
_PATIENCE_S = 5.0
# Nobody has this target, so the ping is gone as soon as it is accepted.
_NOBODY = "-"


class Watchdog:
    """Looks at what `inboxes` gives, every `every_s`."""

    def __init__(self, outgoing: TopicSender, inboxes: Callable[[], Sequence[ServiceBusInbox]], every_s: float) -> None:
        self._outgoing, self._inboxes, self._every_s = outgoing, inboxes, every_s
        self._misses: WeakKeyDictionary[ServiceBusInbox, int] = WeakKeyDictionary()
        self._rng = random.Random()  # noqa: S311 - jitter
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="servicebus watchdog")

    async def stop(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            await end(task)

    async def _run(self) -> None:
        while True:
            # Members that started together don't ping together for ever.
            await asyncio.sleep(self._every_s * self._rng.uniform(0.8, 1.2))
            boxes = [box for box in self._inboxes() if box.can_receive]
            if boxes:
                await asyncio.gather(*(self._examine(box) for box in boxes))
            else:
                try:
                    await self._outgoing.publish([ping_of(_NOBODY, secrets.token_hex(8))], _PATIENCE_S)
                except BackendError as error:
                    _log.debug("the topic can't be reached: %s", error)

    async def _examine(self, box: ServiceBusInbox) -> None:
        try:
            is_alive = await box.probe(min(_PATIENCE_S, self._every_s))
        except BackendError:
            # Nothing could be sent: that says nothing about hearing, and the sender sees to itself.
            return
        self._misses[box] = 0 if is_alive or not box.can_receive else self._misses.get(box, 0) + 1
        if self._misses[box] >= _MISSES_MAX:
            self._misses[box] = 0
            _log.warning("subscription %s did not receive %d pings: reconnecting", box.path, _MISSES_MAX)
            await box.reader.reconnect()

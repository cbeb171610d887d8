"""Messages read for one subscriber and not settled yet: bounded, in order, each once unless it is refused or forgotten.

Everything about deliveries that does not depend on the broker is here: filters, attempts, delays, the time a subscriber has to
answer, and the ids that were acknowledged already. A back end reads and offers; the mailbox calls it for settled messages and
dead letters.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from hive_mind.bus.base import EVERYONE, Envelope, Key, Subscription, key_of

# Acknowledged ids are remembered for 5 to 10 minutes, and this many at most: far more than a broker repeats after a connection
# broke in the middle of sending.
SEEN_MAX = 100_000
SEEN_FOR_S = 600.0

N = TypeVar("N")


class MailboxListener(Protocol[N]):
    """Calls of a mailbox to its back end, always on the event loop. Neither may wait."""

    def settled(self, mailbox: "Mailbox[N]", delivery: "MailboxDelivery[N]") -> None:
        """It was acknowledged, or need not be seen: take it off the broker."""
        ...

    def put_aside(self, mailbox: "Mailbox[N]", delivery: "MailboxDelivery[N]", reason: str) -> None:
        """It is a dead letter: keep it as such, then take it off the broker."""
        ...


class Mailbox(Generic[N]):
    """The inner part of a `base.Inbox`. `N` names a delivery to its broker: equal ones are the same thing there."""

    def __init__(self, subscription: Subscription, on_ready: Callable[[], None], owner: MailboxListener[N]) -> None:
        self.subscription = subscription
        self.is_closed = False
        self.redelivered = 0
        self.duplicates = 0
        self.unreadable = Counter[str]()
        self._on_ready, self._owner = on_ready, owner
        self._waiting: deque[MailboxDelivery[N]] = deque()
        self._delayed: dict[MailboxDelivery[N], asyncio.TimerHandle] = {}
        self._inflight: dict[MailboxDelivery[N], float] = {}
        self._held: dict[Key, MailboxDelivery[N]] = {}
        self._held_bytes = 0
        # Two halves, each of hashes: the older one is dropped when the younger is full, or old.
        self._seen: tuple[set[int], set[int]] = set(), set()
        self._seen_since = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._roomy: asyncio.Future[None] | None = None

    # ── for the back end ─────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def room(self) -> int:
        """How many more should be offered; a back end that can't stop in time may offer a few beyond it."""
        return self.subscription.waiting_max - len(self._waiting) if self.has_room else 0

    @property
    def has_room(self) -> bool:
        return len(self._waiting) < self.subscription.waiting_max and self._held_bytes < self.subscription.held_bytes_max

    @property
    def is_heavy(self) -> bool:
        """Whether what is held has too many bytes for one more, however few deliveries that are."""
        return self._held_bytes >= self.subscription.held_bytes_max

    @property
    def waiting(self) -> int:
        return len(self._waiting) + len(self._delayed)

    @property
    def held(self) -> "tuple[MailboxDelivery[N], ...]":
        """Everything that is not settled: the broker must not give it to others as long as this process lives."""
        return tuple(self._held.values())

    @property
    def is_drained(self) -> bool:
        return not self._held

    def is_out(self, delivery: "MailboxDelivery[N]") -> bool:
        """Whether the subscriber has it in hand."""
        return delivery in self._inflight

    async def until_room(self, timeout_s: float | None = None) -> None:
        """Return when something should be offered, or never will be, or the time is up."""
        while not self.has_room and not self.is_closed:
            if self._roomy is None or self._roomy.done():
                self._roomy = asyncio.get_running_loop().create_future()
            await asyncio.wait([self._roomy], timeout=timeout_s)
            if timeout_s is not None:
                return

    def offer(self, native: N, envelope: Envelope, attempt: int = 1, size: int = 0) -> None:
        """Take in the broker's `attempt`-th delivery, `size` bytes. A message that need not be seen is settled at once."""
        if self.is_closed:
            return
        delivery = MailboxDelivery(self, native, envelope, attempt, size)
        key = delivery.key
        mailbox_delivery = self._held.get(key)
        if mailbox_delivery is not None and mailbox_delivery.native == native:
            # The broker gives out again what is still held here, perhaps under a new lock.
            mailbox_delivery.native = native
        elif mailbox_delivery is not None or self._knows(key):
            self.duplicates += 1
            self._owner.settled(self, delivery)
        elif not self.wants(envelope):
            self._owner.settled(self, delivery)
        elif attempt > self.subscription.attempts_max:
            self._owner.put_aside(self, delivery, f"delivered {attempt - 1} times and never acknowledged")
        else:
            self.redelivered += attempt > 1
            self._held[key] = delivery
            self._held_bytes += size
            self._waiting.append(delivery)
            self._on_ready()

    def wants(self, envelope: Envelope) -> bool:
        """Whether the subscriber is meant, and asked for this type."""
        subscription = self.subscription
        if envelope.hive != subscription.hive or not (subscription.types is None or envelope.type in subscription.types):
            return False
        if envelope.target == EVERYONE:
            return envelope.sender != subscription.name
        return subscription.name in envelope.target

    def end(self) -> None:
        """Hand out nothing more; held messages are forgotten here and stay on the broker."""
        self.is_closed = True
        for timer in self._delayed.values():
            timer.cancel()
        if self._timer is not None:
            self._timer.cancel()
        for some in (self._waiting, self._delayed, self._inflight, self._held):
            some.clear()
        self._held_bytes = 0
        self._notify_of_room()

    # ── for the subscriber ───────────────────────────────────────────────────────────────────────────────────────────

    def take(self, deliveries_max: int) -> "Sequence[MailboxDelivery[N]]":
        waiting, subscription = self._waiting, self.subscription
        count = min(deliveries_max, len(waiting), subscription.inflight_max - len(self._inflight))
        if count <= 0:
            return ()
        deliveries = [waiting.popleft() for _ in range(count)]
        until = asyncio.get_running_loop().time() + subscription.ack_wait_s
        for delivery in deliveries:
            self._inflight[delivery] = until
        if until - self._seen_since > SEEN_FOR_S / 2:
            self._forget_half(until)
        self._look_at(until)
        self._notify_of_room()
        return deliveries

    # ── for deliveries ───────────────────────────────────────────────────────────────────────────────────────────────

    def settle(self, delivery: "MailboxDelivery[N]") -> None:
        if self._inflight.pop(delivery, None) is None:
            return
        self._remember(delivery)
        self._let_go(delivery)
        self._owner.settled(self, delivery)

    def put_aside(self, delivery: "MailboxDelivery[N]", reason: str) -> None:
        if self._inflight.pop(delivery, None) is None:
            return
        self._let_go(delivery)
        self._owner.put_aside(self, delivery, reason)

    def put_back(self, delivery: "MailboxDelivery[N]", delay_s: float, reason: str) -> None:
        """It was refused: again, unless that was its last chance."""
        if delivery.attempt >= self.subscription.attempts_max:
            self.put_aside(delivery, reason)
            return
        if self._inflight.pop(delivery, None) is None:
            return
        envelope = delivery.envelope
        mailbox_delivery = MailboxDelivery(self, delivery.native, envelope, delivery.attempt + 1, delivery.size)
        self._held[mailbox_delivery.key] = mailbox_delivery
        self.redelivered += 1
        if delay_s > 0:
            self._delayed[mailbox_delivery] = asyncio.get_running_loop().call_later(delay_s, self._return, mailbox_delivery)
        else:
            self._return(mailbox_delivery)

    def extend(self, delivery: "MailboxDelivery[N]", seconds: float) -> None:
        if delivery in self._inflight:
            self._inflight[delivery] = until = asyncio.get_running_loop().time() + seconds
            self._look_at(until)

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _return(self, delivery: "MailboxDelivery[N]") -> None:
        self._delayed.pop(delivery, None)
        self._waiting.appendleft(delivery)
        self._on_ready()

    def _let_go(self, delivery: "MailboxDelivery[N]") -> None:
        if self._held.pop(delivery.key, None) is not None:
            was_heavy = self.is_heavy
            self._held_bytes -= delivery.size
            if was_heavy and self.has_room:
                self._notify_of_room()
        if self._waiting:
            # There is room for one more in the subscriber's hands.
            self._on_ready()

    def _knows(self, key: Key) -> bool:
        younger, older = self._seen
        return (known := hash(key)) in younger or known in older

    def _remember(self, delivery: "MailboxDelivery[N]") -> None:
        younger = self._seen[0]
        younger.add(hash(delivery.key))
        if len(younger) >= SEEN_MAX // 2:
            self._forget_half(self._seen_since)

    def _forget_half(self, now: float) -> None:
        self._seen, self._seen_since = (set(), self._seen[0]), now

    def _look_at(self, when: float) -> None:
        """Look then, by the clock of the event loop, or sooner."""
        if self._timer is not None:
            if self._timer.when() <= when:
                return
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(when, self._look)

    def _look(self) -> None:
        """Take back what was taken too long ago."""
        self._timer = None
        now = asyncio.get_running_loop().time()
        for delivery in [delivery for delivery, until in self._inflight.items() if until <= now]:
            self.put_back(delivery, 0.0, f"not acknowledged within {self.subscription.ack_wait_s:g} s")
        if self._inflight:
            self._look_at(min(self._inflight.values()))

    def _notify_of_room(self) -> None:
        if self._roomy is not None and not self._roomy.done():
            self._roomy.set_result(None)


class MailboxDelivery(Generic[N]):
    """See `base.Delivery`."""

    __slots__ = ("_mailbox", "attempt", "envelope", "key", "native", "size")

    def __init__(self, mailbox: Mailbox[N], native: N, envelope: Envelope, attempt: int, size: int) -> None:
        self._mailbox, self.native, self.envelope, self.attempt, self.size = mailbox, native, envelope, attempt, size
        # Its name among everything that is sent here.
        self.key = key_of(envelope)

    async def ack(self) -> None:
        self._mailbox.settle(self)

    async def nack(self, *, delay_s: float = 0.0, reason: str = "") -> None:
        self._mailbox.put_back(self, delay_s, reason)

    async def dead_letter(self, reason: str) -> None:
        self._mailbox.put_aside(self, reason)

    def extend(self, seconds: float) -> None:
        self._mailbox.extend(self, seconds)

"""Messages read for one subscriber and not settled yet: bounded, in order, each once unless it is refused or forgotten.

Everything about deliveries that does not depend on the broker is here: filters, attempts, delays, the time a subscriber has to
answer, the ids that were acknowledged already, and dead letters. A back end reads and offers, and is called for what is settled;
a message that was refused is settled once it is written where its subscriber keeps its dead letters.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, Protocol, TypeVar, cast

from hive_mind.bus import EVERYONE, BusHealth, Envelope, Key, Subscription, added, key_of
from hive_mind.bus.codec import decode, misfit
from hive_mind.bus.dead_letters import Again, DeadLetterFile, Refusal, refusal, unreadable
from hive_mind.errors import WireError

# Acknowledged ids are remembered for 5 to 10 minutes, and this many at most: far more than a broker repeats after a connection
# broke in the middle of sending.
SEEN_MAX = 100_000
SEEN_FOR_S = 600.0
# Between two looks for letters that a person wants to be handled again, and two attempts to write on a disk that is full.
_LETTERS_EVERY_S, _WRITE_AGAIN_S = 0.5, 1.0


async def drained(is_drained: Callable[[], bool], settled: asyncio.Event, drain_s: float) -> None:
    """Return when everything is settled, or the time is up. The event is set when something was."""
    with suppress(TimeoutError):
        async with asyncio.timeout(drain_s):
            while not is_drained():
                settled.clear()
                await settled.wait()


N = TypeVar("N")
N_contra = TypeVar("N_contra", contravariant=True)


class MailboxListener(Protocol[N_contra]):
    """A mailbox's back end, called on the event loop. It may not wait."""

    def settled(self, native: N_contra) -> None:
        """It was acknowledged, is written elsewhere, or need not be seen: take it off the broker."""


@dataclass(frozen=True, slots=True, eq=False)
class _Unwritten(Generic[N]):
    """A refusal to write, or a letter that is done with; then it is off the broker, or out of the hands of this process."""

    refusal: Refusal | None
    native: N
    delivery: "MailboxDelivery[N] | None" = None


class Mailbox(Generic[N]):
    """The inner part of a `bus.Inbox`. `N` names a delivery to its broker: equal ones are the same thing there."""

    def __init__(self, subscription: Subscription, on_ready: Callable[[], None], owner: MailboxListener[N]) -> None:
        self.subscription = subscription
        self.is_closed = False
        self.redelivered = 0
        self.duplicates = 0
        self.put_aside = 0
        """Messages that are dead letters by now, but for those of unproven senders."""
        self.unreadable = Counter[str]()
        self.letters = cast(DeadLetterFile, subscription.letters or DeadLetterFile())
        self._unwritten: list[_Unwritten[N]] = []
        self._writing: asyncio.Future[None] | None = None
        self._writing_again: asyncio.TimerHandle | None = None
        self._looking: asyncio.Future[list[Again]] | None = None
        self._look_for_letters_at = 0.0
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

    @property
    def room(self) -> int:
        """How many more should be offered; a back end that can't stop in time may offer a few beyond it."""
        return self.subscription.waiting_max - len(self._waiting) - len(self._unwritten) if self.has_room else 0

    @property
    def has_room(self) -> bool:
        waiting = len(self._waiting) + len(self._unwritten)
        return waiting < self.subscription.waiting_max and self._held_bytes < self.subscription.held_bytes_max

    @property
    def is_heavy(self) -> bool:
        """Whether what is held has too many bytes for one more, however few deliveries that are."""
        return self._held_bytes >= self.subscription.held_bytes_max

    @property
    def waiting(self) -> int:
        return len(self._waiting) + len(self._delayed)

    @property
    def held(self) -> "tuple[MailboxDelivery[N], ...]":
        """Messages of the broker that are not settled: it must not give them to others as long as this process lives."""
        return tuple(delivery for delivery in self._held.values() if not delivery.letter)

    @property
    def natives(self) -> tuple[N, ...]:
        """The same by their names on the broker, with bytes that are no message and not written yet."""
        unreadable = (item.native for item in self._unwritten if item.delivery is None)
        return (*(delivery.native for delivery in self.held), *unreadable)

    @property
    def is_drained(self) -> bool:
        return not self._held and not self._unwritten

    def added_to(self, health: BusHealth, reconnects: int = 0, error: str = "") -> BusHealth:
        """Its counts, and the trouble of its reader, beside those of others."""
        return replace(
            health,
            reconnects=health.reconnects + reconnects,
            redelivered=health.redelivered + self.redelivered,
            duplicates=health.duplicates + self.duplicates,
            dead_letters=health.dead_letters + self.put_aside,
            unreadable=added(health.unreadable, self.unreadable) if self.unreadable else health.unreadable,
            last_error=error or health.last_error,
        )

    def is_out(self, delivery: "MailboxDelivery[N]") -> bool:
        return delivery in self._inflight

    async def until_room(self, timeout_s: float | None = None) -> None:
        """Return when something should be offered, or never will be, or the time is up."""
        while not self.has_room and not self.is_closed:
            if self._roomy is None or self._roomy.done():
                self._roomy = asyncio.get_running_loop().create_future()
            await asyncio.wait([self._roomy], timeout=timeout_s)
            if timeout_s is not None:
                return

    def offer(self, native: N, envelope: Envelope, attempt: int = 1, size: int = 0, letter: int = 0, waited_ms: int = 0) -> None:
        """Take in the broker's `attempt`-th delivery, `size` bytes. A message that need not be seen is settled at once."""
        if self.is_closed:
            return
        delivery = MailboxDelivery(self, native, envelope, attempt, size, letter, waited_ms)
        key = delivery.key
        mailbox_delivery = self._held.get(key)
        if mailbox_delivery is not None and mailbox_delivery.letter == letter and mailbox_delivery.native == native:
            # The broker gives out again what is still held here, perhaps under a new lock.
            mailbox_delivery.native = native
        elif mailbox_delivery is not None or (self._knows(key) and not letter):
            self.duplicates += 1
            self._settled(delivery)
        elif envelope.hive != self.subscription.hive:
            self._hold(delivery)
            self._put_aside(delivery, f"it belongs to hive {envelope.hive[:64]!r}", is_proven=False)
        elif not self.wants(envelope):
            self._settled(delivery)
        elif attempt > self.subscription.attempts_max:
            self._hold(delivery)
            self._put_aside(delivery, f"delivered {attempt - 1} times and never acknowledged")
        else:
            self.redelivered += attempt > 1
            self._hold(delivery)
            self._waiting.append(delivery)
            self._on_ready()

    def read(self, native: N, data: bytes, attempt: int, waited_ms: int = 0) -> None:
        """Offer the envelope of some bytes; refuse them where they are no envelope."""
        try:
            envelope = decode(data)
        except WireError as error:
            self.refuse(native, data, attempt, str(error))
        else:
            self.offer(native, envelope, attempt, len(data), waited_ms=waited_ms)

    def refuse(self, native: N, data: bytes, attempt: int, reason: str) -> None:
        if self.is_closed or any(item.native == native for item in self._unwritten if item.delivery is None):
            return
        self.unreadable[misfit(data)] += 1
        self.put_aside += 1
        self._write(_Unwritten(unreadable(data, attempt, reason), native))

    def wants(self, envelope: Envelope) -> bool:
        hive, name = self.subscription.hive, self.subscription.name
        is_for_it = envelope.sender != name if envelope.target == EVERYONE else name in envelope.target
        return is_for_it and envelope.hive == hive

    async def finish(self) -> None:
        """Wait for dead letters that are being written; for no disk that is full."""
        while self._writing is not None:
            await asyncio.wait([self._writing])

    def end(self) -> None:
        """Hand out nothing more; held messages are forgotten here and stay on the broker."""
        self.is_closed = True
        for timer in self._delayed.values():
            timer.cancel()
        for timer in filter(None, (self._timer, self._writing_again)):
            timer.cancel()
        # A write under way is done, but nothing is acknowledged any more: what comes again is found to be there.
        for some in (self._waiting, self._delayed, self._inflight, self._held, self._unwritten):
            some.clear()
        self._held_bytes = 0
        self._notify_of_room()

    def take(self, deliveries_max: int) -> "Sequence[MailboxDelivery[N]]":
        waiting, subscription = self._waiting, self.subscription
        self._look_for_letters()
        count = min(deliveries_max, len(waiting), subscription.inflight_max - len(self._inflight) - len(self._unwritten))
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

    def settle(self, delivery: "MailboxDelivery[N]") -> None:
        if self._inflight.pop(delivery, None) is None:
            return
        self._remember(delivery)
        self._let_go(delivery)
        self._settled(delivery)

    def refuse_delivery(self, delivery: "MailboxDelivery[N]", reason: str, *, is_proven: bool = True) -> None:
        if self._inflight.pop(delivery, None) is not None:
            self._put_aside(delivery, reason, is_proven=is_proven)

    def put_back(self, delivery: "MailboxDelivery[N]", delay_s: float, reason: str) -> None:
        """It was refused: again, unless that was its last chance."""
        if delivery.attempt >= self.subscription.attempts_max:
            self.refuse_delivery(delivery, reason)
            return
        if self._inflight.pop(delivery, None) is None:
            return
        envelope = delivery.envelope
        mailbox_delivery = MailboxDelivery(self, delivery.native, envelope, delivery.attempt + 1, delivery.size, delivery.letter)
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

    def _put_aside(self, delivery: "MailboxDelivery[N]", reason: str, *, is_proven: bool = True) -> None:
        self.put_aside += is_proven
        refused = refusal(delivery.envelope, delivery.attempt, reason, is_proven=is_proven, letter=delivery.letter)
        self._write(_Unwritten(refused, delivery.native, delivery))

    def _settled(self, delivery: "MailboxDelivery[N]") -> None:
        if delivery.letter:
            self._write(_Unwritten(None, delivery.native, delivery))
        else:
            self._owner.settled(delivery.native)

    def _write(self, item: "_Unwritten[N]") -> None:
        self._unwritten.append(item)
        if self._writing is None and self._writing_again is None:
            self._write_all()

    def _write_all(self) -> None:
        """All that gathered while the last write was under way goes together; a disk that is full is tried again."""
        self._writing_again = None
        if not self._unwritten or self.is_closed:
            return
        items = tuple(self._unwritten)
        refusals = [item.refusal for item in items if item.refusal]
        done = [item.delivery.letter for item in items if item.delivery and not item.refusal]
        work = partial(self.letters.write, refusals, done)
        if self.letters.path is None:
            work()
            self._all_written(items)
        else:
            self._writing = asyncio.get_running_loop().run_in_executor(None, work)
            self._writing.add_done_callback(partial(self._after_write, items))

    def _after_write(self, items: "Sequence[_Unwritten[N]]", write: "asyncio.Future[None]") -> None:
        self._writing = None
        error = None if write.cancelled() else write.exception()
        if self.is_closed:
            return
        if write.cancelled() or error is not None:
            self._writing_again = asyncio.get_running_loop().call_later(_WRITE_AGAIN_S, self._write_all)
            return
        self._all_written(items)
        self._write_all()

    def _all_written(self, items: "Sequence[_Unwritten[N]]") -> None:
        had_room = self.has_room
        del self._unwritten[: len(items)]
        for item in items:
            if item.delivery is not None and item.refusal:
                self._remember(item.delivery)
                self._let_go(item.delivery)
            if item.delivery is None or not item.delivery.letter:
                self._owner.settled(item.native)
        if not had_room and self.has_room:
            self._notify_of_room()
        if self._waiting:
            self._on_ready()

    def _look_for_letters(self) -> None:
        """Take in what a person wants to be handled again."""
        loop = asyncio.get_running_loop()
        if self._looking is None and loop.time() >= self._look_for_letters_at:
            self._look_for_letters_at = loop.time() + _LETTERS_EVERY_S
            if not self.letters.has_changed():
                return
            if self.letters.path is None:
                self._take_letters(self.letters.again())
            else:
                self._looking = loop.run_in_executor(None, self.letters.again)
                self._looking.add_done_callback(self._after_look)

    def _after_look(self, look: "asyncio.Future[list[Again]]") -> None:
        self._looking = None
        if not look.cancelled() and look.exception() is None:
            self._take_letters(look.result())

    def _take_letters(self, letters: Sequence[Again]) -> None:
        for again in letters:
            self.offer(cast(N, None), again.envelope, 1, again.size, again.letter)

    def _hold(self, delivery: "MailboxDelivery[N]") -> None:
        self._held[delivery.key] = delivery
        self._held_bytes += delivery.size

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
    """See `bus.Delivery`."""

    __slots__ = ("_mailbox", "attempt", "envelope", "key", "letter", "native", "size", "waited_ms")

    def __init__(
        self, mailbox: Mailbox[N], native: N, envelope: Envelope, attempt: int, size: int, letter: int = 0, waited_ms: int = 0
    ) -> None:
        self._mailbox, self.native, self.envelope, self.attempt, self.size = mailbox, native, envelope, attempt, size
        self.waited_ms = waited_ms
        # The dead letter that it was, where it did not come from the broker.
        self.letter = letter
        # Its name among everything that is sent here.
        self.key = key_of(envelope)

    async def ack(self) -> None:
        self._mailbox.settle(self)

    async def nack(self, *, delay_s: float = 0.0, reason: str = "") -> None:
        self._mailbox.put_back(self, delay_s, reason)

    async def dead_letter(self, reason: str, *, is_proven: bool = True) -> None:
        self._mailbox.refuse_delivery(self, reason, is_proven=is_proven)

    def extend(self, seconds: float) -> None:
        self._mailbox.extend(self, seconds)

"""A queue, a subscription or a dead-letter queue as clients reach it: links that send, links that receive, requests.

The queue decides; here its messages are dealt to receivers in turn.
"""

from collections import deque
from collections.abc import Callable
from math import inf
from typing import Any
from uuid import UUID, uuid4

from hive_mind.devbroker.amqp.sections import Message
from hive_mind.devbroker.entity import DeliveryOutcome, EntityHost, Link, ManagementReply, Timer
from hive_mind.devbroker.servicebus.management import manage_queue
from hive_mind.devbroker.servicebus.message import letters_of, not_allowed, rendered, tag_of, text_of
from hive_mind.devbroker.servicebus.queue import Queue

_SESSION_FILTER = "com.microsoft:session-filter"

# A clock and a timer never agree to the microsecond; coming a little late saves coming twice.
_LATE_S = 0.001


class QueueEntity:
    """See `entity.Entity`. Only its topic sends to a subscription."""

    def __init__(self, host: EntityHost, queue: Queue, *, is_subscription: bool = False) -> None:
        self.queue, self._is_subscription = queue, is_subscription
        self.dead_letters = QueueEntity(host, queue.dead_letters) if queue.dead_letters else None
        self._host = host
        self._receivers: deque[Link] = deque()
        self._deliveries: dict[UUID, tuple[Link, int]] = {}
        self._wake_timer = WakeTimer(host, self._look)
        queue.changed = self._wake_timer.ring
        queue.locks.opened = self._forget

    def on_attach(self, link: Link) -> None:
        """Accept receivers, and senders unless this is a subscription or a dead-letter queue."""
        if not link.is_sender:
            self._refuse_sender()
        elif _SESSION_FILTER in link.filters:
            raise not_allowed("this broker has no sessions; receive without one")
        else:
            self._receivers.append(link)

    def on_detach(self, link: Link) -> None:
        """Its locks stay until they end, as they do in the service."""
        if link in self._receivers:
            self._receivers.remove(link)

    def on_message(self, link: Link, payload: bytes, fmt: int) -> None:
        """One message, or a batch that is taken as a whole or not at all."""
        del link
        now = self._host.now()
        letters = letters_of(payload, fmt, now)
        self.queue.send(letters, now)
        self._host.count("messages_in", len(letters))

    def pump(self, link: Link) -> None:
        """Give a receiver what it has credit for."""
        while self._give(link):
            pass
        self._wake_timer.expect(self.queue.next_due())

    def settle(self, link: Link, held: Any, outcome: DeliveryOutcome) -> None:
        """Apply a receiver's outcome for a message. Raises `AmqpError` when its lock was lost."""
        del link
        token: UUID = held
        now = self._host.now()
        if outcome.kind == "accepted":
            self.queue.complete(token, now)
        elif outcome.kind == "rejected":
            said = {text_of(name): text_of(value) for name, value in outcome.info.items() if value is not None}
            self.queue.bury(token, now, said.get("DeadLetterReason", ""), said.get("DeadLetterErrorDescription", ""))
        elif outcome.is_undeliverable_here:
            raise not_allowed("this broker can't put a message aside; complete or abandon it")
        else:
            self.queue.abandon(token, now, is_failed=outcome.kind == "modified")

    def manage(self, request: Message) -> ManagementReply:
        reply = manage_queue(request, self.queue, self._host.now())
        self._wake_timer.expect(self.queue.next_due())
        return reply

    def _refuse_sender(self) -> None:
        if self._is_subscription:
            raise not_allowed("a subscription gets its messages from its topic; send to that")
        if self.queue.dead_letters is None:
            raise not_allowed("nobody sends to dead letters; send to the queue itself")

    def _look(self) -> float | None:
        self.queue.advance(self._host.now())
        in_vain = 0
        while self._receivers and in_vain < len(self._receivers):
            link = self._receivers[0]
            self._receivers.rotate(-1)
            in_vain = 0 if self._give(link) else in_vain + 1
        return self.queue.next_due()

    def _give(self, link: Link) -> bool:
        """Whether the link was given a message."""
        if not link.can_send:
            return False
        kept = self.queue.take(self._host.now(), for_good=link.is_presettled)
        if kept is None:
            return False
        if kept.token is None:
            link.send(rendered(kept), uuid4().bytes)
        else:
            payload = rendered(kept, kept.locked_until)
            self._deliveries[kept.token] = link, link.send(payload, tag_of(kept.token), held=kept.token)
        self._host.count("messages_out")
        return True

    def _forget(self, token: UUID) -> None:
        """However a lock ended, by a request or by itself: its delivery can't be settled any more."""
        if token in self._deliveries:
            link, delivery = self._deliveries.pop(token)
            link.unsettled.pop(delivery, None)


class WakeTimer:
    """Wakes an entity: soon, when something changed, and later, when something is due. Never twice for the same reason.

    `look` does what is to be done and returns when it wants to be called again, if at all.
    """

    def __init__(self, host: EntityHost, look: Callable[[], float | None]) -> None:
        self._host, self._look = host, look
        self._is_called = False
        self._timer: Timer | None = None
        self._timer_at = inf

    def ring(self) -> None:
        """Look after what is under way, once."""
        if not self._is_called:
            self._is_called = True
            self._host.call_soon(self._wake)

    def expect(self, due: float | None) -> None:
        """Look at that time, or earlier if an earlier time was asked for."""
        if due is None or due == inf or due >= self._timer_at:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = due
        self._timer = self._host.call_later(max(0.0, due - self._host.now()) + _LATE_S, self._come)

    def _come(self) -> None:
        self._timer, self._timer_at = None, inf
        self._wake()

    def _wake(self) -> None:
        self._is_called = False
        self.expect(self._look())

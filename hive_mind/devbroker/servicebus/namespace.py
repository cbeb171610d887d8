"""The queues, topics and subscriptions of one namespace, found by their paths, and each as clients reach it: links that send,
links that receive, requests. Paths are the same in upper and lower case.

    orders                                       a queue or a topic
    orders/$DeadLetterQueue                      its dead letters
    events/Subscriptions/agent-1                 what a subscription receives
    events/Subscriptions/agent-1/$DeadLetterQueue

A subscription gets a message when one of its rules matches.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Any
from uuid import UUID, uuid4

from hive_mind.devbroker.amqp import AmqpError, Array
from hive_mind.devbroker.amqp.entity import DeliveryOutcome, Entity, EntityHost, Link, ManagementReply, Message, Timer
from hive_mind.devbroker.amqp.switchboard import READ
from hive_mind.devbroker.servicebus import (
    BrokeredMessage,
    Filter,
    QueueSettings,
    letters_of,
    milliseconds,
    not_allowed,
    properties_of,
    rendered,
    rules_of,
    settings_of,
    text_of,
    wrong_argument,
)
from hive_mind.devbroker.servicebus.queue import Duplicates, Queue
from hive_mind.errors import InvalidInput

# An answer is one message; clients ask again for what is beyond it.
PEEK_MAX = 250
PEEK_BYTES_MAX = 1 << 20

_PREFIX = "com.microsoft:"


class Request:
    """The operation, and its parameters by name; each reader raises `AmqpError` when one is missing or of another type."""

    def __init__(self, message: Message) -> None:
        body = message.value()
        self.operation = text_of(message.application_map.get("operation", "")).removeprefix(_PREFIX)
        self._body: Mapping[Any, Any] = body if isinstance(body, Mapping) else {}

    def number(self, name: str, default: int) -> int:
        value = self._body.get(name, default)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self._wrong(name, "a whole number")
        return int(value)

    def count(self, name: str, most: int) -> int:
        """How many the client wants: at least none, and not more than `most`."""
        return min(max(self.number(name, most), 0), most)

    def text(self, name: str) -> str:
        value = self._body.get(name)
        if not isinstance(value, str):
            raise self._wrong(name, "a text")
        return str(value)

    def text_or_empty(self, name: str) -> str:
        return "" if self._body.get(name) is None else self.text(name)

    def tokens(self, name: str) -> list[UUID]:
        values = self._body.get(name)
        if not isinstance(values, list) or not all(isinstance(value, UUID) for value in values):
            raise self._wrong(name, "a list of UUIDs")
        return list(values)

    def _wrong(self, name: str, wish: str) -> AmqpError:
        return wrong_argument(f"{self.operation} needs {name!r}: {wish}")


def unknown_operation(request: Request) -> ManagementReply:
    hint = ": it is a queue or a topic, so give the hub another name" if request.operation == READ else ""
    return ManagementReply(501, f"this entity does not know the operation {request.operation!r}{hint}", {})


def _renew(request: Request, queue: Queue, now: float) -> ManagementReply:
    until = queue.renew(request.tokens("lock-tokens"), now)
    return ManagementReply(200, "OK", {"expirations": Array(map(milliseconds, until))})


def _peek(request: Request, queue: Queue, now: float) -> ManagementReply:
    count, messages = request.count("message-count", PEEK_MAX), list[bytes]()
    for message in queue.peek(request.number("from-sequence-number", 1), now):
        encoded = rendered(message)
        if len(messages) == count or (messages and sum(map(len, messages)) + len(encoded) > PEEK_BYTES_MAX):
            break
        messages.append(encoded)
    return (
        ManagementReply(200, "OK", {"messages": [{"message": each} for each in messages]})
        if messages
        else ManagementReply(204, "No Content", {})
    )


def _settle(request: Request, queue: Queue, now: float) -> ManagementReply:
    status, tokens = request.text("disposition-status"), request.tokens("lock-tokens")
    reason, description = request.text_or_empty("deadletter-reason"), request.text_or_empty("deadletter-description")
    settle: Mapping[str, Callable[[UUID], Any]] = {
        "completed": lambda token: queue.complete(token, now),
        "abandoned": lambda token: queue.abandon(token, now),
        "suspended": lambda token: queue.bury(token, now, reason, description),
    }
    if status not in settle:
        raise wrong_argument(f"a message can't be {status!r}")
    queue.advance(now)
    for token in tokens:
        queue.locks.find(token)
    for token in dict.fromkeys(tokens):
        settle[status](token)
    return ManagementReply(200, "OK", {})


OPERATIONS: Mapping[str, Callable[[Request, Queue, float], ManagementReply]] = {
    "renew-lock": _renew,
    "peek-message": _peek,
    "update-disposition": _settle,
}


_SESSION_FILTER = "com.microsoft:session-filter"

# A clock and a timer never agree to the microsecond; coming a little late saves coming twice.
_LATE_S = 0.001


class QueueEntity:
    """See `amqp.entity.Entity`. Only its topic sends to a subscription."""

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
            if self._is_subscription:
                raise not_allowed("a subscription gets its messages from its topic; send to that")
            if self.queue.dead_letters is None:
                raise not_allowed("nobody sends to dead letters; send to the queue itself")
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
            reasons = {text_of(name): text_of(value) for name, value in outcome.info.items() if value is not None}
            self.queue.bury(token, now, reasons.get("DeadLetterReason", ""), reasons.get("DeadLetterErrorDescription", ""))
        elif outcome.is_undeliverable_here:
            raise not_allowed("this broker can't put a message aside; complete or abandon it")
        else:
            self.queue.abandon(token, now, is_failed=outcome.kind == "modified")

    def manage(self, request: Message) -> ManagementReply:
        asked = Request(request)
        operation = OPERATIONS.get(asked.operation)
        reply = operation(asked, self.queue, self._host.now()) if operation is not None else unknown_operation(asked)
        self._wake_timer.expect(self.queue.next_due())
        return reply

    def _look(self) -> float | None:
        self.queue.advance(self._host.now())
        in_vain = 0
        while self._receivers and in_vain < len(self._receivers):
            link = self._receivers[0]
            self._receivers.rotate(-1)
            in_vain = 0 if self._give(link) else in_vain + 1
        return self.queue.next_due()

    def _give(self, link: Link) -> bool:
        if not link.can_send:
            return False
        message = self.queue.take(self._host.now(), for_good=link.is_presettled)
        if message is None:
            return False
        if message.token is None:
            link.send(rendered(message), uuid4().bytes)
        else:
            payload = rendered(message, message.locked_until)
            # The tag is the token of the lock, in the order of bytes that clients expect.
            self._deliveries[message.token] = link, link.send(payload, message.token.bytes_le, held=message.token)
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
        if not self._is_called:
            self._is_called = True
            self._host.call_soon(self._wake)

    def expect(self, due: float | None) -> None:
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


class Topic:
    """See `amqp.entity.Entity`. It keeps nothing: each message goes to every subscription with a rule that matches."""

    def __init__(self, host: EntityHost, settings: QueueSettings) -> None:
        self._host, self._settings = host, settings
        self._subscriptions: list[tuple[Queue, Filter]] = []
        self._duplicates = Duplicates(settings.duplicate_window_s)
        self._sequence = 0

    def subscribe(self, queue: Queue, wants: Filter) -> None:
        self._subscriptions.append((queue, wants))

    def send(self, letters: Sequence[BrokeredMessage], now: float) -> None:
        """All to everybody who wants them, or none: raises `AmqpError` when a subscription is full."""
        fresh = [self._limited(letter) for letter in self._duplicates.without(letters, now)]
        told = [(letter, properties_of(letter.content)) for letter in fresh]
        plan = [(letter, [queue for queue, wants in self._subscriptions if wants(properties)]) for letter, properties in told]
        messages_by_queue: dict[Queue, list[BrokeredMessage]] = {}
        for letter, queues in plan:
            for queue in queues:
                messages_by_queue.setdefault(queue, []).append(letter)
        for queue, its_letters in messages_by_queue.items():
            queue.advance(now)
            queue.check(its_letters)
        self._duplicates.note(fresh, now)
        for letter, queues in plan:
            self._sequence += 1
            for queue in queues:
                queue.put(letter, now, self._sequence)

    def on_attach(self, link: Link) -> None:
        if link.is_sender:
            raise not_allowed("a topic keeps nothing; receive from one of its subscriptions")

    def on_detach(self, link: Link) -> None:
        """Nothing was kept for it."""

    def on_message(self, link: Link, payload: bytes, fmt: int) -> None:
        """One message, or a batch that is taken as a whole or not at all."""
        del link
        now = self._host.now()
        letters = letters_of(payload, fmt, now)
        self.send(letters, now)
        self._host.count("messages_in", len(letters))

    def pump(self, link: Link) -> None:
        """There are no receivers."""

    def settle(self, link: Link, held: Any, outcome: DeliveryOutcome) -> None:
        """There are no receivers."""

    def manage(self, request: Message) -> ManagementReply:
        return unknown_operation(Request(request))

    def _limited(self, letter: BrokeredMessage) -> BrokeredMessage:
        limit_s = self._settings.ttl_s
        return replace(letter, ttl_s=limit_s) if letter.ttl_s > limit_s else letter


_DEAD_LETTERS = "/$deadletterqueue"


class Namespace:
    """`properties` and `rules` are those of Microsoft's Config.json; what is wrong with them raises `InvalidInput`."""

    def __init__(self, host: EntityHost) -> None:
        self._host = host
        self._queues: dict[str, QueueEntity] = {}
        self._topics: dict[str, Topic] = {}

    def add_queue(self, name: str, properties: Mapping[str, Any] | None = None) -> QueueEntity:
        self._refuse_taken(name)
        queue = QueueEntity(self._host, Queue(name, settings_of(properties or {})))
        self._queues[name.lower()] = queue
        return queue

    def add_topic(self, name: str, properties: Mapping[str, Any] | None = None) -> Topic:
        self._refuse_taken(name)
        topic = Topic(self._host, settings_of(properties or {}))
        self._topics[name.lower()] = topic
        return topic

    def add_subscription(
        self, topic: str, name: str, properties: Mapping[str, Any] | None = None, rules: Iterable[Mapping[str, Any]] = ()
    ) -> QueueEntity:
        """A subscription gets what matches one of its rules, or everything when none is given."""
        if topic.lower() not in self._topics:
            raise InvalidInput(f"there is no topic {topic!r} for subscription {name!r}")
        path = f"{topic}/Subscriptions/{name}"
        self._refuse_taken(path)
        wants = rules_of(rules)
        subscription = QueueEntity(self._host, Queue(path, settings_of(properties or {})), is_subscription=True)
        self._topics[topic.lower()].subscribe(subscription.queue, wants)
        self._queues[path.lower()] = subscription
        return subscription

    def find(self, path: str) -> Entity | None:
        place = path.lower()
        if place.endswith(_DEAD_LETTERS):
            queue = self._queues.get(place.removesuffix(_DEAD_LETTERS))
            return queue.dead_letters if queue is not None else None
        return self._queues.get(place) or self._topics.get(place)

    def _refuse_taken(self, path: str) -> None:
        if self.find(path) is not None:
            raise InvalidInput(f"there is a queue, topic or subscription {path!r} already")

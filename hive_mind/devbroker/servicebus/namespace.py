"""The queues, topics and subscriptions of one namespace, found by their paths. Paths are the same in upper and lower case.

orders                                       a queue or a topic
orders/$DeadLetterQueue                      its dead letters
events/Subscriptions/agent-1                 what a subscription receives
events/Subscriptions/agent-1/$DeadLetterQueue

A subscription gets a message when one of its rules matches.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hive_mind.devbroker.amqp.sections import Message
from hive_mind.devbroker.entity import DeliveryOutcome, Entity, EntityHost, Link, ManagementReply
from hive_mind.devbroker.servicebus.management import Request, unknown_operation
from hive_mind.devbroker.servicebus.message import BrokeredMessage, letters_of, not_allowed, properties_of
from hive_mind.devbroker.servicebus.queue import Duplicates, Queue
from hive_mind.devbroker.servicebus.queue_entity import QueueEntity
from hive_mind.devbroker.servicebus.rules import Filter, rules_of
from hive_mind.devbroker.servicebus.settings import QueueSettings, settings_of
from hive_mind.errors import InvalidInput


class Topic:
    """See `entity.Entity`. It keeps nothing: each message goes to every subscription with a rule that matches."""

    def __init__(self, host: EntityHost, settings: QueueSettings) -> None:
        self._host, self._settings = host, settings
        self._subscriptions: list[tuple[Queue, Filter]] = []
        self._duplicates = Duplicates(settings.duplicate_window_s)
        self._sequence = 0

    def subscribe(self, queue: Queue, wants: Filter) -> None:
        """From now on `queue` gets what it wants."""
        self._subscriptions.append((queue, wants))

    def send(self, letters: Sequence[BrokeredMessage], now: float) -> None:
        """All to everybody who wants them, or none: raises `AmqpError` when a subscription is full."""
        fresh = [self._limited(letter) for letter in self._duplicates.without(letters, now)]
        plan = [(letter, self._wanting(letter)) for letter in fresh]
        wanted: dict[Queue, list[BrokeredMessage]] = {}
        for letter, queues in plan:
            for queue in queues:
                wanted.setdefault(queue, []).append(letter)
        for queue, its_letters in wanted.items():
            queue.advance(now)
            queue.check(its_letters)
        self._duplicates.note(fresh, now)
        for letter, queues in plan:
            self._sequence += 1
            for queue in queues:
                queue.put(letter, now, self._sequence)

    def on_attach(self, link: Link) -> None:
        """Accept senders only."""
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

    def _wanting(self, letter: BrokeredMessage) -> list[Queue]:
        properties = properties_of(letter.content)
        return [queue for queue, wants in self._subscriptions if wants(properties)]

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
        """A new topic, whose messages nobody gets until it has subscriptions."""
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
        """The entity at a path, if there is one."""
        place = path.lower()
        if place.endswith(_DEAD_LETTERS):
            queue = self._queues.get(place.removesuffix(_DEAD_LETTERS))
            return queue.dead_letters if queue is not None else None
        return self._queues.get(place) or self._topics.get(place)

    def _refuse_taken(self, path: str) -> None:
        if self.find(path) is not None:
            raise InvalidInput(f"there is a queue, topic or subscription {path!r} already")

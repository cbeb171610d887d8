"""The queues, topics and subscriptions of one namespace, found by their paths. Paths are the same in upper and lower case.

orders                                       a queue or a topic
orders/$DeadLetterQueue                      its dead letters
events/Subscriptions/agent-1                 what a subscription receives
events/Subscriptions/agent-1/$DeadLetterQueue
"""

from collections.abc import Iterable, Mapping
from typing import Any

from hive_mind.devbroker.entity import Entity, Host
from hive_mind.devbroker.servicebus.queue import Queue
from hive_mind.devbroker.servicebus.queue_entity import QueueEntity
from hive_mind.devbroker.servicebus.rules import rules_of
from hive_mind.devbroker.servicebus.settings import settings_of
from hive_mind.devbroker.servicebus.topic import Topic
from hive_mind.errors import InvalidInput

_DEAD_LETTERS = "/$deadletterqueue"
_SUBSCRIPTIONS = "/subscriptions/"


class Namespace:
    """`properties` and `rules` are those of Microsoft's Config.json; what is wrong with them raises `InvalidInput`."""

    def __init__(self, host: Host) -> None:
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
        """What is at a path, if anything is."""
        place = path.lower()
        if place.endswith(_DEAD_LETTERS):
            queue = self._queues.get(place.removesuffix(_DEAD_LETTERS))
            return queue.dead_letters if queue is not None else None
        return self._queues.get(place) or self._topics.get(place)

    def _refuse_taken(self, path: str) -> None:
        if self.find(path) is not None:
            raise InvalidInput(f"there is a queue, topic or subscription {path!r} already")

"""A topic as clients reach it: links that send, and requests to schedule."""

from typing import Any

from hive_mind.devbroker.amqp.sections import Message, unbatch
from hive_mind.devbroker.entity import Host, Link, Outcome, Reply
from hive_mind.devbroker.servicebus.errors import not_allowed
from hive_mind.devbroker.servicebus.management import manage_topic
from hive_mind.devbroker.servicebus.message import letter_of
from hive_mind.devbroker.servicebus.topic import Topic
from hive_mind.devbroker.servicebus.wake_timer import WakeTimer


class TopicEntity:
    """Nobody receives from a topic itself."""

    def __init__(self, host: Host, topic: Topic) -> None:
        self.topic = topic
        self._host = host
        self._wake_timer = WakeTimer(host, self._look)
        topic.changed = self._wake_timer.ring

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
        letters = [letter_of(message, now) for message in unbatch(payload, fmt)]
        self.topic.send(letters, now)
        self._host.count("messages_in", len(letters))

    def pump(self, link: Link) -> None:
        """There are no receivers."""

    def settle(self, link: Link, held: Any, outcome: Outcome) -> None:
        """There are no receivers."""

    def manage(self, request: Message) -> Reply:
        return manage_topic(request, self.topic, self._host.now())

    def _look(self) -> float | None:
        self.topic.advance(self._host.now())
        return self.topic.next_due()

"""A topic, to which clients send. It keeps nothing: each message goes to every subscription with a rule that matches."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hive_mind.devbroker.amqp.sections import Message
from hive_mind.devbroker.entity import Host, Link, Outcome, Reply
from hive_mind.devbroker.servicebus.admission import Duplicates
from hive_mind.devbroker.servicebus.errors import not_allowed
from hive_mind.devbroker.servicebus.management import Request, unknown_operation
from hive_mind.devbroker.servicebus.message import Letter, letters_of, properties_of
from hive_mind.devbroker.servicebus.queue import Queue
from hive_mind.devbroker.servicebus.settings import QueueSettings
from hive_mind.devbroker.servicebus.sql_filter import Filter


class Topic:
    """See `entity.Entity`."""

    def __init__(self, host: Host, settings: QueueSettings) -> None:
        self._host, self._settings = host, settings
        self._subscriptions: list[tuple[Queue, Filter]] = []
        self._duplicates = Duplicates(settings.duplicate_window_s)
        self._sequence = 0

    def subscribe(self, queue: Queue, wants: Filter) -> None:
        """From now on `queue` gets what it wants."""
        self._subscriptions.append((queue, wants))

    def send(self, letters: Sequence[Letter], now: float) -> None:
        """All to everybody who wants them, or none: raises `AmqpError` when a subscription is full."""
        fresh = [self._limited(letter) for letter in self._duplicates.without(letters, now)]
        plan = [(letter, self._wanting(letter)) for letter in fresh]
        wanted: dict[Queue, list[Letter]] = {}
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

    def settle(self, link: Link, held: Any, outcome: Outcome) -> None:
        """There are no receivers."""

    def manage(self, request: Message) -> Reply:
        return unknown_operation(Request(request))

    def _wanting(self, letter: Letter) -> list[Queue]:
        properties = properties_of(letter.content)
        return [queue for queue, wants in self._subscriptions if wants(properties)]

    def _limited(self, letter: Letter) -> Letter:
        limit_s = self._settings.ttl_s
        return replace(letter, ttl_s=limit_s) if letter.ttl_s > limit_s else letter

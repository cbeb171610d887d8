"""A topic keeps nothing but what is scheduled: each message goes to every subscription with a rule that matches."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from hive_mind.devbroker.servicebus.admission import Duplicates, Quota
from hive_mind.devbroker.servicebus.message import Kept, Letter, State, properties_of
from hive_mind.devbroker.servicebus.queue import Queue
from hive_mind.devbroker.servicebus.rules import Rules
from hive_mind.devbroker.servicebus.settings import QueueSettings
from hive_mind.devbroker.servicebus.store import Schedule


class Topic:
    """`changed` is called when a timer may have to be set earlier."""

    def __init__(self, settings: QueueSettings) -> None:
        self.changed: Callable[[], None] = lambda: None
        self._settings = settings
        self._subscriptions: list[tuple[Queue, Rules]] = []
        self._quota = Quota(settings.messages_max, settings.bytes_max)
        self._schedule = Schedule()
        self._duplicates = Duplicates(settings.duplicate_window_s)
        self._sequence = 0

    def subscribe(self, queue: Queue, rules: Rules) -> None:
        """From now on `queue` gets what matches `rules`."""
        self._subscriptions.append((queue, rules))

    def send(self, letters: Sequence[Letter], now: float) -> list[int]:
        """All to everybody who wants them, or none: raises `AmqpError` when a subscription is full. Numbers of the new ones."""
        self.advance(now)
        fresh = [self._limited(letter) for letter in self._duplicates.without(letters, now)]
        later = [letter for letter in fresh if letter.scheduled_at > now]
        self._quota.check(len(later), sum(letter.size for letter in later))
        plan = [(letter, [] if letter.scheduled_at > now else self._wanting(letter)) for letter in fresh]
        self._check(plan, now)
        self._duplicates.note(fresh, now)
        return [self._put(letter, queues, now) for letter, queues in plan]

    def cancel(self, sequences: Sequence[int], now: float) -> None:
        """Take back scheduled messages, all or none."""
        self.advance(now)
        for sequence in sequences:
            self._schedule.check(sequence)
        for sequence in dict.fromkeys(sequences):
            self._quota.give_back(self._schedule.cancel(sequence).letter.size)

    def advance(self, now: float) -> None:
        """Send what is due. A full subscription exceeds its quota here: no sender is left to be refused."""
        for kept in self._schedule.pop_due(now):
            self._quota.give_back(kept.letter.size)
            self._put(kept.letter, self._wanting(kept.letter), now)

    def next_due(self) -> float | None:
        """When there is something to send."""
        return self._schedule.first_due()

    def _check(self, plan: Iterable[tuple[Letter, list[Queue]]], now: float) -> None:
        """Raises `AmqpError` when what is planned does not fit everywhere."""
        wanted: dict[Queue, list[Letter]] = {}
        for letter, queues in plan:
            for queue in queues:
                wanted.setdefault(queue, []).append(letter)
        for queue, letters in wanted.items():
            queue.advance(now)
            queue.check(letters)

    def _put(self, letter: Letter, queues: Sequence[Queue], now: float) -> int:
        self._sequence += 1
        if letter.scheduled_at > now:
            self._quota.take(letter.size)
            self._schedule.add(Kept(letter, self._sequence, self._sequence, now, state=State.SCHEDULED))
            self.changed()
        for queue in queues:
            queue.put(letter, now, self._sequence)
        return self._sequence

    def _wanting(self, letter: Letter) -> list[Queue]:
        properties = properties_of(letter.content)
        return [queue for queue, rules in self._subscriptions if rules.match(properties)]

    def _limited(self, letter: Letter) -> Letter:
        limit_s = self._settings.ttl_s
        return replace(letter, ttl_s=limit_s) if letter.ttl_s > limit_s else letter

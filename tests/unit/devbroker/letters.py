"""Letters for tests of queues, and a host whose clock the test turns."""

import heapq
from collections.abc import Callable
from itertools import count
from math import inf

from hive_mind.devbroker.amqp.entity import split, value_message
from hive_mind.devbroker.servicebus import BrokeredMessage

_numbers = count()


def letter(text="", *, id=None, ttl_s=inf, size=1) -> BrokeredMessage:
    return BrokeredMessage(split(value_message(text, application={})), id=id, ttl_s=ttl_s, size=size)


def text_of(kept) -> str:
    return kept.letter.content.value() if kept is not None else ""


class Alarm:
    def __init__(self, callback):
        self.callback = callback

    def cancel(self):
        self.callback = lambda: None


class TurnedHost:
    """Callbacks run when the test says so, in the order in which they are due."""

    def __init__(self, now=1_000_000.0):
        self.time, self.figures = now, {}
        self._soon: list[Callable[[], object]] = []
        self._later: list[tuple[float, int, Alarm]] = []

    def now(self):
        return self.time

    def call_soon(self, callback):
        self._soon.append(callback)

    def call_later(self, delay_s, callback):
        alarm = Alarm(callback)
        heapq.heappush(self._later, (self.time + delay_s, next(_numbers), alarm))
        return alarm

    def count(self, name, by=1):
        self.figures[name] = self.figures.get(name, 0) + by

    def run(self, seconds=0.0):
        """Let so much time pass, with everything that is called in it."""
        end = self.time + seconds
        self._run_soon()
        while self._later and self._later[0][0] <= end:
            due, _, alarm = heapq.heappop(self._later)
            self.time = max(self.time, due)
            alarm.callback()
            self._run_soon()
        self.time = end

    def _run_soon(self):
        while self._soon:
            self._soon.pop(0)()

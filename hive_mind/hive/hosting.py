"""Nodes of one process that reach each other at once: effects carried out as they come, nothing lost, nothing late.

Dictionaries stand in for a journal, so that a node can be started again from it.
"""

from collections import deque
from collections.abc import Callable, Iterable

from hive_mind.hive.effects import (
    Acknowledge,
    Done,
    Effect,
    Event,
    Now,
    Outcome,
    Persist,
    Put,
    Received,
    SearchLocal,
    Send,
    Shared,
)
from hive_mind.hive.node import HiveNode
from hive_mind.hive.topology.codec import EVERYBODY
from hive_mind.model.messages import Message

Kept = dict[tuple[str, bytes], bytes]


class SynchronousHost:
    """Runs nodes by name. `clock` gives the time of every event."""

    def __init__(self, nodes: Iterable[HiveNode], clock: Callable[[], Now]) -> None:
        self._clock = clock
        self.nodes: dict[str, HiveNode] = {}
        self.kept: dict[str, Kept] = {}
        self.messages = 0
        self._answers: dict[str, Outcome] = {}
        self._inbox: deque[tuple[str, str, Message]] = deque()
        for node in nodes:
            self.add(node)

    def add(self, node: HiveNode) -> None:
        """Start a node with what it kept, if it was here before."""
        self.nodes[node.name] = node
        journal = self.kept.setdefault(node.name, {})
        self._perform(node.name, node.start([Put(table, key, value) for (table, key), value in journal.items()], self._clock()))

    def handle(self, name: str, event: Event) -> None:
        """Let a node handle an event, and everything that follows from it."""
        self._perform(name, self.nodes[name].handle(event, self._clock()))
        while self._inbox:
            to, sender, message = self._inbox.popleft()
            if to in self.nodes:
                self.messages += 1
                self._perform(to, self.nodes[to].handle(Received(sender, message), self._clock()))

    def answer(self, request: str) -> Outcome | None:
        """The answer to a request, once; None where it waits for time to pass."""
        return self._answers.pop(request, None)

    def _perform(self, name: str, effects: Iterable[Effect]) -> None:
        for effect in effects:
            match effect:
                case Persist(records):
                    journal = self.kept[name]
                    for record in records:
                        if isinstance(record, Put):
                            journal[record.table, record.key] = record.value
                        else:
                            journal.pop((record.table, record.key), None)
                case Send(to, message):
                    receivers = [node for node in self.nodes if node != name] if EVERYBODY in to else to
                    self._inbox.extend((receiver, name, message) for receiver in receivers)
                case SearchLocal(request, reply_to):
                    if (reply := self.nodes[name].search(request, self._clock())) is not None:
                        self._inbox.append((reply_to, name, reply))
                case Done(request, outcome):
                    self._answers[request] = outcome
                case Acknowledge() | Shared():
                    pass

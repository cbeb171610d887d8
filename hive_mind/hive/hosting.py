"""Nodes of one process that reach each other at once: effects carried out as they come, nothing lost, nothing late.

Dictionaries stand in for a journal, so that a node can be started again from it.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence

from hive_mind.hive.effects import Event, Now, Outcome, Put, Received, Record
from hive_mind.hive.node import HiveNode
from hive_mind.hive.performer import Performer, Ports
from hive_mind.hive.topology.codec import EVERYBODY
from hive_mind.model.messages import Message, SearchRequest

Kept = dict[tuple[str, bytes], bytes]


class SynchronousHost(Ports[str]):
    """Runs nodes by name. `clock` gives the time of every event."""

    def __init__(self, nodes: Iterable[HiveNode], clock: Callable[[], Now]) -> None:
        self._clock, self._performer = clock, Performer(self)
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
        records = [Put(table, key, value) for (table, key), value in journal.items()]
        self._performer.take(node.start(records, self._clock()), node.name)

    def handle(self, name: str, event: Event) -> None:
        """Let a node handle an event, and everything that follows from it."""
        self._performer.take(self.nodes[name].handle(event, self._clock()), name)
        while self._inbox:
            to, sender, message = self._inbox.popleft()
            if to in self.nodes:
                self.messages += 1
                self._performer.take(self.nodes[to].handle(Received(sender, message), self._clock()), to)

    def answer(self, request: str) -> Outcome | None:
        """The answer to a request, once; None where it waits for time to pass."""
        return self._answers.pop(request, None)

    def write(self, records: Sequence[Record], cause: str) -> bool:
        journal = self.kept[cause]
        for record in records:
            if isinstance(record, Put):
                journal[record.table, record.key] = record.value
            else:
                journal.pop((record.table, record.key), None)
        return True

    def send(self, to: tuple[str, ...], message: Message, cause: str) -> None:
        receivers = [node for node in self.nodes if node != cause] if EVERYBODY in to else to
        self._inbox.extend((receiver, cause, message) for receiver in receivers)

    def search(self, request: SearchRequest, reply_to: str, cause: str) -> None:
        if (reply := self.nodes[cause].search(request, self._clock())) is not None:
            self._inbox.append((reply_to, cause, reply))

    def done(self, request: str, outcome: Outcome, cause: str) -> None:
        del cause
        self._answers[request] = outcome

"""The one performer of what nodes want: effects in their order, and none behind a `Persist` before its records are durable.

A runner over a broker, the simulator, virtual arms and a hive in one process hand in the ports: a journal, and ways to send,
search and answer. Events are handled while records are on their way to the disk; what follows from them waits, and shares the
next write.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, Protocol, TypeVar

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
    Record,
    SearchLocal,
    Send,
    Shared,
    keep,
)
from hive_mind.hive.node import HiveNode
from hive_mind.hive.topology.log import EVERYBODY
from hive_mind.model.messages import Message, SearchRequest

Cause = TypeVar("Cause", contravariant=True)
"""The occasion of an effect, as far as its ports care: which node wants it, or since when."""


class Ports(Protocol[Cause]):
    """The world around nodes. By default a write is durable at once, and nobody minds what is acknowledged or shared."""

    def write(self, records: Sequence[Record], cause: Cause) -> bool:
        """Make records durable. False: they will be, and then `Performer.written` is called."""
        del records, cause
        return True

    def send(self, to: tuple[str, ...], message: Message, cause: Cause) -> None: ...

    def search(self, request: SearchRequest, reply_to: str, cause: Cause) -> None:
        """Search the replica of the node, and answer."""

    def done(self, request: str, outcome: Outcome, cause: Cause) -> None:
        """Answer a request of this place."""

    def acknowledge(self, delivery: str) -> None:
        del delivery

    def shared(self, fact_ids: tuple[str, ...], cause: Cause) -> None:
        """Tell those who wait for it that others have these facts now."""
        del fact_ids, cause


class Performer(Generic[Cause]):
    """Carries out effects over ports."""

    def __init__(self, ports: Ports[Cause]) -> None:
        self._ports = ports
        self._waiting: deque[tuple[Effect, Cause]] = deque()
        self._is_writing = False

    @property
    def is_waiting(self) -> bool:
        """Whether records are on their way to the disk; what comes later must wait as well."""
        return self._is_writing

    def take(self, effects: Sequence[Effect], cause: Cause, *, is_search: bool = False) -> None:
        """Carry out effects, behind those that wait. A search promises nothing, so that it need not wait for any write."""
        if is_search and not any(type(effect) is Persist for effect in effects):
            for effect in effects:
                self._carry_out(effect, cause)
            return
        self._waiting.extend((effect, cause) for effect in effects)
        self._go_on()

    def records_waiting(self) -> list[Sequence[Record]]:
        """A batch of records for each `Persist` that waits; the caller writes them now, so that they hold up nothing more."""
        batches = [effect.records for effect, _ in self._waiting if isinstance(effect, Persist)]
        if batches:
            self._waiting = deque(waiting for waiting in self._waiting if not isinstance(waiting[0], Persist))
        return batches

    def written(self) -> None:
        """Go on: all records are durable that the ports were given."""
        self._is_writing = False
        self._go_on()

    def stop(self) -> None:
        """Nothing that waits will ever be done."""
        self._waiting.clear()
        self._is_writing = False

    def _go_on(self) -> None:
        while self._waiting and not self._is_writing:
            self._carry_out(*self._waiting.popleft())

    def _carry_out(self, effect: Effect, cause: Cause) -> None:
        # The most frequent first: a simulation carries out hundreds of thousands.
        match effect:
            case Send(to, message):
                self._ports.send(to, message, cause)
            case Acknowledge(delivery):
                self._ports.acknowledge(delivery)
            case Persist(records):
                self._is_writing = not self._ports.write(records, cause)
            case SearchLocal(request, reply_to):
                self._ports.search(request, reply_to, cause)
            case Done(request, outcome):
                self._ports.done(request, outcome, cause)
            case Shared(fact_ids):
                self._ports.shared(fact_ids, cause)


class SynchronousHost(Ports[str]):
    """Runs nodes by name that reach each other at once: nothing is lost and nothing late. `clock` gives the time of every event.

    Dictionaries stand in for a journal, so that a node can be started again from it.
    """

    def __init__(self, nodes: Iterable[HiveNode], clock: Callable[[], Now]) -> None:
        self._clock, self._performer = clock, Performer(self)
        self.nodes: dict[str, HiveNode] = {}
        self.kept: dict[str, dict[tuple[str, bytes], Put]] = {}
        self.messages = 0
        self._answers: dict[str, Outcome] = {}
        self._inbox: deque[tuple[str, str, Message]] = deque()
        for node in nodes:
            self.add(node)

    def add(self, node: HiveNode) -> None:
        self.nodes[node.name] = node
        journal = list(self.kept.setdefault(node.name, {}).values())
        self._performer.take(node.start(journal, self._clock()), node.name)

    def handle(self, name: str, event: Event) -> None:
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
        keep(self.kept[cause], records)
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

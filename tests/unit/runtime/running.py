"""A node that does what a test says, and a journal and a bus that tell in which order they were used."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import count
from typing import Any

from hive_mind.bus import BusHealth, Envelope, EventBus, Subscription, type_of
from hive_mind.bus.memory import MemoryBus
from hive_mind.errors import BackendError, HiveError, MessageTooLarge
from hive_mind.hive.effects import (
    Acknowledge,
    Done,
    Effect,
    Event,
    Fetch,
    Held,
    Now,
    Persist,
    Promote,
    Promotion,
    Put,
    Received,
    Record,
    SearchLocal,
    Send,
)
from hive_mind.journal.memory import MemoryJournal
from hive_mind.model.evidence import Statement
from hive_mind.model.messages import FactsReply, FactsRequest, Message, SearchReply, SearchRequest
from hive_mind.runtime.node import Clock, RunnerSettings, system_clock
from hive_mind.runtime.node.runner import NodeRunner
from tests.contract.bus_builders import Listener

FAR_MS = 1 << 40
PROMOTION = Promotion(Statement("The sky is blue."), "ann", "letter", 0.8)
HELD = (Held("f1"),)
QUESTION = FactsRequest("query", (), 1000)
_numbers = count(1)
Script = Callable[[Event], list[Effect]]


class ScriptedNode:
    """Its answer to an event is the script's. Remembers events, and is due for a tick at `wake_ms`."""

    def __init__(self, script: Script = lambda _: [], at_start: Sequence[Effect] = (), wake_ms: int = FAR_MS) -> None:
        self.name = "node"
        self.script, self.at_start, self.wake_ms = script, list(at_start), wake_ms
        self.events: list[Event] = []
        self.kept: list[Put] = []

    def start(self, kept: Iterable[Put], now: Now) -> list[Effect]:
        del now
        self.kept = list(kept)
        return self.at_start

    def handle(self, event: Event, now: Now) -> list[Effect]:
        del now
        self.events.append(event)
        return self.script(event)

    def search(self, request: SearchRequest, now: Now) -> SearchReply | None:
        del now
        assert isinstance(request, FactsRequest)
        return FactsReply(request.query, ())

    def index_some(self, now: Now) -> bool:
        del now
        return False

    def prepare(self, event: Event, now: Now) -> Iterator[None]:
        del event, now
        return iter(())

    def wake_at_ms(self, now: Now) -> int:
        del now
        return self.wake_ms


class TestedJournal(MemoryJournal):
    """Says when it wrote; waits for `allow` while it is `held`; fails with `error`."""

    __test__ = False

    def __init__(self, trace: list[str] | None = None, kept: Iterable[Put] = ()) -> None:
        super().__init__(kept)
        self.trace = [] if trace is None else trace
        self.writes: list[Sequence[Record]] = []
        self.error: BackendError | None = None
        self.is_closed_now = False
        self._gate = asyncio.Event()
        self._gate.set()

    def hold(self) -> None:
        self._gate.clear()

    def allow(self) -> None:
        self._gate.set()

    async def write(self, records: Sequence[Record]) -> None:
        self.writes.append(records)
        await self._gate.wait()
        if self.error is not None:
            raise self.error
        await super().write(records)
        self.trace.append("wrote")

    async def scrub(self) -> None:
        await super().scrub()
        self.trace.append("scrubbed")

    async def close(self) -> None:
        self.is_closed_now = True
        await super().close()


class TestedBus(MemoryBus):
    """Says what the node gave it; waits for `allow` while it is `held`; fails with `error`; may say that it was away."""

    __test__ = False

    def __init__(self, trace: list[str]) -> None:
        super().__init__()
        self.trace = trace
        self.batches: list[list[Envelope]] = []
        self.error: HiveError | None = None
        self.refused: set[str] = set()
        self.reconnects = 0
        self._gate = asyncio.Event()
        self._gate.set()

    def hold(self) -> None:
        self._gate.clear()

    def allow(self) -> None:
        self._gate.set()

    @property
    def health(self) -> BusHealth:
        return replace(super().health, reconnects=self.reconnects)

    async def publish(self, envelopes: Sequence[Envelope], *, timeout_s: float = 10.0) -> None:
        self.trace += [f"sent {envelope.type} to {','.join(envelope.target)}" for envelope in envelopes]
        if all(envelope.sender == "node" for envelope in envelopes):
            await self._gate.wait()
            if self.error is not None:
                raise self.error
            if any(one.type in self.refused for one in envelopes):
                raise MessageTooLarge("memory", 2, 1)
            self.batches.append(list(envelopes))
        await super().publish(envelopes, timeout_s=timeout_s)

    def sent(self) -> list[Message]:
        """What it took of the node."""
        return [envelope.message for batch in self.batches for envelope in batch]


async def listener(bus: EventBus, name: str = "peer", **bounds: int) -> Listener:
    """Somebody else on the bus."""
    made = Listener(bus, "hive")
    made.inbox = await bus.subscribe(Subscription("hive", name, **bounds), made.ring)
    return made


class Stage:
    """A started runner over a scripted node, and a peer to talk to it."""

    def __init__(self, node: ScriptedNode, journal: TestedJournal, bus: TestedBus, runner: NodeRunner) -> None:
        self.node, self.journal, self.bus, self.runner = node, journal, bus, runner
        self.peer: Listener

    async def say(self, message: Message, times: int = 1, sender: str = "peer", **fields: Any) -> None:
        """The peer sends something to the node."""
        for _ in range(times):
            await self.bus.publish(
                [Envelope(f"{next(_numbers)}", "hive", sender, ("node",), type_of(message), message, **fields)]
            )

    async def said(self, number: int = 1) -> list[Message]:
        """What the node sent to the peer."""
        return [delivery.envelope.message for delivery in await self.peer.take(number)]


@asynccontextmanager
async def on_stage(
    node: ScriptedNode,
    trace: list[str] | None = None,
    clock: Clock = system_clock,
    knows: Callable[[str], bool] = lambda _: True,
    **settings: object,
) -> AsyncIterator[Stage]:
    """At the end everything is closed."""
    made = TestedBus([] if trace is None else trace)
    journal = TestedJournal(trace)
    tuned = RunnerSettings(**settings)  # type: ignore[arg-type]
    runner = NodeRunner(node, journal, made, clock=clock, settings=tuned, knows=knows)
    stage = Stage(node, journal, made, runner)
    stage.peer = await listener(made, inflight_max=1000)
    await runner.start()
    yield stage
    journal.allow()
    made.allow()
    await runner.close(drain_s=0)
    await made.close(drain_s=0)
    assert journal.is_closed_now


async def turns(number: int = 10) -> None:
    """Let everybody do what can be done without time passing."""
    for _ in range(number):
        await asyncio.sleep(0)


def persist(key: str = "key") -> Persist:
    return Persist((Put("dots", key.encode(), b""),))


def keep(event: Event) -> list[Effect]:
    """Persist and answer whatever is promoted or received."""
    match event:
        case Promote(request):
            return [persist(request), Done(request, HELD)]
        case Received(_, FactsRequest() as question, delivery):
            return [SearchLocal(question, "peer"), Acknowledge(delivery)]
        case Received(sender, message, delivery):
            return [persist(delivery), Send((sender,), message), Acknowledge(delivery)]
        case Fetch(request):
            return [Done(request, ())]
        case _:
            return []

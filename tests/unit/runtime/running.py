"""A node that does what a test says, and a journal and a bus that tell in which order they were used."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence

from hive_mind.bus.base import Envelope, Subscription, type_of
from hive_mind.bus.memory import MemoryBus
from hive_mind.errors import BackendError
from hive_mind.hive.effects import Effect, Event, Now, Persist, Put, Record
from hive_mind.journal.memory import MemoryJournal
from hive_mind.model.messages import FactsReply, FactsRequest, Message, SearchReply, SearchRequest
from hive_mind.runtime.runner import NodeRunner, RunnerSettings
from tests.contract.bus_builders import Listener

FAR_MS = 1 << 40
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

    async def close(self) -> None:
        self.is_closed_now = True
        await super().close()


class TracedBus(MemoryBus):
    """Says what it was given."""

    def __init__(self, trace: list[str]) -> None:
        super().__init__()
        self.trace = trace

    async def publish(self, envelopes: Sequence[Envelope], *, timeout_s: float = 10.0) -> None:
        self.trace += [f"sent {envelope.type} to {','.join(envelope.target)}" for envelope in envelopes]
        await super().publish(envelopes, timeout_s=timeout_s)


class Stage:
    """A started runner over a scripted node, and a peer to talk to it."""

    def __init__(self, node: ScriptedNode, journal: TestedJournal, bus: MemoryBus, runner: NodeRunner) -> None:
        self.node, self.journal, self.bus, self.runner = node, journal, bus, runner
        self.peer = Listener()

    async def say(self, message: Message, times: int = 1) -> None:
        """The peer sends something to the node."""
        envelope = Envelope("id", "hive", "peer", ("node",), type_of(message), message)
        await self.bus.publish([envelope] * times)

    async def said(self, number: int = 1) -> list[Message]:
        """What the node sent to the peer."""
        return [delivery.envelope.message for delivery in await self.peer.take(number)]


def on_stage(
    play: Callable[[Stage], Awaitable[None]], node: ScriptedNode, trace: list[str] | None = None, **settings: object
) -> None:
    """Run a scenario; at the end everything is closed, and no task may be left."""

    async def whole() -> None:
        made = TracedBus([] if trace is None else trace)
        journal = TestedJournal(trace)
        runner = NodeRunner(node, journal, made, settings=RunnerSettings(**settings))  # type: ignore[arg-type]
        stage = Stage(node, journal, made, runner)
        stage.peer.inbox = await made.subscribe(Subscription("hive", "peer", inflight_max=1000), stage.peer.ring)
        async with asyncio.timeout(20):
            await runner.start()
            await play(stage)
        journal.allow()
        await runner.close(drain_s=0)
        await made.close(drain_s=0)
        assert journal.is_closed_now
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(whole())


async def turns(number: int = 10) -> None:
    """Let everybody do what can be done without time passing."""
    for _ in range(number):
        await asyncio.sleep(0)


def persist(key: str = "key") -> Persist:
    return Persist((Put("dots", key.encode(), b""),))

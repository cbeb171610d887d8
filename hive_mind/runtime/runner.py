"""Runs one node of a hive: takes events, lets the node decide, and carries out what it wants, over a journal and a bus.

The node says what must happen and in which order; this file only obeys. Nothing is sent, answered or acknowledged before what it
promises is durable. Searches alone don't wait for that: they promise nothing.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, cast, get_args

from hive_mind.bus.base import Delivery, EventBus, Inbox, Subscription
from hive_mind.errors import BackendError, BackendUnavailable, HiveError
from hive_mind.hive.effects import (
    Ask,
    Done,
    Effect,
    Event,
    Fetch,
    Held,
    Listed,
    Listing,
    Now,
    Outcome,
    Persist,
    Promote,
    Promotion,
    Put,
    Rearrange,
    Received,
    Retract,
    Retracted,
    Tick,
    Write,
)
from hive_mind.hive.topology import Topology
from hive_mind.journal.base import Journal
from hive_mind.model.evidence import HiveFact
from hive_mind.model.gathered import Gathered
from hive_mind.model.messages import SearchReply, SearchRequest
from hive_mind.model.probe import Probe
from hive_mind.runtime.barrier import Barrier
from hive_mind.runtime.carrier import Carrier, PutAside, SharedListener, unique_ids

_log = logging.getLogger(__name__)

_SEARCHES = get_args(SearchRequest) + get_args(SearchReply)

# More than any hive holds; a limit travels as a number.
_ALL = 1 << 31

Clock = Callable[[], Now]


class Node(Protocol):
    """What is run: `hive.node.HiveNode`."""

    @property
    def name(self) -> str:
        """Unique in the hive."""
        ...

    def start(self, kept: Iterable[Put], now: Now) -> list[Effect]:
        """Take back what the journal kept. Once."""
        ...

    def handle(self, event: Event, now: Now) -> list[Effect]:
        """What is to be done about an event. A `HiveError` refuses it and has changed nothing; any other error ends the node."""
        ...

    def search(self, request: SearchRequest, now: Now) -> SearchReply | None:
        """Search the replica; None where there is nothing to say."""
        ...

    def index_some(self, now: Now) -> bool:
        """Do a little of what the next search would otherwise wait for. Whether more is left."""
        ...

    def wake_at_ms(self, now: Now) -> int:
        """Monotonic time at which a `Tick` has something to do."""
        ...


@dataclass(frozen=True, slots=True)
class RunnerSettings:
    """`ask_deadline_ms`: an answer comes by then, complete or not. Raise it for slow members; every silent one costs that long.

    `send_wait_s`: how long a full queue of another node may hold this one up before the message counts as lost, which the node's
    own repetition heals. Raise it and a stuck member slows the others down; lower it and a busy one gets more things twice.
    """

    hive: str = "hive"
    ask_deadline_ms: int = 2_000
    fetch_deadline_ms: int = 2_000
    send_wait_s: float = 0.25
    waiting_max: int = 1024
    inflight_max: int = 256


def system_clock() -> Now:
    """The machine's clocks."""
    return Now(time.time_ns() // 1_000_000, time.monotonic_ns() // 1_000_000)


class NodeRunner:
    """The hive as agents of this process see it. Begins with `start`; belongs to one event loop; owns its journal, not the bus.

    When the journal can't be written the runner stops: who waits gets the error, and nothing more is acknowledged. Start
    another one over the same journal when that is mended.
    """

    def __init__(
        self,
        node: Node,
        journal: Journal,
        bus: EventBus,
        *,
        clock: Clock = system_clock,
        settings: RunnerSettings = RunnerSettings(),
    ) -> None:
        self._node, self._journal, self._bus = node, journal, bus
        self._clock, self._settings = clock, settings
        self._ids = unique_ids()
        self._barrier = Barrier(journal, release=self._released, fail=self._fail)
        self._carrier = Carrier(node.name, settings.hive, bus, self, send_wait_s=settings.send_wait_s)
        self._task: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None
        self._idle: asyncio.Future[None] | None = None
        self._failure: BaseException | None = None
        self._is_ending = False
        self._bell = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at_ms = 0
        self._tick_is_due = False

    # ── what agents and their hosts ask ──────────────────────────────────────────────────────────────────────────────

    async def promote(self, promotions: Sequence[Promotion]) -> Sequence[Held]:
        """Share statements; those not refused are durable here when this returns, and on their way to the others."""
        request = next(self._ids)
        return cast("tuple[Held, ...]", await self._answer(request, Promote(request, tuple(promotions))))

    async def retract(self, fact_ids: Sequence[str], by: str, why: str = "retracted") -> Sequence[Retracted]:
        """Take facts back for an agent."""
        request = next(self._ids)
        return cast("tuple[Retracted, ...]", await self._answer(request, Retract(request, tuple(fact_ids), by, why)))

    async def write(self, entries: Sequence[tuple[str, str]], by: str) -> Sequence[str]:
        """Write registry entries (key, JSON value); what comes back is what the node says of each."""
        request = next(self._ids)
        return cast("tuple[str, ...]", await self._answer(request, Write(request, tuple(entries), by)))

    async def ask(
        self, probe: Probe, *, confidence_min: float = 0.0, domains: tuple[str, ...] = (), is_local: bool = False
    ) -> Gathered:
        """Search the hive, or with `is_local` this node's replica alone; says what is missing rather than be late."""
        request = next(self._ids)
        event = Ask(request, probe, self._settings.ask_deadline_ms, confidence_min, domains, is_local)
        return cast("Gathered", await self._answer(request, event))

    async def fetch(self, wanted: Sequence[tuple[str, str]]) -> Sequence[HiveFact]:
        """The facts themselves, by (fact id, holder); those that nobody gave in time are left out."""
        request = next(self._ids)
        event = Fetch(request, tuple(wanted), self._settings.fetch_deadline_ms)
        return cast("tuple[HiveFact, ...]", await self._answer(request, event))

    async def facts(self, *, concept: str = "", limit: int | None = None) -> Listed:
        """Facts, newest first by when they were first shared; those about a concept where one is given."""
        request = next(self._ids)
        event = Listing(request, _ALL if limit is None else limit, self._settings.fetch_deadline_ms, concept)
        return cast("Listed", await self._answer(request, event))

    async def rearrange(self, topology: Topology) -> None:
        """Members joined or left. Returns when this node has taken note durably; moving facts goes on."""
        request = next(self._ids)
        await self._answer(request, Rearrange(topology), then=(Done(request, ()),))

    def on_shared(self, listener: SharedListener) -> Callable[[], None]:
        """Call `listener` with fact ids once others keep them too. Returns what ends that."""
        self._carrier.listeners.append(listener)
        return lambda: self._carrier.listeners.remove(listener)

    @property
    def is_busy(self) -> bool:
        """Whether something it has begun is not done yet."""
        carrier = self._carrier
        return bool(carrier.requests or carrier.deliveries or carrier.has_work or self._barrier.is_standing)

    @property
    def failure(self) -> BaseException | None:
        """Why it stopped, None while it did not."""
        return self._failure

    @property
    def sends_lost(self) -> int:
        """Messages the bus did not take."""
        return self._carrier.sends_lost

    # ── life ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    async def start(self) -> None:
        """Read the journal, subscribe, begin. If that fails, `close` still has to be called."""
        kept = await self._journal.load()
        some = self._settings
        subscription = Subscription(some.hive, self._node.name, some.waiting_max, some.inflight_max)
        inbox = await self._bus.subscribe(subscription, self.ring)
        self._task = asyncio.create_task(self._run(inbox), name=f"node {self._node.name}")
        request = next(self._ids)
        with_start = [*self._node.start(kept, self._clock()), Done(request, ())]
        await self._wait_for(request, lambda: self._barrier.hold(with_start))

    async def close(self, *, drain_s: float = 5.0) -> None:
        """Take no more requests, finish those there are, at the latest after `drain_s`; close the journal. Twice is fine."""
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._close(drain_s))
        await asyncio.shield(self._closing)

    async def _close(self, drain_s: float) -> None:
        try:
            if self._task is not None:
                self._idle = asyncio.get_running_loop().create_future()
                self.ring()
                await asyncio.wait([self._idle, self._task], timeout=drain_s, return_when=asyncio.FIRST_COMPLETED)
                self._end()
                await asyncio.wait([self._task])
            await self._barrier.finish()
        finally:
            await self._journal.close()

    async def _run(self, inbox: Inbox) -> None:
        try:
            while not self._is_ending:
                self._receive(inbox)
                # What was rung for until here is done next, and needs no other turn.
                self._bell.clear()
                await self._carrier.carry_out()
                self._set_timer()
                self._tell_if_idle()
                if not self._bell.is_set() and self._node.index_some(self._clock()):
                    self.ring()
                if self._bell.is_set():
                    # There is more to do, but others want their turn.
                    await asyncio.sleep(0)
                if not self._is_ending:
                    await self._bell.wait()
        except Exception as error:  # noqa: BLE001 - whatever it is, who waits must hear of it
            self._fail(error)
        finally:
            await inbox.close()

    def _tell_if_idle(self) -> None:
        if self._idle is not None and not self._idle.done() and not self.is_busy:
            self._idle.set_result(None)

    def _fail(self, error: BaseException) -> None:
        if not self._is_ending:
            self._failure = error
            _log.error("node %s has stopped and acknowledges nothing more: %s", self._node.name, error, exc_info=error)
            self._end()

    def _end(self) -> None:
        """Do nothing more, and tell everybody who waits."""
        self._is_ending = True
        self._barrier.break_down()
        self._carrier.stop(self._stopped)
        if self._timer is not None:
            self._timer.cancel()
        self.ring()

    def _stopped(self) -> HiveError:
        if self._failure is None:
            return BackendUnavailable("hive", f"node {self._node.name} is not running; start one over its journal")
        made = BackendError("hive", f"node {self._node.name} has stopped: {self._failure}; mend that, then start it again")
        made.__cause__ = self._failure
        return made

    # ── events in ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _answer(self, request: str, event: Event, then: Sequence[Effect] = ()) -> Outcome:
        if self._task is None or self._closing is not None or self._is_ending:
            raise self._stopped()
        return await self._wait_for(request, lambda: self._handle(event, self._clock(), then))

    async def _wait_for(self, request: str, begin: Callable[[], None]) -> Outcome:
        requests = self._carrier.requests
        waiting: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        requests[request] = waiting
        try:
            begin()
            if not waiting.done():
                # What it waits for may move the timer.
                self.ring()
            return await waiting
        finally:
            del requests[request]
            if self._closing is not None:
                self.ring()

    def _receive(self, inbox: Inbox) -> None:
        """Take what is there; while closing, only as long as somebody waits for an answer."""
        if self._closing is not None and not self._carrier.requests:
            return
        deliveries = inbox.take(self._settings.inflight_max)
        if deliveries:
            now = self._clock()
            for delivery in deliveries:
                self._receive_one(delivery, now)

    def _receive_one(self, delivery: Delivery, now: Now) -> None:
        name, envelope = next(self._ids), delivery.envelope
        self._carrier.deliveries[name] = delivery
        try:
            self._handle(Received(envelope.sender, envelope.message, name), now)
        except HiveError as error:
            _log.warning("node %s refuses a %s from %s: %s", self._node.name, envelope.type, envelope.sender, error)
            self._carrier.carry((PutAside(name, str(error)),))

    def _handle(self, event: Event, now: Now, then: Sequence[Effect] = ()) -> None:
        if self._is_ending:
            return
        try:
            effects = [*self._node.handle(event, now), *then]
        except HiveError:
            raise
        except Exception as error:  # noqa: BLE001 - it belongs to everybody who relies on this node
            # It may have changed half of what it wanted to: from here on it could promise what is not in the journal.
            self._fail(error)
            return
        if any(type(effect) is Persist for effect in effects) or (self._barrier.is_standing and not _is_search(event)):
            self._barrier.hold(effects)
        else:
            self._carrier.carry(effects)

    def _released(self, effects: Sequence[Effect]) -> None:
        self._carrier.carry(effects)
        if self._tick_is_due:
            self._tick_is_due = False
            self._handle(Tick(), self._clock())
        self.ring()

    def _set_timer(self) -> None:
        if self._is_ending:
            return
        now = self._clock()
        at_ms = self._node.wake_at_ms(now)
        if self._timer is not None:
            if self._timer_at_ms <= at_ms:
                return
            self._timer.cancel()
        self._timer_at_ms = at_ms
        # At least a millisecond, or a node that always wants a tick would leave nobody else a turn.
        self._timer = asyncio.get_running_loop().call_later(max(at_ms - now.mono_ms, 1) / 1000, self._on_time)

    def _on_time(self) -> None:
        self._timer = None
        now = self._clock()
        if self._node.wake_at_ms(now) > now.mono_ms:
            pass
        elif self._barrier.is_standing:
            # One after the write, instead of more and more behind it.
            self._tick_is_due = True
            return
        else:
            self._handle(Tick(), now)
        self.ring()

    # ── for the carrier ──────────────────────────────────────────────────────────────────────────────────────────────

    def search(self, request: SearchRequest) -> SearchReply | None:
        """Search the node's replica. A search changes nothing, so one that fails costs only its own answer."""
        try:
            return self._node.search(request, self._clock())
        except Exception:  # noqa: BLE001
            _log.exception("node %s could not search", self._node.name)
            return None

    def hear(self, reply: SearchReply) -> None:
        """The node's answer to itself."""
        self._handle(Received(self._node.name, reply), self._clock())

    def ring(self) -> None:
        """Wake the task: there may be something to do."""
        self._bell.set()


def _is_search(event: Event) -> bool:
    """Whether it promises nothing and so need not wait for what is being written."""
    return isinstance(event, Ask | Fetch | Listing) or (isinstance(event, Received) and isinstance(event.message, _SEARCHES))

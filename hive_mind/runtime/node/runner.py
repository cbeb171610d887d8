"""Runs one node of a hive: takes events, lets the node decide, and carries out what it wants, over a journal and a bus.

The node says what must happen and in which order; this file only obeys. Nothing is sent, answered or acknowledged before what it
promises is durable. Searches alone don't wait for that: they promise nothing.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, get_args

from hive_mind import tracing
from hive_mind.bus import DRAIN_S, BusHealth, Envelope, EventBus, Inbox
from hive_mind.bus.dead_letters import DeadLetterFile
from hive_mind.errors import BackendError, BackendTimeout, BackendUnavailable, HiveError
from hive_mind.hive.effects import (
    Ask,
    Done,
    Effect,
    Event,
    Fetch,
    Listing,
    Node,
    Now,
    Outcome,
    Persist,
    Received,
    Reconnected,
    SetAside,
    Tally,
    Tick,
)
from hive_mind.hive.replication.resettlement import with_damage_set_aside
from hive_mind.identity.epochs import Signing
from hive_mind.journal import Journal
from hive_mind.model.messages import Message, SearchReply, SearchRequest
from hive_mind.runtime.node import Clock, Figures, RunnerSettings, system_clock
from hive_mind.runtime.node.effect_executor import SUFFIX, Cause, EffectExecutor, Envelopes, InHand, SharedListener
from hive_mind.runtime.node.intake import Intake, Requests
from hive_mind.runtime.node.outgoing import Alarm, Bell
from hive_mind.runtime.routes import Lines

__all__ = ["NodeRunner", "RunnerSettings", "system_clock"]

_log = logging.getLogger(__name__)

_QUESTIONS = frozenset(get_args(SearchRequest))
_SEARCHES = _QUESTIONS.union(get_args(SearchReply))

# Questions of others that are answered before anybody else has a turn: some milliseconds.
_ANSWERS_AT_ONCE = 8

_LOOK_EVERY_MS = 200


class NodeRunner(Requests):
    """The hive as agents of this process see it. Begins with `start`; belongs to one event loop; owns its journal, not the bus.

    When the journal can't be written the runner stops: waiting callers get the error, and nothing more is acknowledged. Start
    another one over the same journal when that is mended. A bus that is gone stops nothing. `knows` says who is a member;
    `signing` proves who sent what, where that is wanted.
    """

    def __init__(
        self,
        node: Node,
        journal: Journal,
        bus: EventBus,
        *,
        clock: Clock = system_clock,
        settings: RunnerSettings | None = None,
        knows: Callable[[str], bool] = lambda _: True,
        signing: Signing | None = None,
        letters: DeadLetterFile | None = None,
    ) -> None:
        self.letters = letters or DeadLetterFile(name=node.name)
        """Messages that it refused."""
        folder = self.letters.path.parent if self.letters.path and bus.capabilities.is_durable else None
        self._in_hand = InHand(self.letters, folder / f"{node.name}{SUFFIX}" if folder else None)
        self._settings = settings = settings or RunnerSettings()
        super().__init__(node.name, settings.ask_deadline_ms, settings.fetch_deadline_ms)
        self._node, self._journal, self.bus, self._clock = node, journal, bus, clock
        self._outgoing = Lines(node.name, bus, settings.outgoing, self._reconnected)
        self._envelopes = Envelopes(settings.hive, node.name, signing)
        self._executor = EffectExecutor(node.search, self._envelopes, journal, self._outgoing, clock, self, self._in_hand)
        self._intake = Intake(node.name, settings.hive, self._executor, self._handle, knows, self.timings, self._in_hand, signing)
        self._alarm = Alarm(self._on_time)
        self._reconnects, self._look_at_ms = 0, 0
        self._tasks: list[asyncio.Task[None]] = []
        self._closing: asyncio.Task[None] | None = None
        self._idle = asyncio.Event()
        self.failure: BaseException | None = None
        self._is_ending = False
        self.damaged = 0
        """Records of its journal that were set aside when it was started."""
        self._bell = Bell()
        self._tick_is_due = False
        self._may_wake_sooner = True

    def on_shared(self, listener: SharedListener) -> Callable[[], None]:
        """Call `listener` with fact ids once others keep them too. Returns what ends that."""
        self._executor.listeners.append(listener)
        return lambda: self._executor.listeners.remove(listener)

    async def ping(self, message: Message, *, timeout_s: float = 10.0) -> None:
        """See that a message to itself comes back over the bus; the node does not hear of it. Raises `BackendError`."""
        self._check_running()
        envelope = self._envelopes.of(message, (self._node.name,), self._clock())
        back = self._intake.expected[envelope.id] = asyncio.get_running_loop().create_future()
        try:
            await self.bus.publish([envelope], timeout_s=timeout_s)
            await asyncio.wait_for(back, timeout_s)
        except TimeoutError:
            text = f"what {self._node.name} sends to itself does not come back within {timeout_s:g} s; see what reads this bus"
            raise BackendTimeout("bus", text) from None
        finally:
            self._intake.expected.pop(envelope.id, None)

    @property
    def is_busy(self) -> bool:
        return self._has_work or bool(len(self._outgoing))

    @property
    def figures(self) -> Figures:
        counts, waiting, late = self._intake.counts, len(self._executor.deliveries), self._executor.answers_late
        return replace(counts, sends_lost=self._outgoing.lost, waiting=waiting, answers_late=late)

    @property
    def hive(self) -> str:
        return self._settings.hive

    @property
    def health(self) -> BusHealth:
        return self.bus.health

    @property
    def refusal(self) -> str:
        """Why nothing that it sends is taken; "" while it is."""
        return self._outgoing.refusal

    async def start(self) -> None:
        """Read the journal, subscribe, begin. If that fails, `close` still has to be called."""
        journal = with_damage_set_aside(await self._journal.load())
        if self.letters.path is not None:
            await asyncio.to_thread(self._in_hand.open)
        inbox = await self.bus.subscribe(self._settings.subscription(self._node.name, self.letters), self.ring)
        self._reconnects = self.bus.health.reconnects
        self._begin(f"node {self._node.name}", self._run(inbox))
        self._begin(f"sends of {self._node.name}", self._outgoing.run())
        request = next(self._ids)
        # In the write of whatever follows from it, so that it is not forgotten why that was done.
        aside = Persist([record for record in journal if isinstance(record, SetAside)])
        self.damaged = len(aside.records)
        with_start = [aside, *self._node.start(journal, self._clock()), Done(request, ())]
        await self._wait_for(request, lambda: self._executor.take(with_start, Cause(self._clock())))

    async def scrub(self, is_meant: Callable[[Envelope], bool]) -> None:
        """Leave no byte of what the node let go of, nor of what is meant in what it refused. Raises `BackendError`."""
        self._check_running()
        # Facts that it just let go of may be on their way there.
        request = next(self._ids)
        await self._wait_for(request, lambda: self._executor.take([Done(request, ())], Cause(self._clock())))
        await self._journal.scrub()
        if self.letters.path is None:
            self.letters.erase(is_meant)
        else:
            await asyncio.to_thread(self.letters.erase, is_meant)

    async def close(self, *, drain_s: float = DRAIN_S) -> None:
        """Take no more requests, finish those there are, at the latest after `drain_s`; close the journal. Twice is fine."""
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._close(drain_s))
        await asyncio.shield(self._closing)

    def _begin(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work, name=name)
        task.add_done_callback(self._ended)
        self._tasks.append(task)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self.fail(error)

    async def _close(self, drain_s: float) -> None:
        try:
            if self._tasks:
                if not self._is_ending:
                    self._idle.clear()
                self.ring()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._drained(), drain_s)
                self._end()
                await asyncio.wait(self._tasks)
            await self._executor.finish()
        finally:
            self._in_hand.close()
            await self._journal.close()

    async def _drained(self) -> None:
        await self._idle.wait()
        await self._outgoing.until_empty()

    async def _run(self, inbox: Inbox) -> None:
        try:
            while not self._is_ending:
                now = self._clock()
                self._look_at_bus(now)
                self._receive(inbox, now)
                # Work that was rung for until here is done next, and needs no other turn.
                self._bell.clear()
                await self._executor.carry_out(_ANSWERS_AT_ONCE)
                if self._may_wake_sooner and not self._is_ending:
                    self._may_wake_sooner, now = False, self._clock()
                    self._alarm.set(self._node.wake_at_ms(now), now.mono_ms)
                if not self._has_work:
                    self._idle.set()
                if self._executor.has_work or (not self._bell.is_rung and self._node.index_some(self._clock())):
                    self.ring()
                if self._bell.is_rung:
                    # There is more to do, but others want their turn.
                    await asyncio.sleep(0)
                if not self._is_ending:
                    await self._bell.wait()
        finally:
            await inbox.close()

    @property
    def _has_work(self) -> bool:
        executor = self._executor
        return bool(executor.requests or executor.deliveries or executor.has_work or executor.is_writing)

    def _end(self) -> None:
        self._is_ending = True
        self._executor.stop(self._stopped)
        self._intake.stop(self._stopped)
        self._outgoing.stop()
        self._alarm.cancel()
        self._idle.set()
        self.ring()

    def _stopped(self) -> HiveError:
        if self.failure is None:
            return BackendUnavailable("hive", f"node {self._node.name} is not running; start one over its journal")
        error = BackendError("hive", f"node {self._node.name} has stopped: {self.failure}; mend that, then start it again")
        error.__cause__ = self.failure
        return error

    async def _answer(self, request: str, event: Event, effects_after: Sequence[Effect] = ()) -> Outcome:
        self._check_running()
        for _ in self._node.prepare(event, self._clock()):
            await asyncio.sleep(0)
        return await self._wait_for(request, lambda: self._handle(event, self._clock(), tracing.traceparent(), effects_after))

    def _check_running(self) -> None:
        if not self._tasks or self._closing is not None or self._is_ending:
            raise self._stopped()

    async def _wait_for(self, request: str, begin: Callable[[], None]) -> Outcome:
        requests = self._executor.requests
        waiting: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        requests[request] = waiting
        try:
            begin()
            if not waiting.done():
                # A new wait may move the alarm.
                self.ring()
            return await waiting
        finally:
            del requests[request]
            if self._closing is not None:
                self.ring()

    def _look_at_bus(self, now: Now) -> None:
        """A reader may notice that the bus was away when nothing was to be sent. Not at every turn: to ask it costs something."""
        if now.mono_ms < self._look_at_ms:
            return
        self._look_at_ms = now.mono_ms + _LOOK_EVERY_MS
        reconnects = self.bus.health.reconnects
        if reconnects != self._reconnects:
            self._reconnects = reconnects
            self._reconnected()

    def _reconnected(self) -> None:
        self._handle_unasked(Reconnected(), self._clock())
        self.ring()

    def _handle_unasked(self, event: Event, now: Now) -> None:
        """An event that nobody asked for, so nobody hears of a refusal."""
        try:
            self._handle(event, now)
        except HiveError as error:
            _log.warning("node %s: %s", self._node.name, error)

    def _receive(self, inbox: Inbox, now: Now) -> None:
        """Take what is there; while closing, only as long as somebody waits for an answer."""
        if self._closing is not None and not self._executor.requests:
            return
        self._intake.take(inbox, self._settings.inflight_max, now)

    def _handle(self, event: Event, now: Now, trace: str = "", effects_after: Sequence[Effect] = ()) -> None:
        if self._is_ending:
            return
        # Others' questions, most of what comes, move nothing that the node waits for.
        self._may_wake_sooner |= type(event) is not Received or type(event.message) not in _QUESTIONS
        try:
            effects = [*self._node.handle(event, now), *effects_after]
            self._executor.take(effects, Cause(now, trace), is_search=_is_search(event))
        except HiveError:
            raise
        except Exception as error:  # noqa: BLE001 - it belongs to everybody who relies on this node
            # It may have changed half of what it wanted to: from here on it could promise what is not in the journal.
            self._in_hand.close()
            self.fail(error)

    def _on_time(self) -> None:
        self._may_wake_sooner, now = True, self._clock()
        if self._node.wake_at_ms(now) <= now.mono_ms:
            if self._executor.is_writing:
                # One after the write, instead of more and more behind it.
                self._tick_is_due = True
                return
            self._handle_unasked(Tick(), now)
        self.ring()

    def take_own_reply(self, reply: SearchReply) -> None:
        """The node's answer to itself."""
        self._handle(Received(self._node.name, reply), self._clock())

    def written(self) -> None:
        """A tick that was due meanwhile comes now, and the task goes on."""
        if self._tick_is_due:
            self._tick_is_due = False
            self._handle_unasked(Tick(), self._clock())
        self.ring()

    def fail(self, error: BaseException) -> None:
        """Stop: the node can't go on."""
        if not self._is_ending:
            self.failure = error
            _log.error("node %s has stopped and acknowledges nothing more: %s", self._node.name, error, exc_info=error)
            self._end()

    def ring(self) -> None:
        self._bell.ring()


def _is_search(event: Event) -> bool:
    """Whether it promises nothing and so need not wait for what is being written."""
    return isinstance(event, Ask | Fetch | Listing | Tally) or (isinstance(event, Received) and type(event.message) in _SEARCHES)

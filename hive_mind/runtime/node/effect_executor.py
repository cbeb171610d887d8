"""The ports of a node at work: its journal, its lines to the bus, and the callers that wait.

Work that needs no waiting is done at once, so a question this node can answer alone costs no switch of tasks, however busy the
bus is. Messages to send go into a line of their own. Questions of others and acknowledgements wait for the runner's task. Events
that come in one turn of the event loop, or while a write is under way, share the next write.
"""

import asyncio
import logging
import os
import secrets
from asyncio import Future
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, count
from pathlib import Path
from typing import Protocol

import msgspec

from hive_mind import tracing
from hive_mind.bus import Delivery, Envelope, correlation_of, type_of
from hive_mind.bus.dead_letters import DeadLetterFile
from hive_mind.errors import BackendError, HiveError, reason_of
from hive_mind.hive.effects import Acknowledge, Effect, Now, Outcome, Record, SearchLocal
from hive_mind.hive.performer import Performer, Ports
from hive_mind.identity.epochs import Signing
from hive_mind.journal import Journal
from hive_mind.model.messages import LIVE, Message, SearchReply, SearchRequest
from hive_mind.runtime.logs import hop
from hive_mind.runtime.node import Clock
from hive_mind.safe_files import private_folder

_log = logging.getLogger(__name__)

SUFFIX = ".hand"
_NOTHING = bytes(16)
KILLED = "it ended the process that handled it, twice"


class InHand:
    """Notes the message that a node is handling in a file that outlives its process: so one that ends processes is found out.

    Sixteen bytes are overwritten for each message, without waiting for the disk: a killed process leaves them, and a machine that
    lost power accuses nobody. What was in hand when the last process ended is counted among the dead letters; a message that
    ended two is put aside before it is handled a third time. Where a bus keeps nothing over a process there is nothing to note.
    `open` it, and `close` it in the end. `current` names the message in hand, `b""` where there is none.
    """

    def __init__(self, letters: DeadLetterFile, path: Path | None) -> None:
        self.current = b""
        self._letters, self._path = letters, path
        self._descriptor = -1
        self._killers: frozenset[bytes] = frozenset()

    def open(self) -> None:
        """Count what the last process had in hand when it ended. Blocks for a moment. A full disk is no reason not to start."""
        if self._path is None:
            return
        try:
            private_folder(self._path.parent)
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
            former = os.pread(self._descriptor, len(_NOTHING), 0)
            if len(former) == len(_NOTHING) and former != _NOTHING:
                self._letters.count_kill(former)
            self._note(_NOTHING)
            self._killers = self._letters.killers()
        except (OSError, HiveError) as error:
            _log.warning("%s: a message that ends this process would not be found out: %s", self._path, reason_of(error))
            self.close()

    @property
    def is_on(self) -> bool:
        return self._descriptor >= 0

    def has_killed(self, hand: bytes) -> bool:
        return hand in self._killers

    def begin(self, hand: bytes) -> None:
        if self.is_on and hand:
            self.current = hand
            self._note(hand)

    def end(self) -> None:
        if self.current:
            self.current = b""
            self._note(_NOTHING)

    def close(self) -> None:
        """Note nothing any more; what is noted stays."""
        descriptor, self._descriptor, self.current = self._descriptor, -1, b""
        if descriptor >= 0:
            os.close(descriptor)

    def _note(self, hand: bytes) -> None:
        if self.is_on:
            # A disk that is full may refuse even that: then this message would not be found out.
            with suppress(OSError):
                os.pwrite(self._descriptor, hand, 0)


SharedListener = Callable[[tuple[str, ...]], None]


class PutAside(msgspec.Struct, frozen=True):
    """A delivery the node can't take, now or later."""

    delivery: str
    reason: str
    is_proven: bool = True


class Answer(msgspec.Struct, frozen=True):
    """A `SearchLocal` for another node, which waits no longer than until `due_ms`."""

    request: SearchRequest
    reply_to: str
    due_ms: int
    trace: str
    hand: bytes
    """The message that asks."""


class Cause(msgspec.Struct, frozen=True):
    """When an event came, and the trace it belongs to."""

    now: Now
    trace: str = ""


class Outlet(Protocol):
    """Where messages go out."""

    def add(self, envelope: Envelope) -> None:
        """Send it, some time soon."""


class EffectHost(Protocol):
    """The runner's methods that the executor needs."""

    def take_own_reply(self, reply: SearchReply) -> None:
        """Tell the node what it said to itself."""

    def ring(self) -> None:
        """Let the runner's task call `carry_out`."""

    def written(self) -> None:
        """Records are durable, and what waited for that was done."""

    def fail(self, error: BaseException) -> None:
        """Records can't be made durable; told once."""


def unique_ids() -> Iterator[str]:
    """Ids that nobody else gives out, nor this process after a restart: a late reply must find nobody."""
    prefix = secrets.token_hex(6)
    return (f"{prefix}{n:x}" for n in count(1))


class Envelopes:
    """Puts messages of a node into envelopes, signed where that is wanted."""

    def __init__(self, hive: str, sender: str, signing: Signing | None = None) -> None:
        self.sender, self._hive, self._signing, self._ids = sender, hive, signing, unique_ids()

    def of(self, message: Message, to: Sequence[str], now: Now, trace: str = "") -> Envelope:
        envelope = Envelope(
            next(self._ids),
            self._hive,
            self.sender,
            tuple(to),
            type_of(message),
            message,
            correlation_of(message),
            trace,
            now.wall_ms,
            type(message) in LIVE,
        )
        return self._signing.signed(envelope) if self._signing else envelope


class EffectExecutor(Ports[Cause]):
    """`requests` are futures of waiting callers, `deliveries` those not acknowledged yet; the runner fills both.

    `search` answers a question from what the node knows.
    """

    def __init__(
        self,
        search: Callable[[SearchRequest, Now], SearchReply | None],
        envelopes: Envelopes,
        journal: Journal,
        outgoing: Outlet,
        clock: Clock,
        host: EffectHost,
        in_hand: InHand,
    ) -> None:
        self._node_search, self._envelopes, self._name, self._clock = search, envelopes, envelopes.sender, clock
        self._outgoing, self._host, self._in_hand = outgoing, host, in_hand
        self._performer = Performer(self)
        self._journal = journal
        self._under_way: asyncio.Task[None] | None = None
        self._waiting: deque[Answer | Acknowledge | PutAside | SearchLocal] = deque()
        self._own_replies: deque[SearchReply] = deque()
        self._is_taking_own = self._is_stopped = False
        self.requests: dict[str, Future[Outcome]] = {}
        self.deliveries: dict[str, Delivery] = {}
        self.listeners: list[SharedListener] = []
        self.answers_late = 0
        """Questions of others whose time was over before it was their turn."""

    @property
    def has_work(self) -> bool:
        return bool(self._waiting)

    @property
    def is_writing(self) -> bool:
        """Whether records are on their way to the journal, and effects wait for that."""
        return self._performer.is_waiting

    def take(self, effects: Sequence[Effect], cause: Cause, *, is_search: bool = False) -> None:
        if not self._is_stopped:
            self._performer.take(effects, cause, is_search=is_search)
            self._take_own_replies()

    def put(self, task_due: Acknowledge | PutAside) -> None:
        """Let the runner's task tell the bus of a delivery."""
        self._waiting.append(task_due)
        self._host.ring()

    async def finish(self) -> None:
        if self._under_way is not None:
            await asyncio.wait([self._under_way])

    async def carry_out(self, answers_max: int) -> None:
        """Do pending work, but answer a bounded number of questions: then others take their turn."""
        while self._waiting:
            if isinstance(self._waiting[0], Answer):
                answers_max -= 1
                if answers_max < 0:
                    return
            task_due = self._waiting.popleft()
            if isinstance(task_due, Answer):
                self._answer(task_due)
            elif isinstance(task_due, SearchLocal):
                self._search(task_due.request)
                self._take_own_replies()
                # A page of many facts takes as long as several answers.
                return
            elif (delivery := self.deliveries.pop(task_due.delivery, None)) is not None:
                try:
                    if isinstance(task_due, PutAside):
                        await delivery.dead_letter(task_due.reason, is_proven=task_due.is_proven)
                    else:
                        await delivery.ack()
                except BackendError as error:
                    _log.debug("node %s: the bus was not told of a delivery, so it comes again: %s", self._name, error)

    def _take_own_replies(self) -> None:
        """Questions to itself that follow, as for the next page of a long list, wait for their turn like those of others."""
        if not self._is_taking_own:
            self._is_taking_own = True
            try:
                while self._own_replies:
                    self._host.take_own_reply(self._own_replies.popleft())
            finally:
                self._is_taking_own = False
        if self._waiting:
            self._host.ring()

    def stop(self, error: Callable[[], Exception]) -> None:
        """Stop: nothing that waits will ever be done, and every waiting caller gets an `error`."""
        self._is_stopped = True
        self._performer.stop()
        self._waiting.clear()
        self._own_replies.clear()
        self.deliveries.clear()
        for waiting in self.requests.values():
            if not waiting.done():
                waiting.set_exception(error())

    def write(self, records: Sequence[Record], cause: Cause) -> bool:
        del cause
        if records:
            # Not at once: what other tasks want in this turn of the event loop shares the write.
            asyncio.get_running_loop().call_soon(self._write, records)
        return not records

    def send(self, to: tuple[str, ...], message: Message, cause: Cause) -> None:
        self._outgoing.add(self._envelopes.of(message, to, cause.now, cause.trace))

    def search(self, request: SearchRequest, reply_to: str, cause: Cause) -> None:
        if reply_to != self._name:
            due_ms = cause.now.mono_ms + request.left_ms
            self._waiting.append(Answer(request, reply_to, due_ms, cause.trace, self._in_hand.current))
        elif self._is_taking_own:
            self._waiting.append(SearchLocal(request, reply_to))
        else:
            self._search(request)

    def acknowledge(self, delivery: str) -> None:
        self._waiting.append(Acknowledge(delivery))

    def done(self, request: str, outcome: Outcome, cause: Cause) -> None:
        del cause
        waiting = self.requests.get(request)
        if waiting is not None and not waiting.done():
            waiting.set_result(outcome)

    def shared(self, fact_ids: tuple[str, ...], cause: Cause) -> None:
        del cause
        for listener in tuple(self.listeners):
            try:
                listener(fact_ids)
            except Exception:  # noqa: BLE001 - it is a guest here
                _log.exception("a listener of node %s failed", self._name)

    def _write(self, records: Sequence[Record]) -> None:
        if not self._is_stopped:
            batches = (records, *self._performer.records_waiting())
            self._under_way = asyncio.ensure_future(self._journal.write(list(chain.from_iterable(batches))))
            self._under_way.add_done_callback(self._written)

    def _written(self, write: "asyncio.Task[None]") -> None:
        self._under_way = None
        error = asyncio.CancelledError() if write.cancelled() else write.exception()
        if self._is_stopped:
            return
        if error is None:
            try:
                self._performer.written()
                self._take_own_replies()
            except Exception as defect:  # noqa: BLE001 - what was promised behind these records would never be done
                error = defect
        if error is None:
            self._host.written()
        else:
            self._host.fail(error)

    def _search(self, request: SearchRequest) -> None:
        if (reply := self._searched(request, self._clock())) is not None:
            self._own_replies.append(reply)

    def _searched(self, request: SearchRequest, now: Now) -> SearchReply | None:
        """A search changes nothing, so one that fails costs only its own answer."""
        try:
            return self._node_search(request, now)
        except Exception:  # noqa: BLE001
            _log.exception("node %s could not search", self._name)
            return None

    def _answer(self, answer: Answer) -> None:
        """Search, unless nobody waits any more. Only the time it waited here counts: others' clocks may be wrong."""
        now = self._clock()
        if now.mono_ms > answer.due_ms:
            self.answers_late += 1
            return
        self._in_hand.begin(answer.hand)
        if answer.trace:
            with tracing.span("hive answer", parent=answer.trace, kind="server") as span:
                self._reply(answer, now, span.traceparent or answer.trace)
        else:
            self._reply(answer, now, "")
        self._in_hand.end()

    def _reply(self, answer: Answer, now: Now, trace: str) -> None:
        if _log.isEnabledFor(logging.DEBUG):
            asker, kind = answer.reply_to, type_of(answer.request)
            hop(_log, "answers", node=self._name, correlation=answer.request.query, asker=asker, kind=kind)
        if (reply := self._searched(answer.request, now)) is not None:
            self._outgoing.add(self._envelopes.of(reply, (answer.reply_to,), now, trace))

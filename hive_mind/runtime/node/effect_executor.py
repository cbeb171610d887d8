"""Carries out a node's effects: answers requests, searches, sends, acknowledges.

Work that needs no waiting is done at once, so a question this node can answer alone costs no switch of tasks, however busy the
bus is. Messages to send go into a line of their own. Questions of others and acknowledgements wait for the runner's task.
"""

import logging
import secrets
from asyncio import Future
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import Protocol

import msgspec

from hive_mind import tracing
from hive_mind.bus.base import Delivery, Envelope, correlation_of, type_of
from hive_mind.errors import BackendError
from hive_mind.hive.effects import Acknowledge, Done, Effect, Now, Outcome, SearchLocal, Send, Shared
from hive_mind.identity.envelopes import Signing
from hive_mind.model.messages import LIVE, Message, SearchReply, SearchRequest
from hive_mind.runtime.node.in_hand import InHand
from hive_mind.runtime.observing.logs import hop

_log = logging.getLogger(__name__)

SharedListener = Callable[[tuple[str, ...]], None]


class PutAside(msgspec.Struct, frozen=True):
    """A delivery the node can't take, now or later."""

    delivery: str
    reason: str
    is_proven: bool = True


class Post(msgspec.Struct, frozen=True):
    """A `Send` that is on its envelope."""

    envelope: Envelope


class Answer(msgspec.Struct, frozen=True):
    """A `SearchLocal` for another node, which waits no longer than until `due_ms`."""

    request: SearchRequest
    reply_to: str
    due_ms: int
    trace: str
    hand: bytes
    """The message that asks."""


Work = Effect | PutAside | Post | Answer


class Outlet(Protocol):
    """Where messages go out."""

    def add(self, envelope: Envelope) -> None:
        """Send it, some time soon."""
        ...


class EffectHost(Protocol):
    """The runner's methods that the executor needs."""

    def search(self, request: SearchRequest, now: Now) -> SearchReply | None:
        """Search the node's replica."""
        ...

    def take_own_reply(self, reply: SearchReply) -> None:
        """Tell the node what it said to itself."""
        ...

    def ring(self) -> None:
        """Let the runner's task call `carry_out`."""
        ...

    def now(self) -> Now:
        """The clocks."""
        ...


class EffectExecutor:
    """`requests` are futures of waiting callers, `deliveries` those not acknowledged yet; the runner fills both."""

    def __init__(
        self, name: str, hive: str, outgoing: Outlet, host: EffectHost, in_hand: InHand, signing: Signing | None = None
    ) -> None:
        self._in_hand = in_hand
        self._name, self._hive, self._outgoing, self._host, self._signing = name, hive, outgoing, host, signing
        self._ids = unique_ids()
        self._waiting: deque[Answer | Acknowledge | PutAside | SearchLocal] = deque()
        self._own_replies: deque[SearchReply] = deque()
        self._is_taking_own = False
        self.requests: dict[str, Future[Outcome]] = {}
        self.deliveries: dict[str, Delivery] = {}
        self.listeners: list[SharedListener] = []
        self.answers_late = 0
        """Questions of others whose time was over before it was their turn."""

    @property
    def has_work(self) -> bool:
        """Whether `carry_out` has something to do."""
        return bool(self._waiting)

    def prepared(self, effects: Iterable[Effect], now: Now, trace: str = "") -> list[Work]:
        """The same, with what only now is known: on whose behalf something is sent, and since when a question waits."""
        return [self._prepared(effect, now, trace) for effect in effects]

    def carry(self, work: Iterable[Work]) -> None:
        """Do it, or put it behind what waits. Persisting is done already."""
        for task_due in work:
            self._carry(task_due)
        self._take_own_replies()
        if self._waiting:
            self._host.ring()

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
        if self._is_taking_own:
            return
        self._is_taking_own = True
        try:
            while self._own_replies:
                self._host.take_own_reply(self._own_replies.popleft())
        finally:
            self._is_taking_own = False

    def stop(self, error: Callable[[], Exception]) -> None:
        """Stop; every waiting caller gets an `error`."""
        self._waiting.clear()
        self._own_replies.clear()
        self.deliveries.clear()
        for waiting in self.requests.values():
            if not waiting.done():
                waiting.set_exception(error())

    def _prepared(self, effect: Effect, now: Now, trace: str) -> Work:
        if isinstance(effect, Send):
            return Post(self.envelope(effect.to, effect.message, now, trace))
        if isinstance(effect, SearchLocal) and effect.reply_to != self._name:
            return Answer(effect.request, effect.reply_to, now.mono_ms + effect.request.left_ms, trace, self._in_hand.current)
        return effect

    def _carry(self, work: Work) -> None:
        match work:
            case Answer() | Acknowledge() | PutAside():
                self._waiting.append(work)
            case SearchLocal() if self._is_taking_own:
                self._waiting.append(work)
            case Post(envelope):
                self._outgoing.add(envelope)
            case SearchLocal(request):
                self._search(request)
            case Done(name, outcome):
                waiting = self.requests.get(name)
                if waiting is not None and not waiting.done():
                    waiting.set_result(outcome)
            case Shared(fact_ids):
                self._notify(fact_ids)
            case _:
                pass

    def _search(self, request: SearchRequest) -> None:
        if (reply := self._host.search(request, self._host.now())) is not None:
            self._own_replies.append(reply)

    def _answer(self, answer: Answer) -> None:
        """Search, unless nobody waits any more. Only the time it waited here counts: others' clocks may be wrong."""
        now = self._host.now()
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
        if (reply := self._host.search(answer.request, now)) is not None:
            self._outgoing.add(self.envelope((answer.reply_to,), reply, now, trace))

    def envelope(self, to: Sequence[str], message: Message, now: Now, trace: str = "") -> Envelope:
        envelope = Envelope(
            next(self._ids),
            self._hive,
            self._name,
            tuple(to),
            type_of(message),
            message,
            correlation_of(message),
            trace,
            now.wall_ms,
            type(message) in LIVE,
        )
        return self._signing.signed(envelope) if self._signing else envelope

    def _notify(self, fact_ids: tuple[str, ...]) -> None:
        for listener in tuple(self.listeners):
            try:
                listener(fact_ids)
            except Exception:  # noqa: BLE001 - it is a guest here
                _log.exception("a listener of node %s failed", self._name)


def unique_ids() -> Iterator[str]:
    """Ids that nobody else gives out, nor this process after a restart: a late reply must find nobody."""
    prefix = secrets.token_hex(6)
    return (f"{prefix}{n:x}" for n in count(1))

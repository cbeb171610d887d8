"""Carries out what a node wants, in its order: answers requests, searches, sends, acknowledges.

What needs no waiting is done at once, so a question this node can answer alone costs no switch of tasks. From the first effect
that needs the bus on, the rest waits for the runner's task.
"""

import asyncio
import logging
import secrets
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Protocol

from hive_mind.bus.base import Delivery, Envelope, EventBus, correlation_of, type_of
from hive_mind.errors import BackendError
from hive_mind.hive.effects import Acknowledge, Done, Effect, Outcome, SearchLocal, Send, Shared
from hive_mind.model.messages import Message, SearchReply, SearchRequest

_log = logging.getLogger(__name__)

SharedListener = Callable[[tuple[str, ...]], None]


@dataclass(frozen=True, slots=True)
class PutAside:
    """A delivery the node can't take, now or later."""

    delivery: str
    reason: str


class Host(Protocol):
    """What the carrier needs of its runner."""

    def search(self, request: SearchRequest) -> SearchReply | None:
        """Search the node's replica."""
        ...

    def hear(self, reply: SearchReply) -> None:
        """Tell the node what it said to itself."""
        ...

    def ring(self) -> None:
        """Let the runner's task call `carry_out`."""
        ...


class Carrier:
    """`requests` are futures of who waits, `deliveries` what is not acknowledged yet; the runner fills both."""

    def __init__(self, name: str, hive: str, bus: EventBus, host: Host, *, send_wait_s: float) -> None:
        self._name, self._hive, self._bus, self._host, self._send_wait_s = name, hive, bus, host, send_wait_s
        self._ids = unique_ids()
        self._waiting: deque[Effect | PutAside] = deque()
        self._own_replies: deque[SearchReply] = deque()
        self._stuck: set[str] = set()
        self.requests: dict[str, asyncio.Future[Outcome]] = {}
        self.deliveries: dict[str, Delivery] = {}
        self.listeners: list[SharedListener] = []
        self.sends_lost = 0

    @property
    def has_work(self) -> bool:
        """Whether `carry_out` has something to do."""
        return bool(self._waiting)

    def carry(self, effects: Iterable[Effect | PutAside]) -> None:
        """Do effects, behind those that wait. Persisting is done already."""
        for effect in effects:
            if self._waiting or not self._does_at_once(effect):
                self._waiting.append(effect)
        self._hear_own_replies()
        if self._waiting:
            self._host.ring()

    async def carry_out(self) -> None:
        """Do everything that waits."""
        while self._waiting:
            effect = self._waiting.popleft()
            if self._does_at_once(effect):
                self._hear_own_replies()
                continue
            match effect:
                case Send(to, message):
                    await self._send(to, message)
                case SearchLocal(request, reply_to):
                    if (reply := self._host.search(request)) is not None:
                        await self._send((reply_to,), reply)
                case Acknowledge(name):
                    await self._settle(name, lambda delivery: delivery.ack())
                case PutAside(name, reason):
                    await self._settle(name, lambda delivery, reason=reason: delivery.dead_letter(reason))  # type: ignore[misc]

    def stop(self, error: Callable[[], Exception]) -> None:
        """Do nothing more; who waits gets an `error` each."""
        self._waiting.clear()
        self._own_replies.clear()
        self.deliveries.clear()
        for waiting in self.requests.values():
            if not waiting.done():
                waiting.set_exception(error())

    def _does_at_once(self, effect: Effect | PutAside) -> bool:
        match effect:
            case Send() | Acknowledge() | PutAside():
                return False
            case SearchLocal(request, reply_to):
                if reply_to != self._name:
                    return False
                if (reply := self._host.search(request)) is not None:
                    self._own_replies.append(reply)
            case Done(name, outcome):
                waiting = self.requests.get(name)
                if waiting is not None and not waiting.done():
                    waiting.set_result(outcome)
            case Shared(fact_ids):
                self._tell(fact_ids)
            case _:
                pass
        return True

    def _hear_own_replies(self) -> None:
        while self._own_replies:
            self._host.hear(self._own_replies.popleft())

    async def _send(self, to: tuple[str, ...], message: Message) -> None:
        envelope = Envelope(next(self._ids), self._hive, self._name, to, type_of(message), message, correlation_of(message))
        # Whoever had no room the last time does not hold up the others again.
        wait_s = self._send_wait_s if self._stuck.isdisjoint(to) else 0.0
        try:
            await self._bus.publish((envelope,), timeout_s=wait_s)
        except BackendError as error:
            self._stuck.update(to)
            self.sends_lost += 1
            # At 1, 2, 4, 8, …: a broken bus is heard of, and fills no disk.
            if self.sends_lost & (self.sends_lost - 1) == 0:
                _log.warning(
                    "node %s: %d messages lost so far, what matters is sent again: %s", self._name, self.sends_lost, error
                )
        else:
            if self._stuck:
                self._stuck.difference_update(to)

    async def _settle(self, name: str, how: Callable[[Delivery], Awaitable[None]]) -> None:
        delivery = self.deliveries.pop(name, None)
        if delivery is None:
            return
        try:
            await how(delivery)
        except BackendError as error:
            _log.debug("node %s: the bus was not told of a delivery, so it will come again: %s", self._name, error)

    def _tell(self, fact_ids: tuple[str, ...]) -> None:
        for listener in tuple(self.listeners):
            try:
                listener(fact_ids)
            except Exception:  # noqa: BLE001 - it is a guest here
                _log.exception("a listener of node %s failed", self._name)


def unique_ids() -> Iterator[str]:
    """Ids that nobody else gives out, nor this process after a restart: a late reply must find nobody."""
    prefix = secrets.token_hex(6)
    return (f"{prefix}{n:x}" for n in count(1))

"""The two ways in to a node: messages from the bus, and requests of agents of this process.

Each delivery is looked at, counted, and handed on or put aside. A request becomes an event of the node, and the answer is what
the node says. Where a question's words say which groups know about such things, these are asked first: that changes in which
order and how deep groups are asked, and never what can be found.
"""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import cast

from hive_mind import tracing
from hive_mind.bus import Delivery, Envelope, Inbox
from hive_mind.bus.dead_letters import hand_of
from hive_mind.errors import HiveError, WireError
from hive_mind.hive.effects import (
    Acknowledge,
    Ask,
    Done,
    Effect,
    Event,
    Evict,
    Fetch,
    Held,
    Leave,
    Listed,
    Listing,
    Now,
    Outcome,
    Promote,
    Promotion,
    Received,
    Retract,
    Retracted,
    Say,
    Tallied,
    Tally,
    Write,
)
from hive_mind.identity.epochs import Signing
from hive_mind.memory.base import Hive
from hive_mind.model.bounds import COUNT_MAX
from hive_mind.model.evidence import HiveFact
from hive_mind.model.gathered import Gathered, Probe
from hive_mind.model.messages import Encrypted
from hive_mind.runtime.logs import hop
from hive_mind.runtime.node import Figures, Timings
from hive_mind.runtime.node.effect_executor import KILLED, EffectExecutor, InHand, PutAside, unique_ids

_log = logging.getLogger(__name__)

Handle = Callable[[Received, Now, str], None]
"""An event, when it came, and the trace it belongs to."""


class Intake:
    """The inbox of one node of one hive."""

    def __init__(
        self,
        node: str,
        hive: str,
        executor: EffectExecutor,
        handle: Handle,
        knows: Callable[[str], bool],
        timings: Timings,
        in_hand: InHand,
        signing: Signing | None = None,
    ) -> None:
        self._in_hand = in_hand
        self._node, self._hive, self._executor = node, hive, executor
        self._handle, self._knows, self._timings, self._signing = handle, knows, timings, signing
        self._ids = unique_ids()
        self.counts = Figures()
        self.expected: dict[str, asyncio.Future[None]] = {}
        """Ids of envelopes the node sent to itself, to see that they come."""

    def take(self, inbox: Inbox, deliveries_max: int, now: Now) -> None:
        for delivery in inbox.take(deliveries_max):
            self._in_hand.begin(hand := hand_of(delivery.envelope) if self._in_hand.is_on else b"")
            self._take_one(delivery, hand, now)
        self._in_hand.end()

    def stop(self, error: Callable[[], Exception]) -> None:
        """Nothing comes any more; waiting receivers get an `error`."""
        for expected in self.expected.values():
            if not expected.done():
                expected.set_exception(error())

    def _take_one(self, delivery: Delivery, hand: bytes, now: Now) -> None:
        name, envelope = next(self._ids), delivery.envelope
        if waited_ms := delivery.waited_ms:
            # It came then: so nobody's silence begins later, or is noticed later, because beats are read together.
            now = Now(now.wall_ms - waited_ms, now.mono_ms - waited_ms)
        self._executor.deliveries[name] = delivery
        if self.expected and (expected := self.expected.pop(envelope.id, None)) is not None:
            if not expected.done():
                # The waiting caller may have given up at this very moment.
                expected.set_result(None)
            self._executor.put(Acknowledge(name))
            return
        if envelope.sender == self._node and envelope.hive == self._hive:
            # A ping that came after its time; another process of this name, of which the others tell; or nobody honest.
            self.counts.echoes += 1
            self._executor.put(Acknowledge(name))
            return
        if self._in_hand.has_killed(hand):
            self._refuse(name, envelope, KILLED)
            return
        if self._signing is not None:
            self._signing.learn(envelope)
        if self._signing is not None and (why := self._signing.refusal(envelope, now.wall_ms)):
            self.counts.unproven[why] += 1
            number = self.counts.unproven[why]
            # At 1, 2, 4, 8, …: a flood is reported without filling the disk.
            if number & (number - 1) == 0:
                _log.warning(
                    "node %s: not proven to be from whom it says (%s, %d so far): a %s in the name of %s",
                    *(self._node, why, number, envelope.type, envelope.sender),
                )
            if self._signing.is_required:
                self._executor.put(PutAside(name, why, is_proven=False))
                return
        self._count(envelope, now)
        try:
            if envelope.hive != self._hive:
                raise WireError(f"it belongs to hive {envelope.hive!r}")
            if isinstance(envelope.message, Encrypted):
                raise WireError("an encrypted message, but encryption is off here: set identity.encryption alike on all members")
            event = Received(envelope.sender, envelope.message, name)
            if envelope.trace:
                with tracing.span(f"hive {envelope.type}", parent=envelope.trace, kind="consumer") as span:
                    self._handle(event, now, span.traceparent or envelope.trace)
            else:
                self._handle(event, now, "")
        except HiveError as error:
            self._refuse(name, envelope, str(error))

    def _refuse(self, name: str, envelope: Envelope, reason: str) -> None:
        self.counts.refused[envelope.type] += 1
        about = {"node": self._node, "correlation": envelope.correlation_id, "envelope": envelope.id}
        _log.warning("node %s refuses a %s from %s: %s", self._node, envelope.type, envelope.sender, reason, extra=about)
        self._executor.put(PutAside(name, reason))

    def _count(self, envelope: Envelope, now: Now) -> None:
        if envelope.sent_ms:
            self._timings.observe("received", (now.wall_ms - envelope.sent_ms) / 1000)
        if envelope.hive != self._hive:
            self.counts.foreign += 1
        elif not self._knows(envelope.sender):
            self.counts.strangers += 1


class Requests(ABC):
    """The protocol `memory.base.Hive`, and what hosts ask besides. `timings` says how long each took."""

    def __init__(self, name: str, ask_deadline_ms: int, fetch_deadline_ms: int) -> None:
        self._name = name
        self._ask_deadline_ms, self._fetch_deadline_ms = ask_deadline_ms, fetch_deadline_ms
        self._ids = unique_ids()
        self.timings = Timings()

    async def promote(self, promotions: Sequence[Promotion]) -> Sequence[Held]:
        """Share statements; those not refused are durable here when this returns, and on their way to the others."""
        request = next(self._ids)
        with self.timings.measured("promote"):
            return cast("tuple[Held, ...]", await self._answer(request, Promote(request, tuple(promotions))))

    async def retract(self, fact_ids: Sequence[str], by: str, why: str = "retracted") -> Sequence[Retracted]:
        request = next(self._ids)
        with self.timings.measured("retract"):
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
        event = Ask(request, probe, self._ask_deadline_ms, confidence_min, domains, is_local)
        hop(_log, "asks", node=self._name, correlation=request)
        with self.timings.measured("ask"):
            gathered = cast("Gathered", await self._answer(request, event))
        hop(_log, "is answered", node=self._name, correlation=request, outcome=gathered)
        return gathered

    async def fetch(self, wanted: Sequence[tuple[str, str]]) -> Sequence[HiveFact]:
        """The facts themselves, by (fact id, holder); those that nobody gave in time are left out."""
        request = next(self._ids)
        hop(_log, "fetches", node=self._name, correlation=request, facts=[fact_id for fact_id, _ in wanted])
        with self.timings.measured("fetch"):
            event = Fetch(request, tuple(wanted), self._fetch_deadline_ms)
            return cast("tuple[HiveFact, ...]", await self._answer(request, event))

    async def facts(self, *, concept: str = "", prefix: str = "", limit: int | None = None) -> Listed:
        """Facts, newest first by when they were first shared; those about a concept, or with an id that begins like `prefix`."""
        request = next(self._ids)
        event = Listing(request, COUNT_MAX if limit is None else min(limit, COUNT_MAX), self._fetch_deadline_ms, concept, prefix)
        return cast("Listed", await self._answer(request, event))

    async def tally(self, about: str = "", *, with_wording: bool = False) -> Tallied:
        """Every fact of the hive about something ("" for all), by id; says what is missing rather than be late."""
        request = next(self._ids)
        return cast("Tallied", await self._answer(request, Tally(request, self._fetch_deadline_ms, about, with_wording)))

    async def tell(self, to: Sequence[str], kind: str, data: bytes) -> Sequence[str]:
        """Tell other nodes, or `EVERYONE`, an application's message; returns the recipients. Durable here when this returns.

        It reaches each of them, is acted on once, and in the order in which it was said. Needs a `hive.member.Member`.
        """
        request = next(self._ids)
        return cast("tuple[str, ...]", await self._answer(request, Say(request, tuple(to), kind, data)))

    async def leave(self) -> None:
        """Let others take over what this node holds. That has begun when this returns. Needs a `hive.member.Member`."""
        request = next(self._ids)
        await self._answer(request, Leave(), effects_after=(Done(request, ()),))

    async def evict(self, member: str) -> None:
        """Put a member out of the hive; others take over what it held. Needs a `hive.member.Member`. Raises `InvalidInput`."""
        request = next(self._ids)
        await self._answer(request, Evict(member), effects_after=(Done(request, ()),))

    @abstractmethod
    async def _answer(self, request: str, event: Event, effects_after: Sequence[Effect] = ()) -> Outcome:
        """Let the node handle an event, then do `effects_after`, and wait until the request is answered."""


class ByDomain:
    """A hive whose questions go first to the groups that `domains_of` says, unless others are given. As `memory.base.Hive`."""

    def __init__(self, hive: Hive, domains_of: Callable[[Probe], tuple[str, ...]] = lambda probe: probe.terms) -> None:
        self._hive, self._domains_of = hive, domains_of
        self.promote, self.retract, self.fetch, self.facts = hive.promote, hive.retract, hive.fetch, hive.facts
        self.write, self.tally = hive.write, hive.tally

    async def ask(self, probe: Probe, *, confidence_min: float = 0.0, domains: tuple[str, ...] = ()) -> Gathered:
        return await self._hive.ask(probe, confidence_min=confidence_min, domains=domains or self._domains_of(probe))

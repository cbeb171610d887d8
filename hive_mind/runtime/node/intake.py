"""Messages from the bus, on their way to the node: each delivery is looked at, counted, and handed on or put aside."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from hive_mind import tracing
from hive_mind.bus.base import Delivery, Envelope, Inbox
from hive_mind.bus.dead_letters import hand_of
from hive_mind.errors import HiveError, WireError
from hive_mind.hive.effects import Acknowledge, Now, Received
from hive_mind.identity.epochs import Signing
from hive_mind.model.messages import Encrypted
from hive_mind.runtime.node.base import Timings
from hive_mind.runtime.node.effect_executor import KILLED, EffectExecutor, InHand, PutAside, unique_ids

_log = logging.getLogger(__name__)

Handle = Callable[[Received, Now, str], None]
"""An event, when it came, and the trace it belongs to."""


@dataclass(slots=True)
class Counts:
    """Messages that were not as they should be."""

    foreign: int = 0
    """Of another hive; put aside."""
    strangers: int = 0
    """From somebody who is no member, as far as the node knows. That may be one who joins or has just left."""
    echoes: int = 0
    """In this node's own name, which it sends nothing to; passed over."""
    unproven: Counter[str] = field(default_factory=Counter)
    """Not proven to be from whom they say, by reason; where that is required, one of each sender is put aside."""
    refused: Counter[str] = field(default_factory=Counter)
    """That the node could not take, by type; put aside."""


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
        self.counts = Counts()
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
            self._log_unproven(envelope, why)
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

    def _log_unproven(self, envelope: Envelope, why: str) -> None:
        self.counts.unproven[why] += 1
        number = self.counts.unproven[why]
        # At 1, 2, 4, 8, …: a flood is reported without filling the disk.
        if number & (number - 1) == 0:
            _log.warning(
                "node %s: not proven to be from whom it says (%s, %d so far): a %s in the name of %s",
                *(self._node, why, number, envelope.type, envelope.sender),
            )

    def _count(self, envelope: Envelope, now: Now) -> None:
        if envelope.sent_ms:
            self._timings.observe("received", (now.wall_ms - envelope.sent_ms) / 1000)
        if envelope.hive != self._hive:
            self.counts.foreign += 1
        elif not self._knows(envelope.sender):
            self.counts.strangers += 1

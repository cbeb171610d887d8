"""A hive's messages, counted and weighed: one message to two nodes is two.

Messages are collected as they are published and weighed afterwards, because to encode one costs more than to send it and would be
measured as time. Parts of a question's messages that depend on chance, clocks and earlier questions weigh the same each time: its
id, the time that is left for it, and the counters within the milliseconds at which facts were shared.

Messages that nodes send by a timetable of their own (liveness, membership, whether they hold the same) are not counted. They go
on whether or not anything is learned or asked, and their number during learning depends on how long that took.
"""

from typing import get_args

from msgspec.structs import replace

from hive_mind.bus.base import EVERYONE, Envelope
from hive_mind.model import wire
from hive_mind.model.evidence import HiveFact, Stamp
from hive_mind.model.messages import (
    FactsReply,
    MembershipMessage,
    Message,
    SearchReply,
    SearchRequest,
    SyncOffer,
    SyncState,
    SyncStep,
)
from hive_mind.runtime.node.base import RunnerSettings

_REQUESTS = get_args(SearchRequest)
_SEARCHES = _REQUESTS + get_args(SearchReply)
_BY_THE_CLOCK = (SyncOffer, SyncState, SyncStep, *get_args(MembershipMessage))
# As long as those of a node that has asked a few thousand questions since it was started.
_QUERY = "0" * 16


class Scales:
    """Takes what is published, while it is on."""

    def __init__(self, nodes: int) -> None:
        """`nodes`: how many there are in the hive."""
        self._nodes, self._seen, self.is_on = nodes, list[Envelope](), False

    def see(self, envelope: Envelope) -> None:
        if self.is_on:
            self._seen.append(envelope)

    def weighed(self, *, only_questions: bool) -> tuple[int, int]:
        """Messages and bytes since the last time."""
        envelopes, self._seen = self._seen, []
        belongs = is_of_question if only_questions else is_caused
        counted = [(self._copies(envelope), envelope.message) for envelope in envelopes if belongs(envelope.message)]
        return sum(copies for copies, _ in counted), sum(copies * weight_of(message) for copies, message in counted)

    def _copies(self, envelope: Envelope) -> int:
        return self._nodes - 1 if envelope.target == EVERYONE else len(envelope.target)


def is_of_question(message: Message) -> bool:
    """Whether it is sent because something was asked."""
    return isinstance(message, _SEARCHES)


def is_caused(message: Message) -> bool:
    """Whether it is sent because something was learned or asked, and not because it was time."""
    return not isinstance(message, _BY_THE_CLOCK)


def weight_of(message: Message) -> int:
    """The bytes of a message, as it would travel."""
    if isinstance(message, _SEARCHES):
        message = replace(message, query=_QUERY)
    if isinstance(message, _REQUESTS):
        message = replace(message, left_ms=RunnerSettings().ask_deadline_ms)
    if isinstance(message, FactsReply):
        message = replace(message, facts=tuple(map(_plainly_stamped, message.facts)))
    return len(wire.encode(message))


def _plainly_stamped(fact: HiveFact) -> HiveFact:
    stamps = ((evidence, evidence.stamp) for evidence in fact.provenance)
    return replace(fact, provenance=tuple(replace(evidence, stamp=Stamp(at.ms, 0, at.actor)) for evidence, at in stamps))

"""Listing what a hive holds: the newest facts of every replica set, put together. Only decides, like `scatter`."""

from collections.abc import Sequence

from hive_mind.hive.effects import Listed, Listing, SearchLocal, Send
from hive_mind.hive.latencies import Latencies, ScatterSettings
from hive_mind.hive.rounds import Part, Round, To, Window, effect
from hive_mind.hive.topology import ReplicaSet
from hive_mind.model.evidence import HiveFact
from hive_mind.model.messages import ListReply, ListRequest, SearchReply


class ListScatter:
    """One listing."""

    def __init__(
        self,
        listing: Listing,
        read_set: tuple[ReplicaSet, ...],
        node: str,
        epoch: int,
        settings: ScatterSettings,
        latencies: Latencies,
        now_ms: int,
    ) -> None:
        self._listing, self._node, self._epoch = listing, node, epoch
        self._end_ms = now_ms + listing.deadline_ms
        parts = [Part(one.name, one.members, one.partitions) for one in read_set]
        self._round = Round(parts, node, Window(now_ms, self._end_ms), settings, latencies)
        self._found: dict[str, HiveFact] = {}
        self.is_done = False

    @property
    def wake_at_ms(self) -> int | None:
        """When `tick` has something to do; None when done."""
        return None if self.is_done else self._round.wake_at_ms

    def start(self, now_ms: int) -> list[Send | SearchLocal]:
        """The first requests."""
        return self._sent(self._round.start(now_ms) if now_ms < self._end_ms else [], now_ms)

    def take(self, sender: str, reply: SearchReply, now_ms: int) -> list[Send | SearchLocal]:
        """A reply came. One that is late, repeated or from nobody who was asked changes nothing."""
        if self.is_done or not isinstance(reply, ListReply) or not self._round.expects(sender, reply.replica_set):
            return []
        for fact in reply.facts:
            self._found.setdefault(fact.id, fact)
        return self._sent(self._round.take(sender, reply.replica_set, reply.missing, now_ms), now_ms)

    def tick(self, now_ms: int) -> list[Send | SearchLocal]:
        """Time has passed."""
        return [] if self.is_done else self._sent(self._round.tick(now_ms), now_ms)

    def gathered(self) -> Listed:
        """What was brought together so far, newest first."""
        newest = sorted(self._found.values(), key=lambda fact: (fact.provenance[0].stamp, fact.id), reverse=True)
        return Listed(tuple(newest[: self._listing.limit]), self._round.open_items())

    def _sent(self, requests: Sequence[To], now_ms: int) -> list[Send | SearchLocal]:
        if self._round.has_ended(now_ms):
            self._round.close(now_ms)
            self.is_done = True
            return []
        left_ms, asked = self._end_ms - now_ms, self._listing
        return [
            effect(to.node, ListRequest(asked.request, to.part, self._epoch, asked.concept, asked.limit, left_ms), self._node)
            for to in requests
        ]

"""Listing what a hive holds: the newest facts of every replica set, put together. Only decides, like `scatter`.

Results are paged: the next request starts after the last fact received.
"""

from collections.abc import Sequence
from typing import NamedTuple

from hive_mind.hive.effects import Listed, Listing, SearchLocal, Send
from hive_mind.hive.query.latencies import Latencies, ScatterSettings
from hive_mind.hive.query.rounds import ReplicaSetShare, Round, To, Window, effect
from hive_mind.hive.topology.base import ReplicaSet
from hive_mind.model.evidence import HiveFact
from hive_mind.model.messages import ListPlace, ListReply, ListRequest, SearchReply


class _Given(NamedTuple):
    """A member's progress: position of its last fact, and how many it gave."""

    last: ListPlace | None = None
    facts: int = 0


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
        parts = [ReplicaSetShare(one.name, one.members, one.partitions) for one in read_set]
        self._partitions = sum(len(set(part.items)) for part in parts)
        self._round = Round(parts, node, Window(now_ms, self._end_ms), settings, latencies)
        self._found: dict[str, HiveFact] = {}
        self._bytes_max = settings.reply_bytes_max
        self._given: dict[tuple[str, str], _Given] = {}
        """By replica set and member, where it gave some of what it has."""
        self.is_done = False

    @property
    def wake_at_ms(self) -> int | None:
        """When `tick` has something to do; None when done."""
        return None if self.is_done else self._round.wake_at_ms

    def start(self, now_ms: int) -> list[Send | SearchLocal]:
        return self._sent(self._round.start(now_ms) if now_ms < self._end_ms else [], now_ms)

    def take(self, sender: str, reply: SearchReply, now_ms: int) -> list[Send | SearchLocal]:
        """Take a reply. A late, repeated or unsolicited one changes nothing."""
        if self.is_done or not isinstance(reply, ListReply) or not self._round.expects(sender, reply.replica_set):
            return []
        place, given = (reply.replica_set, sender), self._given.get((reply.replica_set, sender), _Given())
        # Of pages the same one may come twice, and then not get us further.
        if reply.cut_at is not None and given.last is not None and reply.cut_at >= given.last:
            return []
        for fact in reply.facts:
            self._found.setdefault(fact.id, fact)
        given = self._given[place] = _Given(reply.cut_at, given.facts + len(reply.facts))
        if reply.cut_at is None or not reply.facts or given.facts >= self._listing.limit:
            return self._sent(self._round.take(sender, reply.replica_set, reply.missing, now_ms), now_ms)
        still = self._round.open_of(reply.replica_set)
        return self._sent(self._round.ask_for_rest(sender, reply.replica_set, still, now_ms), now_ms)

    def tick(self, now_ms: int) -> list[Send | SearchLocal]:
        return [] if self.is_done else self._sent(self._round.tick(now_ms), now_ms)

    def gathered(self) -> Listed:
        """The facts received so far, newest first."""
        newest = sorted(self._found.values(), key=lambda fact: (fact.provenance[0].stamp, fact.id), reverse=True)
        return Listed(tuple(newest[: self._listing.limit]), self._partitions, self._round.open_items())

    def _sent(self, requests: Sequence[To], now_ms: int) -> list[Send | SearchLocal]:
        if self._round.has_ended(now_ms):
            self._round.close(now_ms)
            self.is_done = True
            return []
        return [effect(to.node, self._request(to, self._end_ms - now_ms), self._node) for to in requests]

    def _request(self, to: To, left_ms: int) -> ListRequest:
        asked, given = self._listing, self._given.get((to.part, to.node), _Given())
        # Within a node nothing travels.
        bytes_max = 0 if to.node == self._node else self._bytes_max
        limit = asked.limit - given.facts
        return ListRequest(asked.request, to.part, self._epoch, asked.concept, limit, left_ms, given.last, bytes_max)

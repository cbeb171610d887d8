"""Listing what a hive holds: the newest facts of every replica set, put together. Only decides, like `scatter`."""

from typing import NamedTuple

from hive_mind.hive.effects import Listed, Listing, SearchLocal, Send
from hive_mind.hive.query.paged import Asker, PagedScatter
from hive_mind.hive.query.rounds import To
from hive_mind.model.evidence import HiveFact
from hive_mind.model.messages import ListPlace, ListReply, ListRequest, PrefixRequest, SearchReply


class _Given(NamedTuple):
    """A member's progress: position of its last fact, and how many it gave."""

    last: ListPlace | None = None
    facts: int = 0


class ListScatter(PagedScatter):
    """One listing."""

    def __init__(self, listing: Listing, asker: Asker, now_ms: int) -> None:
        super().__init__(listing.deadline_ms, asker, now_ms)
        self._listing = listing
        self._found: dict[str, HiveFact] = {}
        self._given: dict[tuple[str, str], _Given] = {}
        """By replica set and member, where it gave some of what it has."""

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
        return self._ask_for_rest(sender, reply.replica_set, now_ms)

    def gathered(self) -> Listed:
        """The facts received so far, newest first."""
        newest = sorted(self._found.values(), key=lambda fact: (fact.provenance[0].stamp, fact.id), reverse=True)
        return Listed(tuple(newest[: self._listing.limit]), self._partitions, self._round.open_items())

    def _request(self, to: To, left_ms: int, bytes_max: int) -> ListRequest | PrefixRequest:
        listing, given = self._listing, self._given.get((to.part, to.node), _Given())
        kind, wanted = (PrefixRequest, listing.prefix) if listing.prefix else (ListRequest, listing.concept)
        limit = listing.limit - given.facts
        return kind(listing.request, to.part, self._epoch, wanted, limit, left_ms, given.last, bytes_max)

"""Paged questions: listing what a hive holds, the newest first, and counting over it, each fact once. Only decides.

Every replica set is asked once, and a member with more than fits a message again, from the last item on. The deadline bounds
silence, and not how much there is to say: each further page grants it anew.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeVar

import msgspec

from hive_mind.hive.effects import Listed, Listing, SearchLocal, Send, Tallied, Tally
from hive_mind.hive.query.rounds import Asker, Round, To, effect
from hive_mind.hive.trust import contradiction
from hive_mind.model.aggregation import ROW_BYTES, earliest_of, rows_in
from hive_mind.model.evidence import HiveFact
from hive_mind.model.messages import (
    ListPlace,
    ListReply,
    ListRequest,
    PrefixRequest,
    SearchReply,
    SearchRequest,
    TallyReply,
    TallyRequest,
    WordingRequest,
)

# Deadlines that a question lasts at the very longest, as a liar could send crumbs for ever. A minute, by default.
_DEADLINES_MAX = 30


class PagedScatter(ABC):
    """One paged question."""

    def __init__(self, deadline_ms: int, asker: Asker, now_ms: int) -> None:
        self._node, self._epoch = asker.node, asker.epoch
        self._deadline_ms, self._longest_ms = deadline_ms, now_ms + _DEADLINES_MAX * deadline_ms
        self._end_ms = now_ms + deadline_ms
        parts = asker.parts()
        self._partitions = sum(len(set(part.items)) for part in parts)
        self._round = Round(parts, asker, now_ms, self._end_ms)
        self._bytes_max = asker.settings.reply_bytes_max
        self._silent: tuple[str, ...] = ()
        self.is_done = False

    @property
    def wake_at_ms(self) -> int | None:
        return None if self.is_done else self._round.wake_at_ms

    def start(self, now_ms: int) -> list[Send | SearchLocal]:
        return self._sent(self._round.start(now_ms) if now_ms < self._end_ms else [], now_ms)

    def tick(self, now_ms: int) -> list[Send | SearchLocal]:
        return [] if self.is_done else self._sent(self._round.tick(now_ms), now_ms)

    @abstractmethod
    def take(self, sender: str, reply: SearchReply, now_ms: int) -> list[Send | SearchLocal]:
        """Take a reply. A late, repeated, unsolicited or impossible one changes nothing."""

    @abstractmethod
    def _request(self, to: To, left_ms: int, bytes_max: int) -> SearchRequest:
        """The next request to a member: for the items after its last one."""

    def _ask_for_rest(self, sender: str, name: str, now_ms: int) -> list[Send | SearchLocal]:
        """Ask a member for its next page, as this one brought us further."""
        self._end_ms = max(self._end_ms, min(now_ms + self._deadline_ms, self._longest_ms))
        self._round.move(now_ms, self._end_ms)
        return self._sent(self._round.ask_for_rest(sender, name, self._round.open_of(name), now_ms), now_ms)

    def _sent(self, requests: Sequence[To], now_ms: int) -> list[Send | SearchLocal]:
        if self._round.has_ended(now_ms):
            self._silent = self._round.close(now_ms)
            self.is_done = True
            return []
        left_ms = self._end_ms - now_ms
        # 0 bytes: any number, as within a node nothing travels.
        rooms = [(to, 0 if to.node == self._node else self._bytes_max) for to in requests]
        return [effect(to.node, self._request(to, left_ms, bytes_max), self._node) for to, bytes_max in rooms]


Key = TypeVar("Key")

FACTS_MAX = 256
"""A member does nothing else while it puts a page together: a tenth of a second where all are alike and of one concept."""

_encode = msgspec.msgpack.Encoder().encode


def page(facts: Iterable[tuple[Key, HiveFact]], bytes_max: int) -> tuple[list[tuple[Key, HiveFact]], bool]:
    """The first of them that fit, one at least and `FACTS_MAX` at most, and whether there are more. `bytes_max` 0: any."""
    chosen: list[tuple[Key, HiveFact]] = []
    left = bytes_max
    for key, fact in facts:
        if len(chosen) == FACTS_MAX:
            return chosen, True
        if bytes_max:
            left -= len(_encode(fact))
            if left < 0 and chosen:
                return chosen, True
        chosen.append((key, fact))
    return chosen, False


_ROWS_MAX = 1 << 14
# Of one member to one question: more than any hive was measured with, so that one that lies costs 100 MB and not everything.
_BYTES_OF_ONE_MAX = ROW_BYTES << 22
# Some 30 ms of work the first time a member is asked for them; its own are signed ahead.
_WORDINGS_MAX, _OWN_WORDINGS_MAX = 1 << 8, 1 << 12


def rows_that_fit(bytes_max: int) -> int | None:
    """How many rows a message takes, one at least; None for all of them, where nothing travels (`bytes_max` 0)."""
    return min(max(bytes_max // ROW_BYTES, 1), _ROWS_MAX) if bytes_max else None


def wordings_that_fit(bytes_max: int) -> int:
    """How many rows of `hive.trust.contradiction` a message takes, or a piece of what a node asks itself."""
    return min(max(bytes_max // contradiction.ROW_BYTES, 1), _WORDINGS_MAX) if bytes_max else _OWN_WORDINGS_MAX


class TallyScatter(PagedScatter):
    """One tally."""

    def __init__(self, tally: Tally, asker: Asker, now_ms: int) -> None:
        super().__init__(tally.deadline_ms, asker, now_ms)
        self._tally = tally
        self._row_bytes = contradiction.ROW_BYTES if tally.with_wording else ROW_BYTES
        self._pages: dict[tuple[str, str], list[bytes]] = {}
        """By replica set and member: its rows so far, in ascending order."""

    def take(self, sender: str, reply: SearchReply, now_ms: int) -> list[Send | SearchLocal]:
        """Take a reply. A late, repeated, unsolicited or impossible one changes nothing."""
        if self.is_done or not isinstance(reply, TallyReply) or not self._round.expects(sender, reply.replica_set):
            return []
        name, pages = reply.replica_set, self._pages.setdefault((reply.replica_set, sender), [])
        if not self._follows(reply, self._last(pages)):
            return []
        if reply.rows:
            pages.append(reply.rows)
        is_endless = sum(map(len, pages)) > _BYTES_OF_ONE_MAX
        if reply.is_cut and not is_endless:
            return self._ask_for_rest(sender, name, now_ms)
        still = self._round.open_of(name)
        return self._sent(self._round.take(sender, name, still if is_endless else reply.missing, now_ms), now_ms)

    def gathered(self) -> Tallied:
        pages, open_items = (page for pages_of_part in self._pages.values() for page in pages_of_part), self._round.open_items()
        if self._tally.with_wording:
            return Tallied({}, self._partitions, open_items, self._silent, contradiction.first_of_each(pages))
        rows = (row for page in pages for row in rows_in(page))
        return Tallied(earliest_of(rows), self._partitions, open_items, self._silent)

    def _request(self, to: To, left_ms: int, bytes_max: int) -> TallyRequest | WordingRequest:
        request, after = self._tally.request, self._last(self._pages.get((to.part, to.node), []))
        if self._tally.with_wording:
            return WordingRequest(request, to.part, self._epoch, contradiction.FORM, left_ms, after, bytes_max)
        return TallyRequest(request, to.part, self._epoch, self._tally.about, left_ms, after, bytes_max)

    def _last(self, pages: list[bytes]) -> bytes:
        return pages[-1][-self._row_bytes :] if pages else b""

    def _follows(self, reply: TallyReply, last: bytes) -> bool:
        """Whether a page can be one, and goes on after the last row; the same one may come twice."""
        rows, size = reply.rows, self._row_bytes
        if len(rows) % size or (reply.is_cut and not rows):
            return False
        each = [last, *(rows[start : start + size] for start in range(0, len(rows), size))]
        return all(former < later for former, later in pairwise(each))


class _Given(NamedTuple):
    """A member's progress: position of its last fact, and how many it gave."""

    last: ListPlace | None = None
    facts: int = 0


class ListScatter(PagedScatter):
    """One listing."""

    def __init__(self, listing: Listing, asker: Asker, now_ms: int) -> None:
        super().__init__(listing.deadline_ms, asker, now_ms)
        self._listing = listing
        self._facts_found: dict[str, HiveFact] = {}
        self._progress: dict[tuple[str, str], _Given] = {}
        """By replica set and member, where it gave some of what it has."""

    def take(self, sender: str, reply: SearchReply, now_ms: int) -> list[Send | SearchLocal]:
        """Take a reply. A late, repeated or unsolicited one changes nothing."""
        if self.is_done or not isinstance(reply, ListReply) or not self._round.expects(sender, reply.replica_set):
            return []
        place, progress = (reply.replica_set, sender), self._progress.get((reply.replica_set, sender), _Given())
        # Of pages the same one may come twice, and then not get us further.
        if reply.cut_at is not None and progress.last is not None and reply.cut_at >= progress.last:
            return []
        for fact in reply.facts:
            self._facts_found.setdefault(fact.id, fact)
        progress = self._progress[place] = _Given(reply.cut_at, progress.facts + len(reply.facts))
        if reply.cut_at is None or not reply.facts or progress.facts >= self._listing.limit:
            return self._sent(self._round.take(sender, reply.replica_set, reply.missing, now_ms), now_ms)
        return self._ask_for_rest(sender, reply.replica_set, now_ms)

    def gathered(self) -> Listed:
        newest = sorted(self._facts_found.values(), key=lambda fact: (fact.provenance[0].stamp, fact.id), reverse=True)
        return Listed(tuple(newest[: self._listing.limit]), self._partitions, self._round.open_items())

    def _request(self, to: To, left_ms: int, bytes_max: int) -> ListRequest | PrefixRequest:
        listing, progress = self._listing, self._progress.get((to.part, to.node), _Given())
        kind, subject = (PrefixRequest, listing.prefix) if listing.prefix else (ListRequest, listing.concept)
        limit = listing.limit - progress.facts
        return kind(listing.request, to.part, self._epoch, subject, limit, left_ms, progress.last, bytes_max)

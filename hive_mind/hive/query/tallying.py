"""Counting over a hive: the rows of every replica set put together, each fact once. Only decides, like `scatter`.

Sums would count a fact twice that two groups promoted, so members send ids. Results are paged: the next request starts after the
last row received.
"""

from collections.abc import Sequence
from itertools import pairwise

from hive_mind.hive.effects import SearchLocal, Send, Tallied, Tally
from hive_mind.hive.query.latencies import Latencies, ScatterSettings
from hive_mind.hive.query.rounds import ReplicaSetShare, Round, To, Window, effect
from hive_mind.hive.topology.base import ReplicaSet
from hive_mind.model.aggregation import ROW_BYTES, earliest_of, rows_in
from hive_mind.model.messages import SearchReply, TallyReply, TallyRequest

_ROWS_MAX = 1 << 14
# Of one member to one question: more than any hive was measured with, so that one that lies costs 100 MB and not everything.
_ROWS_OF_ONE_MAX = 1 << 22


def rows_that_fit(bytes_max: int) -> int | None:
    """How many rows a message takes, one at least; None for all of them, where nothing travels (`bytes_max` 0)."""
    return min(max(bytes_max // ROW_BYTES, 1), _ROWS_MAX) if bytes_max else None


class TallyScatter:
    """One tally."""

    def __init__(
        self,
        tally: Tally,
        read_set: tuple[ReplicaSet, ...],
        node: str,
        epoch: int,
        settings: ScatterSettings,
        latencies: Latencies,
        now_ms: int,
    ) -> None:
        self._tally, self._node, self._epoch = tally, node, epoch
        self._end_ms = now_ms + tally.deadline_ms
        parts = [ReplicaSetShare(one.name, one.members, one.partitions) for one in read_set]
        self._partitions = sum(len(set(part.items)) for part in parts)
        self._round = Round(parts, node, Window(now_ms, self._end_ms), settings, latencies)
        self._bytes_max = settings.reply_bytes_max
        self._pages: dict[tuple[str, str], list[bytes]] = {}
        """By replica set and member: its rows so far, in ascending order."""
        self._silent: tuple[str, ...] = ()
        self.is_done = False

    @property
    def wake_at_ms(self) -> int | None:
        """When `tick` has something to do; None when done."""
        return None if self.is_done else self._round.wake_at_ms

    def start(self, now_ms: int) -> list[Send | SearchLocal]:
        return self._sent(self._round.start(now_ms) if now_ms < self._end_ms else [], now_ms)

    def take(self, sender: str, reply: SearchReply, now_ms: int) -> list[Send | SearchLocal]:
        """Take a reply. A late, repeated, unsolicited or impossible one changes nothing."""
        if self.is_done or not isinstance(reply, TallyReply) or not self._round.expects(sender, reply.replica_set):
            return []
        name, pages = reply.replica_set, self._pages.setdefault((reply.replica_set, sender), [])
        if not _follows(reply, pages[-1][-ROW_BYTES:] if pages else b""):
            return []
        if reply.rows:
            pages.append(reply.rows)
        is_endless = sum(map(len, pages)) > _ROWS_OF_ONE_MAX * ROW_BYTES
        still = self._round.open_of(name)
        if reply.is_cut and not is_endless:
            return self._sent(self._round.ask_for_rest(sender, name, still, now_ms), now_ms)
        return self._sent(self._round.take(sender, name, still if is_endless else reply.missing, now_ms), now_ms)

    def tick(self, now_ms: int) -> list[Send | SearchLocal]:
        return [] if self.is_done else self._sent(self._round.tick(now_ms), now_ms)

    def gathered(self) -> Tallied:
        """The counts so far."""
        rows = (one for pages in self._pages.values() for page in pages for one in rows_in(page))
        return Tallied(earliest_of(rows), self._partitions, self._round.open_items(), self._silent)

    def _sent(self, requests: Sequence[To], now_ms: int) -> list[Send | SearchLocal]:
        if self._round.has_ended(now_ms):
            self._silent = self._round.close(now_ms)
            self.is_done = True
            return []
        return [effect(to.node, self._request(to, self._end_ms - now_ms), self._node) for to in requests]

    def _request(self, to: To, left_ms: int) -> TallyRequest:
        pages = self._pages.get((to.part, to.node))
        # Within a node nothing travels.
        bytes_max = 0 if to.node == self._node else self._bytes_max
        after = pages[-1][-ROW_BYTES:] if pages else b""
        return TallyRequest(self._tally.request, to.part, self._epoch, self._tally.about, left_ms, after, bytes_max)


def _follows(reply: TallyReply, last: bytes) -> bool:
    """Whether a page can be one, and goes on after the last row; the same one may come twice."""
    rows = reply.rows
    if len(rows) % ROW_BYTES or (reply.is_cut and not rows):
        return False
    starts = range(0, len(rows), ROW_BYTES)
    each = [last, *(rows[start : start + ROW_BYTES] for start in starts)]
    return all(one < other for one, other in pairwise(each))

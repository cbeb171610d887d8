"""A question to the hive: ask one member of each replica set, and put together what they answer.

First how often the terms occur in the whole hive, then candidates with raw scores by these figures, so that the merged pool is
that of one index over everything. One deadline covers both; each request says how much of it is left. What nobody spoke for is
counted and named. Only decides: the node sends what `start`, `take` and `tick` return.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite

import numpy as np

from hive_mind.hive.admission import are_counts
from hive_mind.hive.effects import Ask, SearchLocal, Send
from hive_mind.hive.latencies import Latencies, ScatterSettings
from hive_mind.hive.rounds import Part, Round, To, Window, effect
from hive_mind.hive.topology import ReplicaSet
from hive_mind.model.gathered import Gathered
from hive_mind.model.messages import (
    FactsReply,
    ListReply,
    PoolReply,
    PoolRequest,
    SearchReply,
    SearchRequest,
    StatisticsReply,
    StatisticsRequest,
)
from hive_mind.model.probe import EvidenceColumns, Pool, Probe
from hive_mind.model.scores import TermStatistics
from hive_mind.ranking.merge import merge_all, merge_replicas, total

Requests = list[Send | SearchLocal]
Answered = tuple[str, PoolReply]
"""Who, and what."""

FAVOURED_DEPTH = 3
"""004's multiplier for groups whose domain matches the question. The merged pool has the same depth all the same: it decides who
sends more, never what is found."""


class Scatter:
    """One question. It is done when everything was spoken for, nobody is left to ask, or its deadline has passed."""

    def __init__(
        self,
        ask: Ask,
        read_set: tuple[ReplicaSet, ...],
        node: str,
        epoch: int,
        settings: ScatterSettings,
        latencies: Latencies,
        now_ms: int,
        favoured: frozenset[str] = frozenset(),
    ) -> None:
        """`favoured` are names of replica sets whose domain matches the question."""
        self._ask, self._node, self._epoch, self._favoured = ask, node, epoch, favoured
        self._settings, self._latencies = settings, latencies
        self._parts = [Part(one.name, one.members, one.partitions) for one in read_set]
        self._end_ms = now_ms + ask.deadline_ms
        self._probe = ask.probe
        self._statistics: dict[str, tuple[tuple[int, str], TermStatistics]] = {}
        self._pools: dict[str, list[Answered]] = {part.name: [] for part in self._parts}
        self._counting: Round | None = None
        self._searching: Round | None = None
        self._unheard: tuple[str, ...] = ()
        self._silent: tuple[str, ...] = ()
        self.is_done = False

    @property
    def wake_at_ms(self) -> int | None:
        """When `tick` has something to do; None when done."""
        current = self._searching or self._counting
        return None if self.is_done or current is None else current.wake_at_ms

    def start(self, now_ms: int) -> Requests:
        """The first requests."""
        if now_ms >= self._end_ms:
            self.is_done = True
            return []
        if not self._needs_statistics():
            return self._search(now_ms)
        end_ms = now_ms + int((self._end_ms - now_ms) * self._settings.statistics_share)
        self._counting = Round(self._parts, self._node, Window(now_ms, end_ms), self._settings, self._latencies)
        return self._sent(self._counting.start(now_ms), now_ms) + self._advance(now_ms)

    def take(self, sender: str, reply: SearchReply, now_ms: int) -> Requests:
        """A reply came. One that is late, repeated, malformed or from nobody who was asked changes nothing."""
        if self.is_done or isinstance(reply, FactsReply | ListReply) or reply.query != self._ask.request:
            return []
        asked = self._counting if isinstance(reply, StatisticsReply) else self._searching
        current = self._searching or self._counting
        if asked is None:
            return []
        if asked is not current or asked.has_ended(now_ms) or not asked.expects(sender, reply.replica_set):
            asked.note(sender, reply.replica_set, now_ms)
            return []
        if not self._keep(sender, reply):
            return []
        out = self._sent(asked.take(sender, reply.replica_set, reply.missing, now_ms), now_ms)
        return out + self._advance(now_ms)

    def tick(self, now_ms: int) -> Requests:
        """Time has passed."""
        current = self._searching or self._counting
        if self.is_done or current is None:
            return []
        return self._sent(current.tick(now_ms), now_ms) + self._advance(now_ms)

    def gathered(self) -> Gathered:
        """What was brought together so far. Same replies, same result, in whatever order they came."""
        answered = [sorted(replies, key=lambda one: one[0]) for replies in self._pools.values() if replies]
        found = [_of_set(replies) for replies in answered]
        merged = merge_all([pool for pool, _ in found], [evidence for _, evidence in found], self._ask.probe.depth)
        origins = zip(merged.pool.ids, merged.origins.tolist(), strict=True)
        rounds = [one for one in (self._counting, self._searching) if one is not None]
        return Gathered(
            pool=merged.pool,
            evidence=merged.evidence,
            statistics=self._probe.statistics or TermStatistics(0, 0.0),
            partitions=sum(len(set(part.items)) for part in self._parts),
            missing=self._missing(),
            uncounted=self._uncounted(),
            asked=tuple(sorted(set().union(*(one.asked() for one in rounds)))),
            silent=self._silent,
            requests=sum(one.requests for one in rounds),
            holders={id: _holder(id, answered[origin]) for id, origin in origins},
        )

    def _uncounted(self) -> tuple[str, ...]:
        names = {part.name for part in self._parts} - self._statistics.keys()
        return tuple(sorted(names)) if self._counting is not None else ()

    def _needs_statistics(self) -> bool:
        return bool(self._ask.probe.terms) and (len(self._parts) > 1 or self._ask.probe.statistics is not None)

    def _missing(self) -> tuple[str, ...]:
        if self._searching is not None:
            return self._searching.open_items()
        return tuple(sorted(item for part in self._parts for item in set(part.items)))

    def _advance(self, now_ms: int) -> Requests:
        """Go on to the candidates when counting is over, and to the end when searching is."""
        if self._searching is None:
            if self._counting is None or not self._counting.has_ended(now_ms):
                return []
            self._unheard = self._counting.close(now_ms)
            self._probe = replace(self._ask.probe, statistics=self._hive_wide())
            return self._search(now_ms)
        if self._searching.has_ended(now_ms):
            silent = set(self._searching.close(now_ms)) | (set(self._unheard) - self._answered())
            self._silent, self.is_done = tuple(sorted(silent)), True
        return []

    def _search(self, now_ms: int) -> Requests:
        # Who has just answered is alive, so it comes first; after the node itself.
        parts = [part._replace(members=self._answered_first(part)) for part in self._parts]
        self._searching = Round(parts, self._node, Window(now_ms, self._end_ms), self._settings, self._latencies)
        return self._sent([] if now_ms >= self._end_ms else self._searching.start(now_ms), now_ms) + self._advance(now_ms)

    def _answered_first(self, part: Part) -> tuple[str, ...]:
        answered = self._counting.answered(part.name) if self._counting else frozenset()
        return tuple(sorted(part.members, key=lambda member: member not in answered))

    def _answered(self) -> set[str]:
        return {sender for replies in self._pools.values() for sender, _ in replies}

    def _hive_wide(self) -> TermStatistics | None:
        """None where nobody answered: then each member scores by its own."""
        known = [statistics for _, (_, statistics) in sorted(self._statistics.items())]
        own = self._ask.probe.statistics
        return total([*known, own] if own else known) if known or own else None

    def _keep(self, sender: str, reply: StatisticsReply | PoolReply) -> bool:
        if isinstance(reply, PoolReply):
            if is_sound := _is_sound(reply):
                self._pools[reply.replica_set].append((sender, reply))
            return is_sound
        if not are_counts(reply.statistics):
            return False
        # Replicas count the same facts, so their figures must not be added: the one that speaks for most is taken.
        known = self._statistics.get(reply.replica_set)
        ranked = (len(set(reply.missing)), sender)
        if known is None or ranked < known[0]:
            self._statistics[reply.replica_set] = (ranked, reply.statistics)
        return True

    def _sent(self, requests: Sequence[To], now_ms: int) -> Requests:
        return [effect(to.node, self._request(to.part, now_ms), self._node) for to in requests]

    def _request(self, part: str, now_ms: int) -> SearchRequest:
        if self._counting is not None and self._searching is None:
            left_ms = self._counting.end_ms - now_ms
            terms = tuple(dict.fromkeys(self._ask.probe.terms))
            return StatisticsRequest(self._ask.request, part, self._epoch, terms, left_ms)
        left_ms, least = self._end_ms - now_ms, self._ask.confidence_min
        return PoolRequest(self._ask.request, part, self._epoch, self._probe_for(part), left_ms, least)

    def _probe_for(self, part: str) -> Probe:
        return replace(self._probe, depth=FAVOURED_DEPTH * self._probe.depth) if part in self._favoured else self._probe


def _of_set(replies: Sequence[Answered]) -> tuple[Pool, EvidenceColumns]:
    """What the members of one replica set answered."""
    pools, evidence = [reply.pool for _, reply in replies], [reply.evidence for _, reply in replies]
    return (pools[0], evidence[0]) if len(replies) == 1 else merge_replicas(pools, evidence)


def _holder(id: str, replies: Sequence[Answered]) -> str:
    """The first of those that answered with it."""
    return replies[0][0] if len(replies) == 1 else next(sender for sender, reply in replies if id in reply.pool.ids)


def _is_sound(reply: PoolReply) -> bool:
    """Whether its columns fit together and hold numbers; one that do not would spoil the whole ranking."""
    pool, evidence, size = reply.pool, reply.evidence, len(reply.pool)
    columns = (pool.keyword, pool.exact, evidence.confirmations, evidence.trust, evidence.confidence)
    # A sum of squares is a number only if all of them are (and not absurd), and nothing is cheaper to compute.
    with np.errstate(over="ignore"):
        return len(pool.semantic) == size and all(len(c) == size and isfinite(c.dot(c)) for c in columns)

"""A question to the hive: ask one member of each replica set, and put together what they answer.

First how often the terms occur in the whole hive, then candidates with raw scores by these figures, so that the merged pool is
that of one index over everything. Each is asked for as many as it is likely to have, and for more where that was too few
(`depths`). One deadline covers everything; each request says how much of it is left. What nobody spoke for is counted and named.
Only decides: the node sends what `start`, `take` and `tick` return.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite

import numpy as np

from hive_mind.hive.admission import are_counts
from hive_mind.hive.depths import first_depths
from hive_mind.hive.effects import Ask, SearchLocal, Send
from hive_mind.hive.latencies import Latencies, ScatterSettings
from hive_mind.hive.rounds import Part, Round, To, Window, effect
from hive_mind.hive.topology import ReplicaSet
from hive_mind.model.gathered import Gathered
from hive_mind.model.messages import (
    PoolReply,
    PoolRequest,
    SearchReply,
    SearchRequest,
    StatisticsReply,
    StatisticsRequest,
)
from hive_mind.model.probe import EvidenceColumns, Pool, Probe
from hive_mind.model.scores import TermStatistics
from hive_mind.ranking.merge import may_have_more, merge_all, merge_replicas, total

Requests = list[Send | SearchLocal]
Answered = tuple[str, PoolReply]
"""Who, and what."""
_UNSAID = 0
"""The depth in a reply of a member of an earlier version."""

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
        self._pools: dict[str, dict[str, PoolReply]] = {part.name: {} for part in self._parts}
        self._counting: Round | None = None
        self._searching: Round | None = None
        self._deepening: Round | None = None
        # What each set was asked for at first; who has given all it has; whether nobody has more.
        self._depths: dict[str, int] = {}
        self._probes: dict[int, Probe] = {}
        self._full: set[str] = set()
        self._is_sure = False
        self._deepen_ms = self._end_ms
        self._silent: set[str] = set()
        self.is_done = False

    @property
    def wake_at_ms(self) -> int | None:
        """When `tick` has something to do; None when done."""
        if self.is_done or not (current := self._current()):
            return None
        wake_ms = min([one.wake_at_ms for one in current])
        return min(wake_ms, self._deepen_ms) if self._searching is not None else wake_ms

    def start(self, now_ms: int) -> Requests:
        """The first requests."""
        if now_ms >= self._end_ms:
            self.is_done = True
            return []
        if not self._needs_statistics():
            return self._search(now_ms)
        end_ms = now_ms + int((self._end_ms - now_ms) * self._settings.statistics_share)
        self._counting = self._round(self._parts, Window(now_ms, end_ms))
        return self._sent(self._counting, self._counting.start(now_ms), now_ms) + self._advance(now_ms)

    def take(self, sender: str, reply: SearchReply, now_ms: int) -> Requests:
        """A reply came. One that is late, repeated, malformed or from nobody who was asked changes nothing."""
        if self.is_done or reply.query != self._ask.request:
            return []
        if isinstance(reply, StatisticsReply):
            asked, is_over = self._counting, self._searching is not None
        elif isinstance(reply, PoolReply):
            asked, is_over = self._asked_for(sender, reply), False
        else:
            return []
        if asked is None:
            return []
        if is_over or asked.has_ended(now_ms) or not asked.expects(sender, reply.replica_set):
            asked.note(sender, reply.replica_set, now_ms)
            return []
        if not (self._count(sender, reply) if isinstance(reply, StatisticsReply) else self._keep(sender, reply, asked)):
            return []
        requests = asked.take(sender, reply.replica_set, reply.missing, now_ms)
        return self._sent(asked, requests, now_ms) + self._advance(now_ms)

    def tick(self, now_ms: int) -> Requests:
        """Time has passed."""
        if self.is_done:
            return []
        out = [one for current in self._current() for one in self._sent(current, current.tick(now_ms), now_ms)]
        return out + self._advance(now_ms)

    def gathered(self) -> Gathered:
        """What was brought together so far. Same replies, same result, in whatever order they came."""
        answered = [sorted(replies.items()) for replies in self._pools.values() if replies]
        found = [_of_set(replies) for replies in answered]
        merged = merge_all([pool for pool, _ in found], [evidence for _, evidence in found], self._ask.probe.depth)
        origins = zip(merged.pool.ids, merged.origins.tolist(), strict=True)
        rounds = [one for one in (self._counting, self._searching, self._deepening) if one is not None]
        return Gathered(
            pool=merged.pool,
            evidence=merged.evidence,
            statistics=self._probe.statistics or TermStatistics(0, 0.0),
            partitions=sum(len(set(part.items)) for part in self._parts),
            missing=self._missing(),
            uncounted=self._uncounted(),
            asked=tuple(sorted(set().union(*(one.asked() for one in rounds)))),
            silent=tuple(sorted(self._silent)),
            requests=sum(one.requests for one in rounds),
            holders={id: _holder(id, answered[origin]) for id, origin in origins},
        )

    def _uncounted(self) -> tuple[str, ...]:
        names = {part.name for part in self._parts} - self._statistics.keys()
        return tuple(sorted(names)) if self._counting is not None else ()

    def _needs_statistics(self) -> bool:
        return bool(self._ask.probe.terms) and (len(self._parts) > 1 or self._ask.probe.statistics is not None)

    def _missing(self) -> tuple[str, ...]:
        if self._searching is None:
            return tuple(sorted(item for part in self._parts for item in set(part.items)))
        missing = set(self._searching.open_items())
        if self._deepening is not None:
            missing.update(*(self._deepening.open_of(name) for name in self._deepening.names & self._full))
        # Who has more than was got has not spoken for everything.
        more = () if self._is_sure else self._more()
        return tuple(sorted(missing.union(*(part.items for part in self._parts if part.name in more))))

    def _current(self) -> list[Round]:
        """Rounds whose answers are waited for; those of the last two may be under way together."""
        if self._searching is None:
            return [self._counting] if self._counting is not None else []
        return [one for one in (self._searching, self._deepening) if one is not None]

    def _asked_for(self, sender: str, reply: PoolReply) -> Round | None:
        """The round in which so much was asked for."""
        more, name = self._deepening, reply.replica_set
        if more is None or name not in more.names:
            return self._searching
        is_more = more.expects(sender, name) if reply.depth == _UNSAID else reply.depth == self._probe.depth
        return more if is_more else self._searching

    def _advance(self, now_ms: int) -> Requests:
        """Go on to the candidates when counting is over, to more of them where there are, and to the end."""
        if self._searching is None:
            if self._counting is None or not self._counting.has_ended(now_ms):
                return []
            self._silent |= set(self._counting.close(now_ms))
            self._probe = replace(self._ask.probe, statistics=self._hive_wide())
            return self._search(now_ms)
        is_over = self._searching.has_ended(now_ms)
        if not is_over and now_ms < self._deepen_ms:
            return []
        out = self._deepen(is_over, now_ms) if self._deepening is None else []
        if is_over and (self._deepening is None or self._deepening.has_ended(now_ms)):
            self._end(now_ms)
        return out

    def _search(self, now_ms: int) -> Requests:
        # Who has just answered is alive, so it comes first; after the node itself.
        parts = [self._answered_first(part) for part in self._parts]
        counted = {name: statistics for name, (_, statistics) in self._statistics.items()}
        self._depths = first_depths(self._probe.depth, [part.name for part in parts], counted, self._probe.statistics)
        self._depths |= dict.fromkeys(self._favoured & self._depths.keys(), FAVOURED_DEPTH * self._probe.depth)
        self._deepen_ms = self._end_ms - int((self._end_ms - now_ms) * self._settings.deepening_share)
        self._searching = self._round(parts, Window(now_ms, self._end_ms))
        requests = [] if now_ms >= self._end_ms else self._searching.start(now_ms)
        return self._sent(self._searching, requests, now_ms) + self._advance(now_ms)

    def _deepen(self, is_over: bool, now_ms: int) -> Requests:
        """Ask for more where there may be more: when all have answered, or when that can't be waited for any longer."""
        self._deepen_ms, more = self._end_ms, self._more()
        self._is_sure = is_over and not more
        if not more or now_ms >= self._end_ms:
            return []
        parts = [self._answered_first(part) for part in self._parts if part.name in more]
        self._deepening = self._round(parts, Window(now_ms, self._end_ms))
        return self._sent(self._deepening, self._deepening.start(now_ms), now_ms)

    def _more(self) -> set[str]:
        """Replica sets that may have candidates beyond those they were asked for."""
        known = [(name, reply.pool) for name, replies in self._pools.items() for reply in replies.values()]
        if all(name in self._full for name, _ in known):
            return set()
        depths = [self._depths[name] for name, _ in known]
        rows = may_have_more([pool for _, pool in known], depths, self._probe.depth)
        return {known[row][0] for row in rows} - self._full

    def _end(self, now_ms: int) -> None:
        silent = set().union(*(one.close(now_ms) for one in self._current()))
        self._silent = silent | (self._silent - self._answered())
        self.is_done = True

    def _round(self, parts: Sequence[Part], window: Window) -> Round:
        return Round(parts, self._node, window, self._settings, self._latencies)

    def _answered_first(self, part: Part) -> Part:
        former = self._searching or self._counting
        if former is None or len(part.members) < 2:
            return part
        answered = former.answered(part.name)
        return part._replace(members=tuple(sorted(part.members, key=lambda member: member not in answered)))

    def _answered(self) -> set[str]:
        return {sender for replies in self._pools.values() for sender in replies}

    def _hive_wide(self) -> TermStatistics | None:
        """None where nobody answered: then each member scores by its own."""
        known = [statistics for _, (_, statistics) in sorted(self._statistics.items())]
        own = self._ask.probe.statistics
        return total([*known, own] if own else known) if known or own else None

    def _count(self, sender: str, reply: StatisticsReply) -> bool:
        """Keep counts, if they can be counts. Replicas count the same facts, so of two the one that speaks for more is taken."""
        if not are_counts(reply.statistics):
            return False
        known = self._statistics.get(reply.replica_set)
        ranked = (len(set(reply.missing)), sender)
        if known is None or ranked < known[0]:
            self._statistics[reply.replica_set] = (ranked, reply.statistics)
        return True

    def _keep(self, sender: str, reply: PoolReply, asked: Round) -> bool:
        """Keep candidates, if they are sound; the longer answer of one member in place of its first."""
        name = reply.replica_set
        if not _is_sound(reply):
            return False
        is_full = asked is self._deepening or self._depths[name] >= self._probe.depth
        if is_full or name not in self._full:
            self._pools[name][sender] = reply
        if is_full:
            self._full.add(name)
        return True

    def _sent(self, asked: Round, requests: Sequence[To], now_ms: int) -> Requests:
        return [effect(to.node, self._request(asked, to.part, now_ms), self._node) for to in requests]

    def _request(self, asked: Round, part: str, now_ms: int) -> SearchRequest:
        if asked is self._counting:
            terms = tuple(dict.fromkeys(self._ask.probe.terms))
            return StatisticsRequest(self._ask.request, part, self._epoch, terms, asked.end_ms - now_ms)
        probe = self._probe_of(self._probe.depth if asked is self._deepening else self._depths[part])
        return PoolRequest(self._ask.request, part, self._epoch, probe, self._end_ms - now_ms, self._ask.confidence_min)

    def _probe_of(self, depth: int) -> Probe:
        if (known := self._probes.get(depth)) is None:
            known = self._probes[depth] = replace(self._probe, depth=depth)
        return known


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
    if not len(pool.semantic) == size == min(map(len, columns)) == max(map(len, columns)):
        return False
    # A sum of squares is a number only if all of them are (and not absurd), and nothing is cheaper to compute.
    figures = np.concatenate(columns)
    with np.errstate(over="ignore"):
        return isfinite(figures.dot(figures))

"""A question to the hive: ask one member of each replica set, and put together what they answer.

First how often the terms occur in the whole hive, then candidates with raw scores by these figures, so that the merged pool is
that of one index over everything. Each is asked for as many as it is likely to have, and for more where that was too few
(`depths`). One deadline covers everything; each request says how much of it is left. What nobody spoke for is counted and named.
Only decides: the node sends what `start`, `take` and `tick` return.
"""

from collections.abc import Sequence
from dataclasses import replace

from hive_mind.hive.admission import are_counts
from hive_mind.hive.brought import Brought
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
from hive_mind.model.probe import Probe
from hive_mind.model.scores import TermStatistics
from hive_mind.ranking.merge import total

Requests = list[Send | SearchLocal]
_Reply = StatisticsReply | PoolReply

FOR_MORE = "+"
"""Ends the name of a question where it asks for more. So an answer says which of the two it answers, whoever gives it."""

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
        self._brought = Brought(self._parts, ask.probe.depth)
        self._counting: Round | None = None
        self._searching: Round | None = None
        self._deepening: list[Round] = []
        # What each set is asked for at first, and when others are not waited for any longer before it is asked for more.
        self._depths: dict[str, int] = {}
        self._probes: dict[int, Probe] = {}
        self._deepen_ms = self._end_ms
        self._is_late = self._is_searched = False
        self._silent: set[str] = set()
        self.is_done = False

    @property
    def wake_at_ms(self) -> int | None:
        """When `tick` has something to do; None when done."""
        if self.is_done or not (current := self._current()):
            return None
        wake_ms = min([one.wake_at_ms for one in current])
        return wake_ms if self._searching is None or self._is_late else min(wake_ms, self._deepen_ms)

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
        if self.is_done or not isinstance(reply, _Reply) or (asked := self._asked_for(reply)) is None:
            return []
        # Also of somebody who was given up, as long as the question lasts.
        is_over = now_ms >= asked.end_ms or (asked is self._counting and self._searching is not None)
        if is_over or not asked.expects(sender, reply.replica_set):
            asked.note(sender, reply.replica_set, now_ms)
            return []
        if not (self._count(sender, reply) if isinstance(reply, StatisticsReply) else self._keep(sender, reply, asked)):
            return []
        if asked is not self._counting:
            self._silent.discard(sender)
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
        pool, evidence, holders = self._brought.merged()
        rounds = [one for one in (self._counting, self._searching, *self._deepening) if one is not None]
        return Gathered(
            pool=pool,
            evidence=evidence,
            statistics=self._probe.statistics or TermStatistics(0, 0.0),
            partitions=sum(len(set(part.items)) for part in self._parts),
            missing=self._brought.missing(),
            uncounted=self._uncounted(),
            asked=tuple(sorted(set().union(*(one.asked() for one in rounds)))),
            silent=tuple(sorted(self._silent)),
            requests=sum(one.requests for one in rounds),
            holders=holders,
        )

    def _uncounted(self) -> tuple[str, ...]:
        names = {part.name for part in self._parts} - self._statistics.keys()
        return tuple(sorted(names)) if self._counting is not None else ()

    def _needs_statistics(self) -> bool:
        return bool(self._ask.probe.terms) and (len(self._parts) > 1 or self._ask.probe.statistics is not None)

    def _current(self) -> list[Round]:
        """Rounds whose answers are waited for; all but the first may be under way together."""
        if self._searching is None:
            return [self._counting] if self._counting is not None else []
        return [self._searching, *self._deepening]

    def _asked_for(self, reply: _Reply) -> Round | None:
        """The round it belongs to, if any."""
        if isinstance(reply, StatisticsReply):
            return self._counting if reply.query == self._ask.request else None
        if reply.query == self._ask.request:
            return self._searching
        return next(
            (one for one in self._deepening if reply.query == self._request_for_more and reply.replica_set in one.names), None
        )

    @property
    def _request_for_more(self) -> str:
        return self._ask.request + FOR_MORE

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
        if is_over and not self._is_searched:
            self._is_searched, self._silent = True, self._silent - self._brought.senders()
            self._silent |= set(self._searching.close(now_ms))
        self._is_late = True
        out = self._deepen(now_ms)
        for one in self._deepening:
            # What others gave may have made it needless.
            for name in one.names:
                one.spoken_for(name, self._brought.open_of(name))
        if is_over and all(one.has_ended(now_ms) for one in self._deepening):
            for one in self._deepening:
                self._silent |= set(one.close(now_ms))
            self.is_done = True
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

    def _deepen(self, now_ms: int) -> Requests:
        """Ask for more where there may be more: when all have answered, or when that can't be waited for any longer."""
        begun = frozenset().union(*(one.names for one in self._deepening))
        unsure = {name: items for name, items in self._brought.unsure().items() if name not in begun}
        if not unsure or now_ms >= self._end_ms:
            return []
        parts = [part._replace(items=tuple(unsure[part.name])) for part in self._parts if part.name in unsure]
        more = self._round([self._answered_first(part) for part in parts], Window(now_ms, self._end_ms))
        self._deepening.append(more)
        return self._sent(more, more.start(now_ms), now_ms)

    def _round(self, parts: Sequence[Part], window: Window) -> Round:
        return Round(parts, self._node, window, self._settings, self._latencies)

    def _answered_first(self, part: Part) -> Part:
        former = self._searching or self._counting
        if former is None or len(part.members) < 2:
            return part
        answered = former.answered(part.name)
        return part._replace(members=tuple(sorted(part.members, key=lambda member: member not in answered)))

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
        """Keep candidates, if they are sound. Who gave all it has speaks for a set in the first round of asking too."""
        name, is_first = reply.replica_set, asked is self._searching
        if not self._brought.keep(sender, reply, self._depths[name] if is_first else self._probe.depth):
            return False
        if not is_first and self._searching is not None:
            self._searching.spoken_for(name, reply.missing)
        return True

    def _sent(self, asked: Round, requests: Sequence[To], now_ms: int) -> Requests:
        return [effect(to.node, self._request(asked, to.part, now_ms), self._node) for to in requests]

    def _request(self, asked: Round, part: str, now_ms: int) -> SearchRequest:
        if asked is self._counting:
            terms = tuple(dict.fromkeys(self._ask.probe.terms))
            return StatisticsRequest(self._ask.request, part, self._epoch, terms, asked.end_ms - now_ms)
        request, depth = self._ask.request, self._depths[part]
        if asked is not self._searching:
            request, depth = self._request_for_more, self._probe.depth
        return PoolRequest(request, part, self._epoch, self._probe_of(depth), self._end_ms - now_ms, self._ask.confidence_min)

    def _probe_of(self, depth: int) -> Probe:
        if (known := self._probes.get(depth)) is None:
            known = self._probes[depth] = replace(self._probe, depth=depth)
        return known

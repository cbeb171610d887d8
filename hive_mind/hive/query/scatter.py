"""A question to the hive: ask one member of each replica set, and put together the answers.

Nobody knows how often the terms occur in the whole hive before all have answered. So each member scores by its own facts, and
sends the parts of its scores; they are made anew by the statistics of all, and the merged pool is that of one index over
everything (`reply_collector`). Each is asked for as many candidates as it is likely to have, and for more where that was too few.
One deadline covers everything; each request says how much of it is left. Partitions without an answer are counted and named. Only
decides: the node sends what `start`, `take` and `tick` return.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import ceil, sqrt

from hive_mind.hive.effects import Ask, SearchLocal, Send
from hive_mind.hive.policy.admission import DEPTH_MAX
from hive_mind.hive.query.latencies import Latencies, ScatterSettings
from hive_mind.hive.query.reply_collector import ReplyCollector
from hive_mind.hive.query.rounds import ReplicaSetShare, Round, To, Window, effect
from hive_mind.hive.topology.base import ReplicaSet
from hive_mind.model.gathered import Gathered
from hive_mind.model.messages import PoolReply, PoolRequest, SearchReply
from hive_mind.model.probe import Probe

_DEVIATIONS = 4.0
"""Of a Poisson distribution (its variance is its mean): where facts are dealt by chance, one set in 30,000 has more."""
_LEAST = 4.0


def first_depth(depth: int, share: float) -> int:
    """Candidates to ask a set for that is expected to have this share of the best `depth`; all where little would be saved."""
    expected = depth * share
    depth_needed = ceil(expected + _DEVIATIONS * sqrt(expected) + _LEAST)
    return depth_needed if 2 * depth_needed <= depth <= DEPTH_MAX else depth


Requests = list[Send | SearchLocal]

FOR_MORE = "+"
"""Suffix of a question's id when it asks for more, so that an answer names the request it belongs to."""

DOMAIN_ROUTING_PRIORITY_MULTIPLIER = 3
"""Depth of the request to a group of a matching domain, in multiples of the others'; the figure is 004's. The merged pool has
the same depth all the same: it decides which groups send more, never the result. Raise it and replies of matching groups grow."""


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
        """`favoured` are names of replica sets of a domain that matches the question."""
        self._ask, self._node, self._epoch = ask, node, epoch
        self._settings, self._latencies = settings, latencies
        self._parts = [ReplicaSetShare(replica_set.name, replica_set.members, replica_set.partitions) for replica_set in read_set]
        self._end_ms = now_ms + ask.deadline_ms
        self._deepen_ms = self._end_ms - int(ask.deadline_ms * settings.deepening_share)
        """When others are not waited for any longer before those that may have more are asked for it."""
        self._brought = ReplyCollector(self._parts, ask.probe)
        self._probes = self._first_probes(favoured)
        self._probes_for_more: dict[str, Probe] = {}
        self._searching = self._round(self._parts, now_ms)
        self._deepening: list[Round] = []
        self._is_late = self._is_searched = False
        self._silent: set[str] = set()
        self.is_done = False

    @property
    def wake_at_ms(self) -> int | None:
        """When `tick` has something to do; None when done."""
        if self.is_done:
            return None
        wake_ms = min([part.wake_at_ms for part in (self._searching, *self._deepening)])
        return wake_ms if self._is_late else min(wake_ms, self._deepen_ms)

    def start(self, now_ms: int) -> Requests:
        if now_ms >= self._end_ms:
            self.is_done = True
            return []
        return self._sent(self._searching, self._searching.start(now_ms), now_ms) + self._advance(now_ms)

    def take(self, sender: str, reply: SearchReply, now_ms: int) -> Requests:
        """Take a reply. A late, repeated, malformed or unsolicited one changes nothing."""
        if self.is_done or not isinstance(reply, PoolReply) or (round_asked := self._asked_for(reply)) is None:
            return []
        # Also from a member that was given up, while the question lasts.
        if now_ms >= round_asked.end_ms or not round_asked.expects(sender, reply.replica_set):
            round_asked.note(sender, reply.replica_set, now_ms)
            return []
        if not self._keep(sender, reply, round_asked):
            return []
        self._silent.discard(sender)
        requests = round_asked.take(sender, reply.replica_set, reply.missing, now_ms)
        return self._sent(round_asked, requests, now_ms) + self._advance(now_ms)

    def tick(self, now_ms: int) -> Requests:
        if self.is_done:
            return []
        current = (self._searching, *self._deepening)
        return [request for part in current for request in self._sent(part, part.tick(now_ms), now_ms)] + self._advance(now_ms)

    def gathered(self) -> Gathered:
        """The results so far. Same replies, same result, in whatever order they came."""
        pool, evidence, holders = self._brought.merged()
        rounds = (self._searching, *self._deepening)
        return Gathered(
            pool=pool,
            evidence=evidence,
            statistics=self._brought.statistics(),
            partitions=sum(len(set(part.items)) for part in self._parts),
            missing=self._brought.missing(),
            asked=tuple(sorted(set().union(*(part.asked() for part in rounds)))),
            silent=tuple(sorted(self._silent)),
            requests=sum(part.requests for part in rounds),
            holders=holders,
        )

    def _first_probes(self, favoured: frozenset[str]) -> dict[str, Probe]:
        """The first request to each set."""
        depth = self._ask.probe.depth
        probe = replace(self._ask.probe, statistics=None, depth=first_depth(depth, 1 / max(len(self._parts), 1)))
        deeper = replace(probe, depth=DOMAIN_ROUTING_PRIORITY_MULTIPLIER * depth)
        return {part.name: deeper if part.name in favoured else probe for part in self._parts}

    def _asked_for(self, reply: PoolReply) -> Round | None:
        """The round it belongs to, if any."""
        if reply.query == self._ask.request:
            return self._searching
        return next(
            (part for part in self._deepening if reply.query == self._request_for_more and reply.replica_set in part.names), None
        )

    @property
    def _request_for_more(self) -> str:
        return self._ask.request + FOR_MORE

    def _advance(self, now_ms: int) -> Requests:
        """Go on to more candidates where there may be more, and to the end."""
        is_over = self._searching.has_ended(now_ms)
        if not is_over and now_ms < self._deepen_ms:
            return []
        if is_over and not self._is_searched:
            self._is_searched, self._silent = True, self._silent - self._brought.senders()
            self._silent |= set(self._searching.close(now_ms))
        self._is_late = True
        out = self._deepen(now_ms)
        for part in self._deepening:
            # Others' replies may have made it needless.
            for name in part.names:
                part.spoken_for(name, self._brought.open_of(name))
        if is_over and all(part.has_ended(now_ms) for part in self._deepening):
            for part in self._deepening:
                self._silent |= set(part.close(now_ms))
            self.is_done = True
        return out

    def _deepen(self, now_ms: int) -> Requests:
        """Ask for more where there may be more: when all have answered, or when that can't be waited for any longer."""
        pool = frozenset().union(*(part.names for part in self._deepening))
        unsure = {name: items for name, items in self._brought.unsure().items() if name not in pool}
        if not unsure or now_ms >= self._end_ms:
            return []
        parts = [replace(part, items=tuple(unsure[part.name])) for part in self._parts if part.name in unsure]
        probe = replace(self._ask.probe, statistics=self._brought.statistics(), beside=None)
        self._probes_for_more |= dict.fromkeys(unsure, probe)
        deeper_round = self._round([self._answered_first(part) for part in parts], now_ms)
        self._deepening.append(deeper_round)
        return self._sent(deeper_round, deeper_round.start(now_ms), now_ms)

    def _round(self, parts: Sequence[ReplicaSetShare], now_ms: int) -> Round:
        return Round(parts, self._node, Window(now_ms, self._end_ms), self._settings, self._latencies)

    def _answered_first(self, part: ReplicaSetShare) -> ReplicaSetShare:
        """Members that answered most recently come first, after the node itself."""
        if len(part.members) < 2:
            return part
        answered = self._searching.answered(part.name)
        return replace(part, members=tuple(sorted(part.members, key=lambda member: member not in answered)))

    def _keep(self, sender: str, reply: PoolReply, round_asked: Round) -> bool:
        """Keep candidates, if they are sound. A sender that gave all it has covers its set in the first round of asking too."""
        name, is_first = reply.replica_set, round_asked is self._searching
        if not self._brought.keep(sender, reply, self._probe_of(round_asked, name)):
            return False
        if not is_first:
            self._searching.spoken_for(name, reply.missing)
        return True

    def _sent(self, round_asked: Round, requests: Sequence[To], now_ms: int) -> Requests:
        return [effect(to.node, self._request(round_asked, to.part, now_ms), self._node) for to in requests]

    def _request(self, round_asked: Round, part: str, now_ms: int) -> PoolRequest:
        request = self._ask.request if round_asked is self._searching else self._request_for_more
        probe, left_ms = self._probe_of(round_asked, part), self._end_ms - now_ms
        return PoolRequest(request, part, self._epoch, probe, left_ms, self._ask.confidence_min)

    def _probe_of(self, round_asked: Round, part: str) -> Probe:
        return self._probes[part] if round_asked is self._searching else self._probes_for_more[part]

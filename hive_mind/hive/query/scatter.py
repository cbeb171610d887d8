"""A question to the hive: ask one member of each replica set, and put together the answers.

Nobody knows how often the terms occur in the whole hive before all have answered. So each member scores by its own facts, and
sends the parts of its scores; they are made anew by the statistics of all (`ranking.merge`), and the merged pool is that of one
index over everything. Each is asked for as many candidates as it is likely to have, and for more where that was too few.
One deadline covers everything; each request says how much of it is left. Partitions without an answer are counted and named. Only
decides: the node sends what `start`, `take` and `tick` return.

An answer covers the partitions it does not name as missing: for good where it holds all that was asked for in full, or nothing
that it left out could matter; else only until another member gave more. One that can't be an answer is refused: whatever a member
sends, it must not spoil the ranking of what others found.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from math import ceil, isfinite, sqrt
from typing import NamedTuple

import numpy as np

from hive_mind.hive.effects import Ask, SearchLocal, Send
from hive_mind.hive.policy.admission import DEPTH_MAX, are_counts
from hive_mind.hive.query.rounds import Asker, ReplicaSetShare, Round, To, effect
from hive_mind.model.gathered import PLACE, EvidenceColumns, Gathered, Occurrences, Pool, Probe
from hive_mind.model.messages import PoolReply, PoolRequest, SearchReply
from hive_mind.model.query import TermStatistics
from hive_mind.ranking.inverted import asked_for
from hive_mind.ranking.merge import Rescored, left_out, may_have_more, merge_all, merge_replicas, most_left, rescored, total


def is_sound(reply: PoolReply, terms: int) -> bool:
    """Whether the columns of an answer agree in shape and hold numbers, for a question of that many distinct terms."""
    pool, evidence, words, size = reply.pool, reply.evidence, reply.words, len(reply.pool)
    columns = [pool.keyword, pool.exact, evidence.confirmations, evidence.trust, evidence.confidence]
    if not len(pool.semantic) == size == min(map(len, columns)) == max(map(len, columns)):
        return False
    if evidence.places and len(evidence.places) != PLACE.itemsize * size:
        return False
    if words is None:
        return not terms and _are_numbers(np.concatenate(columns))
    if not _fit(words, size, terms):
        return False
    figures = np.concatenate([words.lengths, words.weights, *columns])
    return _are_numbers(figures) and np.minimum.reduce(figures[: size + len(words.weights)], initial=0.0) >= 0.0


def _fit(words: Occurrences, size: int, terms: int) -> bool:
    occurrences = len(words.weights)
    if len(words.lengths) != size or len(words.counts) != terms or min(words.counts, default=0) < 0:
        return False
    if sum(words.counts) != occurrences or len(words.rows) != 2 * occurrences or not are_counts(words.statistics):
        return False
    return not occurrences or int(np.maximum.reduce(np.frombuffer(words.rows, dtype="<u2"))) < size


def _are_numbers(figures: np.ndarray[tuple[int], np.dtype[np.float32]]) -> bool:
    """A sum of squares is a number only if all of them are (and not absurd), and nothing is cheaper to compute."""
    with np.errstate(over="ignore"):
        return isfinite(figures.dot(figures))


_ALL = 1 << 60
_NO_WORDS = Occurrences(TermStatistics(0, 0.0))


class _Answer(NamedTuple):
    sender: str
    name: str
    """Of the replica set."""
    missing: tuple[str, ...]
    pool: Pool
    evidence: EvidenceColumns
    words: Occurrences
    depth: int
    """How many candidates of each arm were asked for."""
    scored_by: TermStatistics
    """By what the member scored words."""


class _Together(NamedTuple):
    """Values computed from all answers received."""

    statistics: TermStatistics
    pools: Sequence[Pool]
    """The pool of each answer, its words scored by these."""
    open: Mapping[str, frozenset[str]]
    """Partitions of each replica set that nobody spoke for, or not for all that may matter."""


class ReplyCollector:
    """The answers to one question."""

    def __init__(self, parts: Sequence[ReplicaSetShare], probe: Probe) -> None:
        """`probe.depth` is how many candidates of each arm are wanted in the end."""
        self._terms_asked, self._depth, self._private_statistics = asked_for(probe.terms), probe.depth, probe.beside
        self._items = {part.name: frozenset(part.items) for part in parts}
        self._answers: list[_Answer] = []
        self._merged: _Together | None = None

    def keep(self, sender: str, reply: PoolReply, question: Probe) -> bool:
        """Keep a member's candidates. False if they are not valid."""
        if not is_sound(reply, len(self._terms_asked)):
            return False
        words = reply.words or _NO_WORDS
        scored_by = question.statistics or (words.statistics + question.beside if question.beside else words.statistics)
        answer = _Answer(sender, reply.replica_set, reply.missing, reply.pool, reply.evidence, words, question.depth, scored_by)
        self._answers.append(answer)
        self._merged = None
        return True

    def senders(self) -> set[str]:
        return {answer.sender for answer in self._answers}

    def statistics(self) -> TermStatistics:
        """Of every replica set that answered, and of what the asker ranks beside them."""
        return self._together().statistics

    def missing(self) -> tuple[str, ...]:
        """Partitions that nobody spoke for, or not for all that may matter; sorted."""
        return tuple(sorted(item for items in self._together().open.values() for item in items))

    def open_of(self, name: str) -> frozenset[str]:
        return self._together().open[name]

    def unsure(self) -> Mapping[str, frozenset[str]]:
        """Per replica set, candidates the members that answered may still have."""
        unspoken = self._unspoken(self._answers)
        return {name: items for name, items in self._together().open.items() if items - unspoken[name]}

    def merged(self) -> tuple[Pool, EvidenceColumns, dict[str, str]]:
        """All of it as one index would have given it, and by fact id a node that holds it. The order of answers plays no part."""
        answered = _by_set(self._answers, self._together().pools)
        of_sets = [_of_set(answers) for answers in answered]
        merged = merge_all([pool for pool, _ in of_sets], [evidence for _, evidence in of_sets], self._depth)
        origins = zip(merged.pool.ids, merged.origins.tolist(), strict=True)
        return merged.pool, merged.evidence, {id: _holder(id, answered[origin]) for id, origin in origins}

    def _together(self) -> _Together:
        if self._merged is None:
            statistics = self._total()
            pools = self._rescored(statistics)
            deeper = set(self._may_have_more(pools, statistics))
            sure = [answer for number, answer in enumerate(self._answers) if number not in deeper]
            self._merged = _Together(statistics, pools, self._unspoken(sure))
        return self._merged

    def _total(self) -> TermStatistics:
        """Replicas count the same facts, so of several the one that speaks for most is believed."""
        believed: dict[str, _Answer] = {}
        for answer in self._answers:
            twin = believed.setdefault(answer.name, answer)
            if twin is not answer and _believable(answer) < _believable(twin):
                believed[answer.name] = answer
        statistics_known = [believed[name].words.statistics for name in sorted(believed)]
        return total([*statistics_known, self._private_statistics] if self._private_statistics else statistics_known)

    def _rescored(self, statistics: TermStatistics) -> list[Pool]:
        pools = [answer.pool for answer in self._answers]
        if not self._terms_asked or not pools:
            return pools
        keyword = rescored([answer.words for answer in self._answers], self._terms_asked, statistics)
        bounds = pairwise(accumulate([len(pool) for pool in pools], initial=0))
        anew = zip(pools, [keyword[start:end] for start, end in bounds], strict=True)
        return [Pool(pool.ids, scores, pool.semantic, pool.exact) for pool, scores in anew]

    def _may_have_more(self, pools: Sequence[Pool], statistics: TermStatistics) -> list[int]:
        """Numbers of the answers that may have left out what matters."""
        answers, depth = self._answers, self._depth
        depths = [_ALL if answer.depth >= depth else answer.depth for answer in answers]
        if not self._terms_asked or not answers:
            return may_have_more(pools, depths, depth) if min(depths, default=_ALL) < _ALL else []
        is_final = [answer.depth >= depth and answer.scored_by == statistics for answer in answers]
        if all(is_final):
            return []
        left = [left_out(answer.pool.keyword, answer.depth) for answer in answers]
        most = most_left(
            [answer.words for answer in answers], left, [answer.scored_by for answer in answers], self._terms_asked, statistics
        )
        most[is_final] = 0.0
        depths_named = [_ALL if final else answer.depth for answer, final in zip(answers, is_final, strict=True)]
        return may_have_more(pools, depths, depth, Rescored(most, depths_named))

    def _unspoken(self, answers: Sequence[_Answer]) -> dict[str, frozenset[str]]:
        unspoken = dict(self._items)
        for answer in answers:
            unspoken[answer.name] = unspoken[answer.name].intersection(answer.missing)
        return unspoken


def _believable(answer: _Answer) -> tuple[int, str, int]:
    return len(set(answer.missing)), answer.sender, answer.depth


def _by_set(answers: Sequence[_Answer], pools: Sequence[Pool]) -> list[list[tuple[_Answer, Pool]]]:
    """The answers of each replica set with their pools, in an order that does not depend on when they came."""
    by_name: dict[str, list[tuple[_Answer, Pool]]] = {}
    for answer, pool in zip(answers, pools, strict=True):
        by_name.setdefault(answer.name, []).append((answer, pool))
    return [sorted(by_name[name], key=lambda pair: (pair[0].sender, pair[0].depth)) for name in sorted(by_name)]


def _of_set(answers: Sequence[tuple[_Answer, Pool]]) -> tuple[Pool, EvidenceColumns]:
    if len(answers) == 1:
        return answers[0][1], answers[0][0].evidence
    return merge_replicas([pool for _, pool in answers], [answer.evidence for answer, _ in answers])


def _holder(id: str, answers: Sequence[tuple[_Answer, Pool]]) -> str:
    return answers[0][0].sender if len(answers) == 1 else next(answer.sender for answer, pool in answers if id in pool.ids)


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

    def __init__(self, ask: Ask, asker: Asker, now_ms: int, favoured: frozenset[str] = frozenset()) -> None:
        """`favoured` are names of replica sets of a domain that matches the question."""
        self._ask, self._asker, self._parts = ask, asker, asker.parts()
        self._end_ms = now_ms + ask.deadline_ms
        self._deepen_ms = self._end_ms - int(ask.deadline_ms * asker.settings.deepening_share)
        """When others are not waited for any longer before those that may have more are asked for it."""
        self._brought = ReplyCollector(self._parts, ask.probe)
        depth = self._ask.probe.depth
        probe = replace(self._ask.probe, statistics=None, depth=first_depth(depth, 1 / max(len(self._parts), 1)))
        deeper = replace(probe, depth=DOMAIN_ROUTING_PRIORITY_MULTIPLIER * depth)
        self._probes = {part.name: deeper if part.name in favoured else probe for part in self._parts}
        self._probes_for_more: dict[str, Probe] = {}
        self._searching = Round(self._parts, asker, now_ms, self._end_ms)
        self._deepening: list[Round] = []
        self._is_late = self._is_searched = False
        self._silent: set[str] = set()
        self.is_done = False

    @property
    def wake_at_ms(self) -> int | None:
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

    def _asked_for(self, reply: PoolReply) -> Round | None:
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
        deeper_round = Round([self._answered_first(part) for part in parts], self._asker, now_ms, self._end_ms)
        self._deepening.append(deeper_round)
        return self._sent(deeper_round, deeper_round.start(now_ms), now_ms)

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
        return [effect(to.node, self._request(round_asked, to.part, now_ms), self._asker.node) for to in requests]

    def _request(self, round_asked: Round, part: str, now_ms: int) -> PoolRequest:
        request = self._ask.request if round_asked is self._searching else self._request_for_more
        probe, left_ms = self._probe_of(round_asked, part), self._end_ms - now_ms
        return PoolRequest(request, part, self._asker.epoch, probe, left_ms, self._ask.confidence_min)

    def _probe_of(self, round_asked: Round, part: str) -> Probe:
        return self._probes[part] if round_asked is self._searching else self._probes_for_more[part]

"""Replies of the replica sets' members to one question, and the partitions for which they are complete.

Members score words by as much of the hive as they know. Here the scores are made anew by the statistics of all that answered
(`ranking.merge`). An answer covers the partitions it does not name as missing: for good where it holds all that was asked for
in full, or nothing that it left out could matter; else only until another member gave more.

An answer that can't be one is refused: whatever a member sends, it must not spoil the ranking of what others found.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from math import isfinite
from typing import NamedTuple

import numpy as np

from hive_mind.hive.policy.admission import are_counts
from hive_mind.hive.query.rounds import ReplicaSetShare
from hive_mind.model.messages import PoolReply
from hive_mind.model.probe import PLACE, EvidenceColumns, Occurrences, Pool, Probe
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
    """Whether occurrences fit this number of terms and candidates."""
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
        """Partitions of each set that none of these answers speaks for."""
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
    """Results of the members of one replica set."""
    if len(answers) == 1:
        return answers[0][1], answers[0][0].evidence
    return merge_replicas([pool for _, pool in answers], [answer.evidence for answer, _ in answers])


def _holder(id: str, answers: Sequence[tuple[_Answer, Pool]]) -> str:
    """The first of those that answered with it."""
    return answers[0][0].sender if len(answers) == 1 else next(answer.sender for answer, pool in answers if id in pool.ids)

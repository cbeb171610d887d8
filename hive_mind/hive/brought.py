"""What the members of the replica sets brought to one question, and for which partitions that is all there is of use.

An answer speaks for the partitions it does not name as missing: for good where it holds all that was asked for in full, or
nothing that it left out could matter; else only until somebody gave more.
"""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import NamedTuple

import numpy as np

from hive_mind.hive.rounds import Part
from hive_mind.model.messages import PoolReply
from hive_mind.model.probe import EvidenceColumns, Pool
from hive_mind.ranking.merge import may_have_more, merge_all, merge_replicas

_ALL = 1 << 60


class _Answer(NamedTuple):
    sender: str
    reply: PoolReply
    asked: int
    """For how many candidates of each arm."""


class Brought:
    """The answers to one question. `depth` is how many candidates of each arm are wanted in the end."""

    def __init__(self, parts: Sequence[Part], depth: int) -> None:
        self._parts, self._depth = parts, depth
        self._answers: dict[str, list[_Answer]] = {part.name: [] for part in parts}
        self._items = {part.name: frozenset(part.items) for part in parts}
        self._open: Mapping[str, frozenset[str]] | None = None

    def keep(self, sender: str, reply: PoolReply, asked: int) -> bool:
        """Keep candidates of somebody who was asked for so many of each arm. False where they are not sound."""
        if not _is_sound(reply):
            return False
        self._answers[reply.replica_set].append(_Answer(sender, reply, _ALL if asked >= self._depth else asked))
        self._open = None
        return True

    def senders(self) -> set[str]:
        """Whose answers these are."""
        return {one.sender for answers in self._answers.values() for one in answers}

    def missing(self) -> tuple[str, ...]:
        """Partitions that nobody spoke for, or not for all that may matter; sorted."""
        return tuple(sorted(item for items in self._still_open().values() for item in items))

    def open_of(self, name: str) -> frozenset[str]:
        """The same of one replica set."""
        return self._still_open()[name]

    def unsure(self) -> Mapping[str, frozenset[str]]:
        """What is missing of each replica set of which somebody spoke who may have more."""
        still_open = self._still_open()
        return {name: items for name, items in still_open.items() if items & self._spoken(self._answers[name])}

    def merged(self) -> tuple[Pool, EvidenceColumns, dict[str, str]]:
        """All of it as one index would have given it, and by fact id a node that holds it. The order of answers plays no part."""
        answered = [sorted(answers, key=_by_sender) for answers in self._answers.values() if answers]
        found = [_of_set(answers) for answers in answered]
        merged = merge_all([pool for pool, _ in found], [evidence for _, evidence in found], self._depth)
        origins = zip(merged.pool.ids, merged.origins.tolist(), strict=True)
        return merged.pool, merged.evidence, {id: _holder(id, answered[origin]) for id, origin in origins}

    def _still_open(self) -> Mapping[str, frozenset[str]]:
        if self._open is None:
            every = [(name, one) for name, answers in self._answers.items() for one in answers]
            is_shallow = any(one.asked != _ALL for _, one in every)
            pools = [one.reply.pool for _, one in every]
            more = set(may_have_more(pools, [one.asked for _, one in every], self._depth)) if is_shallow else set[int]()
            sure: dict[str, list[_Answer]] = {part.name: [] for part in self._parts}
            for row, (name, one) in enumerate(every):
                if row not in more:
                    sure[name].append(one)
            self._open = {name: self._items[name] - self._spoken(answers) for name, answers in sure.items()}
        return self._open

    def _spoken(self, answers: Sequence[_Answer]) -> frozenset[str]:
        """Partitions of a set that these answers speak for."""
        if not answers:
            return frozenset()
        items = self._items[answers[0].reply.replica_set]
        if any(not one.reply.missing for one in answers):
            return items
        return frozenset().union(*(items.difference(one.reply.missing) for one in answers))


def _by_sender(answer: _Answer) -> tuple[str, int]:
    return answer.sender, answer.asked


def _of_set(answers: Sequence[_Answer]) -> tuple[Pool, EvidenceColumns]:
    """What the members of one replica set answered."""
    replies = [one.reply for one in answers]
    if len(replies) == 1:
        return replies[0].pool, replies[0].evidence
    return merge_replicas([reply.pool for reply in replies], [reply.evidence for reply in replies])


def _holder(id: str, answers: Sequence[_Answer]) -> str:
    """The first of those that answered with it."""
    return answers[0].sender if len(answers) == 1 else next(one.sender for one in answers if id in one.reply.pool.ids)


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

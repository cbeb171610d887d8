"""One question: its probe, candidates for it, those for it with words of its best, those that the best lead to, and one ranking.

It is the same over one memory, over a hive, over the replica that is nearest and over a folder that was indexed. They differ in
where candidates come from. These are handed in for each `Probe`, and passages for each `Reading`, at once, or when
others have answered. Where those are away meanwhile (`BackendError`), the ranking is the one so far.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np

from hive_mind.errors import BackendError
from hive_mind.model.probe import EvidenceColumns, Pool, Probe
from hive_mind.model.query import Method, Query
from hive_mind.ranking.adaptive import anchors
from hive_mind.ranking.merge import merge_replicas
from hive_mind.ranking.pipeline import Ranked, RankingSettings, Related, Rows, Support, in_columns, rank
from hive_mind.ranking.related.neighbours import is_said, speakers_named
from hive_mind.ranking.related.second_hop import (
    LOOKED_AT,
    Passage,
    expanded,
    is_sure,
    lent,
    may_hop,
    naming_all,
    second_probe,
    unscored,
    with_more,
)
from hive_mind.ranking.tokens import question_terms, tokenize
from hive_mind.ranking.vector import Vector

# More than any index holds; a depth travels as a number.
_DEPTH_MAX = 1 << 31


class Supported(Protocol):
    """Candidates for a probe, in any order, and what stands behind them."""

    @property
    def pool(self) -> Pool: ...

    @property
    def places(self) -> bytes:
        """Where each was said (`neighbours.place_of`); empty where none has a place."""
        ...

    def support(self, rows: Rows) -> Support: ...


class Candidates(Supported, Protocol):
    """Those that others may lead to."""

    def joined(self, second: Self) -> Self:
        """With those of a second probe, as the first one scores them (`unscored`)."""
        ...


_Supported = TypeVar("_Supported", bound=Supported, covariant=True)
_Found = TypeVar("_Found", bound=Candidates)


@dataclass(frozen=True, slots=True)
class Reading:
    """The passages a question goes on from; `beside` are those that it is going to show, and that may come along."""

    ids: Sequence[str]
    beside: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class InColumns:
    """Candidates that came with their evidence."""

    pool: Pool
    evidence: EvidenceColumns

    @property
    def places(self) -> bytes:
        return self.evidence.places

    def support(self, rows: Rows) -> Support:
        return in_columns(self.evidence)(rows)

    def joined(self, second: Self) -> Self:
        pool, evidence = merge_replicas([self.pool, unscored(second.pool)], [self.evidence, second.evidence])
        return replace(self, pool=pool, evidence=evidence)


@dataclass(frozen=True, slots=True)
class Ranking(Generic[_Supported]):
    """Candidates, and how they are ordered."""

    question: str
    method: Method
    settings: RankingSettings
    candidates: _Supported
    lent: Mapping[str, float] = field(default_factory=dict)
    """Scores lent by a second hop, by id."""
    passed: tuple[_Supported, ...] = ()
    """Candidates gathered on the way besides."""
    first: tuple[Ranked, ...] = ()
    """The best of them, as far as they were ranked already."""

    @property
    def is_named(self) -> bool:
        """Whether some candidate names every identifier of the question."""
        return bool(np.any(self.candidates.pool.exact >= 1.0))

    def best(self, count: int) -> list[Ranked]:
        if len(self.first) >= count:
            return list(self.first[:count])
        pool, places = self.candidates.pool, self.candidates.places
        related = Related(places, self.lent, speakers_named(self.question) if places else frozenset())
        return rank(pool, self.candidates.support, count, self.method, self.settings, related)


Steps = Generator[Probe | Reading, Any, Ranking[_Found]]
"""Takes the candidates for each probe, and for each reading passages by id."""


def ranking_of(query: Query, vector: Vector | None, count: int, settings: RankingSettings) -> Steps[_Found]:
    """The ranking for what somebody asks of a memory, to show `count` of it. Without a vector, by words."""
    method: Method = "keyword" if vector is None else query.method
    terms = () if method == "vector" else with_more(question_terms(query.text), tokenize(query.also))
    depth = min(settings.depth_for(method, query.limit), _DEPTH_MAX)
    probe = Probe(terms, anchors(query.text), None if method == "keyword" else vector, depth)
    ranking = Ranking(query.text, method, settings, (yield probe))
    for go_on in (_again, _second_hop) if may_hop(probe) else ():
        try:
            ranking = yield from go_on(ranking, probe, count)
        except BackendError:
            continue
    return ranking


def at_once(
    steps: Steps[_Found], gather: Callable[[Probe], _Found], read: Callable[[Reading], Mapping[str, Passage]]
) -> Ranking[_Found]:
    """The ranking of candidates that nobody has to wait for."""
    try:
        wanted = next(steps)
        while True:
            wanted = steps.send(gather(wanted) if isinstance(wanted, Probe) else read(wanted))
    except StopIteration as end:
        ranking: Ranking[_Found] = end.value
        return ranking


def _again(ranking: Ranking[_Found], probe: Probe, _: int) -> Steps[_Found]:
    """Of the question with words of its best, where that is allowed."""
    if ranking.settings.expansion != "feedback" or not (best := ranking.best(1)):
        return ranking
    passages: Mapping[str, Passage] = yield Reading([best[0].id])
    further = expanded(probe, passages[best[0].id]) if passages else None
    return replace(ranking, candidates=(yield further), passed=(ranking.candidates,)) if further else ranking


def _second_hop(ranking: Ranking[_Found], probe: Probe, count: int) -> Steps[_Found]:
    """With what the best of them leads to, where that is allowed."""
    if not ranking.settings.second_hop:
        return ranking
    ranked, candidates = ranking.best(max(count, LOOKED_AT)), ranking.candidates
    ids, ranking = [document.id for document in ranked], replace(ranking, first=tuple(ranked))
    leads_on = not is_sure(ranked) and not is_said(candidates.places, candidates.pool.ids.index(ids[0]))
    naming = naming_all(probe, candidates.pool, ids)
    if not (leads_on or naming):
        return ranking
    passages: Mapping[str, Passage] = yield Reading([*ids[:leads_on], *naming], ids[:count])
    best = passages.get(ids[0]) if leads_on else None
    further = second_probe(probe, best, [passages[id] for id in naming if id in passages])
    if further is None:
        return ranking
    second: _Found = yield further
    gains = lent(further, second.pool, candidates.pool, ids[0])
    return replace(ranking, candidates=candidates.joined(second), lent=gains, passed=(*ranking.passed, second), first=())

"""A query and a configuration into a ranking of chunks. Everything here is computed; nothing waits, reads or writes.

In this order: what filters let through · raw scores of each arm · one ranking (`ranking.pipeline`, as an agent's memory) · the
same text once · signals of distraction. The next step, which needs the chunks' texts, is `selecting`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import isnan

import numpy as np

from hive_mind.model.probe import Anchors, Pool, Probe
from hive_mind.ranking import distraction, weights
from hive_mind.ranking.adaptive import anchors
from hive_mind.ranking.bm25 import inverse_document_frequency
from hive_mind.ranking.fusion import CONFIRMATIONS_FULL, trust_share
from hive_mind.ranking.pipeline import Ranked, RankingSettings, Shares, Support, rank
from hive_mind.ranking.tokens import tokenize
from hive_mind.ranking.vector import Vector
from hive_mind.ranking.within import Within
from hive_mind.retrieval.files.configuration import Boosts, Method, RetrievalConfig
from hive_mind.retrieval.indexing.memory_index import FilteredChunks, MemoryIndex, Rows, first

# Half-life: after this many days a document counts half as recent as the newest one.
_HALF_LIFE_DAYS = 365.0


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A query as one search takes it. `settings` and `method` are what is really used."""

    text: str
    terms: tuple[str, ...]
    anchors: Anchors
    method: Method
    settings: RankingSettings
    vector: Vector | None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk that may become a result. `row` is where it lies on the memory."""

    row: int
    id: str
    score: float
    keyword: float
    vector: float | None
    keyword_rank: int | None
    vector_rank: int | None
    exact: float
    boost: float
    disagreement: float | None = None
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ranking:
    """Candidates, best first, as far as they can become results, and what was counted on the way."""

    candidates: tuple[Candidate, ...]
    scored: int
    duplicates: int


def asked(config: RetrievalConfig, query: str, method: Method, vector: Vector | None) -> SearchQuery:
    retrieval = config.retrieval
    named_anchors = anchors(query) if retrieval.adaptive in ("anchors", "both") else Anchors()
    semantic = retrieval.semantic_weight
    if retrieval.adaptive in ("weights", "both"):
        semantic = weights.adaptive(query, semantic).semantic
    boosts = config.boosts
    settings = RankingSettings(
        semantic_weight=semantic,
        evidence_strength=boosts.trust + boosts.recency + boosts.confirmations,
        depth=max(retrieval.depth, retrieval.top_k),
        fusion=retrieval.fusion,
        rrf_k=retrieval.rrf_k,
    )
    return SearchQuery(query, tuple(tokenize(query)), named_anchors, method, settings, vector)


def is_answered_by_words(memory: MemoryIndex, config: RetrievalConfig, query: str) -> bool:
    """Whether the query is nothing but identifiers, so that its meaning need not be computed at all."""
    named_anchors = anchors(query)
    if not (config.retrieval.keyword_only_identifiers and named_anchors.is_pure):
        return False
    probe = Probe(tuple(tokenize(query)), named_anchors, None, 1)
    exact = memory.index.scored(probe, _within(memory, config)).exact
    return weights.needs_no_meaning(named_anchors, max(exact.values(), default=0.0))


def ranked(memory: MemoryIndex, config: RetrievalConfig, query: SearchQuery) -> Ranking:
    """The candidates of a query in their order, each text (or document) once, with the signal of distraction on each."""
    # A query by meaning alone still looks for what it names exactly.
    terms = query.terms if query.method != "vector" else ()
    depth = query.settings.depth
    scored = memory.index.scored(Probe(terms, query.anchors, query.vector, depth), _within(memory, config))
    pool, rows = memory.index.candidates(scored, depth)
    part = memory.part(config.filters)
    lifts = _lifts(memory, config.boosts, part, rows)
    place = dict(zip(pool.ids, range(len(pool)), strict=True))
    documents = rank(pool, lambda of: Support(lifts[of], lifts[of], np.ones(len(of))), depth, query.method, query.settings)
    kept = _each_once(documents, _sameness(memory, config, rows, place))
    signals = _signals(memory, config, query, pool, rows, part)
    keyword_ranks = distraction.ranks(pool.keyword, pool.ids, depth, 0.0)
    vector_ranks = distraction.ranks(pool.semantic, pool.ids, depth, -2.0)
    strength = query.settings.evidence_strength

    def candidate(hit: Ranked) -> Candidate:
        number = place[hit.id]
        cosine = float(pool.semantic[number])
        return Candidate(
            row=int(rows[number]),
            id=hit.id,
            score=hit.score,
            keyword=hit.components.keyword,
            vector=None if isnan(cosine) else cosine,
            keyword_rank=int(keyword_ranks[number]) or None,
            vector_rank=int(vector_ranks[number]) or None,
            exact=hit.components.exact,
            boost=1.0 + strength * float(lifts[number]),
            disagreement=None if signals is None else round(float(signals[number]), 6),
            flags=("exact",) if hit.components.exact > 0 else (),
        )

    return Ranking(tuple(map(candidate, kept[: _wanted(config)])), scored.looked_at, len(documents) - len(kept))


def _wanted(config: RetrievalConfig) -> int | None:
    """How many candidates can still become a result; None: all, as something may move them."""
    can_move = config.distraction_detection.enabled or config.diversity.enabled or config.rerank.model
    return None if can_move else config.retrieval.top_k


def _within(memory: MemoryIndex, config: RetrievalConfig) -> Within | None:
    return memory.part(config.filters).within if config.filters else None


def _lifts(memory: MemoryIndex, boosts: Boosts, part: FilteredChunks, rows: Rows) -> Shares:
    """The lift of each candidate, as a share of all that the boosts allow."""
    total = boosts.trust + boosts.recency + boosts.confirmations
    if total <= 0:
        return np.zeros(len(rows))
    shares = np.zeros(len(rows))
    if boosts.confirmations:
        copies = memory.copies(rows, part) - 1
        shares += boosts.confirmations * (copies.clip(0, CONFIRMATIONS_FULL) / CONFIRMATIONS_FULL)
    if boosts.trust:
        shares += boosts.trust * np.array([_trust(memory, row) for row in rows.tolist()])
    if boosts.recency:
        days = memory.days(rows)
        shares += boosts.recency * np.where(days >= 0, 0.5 ** ((part.newest - days) / _HALF_LIFE_DAYS), 0.0)
    lifts: Shares = shares / total
    return lifts


def _trust(memory: MemoryIndex, row: int) -> float:
    try:
        trust = float(first(memory.document_at(row), "trust") or 1.0)
    except ValueError:
        return trust_share(1.0)
    return trust_share(1.0 if isnan(trust) else trust)


def _sameness(memory: MemoryIndex, config: RetrievalConfig, rows: Rows, place: dict[str, int]) -> Callable[[str], object] | None:
    if config.deduplicate == "none":
        return None
    keys = memory.texts(rows).tolist() if config.deduplicate == "content" else [memory.owners[row] for row in rows.tolist()]
    return lambda name: keys[place[name]]


def _each_once(documents: list[Ranked], sameness: Callable[[str], object] | None) -> list[Ranked]:
    if sameness is None:
        return documents
    best: dict[object, Ranked] = {}
    for hit in documents:
        best.setdefault(sameness(hit.id), hit)
    return list(best.values())


def _signals(
    memory: MemoryIndex, config: RetrievalConfig, query: SearchQuery, pool: Pool, rows: Rows, part: FilteredChunks
) -> distraction.Signal | None:
    """The configured signal of distraction for each candidate; None where it is off or needs an arm that is not there."""
    detection = config.distraction_detection
    if not detection.enabled:
        return None
    if detection.signal == "coverage":
        return _missing(memory, query, rows, part)
    if query.method != "hybrid" or query.vector is None:
        return None
    if detection.signal == "margin":
        return distraction.margin(pool.keyword, pool.semantic)
    return distraction.disagreement(pool.keyword, pool.semantic, pool.ids, query.settings.depth)


def _missing(memory: MemoryIndex, query: SearchQuery, rows: Rows, part: FilteredChunks) -> distraction.Signal:
    """Which of the query's words each candidate lacks, from the postings: no text is read again."""
    held: list[set[str]] = [set() for _ in range(len(rows))]
    idf = {}
    for term in dict.fromkeys(query.terms):
        holders = memory.index.holders(term)
        idf[term] = inverse_document_frequency(len(part.within.rows), int(np.count_nonzero(part.within.mask[holders])))
        for number in np.flatnonzero(np.isin(rows, holders)).tolist():
            held[number].add(term)
    return distraction.missing(query.terms, idf, held)

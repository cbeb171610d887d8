"""A query and a configuration into a ranking of chunks, and that into results that explain themselves.

In this order: what filters let through · raw scores of each arm · one ranking (`ranking.pipeline`, as an agent's memory) · the
same text once · signals of distraction; and then, with the chunks' texts, a second look, what is done about distractions,
difference, and where to stop. Pure but for the texts it is handed: nothing waits, reads or writes. Each step says on the
candidate what it did.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import isnan
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hive_mind.model.gathered import Anchors, Pool, Probe
from hive_mind.ranking import distraction, question, seed
from hive_mind.ranking.distraction import Cut, cut, diversified, likeness_of_terms, likeness_of_vectors
from hive_mind.ranking.inverted import inverse_document_frequency
from hive_mind.ranking.pipeline import CONFIRMATIONS_FULL, Ranked, RankingSettings, Shares, Support, trust_share
from hive_mind.ranking.question import anchors
from hive_mind.ranking.tokens import question_terms, tokenize
from hive_mind.ranking.vector import Vector
from hive_mind.ranking.within import Within
from hive_mind.retrieval import Boosts, Method, RetrievalConfig
from hive_mind.retrieval.updating import FilteredChunks, MemoryIndex, Rows, first

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


@dataclass(frozen=True, slots=True)
class _Supported:
    """Candidates, each with its lift."""

    pool: Pool
    lifts: Shares
    places: bytes = b""

    def support(self, rows: Rows) -> Support:
        return Support(self.lifts[rows], self.lifts[rows], np.ones(len(rows)))


def asked(config: RetrievalConfig, query: str, method: Method, vector: Vector | None) -> SearchQuery:
    retrieval = config.retrieval
    named_anchors = anchors(query) if retrieval.adaptive in ("anchors", "both") else Anchors()
    semantic = retrieval.semantic_weight
    if retrieval.adaptive in ("weights", "both"):
        semantic = seed.adaptive(query, semantic).semantic
    boosts = config.boosts
    settings = RankingSettings(
        semantic_weight=semantic,
        evidence_strength=boosts.trust + boosts.recency + boosts.confirmations,
        depth=max(retrieval.depth, retrieval.top_k),
        fusion=retrieval.fusion,
        rrf_k=retrieval.rrf_k,
    )
    return SearchQuery(query, question_terms(query), named_anchors, method, settings, vector)


def is_answered_by_words(memory: MemoryIndex, config: RetrievalConfig, query: str) -> bool:
    """Whether the query is nothing but identifiers, so that its meaning need not be computed at all."""
    named_anchors = anchors(query)
    if not (config.retrieval.keyword_only_identifiers and named_anchors.is_pure):
        return False
    probe = Probe(tuple(tokenize(query)), named_anchors, None, 1)
    exact = memory.index.scored(probe, _within(memory, config)).exact
    return seed.needs_no_meaning(named_anchors, max(exact.values(), default=0.0))


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
    documents = question.Ranking(query.text, query.method, query.settings, _Supported(pool, lifts)).best(depth)
    places_kept = documents
    if config.deduplicate != "none":
        # Each text, or each document, once: its best.
        by_text, owners = config.deduplicate == "content", [memory.owners[row] for row in rows.tolist()]
        keys = memory.texts(rows).tolist() if by_text else owners
        best: dict[object, Ranked] = {}
        for hit in documents:
            best.setdefault(keys[place[hit.id]], hit)
        places_kept = list(best.values())
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

    # How many can still become a result; None: all, as something may move them.
    can_move = config.distraction_detection.enabled or config.diversity.enabled or config.rerank.model
    most = None if can_move else config.retrieval.top_k
    return Ranking(tuple(map(candidate, places_kept[:most])), scored.looked_at, len(documents) - len(places_kept))


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


def _signals(
    memory: MemoryIndex, config: RetrievalConfig, query: SearchQuery, pool: Pool, rows: Rows, part: FilteredChunks
) -> distraction.Signal | None:
    """The configured signal of distraction for each candidate; None where it is off or needs an arm that is not there."""
    detection = config.distraction_detection
    if not detection.enabled:
        return None
    if detection.signal == "coverage":
        # From the postings: no text is read again.
        terms_by_row: list[set[str]] = [set() for _ in range(len(rows))]
        idf, words = {}, tokenize(query.text)
        for term in dict.fromkeys(words):
            holders = memory.index.holders(term)
            idf[term] = inverse_document_frequency(len(part.within.rows), int(np.count_nonzero(part.within.mask[holders])))
            for number in np.flatnonzero(np.isin(rows, holders)).tolist():
                terms_by_row[number].add(term)
        return distraction.missing(words, idf, terms_by_row)
    if query.method != "hybrid" or query.vector is None:
        return None
    if detection.signal == "margin":
        return distraction.margin(pool.keyword, pool.semantic)
    return distraction.disagreement(pool.keyword, pool.semantic, pool.ids, query.settings.depth)


# A flagged result still beats one with half its score.
_DEMOTION = 0.5
# Number of candidates for each result among which diversity is looked for; further down nothing is relevant.
_POOL_PER_RESULT = 5

Words = Callable[[Sequence[int]], Sequence[frozenset[str]]]
"""The words of chunks, by their rows."""
Vectors = Callable[[str], NDArray[np.float32] | None]
"""A candidate's vector."""

FLAGGED = "distraction"
"""Flag of a result that the configured signal takes for a distractor."""
DEMOTED, RERANKED, DIVERSIFIED = "demoted", "reranked", "diversified"


@dataclass(frozen=True, slots=True)
class Selection:
    """The chosen ones in order, what was taken out as a distraction, and why it ends where it ends."""

    chosen: tuple[Candidate, ...]
    dropped: tuple[Candidate, ...]
    cut: Cut
    why: str


def reranked(candidates: Sequence[Candidate], scores: Sequence[float]) -> list[Candidate]:
    """The first of the candidates by a second look's scores in [0, 1]; the others follow behind, in their order."""
    looked_at, rest = candidates[: len(scores)], candidates[len(scores) :]
    rescored = [
        replace(candidate, score=score, flags=(*candidate.flags, RERANKED))
        for candidate, score in zip(looked_at, scores, strict=True)
    ]
    rescored.sort(key=lambda candidate: (-candidate.score, candidate.id))
    # Figures of two scales can't be compared: the rest keeps its proportions, all of it below the lowest of the first.
    scale = min(scores, default=1.0) / max((candidate.score for candidate in rest), default=1.0) if rest else 1.0
    behind = [replace(candidate, score=candidate.score * scale) for candidate in rest]
    return [*rescored, *behind]


def selected(candidates: Sequence[Candidate], config: RetrievalConfig, vectors: Vectors, words: Words) -> Selection:
    judged, dropped = _judged(candidates, config)
    if config.diversity.enabled:
        count = config.retrieval.top_k
        pool = judged[: _POOL_PER_RESULT * count]
        rows = [vector for candidate in pool if (vector := vectors(candidate.id)) is not None]
        has_all = rows and len(rows) == len(pool)
        likeness = likeness_of_vectors(np.array(rows, np.float32)) if has_all else likeness_of_terms(words([c.row for c in pool]))
        chosen = diversified([candidate.score for candidate in pool], likeness, count, config.diversity.lambda_)
        moved = {number for place, number in enumerate(chosen) if number != place}
        judged = [replace(pool[n], flags=(*pool[n].flags, DIVERSIFIED)) if n in moved else pool[n] for n in chosen]
    shown_candidates = judged[: config.retrieval.top_k]
    ended, why = _ended([candidate.score for candidate in shown_candidates], config)
    return Selection(tuple(shown_candidates[: ended.kept]), tuple(dropped), ended, why)


def _judged(candidates: Sequence[Candidate], config: RetrievalConfig) -> tuple[list[Candidate], list[Candidate]]:
    """Flagged, moved down or taken out. A text that names an identifier of the query is there for its words, so it is only
    flagged.
    """
    detection = config.distraction_detection
    limit = detection.disagreement_threshold
    suspects = {candidate.id for candidate in candidates if candidate.disagreement is not None and candidate.disagreement > limit}
    flagged = [
        replace(candidate, flags=(*candidate.flags, FLAGGED)) if candidate.id in suspects else candidate
        for candidate in candidates
    ]
    movable = [candidate for candidate in flagged if FLAGGED in candidate.flags and candidate.exact <= 0]
    if detection.action == "drop":
        dropped = {candidate.id for candidate in movable}
        return [candidate for candidate in flagged if candidate.id not in dropped], movable
    if detection.action == "demote":
        moved = {
            candidate.id: replace(candidate, score=candidate.score * _DEMOTION, flags=(*candidate.flags, DEMOTED))
            for candidate in movable
        }
        return sorted((moved.get(one.id, one) for one in flagged), key=lambda candidate: -candidate.score), []
    return flagged, []


def _ended(scores: Sequence[float], config: RetrievalConfig) -> tuple[Cut, str]:
    """Where the results end. The cliff is looked for in the scores in falling order, however results were moved."""
    settings = config.dynamic_k
    if not settings.enabled:
        is_full = len(scores) == config.retrieval.top_k
        return Cut(len(scores)), f"top_k is {config.retrieval.top_k}" if is_full else "no more found"
    falling = sorted(scores, reverse=True)
    ended = cut(falling, settings.gap_threshold_factor, settings.min_results, settings.max_results)
    if not ended.is_cliff:
        return ended, f"no cliff among the first {ended.kept}"
    after, before = falling[ended.kept], falling[ended.kept - 1]
    return ended, (
        f"cliff after result {ended.kept}: the score falls from {before:.4f} to {after:.4f}, "
        f"a gap of {ended.gap:.4f}, {ended.times:.1f} times the mean gap before (limit {settings.gap_threshold_factor:g})"
    )


@dataclass(frozen=True, slots=True)
class Result:
    """One chunk in its place.

    `keyword` is the raw BM25, `vector` the cosine (None: not compared); the ranks are the places in each arm (None: not found).
    `disagreement` is the value of the configured signal, None where detection is off. `flags` say what was done to it.
    """

    rank: int
    chunk_id: str
    document: str
    heading: str
    text: str
    score: float
    keyword: float
    vector: float | None
    keyword_rank: int | None
    vector_rank: int | None
    exact: float = 0.0
    boost: float = 1.0
    disagreement: float | None = None
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QueryResult:
    """Results of a query. `scored` counts the chunks that were given a score: chunks that a filter excludes are never among them.

    `method` is the one really used, `notes` say why where it is not the configured one. `cut_at` is the number of results
    before the cliff, None where there was none.
    """

    query: str
    results: tuple[Result, ...]
    scored: int
    cut_at: int | None
    why_cut: str
    method: Method
    fusion: Literal["rrf", "linear", "none"]
    semantic_weight: float
    anchors: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    """Chunks that distraction detection took out."""
    duplicates: int = 0
    notes: tuple[str, ...] = ()
    filtered_to: int | None = None
    """How many chunks the filters let through; None without filters."""

    @property
    def documents(self) -> tuple[str, ...]:
        """The documents of the results, each once, in order of their best chunk."""
        return tuple(dict.fromkeys(result.document for result in self.results))

"""From candidates to a ranking: fuse the arms, lift by evidence, put exact matches first, break ties by confidence and id.

The same for one agent and for a hive. Score of a fact, in [0, 1] unless it names an identifier of the query or others speak for
it:

    (relevance + others) · (1 + 0.1 · (0.6 · confirmations + 0.4 · trust)) / 1.1 + exact
    relevance  = (1 - w) · BM25 / best BM25 + w · 0.75 · cosine / best cosine
    w          = 0.6, or less where the tenth best cosine is within 0.15 of the best; 0.7 where it is further behind than that and
                 than half of how far the tenth best BM25 is
    others     = 0.4 · (mean relevance of the three best others of its session + 0.25 · relevance of the next turn
                        (0.75 of an assistant's answer) + 0.2 where the question names the speaker)
                 + 0.2 · share of the best second hop's (0.5 of one by another identifier)
    + the score of a second look, where that is on (memory.refining)

With `fusion="rrf"` relevance is 61/2 · (1 / (60 + rank by BM25) + 1 / (60 + rank by cosine)).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from hive_mind.model.probe import EvidenceColumns, Pool
from hive_mind.model.query import METHOD, Method
from hive_mind.model.scores import ComponentScores, Contributions
from hive_mind.model.setting import SHARE, Setting
from hive_mind.ranking.fusion import RRF_K, balanced, reciprocal
from hive_mind.ranking.related.neighbours import gained
from hive_mind.ranking.vector import floor_of_best

Parts = NDArray[np.floating[Any]]
Rows = NDArray[np.intp]
Shares = NDArray[np.float64]


@dataclass(frozen=True)
class RankingSettings:
    """How candidates become a ranking."""

    semantic_weight: Annotated[float, SHARE] = 0.6
    """Weight of meaning against that of words, where there are embeddings. Raise it for questions that share no words with the
    answer; exact wording then counts less."""
    evidence_strength: Annotated[float, SHARE] = 0.1
    """How much confidence and confirmations may lift a fact. Raise it and confirmed facts outrank better matches."""
    depth: Annotated[int, Setting(ge=1, le=10_000)] = 100
    """Candidates each index gives before they are ranked together. Raise it and a fact weak in both can still come up."""
    depth_per_hit: int = 3
    """Candidates per hit where one arm decides alone. Raise it and evidence can lift a fact from further down."""
    fusion: Annotated[Literal["linear", "rrf"], Setting()] = "linear"
    """How words and meaning are put together; rrf: by rank alone, which costs recall (docs/adr/0003-ranking.md)."""
    rrf_k: Annotated[int, Setting(ge=1, le=1000)] = RRF_K
    """rrf: the larger, the less the first ranks count."""
    neighbour_weight: Annotated[float, SHARE] = 0.4
    """Matches around a turn of a conversation add this to its score."""
    second_hop: Annotated[bool, Setting()] = True
    """Ask for what the best passage names, too, where it is not far ahead: finds what is two steps away, for one more round of
    questions."""
    expansion: Annotated[Literal["none", "feedback", "model"], Setting()] = "none"
    """feedback: ask again with words of the best passage, one more round of questions. model: with words of the language model,
    within deadlineS."""
    rerank: Annotated[int, Setting(ge=0, le=1000)] = 0
    """How many of the best a cross-encoder looks at again, within deadlineS; 0: none. Each costs some milliseconds."""
    rerank_model: Annotated[str, Setting(min_length=1, max_length=300)] = "cross-encoder/ms-marco-MiniLM-L-12-v2"
    """Its name on the hub, or its folder."""
    rerank_weight: Annotated[float, SHARE] = 0.3
    """The most that it adds to the score."""
    refine_within_ms: int = 2_000
    """Time for a model, before or after the first ranking; later results are left out."""

    def depth_for(self, method: Method, limit: int) -> int:
        """How many candidates each arm gives."""
        return max(self.depth, limit) if method == "hybrid" else self.depth_per_hit * limit


@dataclass(frozen=True, slots=True)
class Support:
    """Evidence for candidates besides their words: columns of shares in [0, 1], shapes (candidates,)."""

    confirmations: Shares
    trust: Shares
    confidence: Shares

    def of(self, rows: Rows) -> "Support":
        return Support(self.confirmations[rows], self.trust[rows], self.confidence[rows])


SupportOf = Callable[[Rows], Support]
"""Looks up what stands behind the candidates in some rows of a pool."""


@dataclass(frozen=True, slots=True)
class Related:
    """Relations of candidates to others: where they were said (`neighbours.place_of`, in the pool's order), and the scores a
    second hop lends them, by id; and the speakers the question may name (`neighbours.speakers_named`)."""

    places: bytes = b""
    lent: Mapping[str, float] = field(default_factory=dict)
    named: frozenset[int] = frozenset()


_NOTHING = Related()


@dataclass(frozen=True, slots=True)
class Ranked:
    """A document in its place, with what it was made of."""

    id: str
    score: float
    components: ComponentScores
    contributions: Contributions


def in_columns(evidence: EvidenceColumns) -> SupportOf:
    """Looks up what came with the candidates."""

    def support_of(rows: Rows) -> Support:
        columns = (evidence.confirmations, evidence.trust, evidence.confidence)
        return Support(*(column[rows].astype(np.float64) for column in columns))

    return support_of


def rank(
    pool: Pool,
    support_of: SupportOf,
    limit: int,
    method: Method = METHOD,
    settings: RankingSettings | None = None,
    related: Related = _NOTHING,
) -> list[Ranked]:
    """The best `limit` of a pool. Ties break by confidence, then by id, so that every node ranks alike."""
    chosen = settings or RankingSettings()
    keyword, semantic = _fused(pool, limit, method, chosen)
    lifted_by_others = gained(pool.ids, keyword + semantic, related.places, chosen.neighbour_weight, related.named)
    if related.lent:
        lifted_by_others = lifted_by_others + np.array(
            [related.lent.get(id, 0.0) for id in pool.ids], dtype=lifted_by_others.dtype
        )
    relevance = keyword + semantic + lifted_by_others
    rows = _contenders(relevance, pool.exact, limit, chosen.evidence_strength)
    support = support_of(rows)
    lifts = _lifts(support, chosen.evidence_strength)
    scores = relevance[rows] * lifts + pool.exact[rows]
    best = _first(scores, support.confidence, [pool.ids[row] for row in rows.tolist()], limit)
    first = rows[best]
    parts = [part[first].astype(np.float64) for part in (keyword, semantic, lifted_by_others)]
    contributions = _contributions(parts, lifts[best], pool.exact[first], chosen.evidence_strength)
    components = _components(pool, first, support.of(best))
    ids = [pool.ids[row] for row in first.tolist()]
    # The figures they were sorted by: adding the contributions up in another order moves the last bits, and with them equals.
    return list(map(Ranked, ids, scores[best].tolist(), components, contributions))


def _first(scores: Shares, confidence: Shares, ids: Sequence[str], limit: int) -> Rows:
    """Places of the best, best first."""
    order = sorted(zip((-scores).tolist(), (-confidence).tolist(), ids, range(len(ids)), strict=True))
    return np.array([place for *_, place in order[:limit]], dtype=np.intp)


def _fused(pool: Pool, limit: int, method: Method, settings: RankingSettings) -> tuple[Parts, Parts]:
    """Each arm's contribution. Where one arm decides alone there is nothing to fuse, and its scores say more than its ranks."""
    weight = _semantic_weight(pool, method, settings)
    if settings.fusion == "rrf" and 0.0 < weight < 1.0:
        return reciprocal(pool.keyword, pool.semantic, pool.ids, settings.depth_for(method, limit), settings.rrf_k)
    return balanced(pool.keyword, pool.semantic, weight)


def _semantic_weight(pool: Pool, method: Method, settings: RankingSettings) -> float:
    """Without a single vector a hybrid query is a keyword query: nothing is lost and scores keep their range."""
    if method == "keyword" or (method == "hybrid" and np.isnan(pool.semantic).all()):
        return 0.0
    return 1.0 if method == "vector" else settings.semantic_weight


def _contenders(relevance: Parts, exact: Parts, limit: int, strength: float) -> NDArray[np.intp]:
    """Rows that evidence could still lift into the best `limit`; looking up the evidence of all others would be wasted."""
    least, most = (relevance / np.float32(1.0 + strength) + exact).astype(np.float32), relevance + exact
    # A little below, because the final scores are added up in another order.
    floor = floor_of_best(least, limit) - 1e-6
    return np.flatnonzero((most >= floor) & (most > 0))


def _lifts(support: Support, strength: float) -> Shares:
    """The factor of relevance by evidence: at least 1 / (1 + strength), at most 1, so that relevance stays in [0, 1]."""
    lifts: Shares = (1.0 + strength * (0.6 * support.confirmations + 0.4 * support.trust)) / (1.0 + strength)
    return lifts


def _contributions(parts: Sequence[Shares], lifts: Shares, exact: Parts, strength: float) -> list[Contributions]:
    plain = 1.0 / (1.0 + strength)
    lifted = sum(parts, np.zeros(len(lifts))) * (lifts - plain)
    keyword, semantic, beside_part = (part * plain for part in parts)
    columns = (keyword, semantic, lifted, exact, beside_part)
    return list(map(Contributions, *(column.tolist() for column in columns)))


def _components(pool: Pool, rows: Rows, support: Support) -> list[ComponentScores]:
    """Each arm's scores of the candidates in some rows; `support` is theirs."""
    cosines = [None if isnan(cosine) else cosine for cosine in pool.semantic[rows].tolist()]
    columns = (pool.exact[rows], support.confirmations, support.trust)
    return list(map(ComponentScores, pool.keyword[rows].tolist(), cosines, *(column.tolist() for column in columns)))

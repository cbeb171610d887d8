"""From candidates to a ranking: fuse the arms, lift by evidence, put exact matches first, break ties by confidence and id.

The same for one agent and for a hive. Score of a fact, in [0, 1] unless it names an identifier of the query or others speak for
it:

    (relevance + others) · (1 + 0.1 · (0.6 · confirmations + 0.4 · trust)) / 1.1 + exact
    relevance  = (1 - w) · BM25 / best BM25 + w · 0.75 · cosine / best cosine
    w          = 0.6 · min(1, 25 / best BM25), or less where the tenth best cosine is within 0.15 of the best; where it is
                 further behind than that and than half of how far the tenth best BM25 is, a quarter of the rest more
    others     = 0.4 · (mean relevance of the three best others of its session + 0.25 · relevance of the next turn
                        (0.75 of an assistant's answer) + 0.2 where the question names the speaker)
                 + 0.2 · share of the best second hop's (0.5 of one by another identifier)
    + the score of a second look, where that is on (memory.refining)

A cosine counts from that of unrelated sentences on.

With `fusion="rrf"` relevance is 61/2 · (1 / (60 + rank by BM25) + 1 / (60 + rank by cosine)).

Arms are fused by `balanced`: both as shares of the query's best, and meaning counts as far as it tells texts apart. It needs no
minimum of a pool, so adding a weak candidate never moves the others. Ranks mean something only over everything: fuse where all
raw scores came together.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from hive_mind.model.bounds import SHARE, Setting
from hive_mind.model.gathered import Pool
from hive_mind.model.query import METHOD, ComponentScores, Contributions, Method
from hive_mind.ranking.neighbours import gained
from hive_mind.ranking.vector import floor_of_best

Scores = NDArray[np.float32]

RRF_K = 60

CONFIRMATIONS_FULL = 5
"""This many further sources count as complete confirmation."""
TRUST_MAX = 2.0
"""Upper end of an agent's trust."""

_COSINE_OF_BEST = 0.75
"""The best by meaning counts as this cosine, which it has where a model reads the texts well."""
_TELLS_APART, _CONTRAST_FULL, _CONTRAST_LEAST = 10, 0.15, 0.1
"""Meaning counts in full where the tenth best is this share behind the best, and where that is little, never less than the last
(docs/adr/0003-ranking.md)."""
_TOLD_BY_WORDS = 25.0
"""Where the best by words has more than this BM25, some four rare words of the question, meaning counts less by as much."""
_ROUNDED_TO_NONE = 1e-6
"""A cosine of no more than this is what adding up in single precision leaves of none."""
_CONTRAST_OF_WORDS, _SHARE_OF_WORDS = 0.5, 0.25
"""Where meaning tells texts apart more than by this share of how words do, it takes over this share of the weight of words."""


def linear(keyword: Scores, semantic: Scores, semantic_weight: float) -> tuple[Scores, Scores]:
    """Each arm's contribution, both in [0, 1] and together at most 1: (keyword part, semantic part).

    `keyword` is raw BM25 and holds the query's best over the whole hive; `semantic` is cosine, NaN where a fact has no vector,
    which then contributes nothing. Shapes (candidates,).
    """
    keyword_best = keyword.max(initial=0.0)
    share = keyword / keyword_best if keyword_best > 0 else np.zeros_like(keyword)
    # fmax takes the number where the other is NaN.
    cosine = np.minimum(np.fmax(semantic, np.float32(0.0)), np.float32(1.0))
    return np.float32(1.0 - semantic_weight) * share, np.float32(semantic_weight) * cosine


def balanced(keyword: Scores, semantic: Scores, semantic_weight: float) -> tuple[Scores, Scores]:
    """As `linear`, with the cosine as a share of the query's best, and less of it where the tenth best is nearly as good.

    A model that doesn't read code gives lower cosines there, and texts that are all of one kind all have high ones. It counts
    more where words tell hardly more, as where no text has the words of the question, and less where one has many rare ones.
    """
    cosine = np.fmax(semantic, np.float32(0.0))
    best = float(cosine.max(initial=0.0))
    if best <= _ROUNDED_TO_NONE or semantic_weight >= 1.0:
        return linear(keyword, semantic, semantic_weight)
    contrast = _contrast(cosine)
    weight = semantic_weight * min(1.0, max(_CONTRAST_LEAST, contrast / _CONTRAST_FULL))
    weight *= _TOLD_BY_WORDS / max(_TOLD_BY_WORDS, float(keyword.max(initial=0.0)))
    tells_much = contrast > max(_CONTRAST_FULL, _CONTRAST_OF_WORDS * _contrast(keyword))
    if tells_much and weight > 0.0 and len(cosine) >= _TELLS_APART:
        weight += _SHARE_OF_WORDS * (1.0 - weight)
    return linear(keyword, cosine * np.float32(_COSINE_OF_BEST / best), weight)


def _contrast(scores: Scores) -> float:
    """How far the tenth best is behind the best, as a share of that."""
    best = float(scores.max(initial=0.0))
    if best <= 0.0 or len(scores) < _TELLS_APART:
        return 1.0
    return 1.0 + float(np.partition(-scores, _TELLS_APART - 1)[_TELLS_APART - 1]) / best


def reciprocal(
    keyword: Scores, semantic: Scores, ids: Sequence[str], depth: int, k: int = RRF_K
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Each arm's contribution by rank alone, scaled so that first in both is 1: (keyword part, semantic part).

    An arm ranks its best `depth`; beyond, a pool does not know the other candidates. No match and no vector is no rank; ties by
    id.
    """
    order = np.empty(len(ids), dtype=np.int64)
    order[sorted(range(len(ids)), key=ids.__getitem__)] = np.arange(len(ids))
    keyword_part = _by_rank(keyword, np.flatnonzero(keyword > 0), order, depth, k)
    return keyword_part, _by_rank(semantic, np.flatnonzero(~np.isnan(semantic)), order, depth, k)


def _by_rank(scores: Scores, rows: NDArray[np.intp], order: NDArray[np.int64], depth: int, k: int) -> NDArray[np.float64]:
    ranked = rows[np.lexsort((order[rows], -scores[rows]))][:depth]
    part = np.zeros(len(scores))
    part[ranked] = (k + 1) / (2.0 * (k + np.arange(1, len(ranked) + 1)))
    return part


def confirmation_share(confirmations: float) -> float:
    """Confirmations as a figure in [0, 1]."""
    return min(max(confirmations, 0), CONFIRMATIONS_FULL) / CONFIRMATIONS_FULL


def trust_share(trust: float) -> float:
    """Trust in [0, 2] as a figure in [0, 1]."""
    return min(max(trust, 0.0), TRUST_MAX) / TRUST_MAX


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
    strength = chosen.evidence_strength
    # Only what evidence could still lift into the best `limit`; a little below that, as the final scores are added up in another
    # order. Looking up the evidence of all others would be wasted.
    least, most = (relevance / np.float32(1.0 + strength) + pool.exact).astype(np.float32), relevance + pool.exact
    rows = np.flatnonzero((most >= floor_of_best(least, limit) - 1e-6) & (most > 0))
    support = support_of(rows)
    # By evidence: at least 1 / (1 + strength), at most 1, so that relevance stays in [0, 1].
    lifts: Shares = (1.0 + strength * (0.6 * support.confirmations + 0.4 * support.trust)) / (1.0 + strength)
    scores = relevance[rows] * lifts + pool.exact[rows]
    ids = [pool.ids[row] for row in rows.tolist()]
    order = sorted(zip((-scores).tolist(), (-support.confidence).tolist(), ids, range(len(ids)), strict=True))
    best = np.array([place for *_, place in order[:limit]], dtype=np.intp)
    first = rows[best]
    parts = [part[first].astype(np.float64) for part in (keyword, semantic, lifted_by_others)]
    contributions = _contributions(parts, lifts[best], pool.exact[first], strength)
    columns = (pool.exact[first], support.confirmations[best], support.trust[best])
    cosines = [None if isnan(cosine) else cosine for cosine in pool.semantic[first].tolist()]
    components = map(ComponentScores, pool.keyword[first].tolist(), cosines, *(column.tolist() for column in columns))
    # The figures they were sorted by: adding the contributions up in another order moves the last bits, and with them equals.
    return list(map(Ranked, [ids[place] for place in best.tolist()], scores[best].tolist(), components, contributions))


def _fused(pool: Pool, limit: int, method: Method, settings: RankingSettings) -> tuple[Parts, Parts]:
    """Each arm's contribution. Where one arm decides alone there is nothing to fuse, and its scores say more than its ranks."""
    # Without a single vector a hybrid query is a keyword query: nothing is lost and scores keep their range.
    is_lexical = method == "keyword" or (method == "hybrid" and np.isnan(pool.semantic).all())
    weight = 0.0 if is_lexical else 1.0 if method == "vector" else settings.semantic_weight
    if settings.fusion == "rrf" and 0.0 < weight < 1.0:
        return reciprocal(pool.keyword, pool.semantic, pool.ids, settings.depth_for(method, limit), settings.rrf_k)
    return balanced(pool.keyword, pool.semantic, weight)


def _contributions(parts: Sequence[Shares], lifts: Shares, exact: Parts, strength: float) -> list[Contributions]:
    plain = 1.0 / (1.0 + strength)
    lifted = sum(parts, np.zeros(len(lifts))) * (lifts - plain)
    keyword, semantic, beside_part = (part * plain for part in parts)
    columns = (keyword, semantic, lifted, exact, beside_part)
    return list(map(Contributions, *(column.tolist() for column in columns)))

"""From candidates to a ranking: fuse the arms, lift by evidence, put exact matches first, break ties by confidence and id.

The same for one agent and for a hive. Score of a fact, in [0, 1] unless it names an identifier of the query:

    (0.4 · BM25 / best BM25 + 0.6 · cosine) · (1 + 0.1 · (0.6 · confirmations + 0.4 · trust)) / 1.1 + anchors named
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hive_mind.model.query import Method
from hive_mind.model.scores import ComponentScores, Contributions
from hive_mind.ranking.fusion import Scores, linear
from hive_mind.ranking.index import Pool
from hive_mind.ranking.vector import floor_of_best


@dataclass(frozen=True, slots=True)
class RankingSettings:
    """How candidates become a ranking."""

    semantic_weight: float = 0.6
    """Weight of the cosine. Raise it for questions that share no words with the answer; exact wording then counts less."""
    evidence_strength: float = 0.1
    """The most that confirmations and trust can add, as a share. Raise it and confirmed facts outrank better matches."""
    depth: int = 100
    """Candidates per arm. Raise it and a fact weak in both arms can still come up; costs microseconds each."""


class Evidence(NamedTuple):
    """What stands behind a fact besides its words: `confirmations`, `trust` and `confidence`, all in [0, 1]."""

    confirmations: float = 0.0
    trust: float = 0.5
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class Ranked:
    """A document in its place, with what it was made of."""

    id: str
    score: float
    components: ComponentScores
    contributions: Contributions


def rank(
    pool: Pool,
    evidence_of: Callable[[str], Evidence],
    limit: int,
    method: Method = "hybrid",
    settings: RankingSettings | None = None,
) -> list[Ranked]:
    """The best `limit` of a pool. Ties break by confidence, then by id, so that every node ranks alike."""
    chosen = settings or RankingSettings()
    evidence = [evidence_of(name) for name in pool.ids]
    parts = _contributions(pool, evidence, _semantic_weight(pool, method, chosen), chosen.evidence_strength)
    scores = sum(parts, np.zeros(len(pool), dtype=np.float32))
    leading = np.flatnonzero((scores >= floor_of_best(scores, limit)) & (scores > 0)).tolist()
    order = sorted(leading, key=lambda row: (-scores[row], -evidence[row].confidence, pool.ids[row]))
    return [_ranked(pool, row, evidence[row], parts) for row in order[:limit]]


def _semantic_weight(pool: Pool, method: Method, settings: RankingSettings) -> float:
    """Without a single vector a hybrid query is a keyword query: nothing is lost and scores keep their range."""
    if method == "keyword" or (method == "hybrid" and np.isnan(pool.semantic).all()):
        return 0.0
    return 1.0 if method == "vector" else settings.semantic_weight


def _contributions(pool: Pool, evidence: Sequence[Evidence], semantic_weight: float, strength: float) -> tuple[Scores, ...]:
    """What keyword, semantic, evidence and exact each add to every candidate's score; shapes (candidates,)."""
    keyword, semantic = linear(pool.keyword, pool.semantic, semantic_weight)
    shares = np.array([0.6 * e.confirmations + 0.4 * e.trust for e in evidence], dtype=np.float32)
    # Divided by the most it can be, so that relevance stays in [0, 1] and one whole anchor outranks all that lacks it.
    scale = np.float32(1.0 / (1.0 + strength))
    return keyword * scale, semantic * scale, (keyword + semantic) * np.float32(strength) * shares * scale, pool.exact


def _ranked(pool: Pool, row: int, evidence: Evidence, parts: Sequence[Scores]) -> Ranked:
    cosine = float(pool.semantic[row])
    components = ComponentScores(
        keyword=float(pool.keyword[row]),
        semantic=None if np.isnan(cosine) else cosine,
        exact=float(pool.exact[row]),
        confirmations=evidence.confirmations,
        trust=evidence.trust,
    )
    contributions = Contributions(*(float(part[row]) for part in parts))
    return Ranked(pool.ids[row], contributions.total, components, contributions)

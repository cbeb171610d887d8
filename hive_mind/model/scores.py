"""The raw figures behind a ranking, kept apart from ranks: a hive merges these over its members and only then fuses."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class TermStatistics:
    """Statistics of a whole corpus for BM25: live documents, their total length in terms, and per query term how many hold it.

    `total_squares` is the sum of their squared lengths, each rounded up to eighths so that it is the same in any order: with the
    others it tells how much lengths differ.
    """

    documents: int
    total_length: float
    document_frequency: Mapping[str, int] = field(default_factory=dict)
    total_squares: float = 0.0

    def __add__(self, other: "TermStatistics") -> "TermStatistics":
        """Statistics of two disjoint corpora taken together."""
        terms = self.document_frequency.keys() | other.document_frequency.keys()
        return TermStatistics(
            self.documents + other.documents,
            self.total_length + other.total_length,
            {t: self.document_frequency.get(t, 0) + other.document_frequency.get(t, 0) for t in terms},
            self.total_squares + other.total_squares,
        )


@dataclass(frozen=True, slots=True)
class ComponentScores:
    """Each arm's score of one fact, before any fusion.

    `keyword` is the raw BM25 score (≥ 0), `semantic` the cosine in [-1, 1] or None where no vectors are compared,
    `exact` the share of the query's identifiers the fact names times their weight in the query, in [0, 1].
    `confirmations` and `trust` are in [0, 1]. `second_look` is the score of a cross-encoder, in [0, 1]; None where none looked.
    """

    keyword: float
    semantic: float | None
    exact: float
    confirmations: float
    trust: float
    second_look: float | None = None


@dataclass(frozen=True, slots=True)
class Contributions:
    """How a score came about: the contribution of each part. They sum to the score."""

    keyword: float = 0.0
    semantic: float = 0.0
    evidence: float = 0.0
    exact: float = 0.0
    others: float = 0.0
    """By what was said around it, and by a second hop."""
    reranked: float = 0.0
    """By a second look."""

    @property
    def total(self) -> float:
        return self.keyword + self.semantic + self.evidence + self.exact + self.others + self.reranked

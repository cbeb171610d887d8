"""Input and output of a search, and the raw figures behind a ranking. (For what a person asks see `gathered.Question`.)"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from hive_mind.model.fact import Fact


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

    `keyword` is the raw BM25 score (≥ 0), `semantic` the cosine, at most 1, or None where no vectors are compared. In a search
    it counts from that of unrelated sentences on, for models that put any two texts near one another. `exact` is the share of
    the query's identifiers the fact names times their weight in the query, in [0, 1].
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


Method = Literal["keyword", "vector", "hybrid"]
METHOD: Method = "hybrid"
METHODS: tuple[Method, ...] = get_args(Method)

Answering = Literal["careful", "balanced", "eager"]
"""How readily a question is answered: rather not at all than wrongly, or rather wrongly than not at all."""
ANSWERING: Answering = "balanced"

LIMIT = 10
"""How many hits a search gives where nobody says."""


@dataclass(frozen=True, slots=True)
class Query:
    """`min_confidence` filters and never adds to a score. `with_superseded` also finds what was true before.

    `also`: further words to look for, which count a third of those of the text.
    `as_of_us` finds what was held at that time instead: learned by then, and then neither superseded nor retracted; 0: now.
    """

    text: str
    limit: int = LIMIT
    method: Method = METHOD
    min_confidence: float = 0.0
    with_superseded: bool = False
    as_of_us: int = 0
    also: str = ""


@dataclass(frozen=True, slots=True)
class Voices:
    """The agents in a hive that vouch for a fact: the first first, and how far the most trusted of them is trusted, from 0 to
    2."""

    agents: tuple[str, ...]
    trust: float


@dataclass(frozen=True, slots=True)
class Hit:
    """A fact found for a query: its score, the raw figures behind it, and what each of them added.

    `rivals` are facts that can't be true beside it, as far as their words tell. `voices`: None for one that this memory learned
    itself.
    """

    fact: Fact
    score: float
    components: ComponentScores
    contributions: Contributions = field(default=Contributions())
    rivals: tuple[Fact, ...] = ()
    voices: Voices | None = None

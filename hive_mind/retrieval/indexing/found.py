"""What a search of a collection gives back: results that explain themselves, and what was done to get them."""

from dataclasses import dataclass
from typing import Literal

from hive_mind.retrieval.files.configuration import Method

FLAGGED = "distraction"
"""Flag of a result that the configured signal takes for a distractor."""
DEMOTED, RERANKED, DIVERSIFIED = "demoted", "reranked", "diversified"


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
    """What a query found. `scored` counts the chunks that were given a score: what a filter excludes is never among them.

    `method` is what was really done, `notes` say why where it is not what was configured. `cut_at` is the number of results
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
        return tuple(dict.fromkeys(one.document for one in self.results))

"""A question on its way: a query as an index takes it, what an index gives back, and the answer of a hive or of a memory.

An index gives raw figures column by column, never ranks. They travel between the members of a hive, so that the asker can rank
candidates of all members as one index would: with the inputs of a pool's keyword scores and statistics of the whole hive, it
recomputes them to the last bit. A partial answer is a value that names the silent nodes; an answer has its sources, or is an
honest "not known"."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import msgspec
import numpy as np
from numpy.typing import NDArray

from hive_mind.model.query import Hit, TermStatistics

Vector = NDArray[np.float32]
Scores = NDArray[np.float32]

# A claim on "IL-6 in type 2 diabetes" is about more than the code: at 1.0 SciFact loses a point of recall
# (docs/adr/0003-ranking.md).
IN_A_SENTENCE = 0.3

ANALYSIS = 12
"""Version of the terms and places of texts (`ranking.tokens`, `ranking.form`, `ranking.neighbours`): counted up when they change.

Members of two versions do not know each other's questions, so each is silent for the other. Sealed terms are made anew.
"""

PLACE = np.dtype([("session", "<u8"), ("before", "<u8"), ("speaker", "<u4"), ("other", "<u4")])
"""Where a fact was said, as opaque keys: its session, the fact before it, and the speaker of each; 0 for none."""
NOWHERE = bytes(PLACE.itemsize)


@dataclass(frozen=True, slots=True)
class Anchors:
    """Identifiers of a query: each is a tuple of terms that a fact must all have to match it."""

    required: tuple[tuple[str, ...], ...] = ()
    is_pure: bool = False
    """Whether the query is nothing but names and codes, so that comparing meanings can't help."""

    @property
    def weight(self) -> float:
        """The gain of a fact that matches every anchor: all that relevance can be, or in a sentence a good part of it."""
        return 1.0 if self.is_pure else IN_A_SENTENCE


@dataclass(frozen=True, slots=True)
class Probe:
    """A query as an index takes it: its terms with their repeats, the identifiers it names, its vector (None: keywords only)."""

    terms: tuple[str, ...]
    anchors: Anchors
    vector: Vector | None = None
    depth: int = 100
    """Candidates per arm. Raise it and weaker ones can still win by evidence; each costs some microseconds."""
    statistics: TermStatistics | None = None
    """Of the whole hive; None: this index is the whole."""
    beside: TermStatistics | None = None
    """Where `statistics` are not known: of what will be ranked beside this index, which with it is the whole."""
    as_of_ms: int = 0
    """Of a hive: only what was said there by this time; 0: all."""


class Pool(msgspec.Struct, frozen=True):
    """Candidates and their raw scores, column by column: BM25, cosine (NaN: no vector), share of the anchors named."""

    ids: tuple[str, ...]
    keyword: Scores
    semantic: Scores
    exact: Scores

    def __len__(self) -> int:
        return len(self.ids)


def _none() -> Scores:
    return np.empty(0, dtype=np.float32)


class EvidenceColumns(msgspec.Struct, frozen=True):
    """Evidence for each candidate of a pool besides its words, in the same order, shapes (candidates,).

    `confirmations` and `trust` as shares in [0, 1], `confidence` in [0, 1] as it is at the time of asking. `places` are entries
    of `PLACE`; empty where no candidate has one.
    """

    confirmations: Scores = msgspec.field(default_factory=_none)
    trust: Scores = msgspec.field(default_factory=_none)
    confidence: Scores = msgspec.field(default_factory=_none)
    places: bytes = b""


class Occurrences(msgspec.Struct, frozen=True, array_like=True):
    """Where the terms of a probe occur in the candidates of a pool.

    Each distinct term is there once, in the probe's order. `counts`, `rows` and `weights` list the occurrences term after term.
    """

    statistics: TermStatistics
    """Of the index that gave the pool."""
    lengths: Scores = msgspec.field(default_factory=_none)
    """Of the candidates, in terms; shape (candidates,)."""
    counts: tuple[int, ...] = ()
    """How many candidates have each term; shape (terms,)."""
    rows: bytes = b""
    """Which they are: places in the pool as little-endian uint16, of which an arm's depth allows no more."""
    weights: Scores = msgspec.field(default_factory=_none)
    """The weight of the term in each of them."""


class Coverage:
    """How much of the hive something is about."""

    __slots__ = ()
    partitions: int
    missing: tuple[str, ...]

    @property
    def completeness(self) -> float:
        """Share of the hive's partitions that somebody spoke for, exact."""
        return 1.0 - len(self.missing) / self.partitions if self.partitions else 1.0


@dataclass(frozen=True, slots=True)
class Gathered(Coverage):
    """Candidates of every replica set that answered, merged as one index would have given them.

    `statistics` are those that keyword scores were computed by: hive-wide as far as members answered, and with those the asker
    brought. `holders` says by fact id which node holds it. `silent` are the
    nodes that were asked and did not answer in time; `missing` the partitions nobody spoke for.
    """

    pool: Pool
    evidence: EvidenceColumns
    statistics: TermStatistics
    partitions: int
    """How many there are to ask."""
    missing: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    """Every node that was sent a request, itself not counted, each once."""
    silent: tuple[str, ...] = ()
    requests: int = 0
    """Messages sent for it, re-asks and hedges included."""
    holders: Mapping[str, str] = field(default_factory=dict)
    as_of_ms: int = 0

    def with_more(self, other: "Gathered") -> "Gathered":
        """Two questions for one answer, together: nodes and requests of both; the candidates are this one's."""
        return replace(
            self,
            missing=tuple(sorted({*self.missing, *other.missing})),
            asked=tuple(sorted({*self.asked, *other.asked})),
            silent=tuple(sorted({*self.silent, *other.silent})),
            requests=self.requests + other.requests,
            holders={**other.holders, **self.holders},
        )


class SearchResult(list[Hit]):
    """Hits, best first.

    `gathered` is the hive's part of the search; None for a memory without a hive, and where the hive was away. `completeness` is
    the share of the hive that was searched: 1.0 without a hive, 0.0 where it was away. `note` says what the ranking had to do
    without, "" for nothing. `searched` is the number of facts that the hits are the best of, 0 where that is not known.
    """

    def __init__(
        self,
        hits: Iterable[Hit] = (),
        gathered: Gathered | None = None,
        completeness: float = 1.0,
        note: str = "",
        searched: int = 0,
    ) -> None:
        super().__init__(hits)
        self.gathered, self.note = gathered, note
        self.completeness = gathered.completeness if gathered else completeness
        self.searched = gathered.statistics.documents if gathered else searched

    def with_hits(self, hits: Iterable[Hit], note: str | None = None) -> "SearchResult":
        return SearchResult(hits, self.gathered, self.completeness, self.note if note is None else note, self.searched)


@dataclass(frozen=True, slots=True)
class Question:
    """A person's question. `asked_at` (ISO 8601, or "") is the time "yesterday" in the question refers to; `as_of_us`: see
    `Query`."""

    text: str
    asked_at: str = ""
    as_of_us: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """`text` is for a person; `sources` are the facts it rests on, best first, empty when nothing is known.

    `method` says how the text came about: "quoted" (verbatim from memory), "reasoned" (a language model wrote it), "collected"
    (counted or listed over all facts) or "unknown".
    `confidence` is in [0, 1]. `closest` is what was found where nothing of it answers for certain, best first.
    `completeness`, `gathered` and `note` are those of the search behind it (`SearchResult`).
    """

    text: str
    sources: tuple[Hit, ...]
    method: str
    confidence: float
    closest: tuple[Hit, ...] = ()
    completeness: float = 1.0
    gathered: Gathered | None = field(default=None, compare=False, repr=False)
    note: str = ""

    @property
    def is_known(self) -> bool:
        return self.method != "unknown"

"""Results of a question: how complete they are, and an answer with its sources, or an honest "not known".

A partial answer is a value that names the silent nodes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from hive_mind.model.probe import EvidenceColumns, Pool
from hive_mind.model.query import Hit, TermStatistics


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
    without, "" for nothing.
    """

    def __init__(
        self, hits: Iterable[Hit] = (), gathered: Gathered | None = None, completeness: float = 1.0, note: str = ""
    ) -> None:
        super().__init__(hits)
        self.gathered, self.note = gathered, note
        self.completeness = gathered.completeness if gathered else completeness

    def with_hits(self, hits: Iterable[Hit]) -> "SearchResult":
        return SearchResult(hits, self.gathered, self.completeness, self.note)


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
        """Whether memory held anything that answers."""
        return self.method != "unknown"

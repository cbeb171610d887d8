"""What a question to a hive brought together, and how complete it is. A partial answer is a value that says who stayed silent."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from hive_mind.model.probe import EvidenceColumns, Pool
from hive_mind.model.scores import TermStatistics


@dataclass(frozen=True, slots=True)
class Gathered:
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
        """Of two questions for one answer, what was reached by both and what it took; the candidates are this one's."""
        return replace(
            self,
            missing=tuple(sorted({*self.missing, *other.missing})),
            asked=tuple(sorted({*self.asked, *other.asked})),
            silent=tuple(sorted({*self.silent, *other.silent})),
            requests=self.requests + other.requests,
            holders={**other.holders, **self.holders},
        )

    @property
    def completeness(self) -> float:
        """Share of the hive's partitions that were searched, exact."""
        return 1.0 if not self.partitions else 1.0 - len(self.missing) / self.partitions

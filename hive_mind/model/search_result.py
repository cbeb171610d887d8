"""What a search or a listing returns: the items, and how much of the hive they come from."""

from collections.abc import Iterable

from hive_mind.model.fact import Fact
from hive_mind.model.gathered import Gathered
from hive_mind.model.query import Hit


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
        """Other hits of the same search."""
        return SearchResult(hits, self.gathered, self.completeness, self.note)


class FactList(list[Fact]):
    """Facts, and the share of the hive that was asked for them (`completeness`, as above)."""

    def __init__(self, facts: Iterable[Fact] = (), completeness: float = 1.0) -> None:
        super().__init__(facts)
        self.completeness = completeness

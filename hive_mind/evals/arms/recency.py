"""Newest first: the one definition of the mode "recent", for every arm and every place.

Candidates are the best facts of a hybrid search (which is a keyword search where there is no embedding model), five times as many
as are wanted. Of these the newest come first, and of equally new ones the more relevant. New is what was said later, as the data
set's documents say: `said_at` as text, so "2023-05" is before "2023-05-08", and nothing is before all. Where no document of a
scope says when, its place among them counts. What several documents say is as new as the newest of them. What an agent was told
first plays no part, so no arm knows more about it than another.
"""

from collections.abc import Iterable, Mapping, Sequence

from hive_mind.evals.arms.keeping import candidate_of, worded
from hive_mind.evals.datasets import Document
from hive_mind.memory.intake import statement
from hive_mind.model.ids import fact_id
from hive_mind.model.query import Hit

CANDIDATES_PER_HIT = 5
"""Raise it and newer facts that have less to do with the question come up."""

Newness = Mapping[str, int]
"""How new each fact is, by its id: the higher, the newer."""


def newness_of(documents: Iterable[Document]) -> Newness:
    """Of each fact that the documents become."""
    kept = worded(documents)
    days = {day: number for number, day in enumerate(sorted({document.said_at for document in kept}))}
    is_dated = bool(days.keys() - {""})
    newest: dict[str, int] = {}
    for place, document in enumerate(kept):
        name = fact_id(statement(candidate_of(document)))
        newest[name] = max(newest.get(name, -1), days[document.said_at] if is_dated else place)
    return newest


def newest_first(hits: Sequence[Hit], newness: Newness, limit: int) -> list[Hit]:
    """The newest `limit` of hits that are in the order of their relevance. What no document said is older than all."""
    return sorted(hits, key=lambda hit: -newness.get(hit.fact.id, -1))[:limit]

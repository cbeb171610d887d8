"""Ways to search that an evaluation can compare, by name.

A memory's own methods are modes by document 003's names; "rrf", "weighted" and "seed-federated" are built from what they find.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Protocol

from hive_mind.errors import InvalidInput
from hive_mind.evals.arms import candidate_of, worded
from hive_mind.evals.datasets import Document
from hive_mind.evals.experiments import Mode
from hive_mind.memory.intake import statement
from hive_mind.model.gathered import SearchResult
from hive_mind.model.ids import fact_id
from hive_mind.model.query import LIMIT, Hit, Method, Query
from hive_mind.ranking.seed import LIMIT_MULTIPLIER, Collected, hybrid_score_weighted, rrf_merge, seed_federated

CANDIDATES_PER_HIT = 5
"""Raise it and newer facts that have less to do with the question come up."""

Newness = Mapping[str, int]
"""How new each fact is, by its id: the higher, the newer."""


def newness_of(documents: Iterable[Document]) -> Newness:
    kept_documents = worded(documents)
    days = {day: number for number, day in enumerate(sorted({document.said_at for document in kept_documents}))}
    is_dated = bool(days.keys() - {""})
    newest: dict[str, int] = {}
    for place, document in enumerate(kept_documents):
        name = fact_id(statement(candidate_of(document)))
        newest[name] = max(newest.get(name, -1), days[document.said_at] if is_dated else place)
    return newest


def newest_first(hits: Sequence[Hit], newness: Newness, limit: int) -> list[Hit]:
    """The newest `limit` of hits that are in the order of their relevance. Hits without a document are older than all."""
    return sorted(hits, key=lambda hit: -newness.get(hit.fact.id, -1))[:limit]


class Searched(Protocol):
    """The part of a memory that is evaluated."""

    async def search_facts(self, query: str | Query, limit: int = LIMIT) -> SearchResult: ...


Search = Callable[[Searched, str, int], Awaitable[SearchResult]]


async def _own(memory: Searched, text: str, limit: int, *, method: Method) -> SearchResult:
    return await memory.search_facts(Query(text, limit, method))


async def _recent(memory: Searched, text: str, limit: int, *, newness: Newness) -> SearchResult:
    candidates = await _own(memory, text, CANDIDATES_PER_HIT * limit, method="hybrid")
    return candidates.with_hits(newest_first(candidates, newness, limit))


async def _rrf(memory: Searched, text: str, limit: int) -> SearchResult:
    """Reciprocal rank fusion of keyword and vector results to depth max(20, 2 · limit) (documents 000 and 004)."""
    depth = max(20, 2 * limit)
    arms = [await _own(memory, text, depth, method=method) for method in ("keyword", "vector")]
    hits = {hit.fact.id: hit for arm in arms for hit in arm}
    merged = rrf_merge([[hit.fact.id for hit in arm] for arm in arms])
    return arms[-1].with_hits(hits[fact_id] for fact_id, _ in merged[:limit])


async def _weighted(memory: Searched, text: str, limit: int) -> SearchResult:
    """0.5 · cosine + 0.3 · confirmations + 0.2 · trust over the nearest by vector (document 004)."""

    def score(hit: Hit) -> float:
        return hybrid_score_weighted(hit.components.semantic or 0.0, hit.fact.confirmations, 2 * hit.components.trust)

    candidates = await _own(memory, text, 10 * limit, method="vector")
    return candidates.with_hits(sorted(candidates, key=lambda hit: (-score(hit), hit.fact.id))[:limit])


async def _seed_federated(memory: Searched, text: str, limit: int) -> SearchResult:
    """Reciprocal rank fusion of a keyword list and a confidence list of everything collected (document 004)."""
    candidates = await _own(memory, text, LIMIT_MULTIPLIER * limit, method="keyword")
    hits = {hit.fact.id: hit for hit in candidates}
    collected = [Collected(hit.fact.id, hit.components.keyword, hit.fact.confidence) for hit in hits.values()]
    return candidates.with_hits(hits[fact_id] for fact_id, _ in seed_federated(collected)[:limit])


_SEARCHES: Mapping[Mode, Search] = {
    "hybrid": partial(_own, method="hybrid"),
    "semantic": partial(_own, method="vector"),
    "lexical": partial(_own, method="keyword"),
    "rrf": _rrf,
    "weighted": _weighted,
    "seed-federated": _seed_federated,
}

BY_WORDS: frozenset[Mode] = frozenset({"lexical", "seed-federated"})
"""Modes that no embedding model changes."""
NEEDS_VECTORS: frozenset[Mode] = frozenset({"semantic", "rrf", "weighted"})
"""Modes that find nothing without a model. The others then rank by words alone."""

METHODS: Mapping[str, Mode] = {
    "keyword": "lexical",
    "vector": "semantic",
    "hybrid": "hybrid",
    "rrf": "rrf",
    "weighted": "weighted",
    "seed-federated": "seed-federated",
}
"""Modes by the names of a memory's methods."""


def mode_of(method: str) -> Mode:
    """The mode of a method. Raises `InvalidInput`."""
    if method not in METHODS:
        raise InvalidInput(f"unknown method {method!r}; known: {', '.join(METHODS)}")
    return METHODS[method]


def search_in(mode: Mode, newness: Newness) -> Search:
    """The search of an experiment's mode; `newness` is that of the scope's documents."""
    return partial(_recent, newness=newness) if mode == "recent" else _SEARCHES[mode]

"""Ways to hold what a data set says and to find it again, one per file; an experiment's `Arm` names them.

Here are the interface of an arm, which learns a scope's documents when it opens and is asked questions until it is closed, and
how documents are dealt to agents, kept as facts, and recognised in hits; and the ways to search that can be compared, by name. A
memory's own are modes by document 003's names; "rrf", "weighted" and "seed-federated" are built from what they find.
"""

import random
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

from hive_mind.embed import Embedder
from hive_mind.errors import InvalidInput
from hive_mind.evals.datasets import Document, LabelledQuestion, Scope
from hive_mind.evals.experiments import Cell, Learned, Mode
from hive_mind.memory.base import Memory
from hive_mind.memory.intake import new_fact, statement
from hive_mind.model.content import Candidate
from hive_mind.model.fact import CONFIDENCE, Fact
from hive_mind.model.gathered import SearchResult
from hive_mind.model.ids import fact_id
from hive_mind.model.query import LIMIT, Hit, Method, Query
from hive_mind.ranking.seed import LIMIT_MULTIPLIER, Collected, hybrid_score_weighted, rrf_merge, seed_federated
from hive_mind.runtime.settings import Settings

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of a question to a hive, replies included, how many nodes were asked besides the asker's own, and which share of the
    hive was searched."""

    messages: int = 0
    bytes: int = 0
    fan_out: int = 0
    completeness: float = 1.0


@dataclass(frozen=True, slots=True)
class ArmResult:
    """Results of one question, best first, and the cost of finding them. Times in seconds, without embedding the question."""

    hits: tuple[Hit, ...]
    cost: Cost = field(default=Cost())
    cpu_s: float = 0.0
    wall_s: float = 0.0


class OpenArm(Protocol):
    """An arm that has learned its scope."""

    @property
    def documents(self) -> Mapping[str, Sequence[str]]:
        """Ids of the documents by the fact they became; two of the same words are one fact."""

    @property
    def learned(self) -> Learned: ...

    def ask(self, question: LabelledQuestion, limit: int, /) -> Awaitable[ArmResult]:
        """Put one question. Raises `HiveMindError` where it can't be answered at all."""

    def close(self) -> Awaitable[None]: ...


async def _nothing() -> None:
    pass


@dataclass(frozen=True, slots=True)
class AskedArm:
    """An arm whose questions go to a function. Without `close` it is all in RAM."""

    documents: Mapping[str, Sequence[str]]
    learned: Learned
    ask: Callable[[LabelledQuestion, int], Awaitable[ArmResult]]
    close: Callable[[], Awaitable[None]] = _nothing


@dataclass(frozen=True, slots=True)
class Means:
    """Parts that arms are made with; the same for all arms of a run.

    `embedder` had better remember its embeddings: every arm embeds the same texts.
    """

    settings: Settings
    embedder: Embedder
    progress: Progress | None = None


Deal = Callable[[Sequence[Document], int], list[list[Document]]]
# Documents that belong together by these fields stay together; groups go to the agents in turn.
_FIELDS = {"session": "section", "speaker": "speaker", "topic": "topic"}
DEALS = ("round-robin", *_FIELDS, "random")


def deal_by(name: str, seed: int = 1) -> Deal:
    """The way to deal of this name; `seed` decides where it draws. Raises `InvalidInput`.

    One after the other is as if everybody heard a bit of everything; at random, as where facts reach agents by chance.
    """
    if name not in DEALS:
        raise InvalidInput(f"unknown deal {name!r}; known: {', '.join(DEALS)}")

    def deal(documents: Sequence[Document], agents: int) -> list[list[Document]]:
        chance = random.Random(f"{seed} deal")  # noqa: S311 - it has to be the same again
        groups: dict[str, list[Document]] = {}
        for place, document in enumerate(documents):
            by_place = str(chance.randrange(agents) if name == "random" else place % agents)
            groups.setdefault(getattr(document, _FIELDS[name]) if name in _FIELDS else by_place, []).append(document)
        dealt: list[list[Document]] = [[] for _ in range(agents)]
        for number, (group, group_documents) in enumerate(groups.items()):
            dealt[number % agents if name in _FIELDS else int(group)].extend(group_documents)
        return dealt

    return deal


def names_of(agents: int) -> tuple[str, ...]:
    """Agents of an experiment: "agent-00", "agent-01", …"""
    width = len(str(max(agents - 1, 0)))
    return tuple(f"agent-{number:0{width}d}" for number in range(agents))


STORE_BATCH = 256
"""Of what a data set does not say how sure one may be, which is nearly everything: then all facts are equally sure."""


def candidate_of(document: Document) -> Candidate:
    """A document as a statement to keep. Its confidence is what its `meta` calls so, where that is a number from 0 to 1."""
    confidence = CONFIDENCE
    with suppress(ValueError):
        confidence = float(document.meta.get("confidence", CONFIDENCE))
    return Candidate(
        content=document.text,
        concept="",
        confidence=confidence if 0.0 <= confidence <= 1.0 else CONFIDENCE,
        said_at=document.said_at,
        speaker=document.speaker,
        before=document.before,
    )


def worded(documents: Iterable[Document]) -> list[Document]:
    """Those that say anything that can be kept."""
    return [document for document in documents if any(character.isalnum() for character in document.text)]


def documents_by_fact(documents: Iterable[Document]) -> dict[str, list[str]]:
    """Ids of documents by the id of the fact they become: two of the same words are one fact."""
    ids_by_fact: dict[str, list[str]] = {}
    for document in worded(documents):
        ids_by_fact.setdefault(fact_id(statement(candidate_of(document))), []).append(document.id)
    return ids_by_fact


def lessons(cell: Cell, scope: Scope, progress: Progress | None = None) -> Iterator[tuple[int, Scope]]:
    """The documents of each agent of a cell, by its number, in order. Of documents with the same text only the first is taught.

    So every arm holds the same facts with the same dates and surroundings, each vouched for by one agent, as one memory does that
    gets everything from one source. A second agent with the same fact would confirm it and raise its rank: a difference in
    learning, not a property of a topology.
    """
    first = {names[0] for names in documents_by_fact(scope.documents).values()}
    dealt = deal_by(cell.arm.deal, cell.seed)(scope.documents, cell.arm.agents)
    taught = [
        (number, tuple(document for document in documents if document.id in first)) for number, documents in enumerate(dealt)
    ]
    taught = [(number, documents) for number, documents in taught if documents]
    for lesson_number, (number, lesson_documents) in enumerate(taught, start=1):
        yield number, Scope(scope.name, lesson_documents, ())
        if progress:
            progress(f"{scope.name}: lessons", lesson_number, len(taught))


def facts_of(scope: Scope) -> list[Fact]:
    """A scope's documents as the facts one memory would keep, in their order; of the same words the first."""
    facts: dict[str, Fact] = {}
    for place, document in enumerate(worded(scope.documents)):
        fact = new_fact(candidate_of(document), scope.name, place)
        facts.setdefault(fact.id, fact)
    return list(facts.values())


async def keep(memory: Memory, scope: Scope, progress: Progress | None) -> dict[str, list[str]]:
    """Store a scope's documents, of the same words the first. Documents by the id of the fact they became."""
    ids_by_fact = documents_by_fact(scope.documents)
    first = {names[0] for names in ids_by_fact.values()}
    documents = [document for document in worded(scope.documents) if document.id in first]
    for start in range(0, len(documents), STORE_BATCH):
        candidates = [candidate_of(document) for document in documents[start : start + STORE_BATCH]]
        await memory.store_facts(candidates, source=scope.name)
        if progress:
            progress(f"{scope.name}: documents", min(start + STORE_BATCH, len(documents)), len(documents))
    return ids_by_fact


def firsts_of(documents: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """For each document the first one of the same text, which counts once; `documents` are given by the fact they became.

    Counted as documents, ten copies of one text would fill the first ten, and finding nine of ten would be a miss.
    """
    return {document: same[0] for same in documents.values() for document in same}


def by_texts(question: LabelledQuestion, firsts: Mapping[str, str]) -> LabelledQuestion:
    """The question with one judgement of each text, the best of its documents, under the first of them."""
    relevant: dict[str, int] = {}
    for document, judgement in question.relevant.items():
        first = firsts.get(document, document)
        relevant[first] = max(judgement, relevant.get(first, judgement))
    return replace(question, relevant=relevant)


def texts_found(hits: Iterable[Hit], documents: Mapping[str, Sequence[str]]) -> list[str]:
    """The first document of each hit, best first; a hit that is no document of the set is left out."""
    return [same[0] for hit in hits if (same := documents.get(hit.fact.id))]


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

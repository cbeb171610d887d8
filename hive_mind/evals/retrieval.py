"""How well a memory finds what answers a question: every question of a data set, through the same memory agents use.

Documents are stored as facts, questions are asked as queries, and the rank of the relevant documents is measured. No answer is
worded and no model judges. What could not be used is counted and said.
"""

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from hive_mind.evals.datasets import Dataset, Document, LabelledQuestion, Scope
from hive_mind.evals.methods import search_by
from hive_mind.measure.ranking import ndcg_at_k, recall_at_k, reciprocal_rank
from hive_mind.measure.statistics import bootstrap_interval, macro_mean
from hive_mind.memory.base import Memory
from hive_mind.memory.intake import statement
from hive_mind.model.content import Candidate
from hive_mind.model.fact import Fact
from hive_mind.model.ids import fact_id

OpenMemory = Callable[[Scope], Awaitable[Memory]]
Progress = Callable[[str, int, int], None]

_STORE_BATCH = 256
_BOOTSTRAP_SEED = 20260101


@dataclass(frozen=True, slots=True)
class Cost:
    """What a question cost a hive, replies included, and which share of the hive it reached."""

    messages: int = 0
    bytes: int = 0
    completeness: float = 1.0


class Meter(Protocol):
    """Measures what a question costs besides time."""

    def begin(self) -> None:
        """The question begins."""
        ...

    def end(self) -> Cost:
        """It is answered."""
        ...


@dataclass(frozen=True, slots=True)
class Asked:
    """One question, what it found (document ids, best first, and the facts they became) and what the search cost."""

    question: LabelledQuestion
    found: tuple[str, ...]
    cpu_s: float
    facts: tuple[str, ...] = ()
    cost: Cost = field(default=Cost())


async def ask_all(
    dataset: Dataset, open_memory: OpenMemory, method: str, limit: int, progress: Progress | None = None
) -> list[Asked]:
    """Store each scope's documents in a memory of its own and ask its questions. Raises `InvalidInput` for an unknown method."""
    search_by(method)
    asked: list[Asked] = []
    for scope in dataset.scopes:
        memory = await open_memory(scope)
        try:
            documents = await keep(memory, scope, progress)
            for number, question in enumerate(scope.questions, start=1):
                asked.append(await ask(memory, question, documents, method, limit))
                if progress:
                    progress(f"{scope.name}: questions", number, len(scope.questions))
        finally:
            await memory.close()
    return asked


def scorecard_row(dataset: Dataset, scope: str, method: str, asked: Sequence[Asked], limit: int) -> dict[str, object]:
    """One row of a report. Metrics are macro means in [0, 1] over the questions with a relevant document."""
    scores = metric_values(asked, limit)
    counted = [one for one, recall in zip(asked, scores[f"recall@{limit}"], strict=True) if recall is not None]
    return {
        "dataset": dataset.name,
        "scope": scope,
        "method": method,
        "topology": "single",
        "agents": 1,
        "deal": "",
        "documents": dataset.documents,
        "questions": len(counted),
        "left_out": sum(dataset.left_out.values()) + len(asked) - len(counted),
        "left_out_reasons": dict(dataset.left_out),
        "metrics": {name: _rounded(macro_mean(values).mean) for name, values in scores.items()},
        "intervals": {name: _interval(values) for name, values in scores.items()},
        "by_category": _by_category(asked, limit),
        "cpu_ms_per_query": _rounded(1e3 * float(np.median([one.cpu_s for one in asked]))) if asked else None,
        "messages_per_query": _mean([float(one.cost.messages) for one in asked]),
        "bytes_per_query": _mean([float(one.cost.bytes) for one in asked]),
        "completeness": _mean([one.cost.completeness for one in asked]),
    }


def identical_share(asked: Sequence[Asked], alone: Sequence[Asked], limit: int) -> float | None:
    """Share of the questions whose first `limit` facts are those of a single memory, in the same order."""
    pairs = zip(asked, alone, strict=True)
    return _mean([float(one.facts[:limit] == other.facts[:limit]) for one, other in pairs])


def metric_values(asked: Iterable[Asked], limit: int) -> dict[str, list[float | None]]:
    """Each metric's value per question; None where a question has no relevant document."""
    rows = list(asked)
    metrics = {f"recall@{limit}": recall_at_k, f"mrr@{limit}": reciprocal_rank, f"ndcg@{limit}": ndcg_at_k}
    return {name: [of(one.found, one.question.relevant, limit) for one in rows] for name, of in metrics.items()}


def candidate_of(document: Document) -> Candidate:
    """A document as a statement to keep."""
    return Candidate(
        content=document.text,
        concept="",
        confidence=0.8,
        said_at=document.said_at,
        speaker=document.speaker,
        before=document.before,
    )


async def keep(memory: Memory, scope: Scope, progress: Progress | None) -> Mapping[str, Sequence[str]]:
    """Store a scope's documents. Documents by the id of the fact they became: two of the same words are one fact."""
    documents: dict[str, list[str]] = {}
    wordy = [document for document in scope.documents if any(character.isalnum() for character in document.text)]
    for start in range(0, len(wordy), _STORE_BATCH):
        candidates = [candidate_of(document) for document in wordy[start : start + _STORE_BATCH]]
        await memory.store_facts(candidates, source=scope.name)
        if progress:
            progress(f"{scope.name}: documents", min(start + _STORE_BATCH, len(wordy)), len(wordy))
    for document in wordy:
        documents.setdefault(fact_id(statement(candidate_of(document))), []).append(document.id)
    return documents


async def ask(
    memory: Memory,
    question: LabelledQuestion,
    documents: Mapping[str, Sequence[str]],
    method: str,
    limit: int,
    meter: Meter | None = None,
) -> Asked:
    """Put one question to a memory and measure it."""
    search = search_by(method)
    # Once to embed the question, which costs a hundred times the search and is not what is measured here; and to count messages.
    if meter:
        meter.begin()
    await search(memory, question.text, limit)
    cost = meter.end() if meter else Cost()
    started = time.process_time()
    hits = await search(memory, question.text, limit)
    cpu_s = time.process_time() - started
    found = [document for hit in hits for document in _documents_of(hit.fact, documents)]
    return Asked(question, tuple(found[:limit]), cpu_s, tuple(hit.fact.id for hit in hits), cost)


def _documents_of(fact: Fact, documents: Mapping[str, Sequence[str]]) -> Sequence[str]:
    # A memory that was kept from an earlier run may know more than this data set.
    return documents.get(fact.id, ())


def _by_category(asked: Sequence[Asked], limit: int) -> dict[str, dict[str, float | None]]:
    groups: dict[str, list[Asked]] = {}
    for one in asked:
        groups.setdefault(one.question.category or "all", []).append(one)
    return {
        category: {name: _rounded(macro_mean(values).mean) for name, values in metric_values(group, limit).items()}
        for category, group in sorted(groups.items())
    }


def _interval(values: Sequence[float | None]) -> list[float] | None:
    found = bootstrap_interval(values, rng=np.random.default_rng(_BOOTSTRAP_SEED))
    return None if found is None else [round(found.low, 4), round(found.high, 4)]


def _mean(values: Sequence[float]) -> float | None:
    return round(float(np.mean(values)), 4) if values else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)

"""Measuring a configuration: every golden question is asked of the index, and what comes back is compared with its labels.

No model judges. The cut is at least ten places, whatever the configuration shows: were it the configuration's own, one that
shows a single result would be measured by an easier ideal.
"""

import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from hive_mind.embed.base import Embedder
from hive_mind.errors import InvalidInput
from hive_mind.retrieval.files.collection import Golden, GoldenQuery, Split
from hive_mind.retrieval.files.configuration import RetrievalConfig
from hive_mind.retrieval.files.workspace import Workspace
from hive_mind.retrieval.indexing.index import open_index
from hive_mind.retrieval.indexing.selecting import QueryResult
from hive_mind.retrieval.measuring.measured import Evaluation, QuestionRow, Shown
from hive_mind.runtime.settings import Settings

K_MIN = 10

Progress = Callable[[str, int, int], None]


class Index(Protocol):
    """The index that is measured."""

    async def search(self, query: str, config: RetrievalConfig) -> QueryResult:
        """The results of a configuration."""
        ...


async def evaluate(
    index: Index,
    config: RetrievalConfig,
    golden: Golden,
    split: Split | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Measure a configuration with one part of the golden set, or with all. Raises `InvalidInput` where that part is empty."""
    questions = golden.split(split)
    if not questions:
        raise InvalidInput(f'no question of the golden set is marked "split": "{split}": mark some, or measure with all')
    return await measured(index, config, questions, split or "all", progress)


async def evaluate_held_out(
    index: Index, config: RetrievalConfig, golden: Golden, progress: Progress | None = None
) -> Evaluation:
    """Measure with the questions that decide what is deployed. Raises `InvalidInput` where all are marked for training."""
    questions, split = held_out(golden)
    return await measured(index, config, questions, split, progress)


def held_out(golden: Golden) -> tuple[tuple[GoldenQuery, ...], str]:
    """The questions nobody tuned on: those marked "test"; where none is, those not marked "train". And what they are called.

    Raises `InvalidInput` where all are marked "train".
    """
    if test := golden.split("test"):
        return test, "test"
    unmarked = tuple(query for query in golden.queries if query.split is None)
    if not unmarked:
        raise InvalidInput('every golden question is marked "split": "train": mark some "test", those decide what is deployed')
    return unmarked, "all" if len(unmarked) == len(golden.queries) else "unmarked"


async def measured(
    index: Index, config: RetrievalConfig, questions: Sequence[GoldenQuery], split: str, progress: Progress | None = None
) -> Evaluation:
    rows = []
    for number, question in enumerate(questions, 1):
        rows.append(await _row(index, config, question))
        if progress:
            progress(config.name, number, len(questions))
    return Evaluation(config, split, max(K_MIN, config.results_max), tuple(rows))


async def _row(index: Index, config: RetrievalConfig, question: GoldenQuery) -> QuestionRow:
    started = time.perf_counter()
    found = await index.search(question.query, config)
    ms = 1e3 * (time.perf_counter() - started)
    return QuestionRow(
        id=question.id,
        query=question.query,
        relevant=tuple(question.relevant),
        distractors=tuple(question.distractors),
        shown=tuple(Shown(**{name: getattr(one, name) for name in Shown.__slots__}) for one in found.results),
        **{name: getattr(found, name) for name in ("scored", "method", "cut_at", "why_cut", "notes")},
        ms=round(ms, 3),
    )


class Measurable(Index, Protocol):
    """An index of which is known what it holds."""

    def facets(self) -> Mapping[str, Mapping[str, int]]:
        """How many documents have each value of each field."""
        ...

    def counts(self) -> tuple[int, int]:
        """How many documents and chunks there are."""
        ...


OpenCollection = Callable[[str], AbstractAsyncContextManager[Measurable]]


@dataclass(frozen=True, slots=True)
class Bench:
    """Everything it takes to measure. `embedding` is the name of the model, "" without one."""

    workspace: Workspace
    open: OpenCollection
    embedding: str = ""
    progress: Progress | None = None

    @property
    def has_embeddings(self) -> bool:
        """Whether questions can be compared by meaning."""
        return bool(self.embedding)


def bench_of(workspace: Workspace, settings: Settings, embedder: Embedder, progress: Progress | None = None) -> Bench:
    """A bench over the real index. Nothing is measured on documents as they were: each opening takes in what has changed."""

    @asynccontextmanager
    async def open(collection: str) -> AsyncIterator[Measurable]:
        async with await open_index(workspace, collection, settings, embedder) as index:
            await index.update(progress)
            yield index

    return Bench(workspace, open, embedder.model if embedder.dimension else "", progress)

"""Where configurations are measured: a workspace and a way to open the index of a collection, brought up to date."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from hive_mind.embed.base import Embedder
from hive_mind.retrieval.evaluation import Index, Progress
from hive_mind.retrieval.index import open_index
from hive_mind.retrieval.workspace import Workspace
from hive_mind.runtime.settings import Settings


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

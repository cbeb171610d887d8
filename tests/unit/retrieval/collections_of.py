"""A workspace with documents, and its index, in a line."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from hive_mind.embed import Embedder
from hive_mind.retrieval import Collection, Retrieval, RetrievalConfig
from hive_mind.retrieval.index import CollectionIndex, open_index
from hive_mind.retrieval.searching import QueryResult
from hive_mind.retrieval.workspace import Workspace
from hive_mind.runtime.settings import Settings
from tests.builders import BagOfWords

COLLECTION = Collection(name="kb", filterable_fields=["category", "product"])


def write(folder: Path, documents: Mapping[str, str]) -> None:
    """Documents by their ids."""
    (folder / "configs").mkdir(parents=True, exist_ok=True)
    (folder / "documents").mkdir(exist_ok=True)
    for id, text in documents.items():
        path = folder / "documents" / id
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


@asynccontextmanager
async def index_of(
    folder: Path, embedder: Embedder | None = None, collection: Collection = COLLECTION, *, is_updated: bool = True
) -> AsyncIterator[CollectionIndex]:
    """The index of what is in a folder, with a model that compares words unless another is given."""
    async with await open_index(Workspace.open(folder), collection, Settings(ann="exact"), embedder or BagOfWords()) as index:
        if is_updated:
            await index.update()
        yield index


def config(**parts: Any) -> RetrievalConfig:
    """A configuration; parts of `retrieval` may be given directly."""
    own = {name: parts.pop(name) for name in list(parts) if name in Retrieval.model_fields}
    return RetrievalConfig(name="c", collection="kb", retrieval={**own, **parts.pop("retrieval", {})}, **parts)


async def found_in(folder: Path, query: str, **parts: Any) -> QueryResult:
    """One search of what is in a folder."""
    async with index_of(folder) as index:
        return await index.search(query, config(**parts))


def shown(found: QueryResult) -> list[tuple[str, float]]:
    """Chunks and scores, for comparing."""
    return [(one.chunk_id, round(one.score, 9)) for one in found.results]

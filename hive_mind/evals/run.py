"""One retrieval evaluation from start to end: read the data, open memories by the settings, ask, and make the report's row."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hive_mind.embed.base import Embedder, Matrix
from hive_mind.errors import InvalidInput
from hive_mind.evals.arms.base import Means, Progress
from hive_mind.evals.arms.dealing import deal_by
from hive_mind.evals.arms.methods import NEEDS_VECTORS, search_by
from hive_mind.evals.arms.opening import open_here
from hive_mind.evals.datasets import Dataset, Scope, load_dataset, pooled
from hive_mind.evals.experiments.values import Cell, DataSource, Retrieval
from hive_mind.evals.fleets import Arrangement
from hive_mind.evals.retrieval import Asked, ask_all, identical_share, scorecard_row
from hive_mind.evals.running.data import row_id
from hive_mind.evals.running.vector_cache import VectorCache, Vectors
from hive_mind.hive.topology.spec import is_shared
from hive_mind.model.query import LIMIT, METHOD
from hive_mind.ranking.pipeline import RankingSettings
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import open_embedder

ScopeName = Literal["per-conversation", "pooled"]


@dataclass(frozen=True, slots=True)
class RetrievalRun:
    """What to measure. `keep` is a folder for databases and vectors that are reused: nothing is embedded twice; None: in RAM.

    `arrangements` are measured side by side, each on the same data.
    """

    dataset: str
    data: Path
    method: str = METHOD
    scope: ScopeName = "per-conversation"
    name: str = ""
    limit: int = LIMIT
    keep: Path | None = None
    arrangements: tuple[Arrangement, ...] = (Arrangement(),)
    ranking: RankingSettings | None = None
    """How memories and hives rank; None: by themselves."""


async def evaluate(run: RetrievalRun, settings: Settings, progress: Progress | None = None) -> list[dict[str, object]]:
    """The rows of the report. Raises `InvalidInput` for data or a method that can't be used, or a missing embedding model."""
    search_by(run.method)
    for arrangement in run.arrangements:
        deal_by(arrangement.arm.deal)
    dataset = load(run)
    needs_vectors = run.method in NEEDS_VECTORS
    embedder = await open_embedder(settings if needs_vectors else replace(settings, embed="none"))
    try:
        if needs_vectors and not embedder.dimension:
            raise InvalidInput(f"method {run.method!r} needs an embedding model: see hive-mind doctor")
        return await _rows(run, dataset, Means(settings, Remembering(embedder, run.keep), progress, run.keep))
    finally:
        await embedder.close()


async def _rows(run: RetrievalRun, dataset: Dataset, means: Means) -> list[dict[str, object]]:
    """One row per arrangement. What a single memory finds is what the others are compared with."""
    alone = await _ask(run, dataset, means, Arrangement())
    rows = []
    for arrangement in run.arrangements:
        about: dict[str, object] = {"embedding": means.embedder.model if run.method in NEEDS_VECTORS else ""}
        asked = alone
        if is_shared(arrangement.topology):
            asked = await _ask(run, dataset, means, arrangement)
            about |= {"topology": arrangement.topology, "agents": arrangement.agents, "deal": arrangement.deal}
        about["identical_top10"] = identical_share(asked, alone, min(run.limit, 10))
        rows.append(scorecard_row(dataset, run.scope, run.method, asked, run.limit) | about)
    return rows


async def _ask(run: RetrievalRun, dataset: Dataset, means: Means, arrangement: Arrangement) -> list[Asked]:
    """Every question, each scope asked of an arm of its own."""
    way = Retrieval(run.method, ranking=run.ranking)
    cell = Cell(arrangement.topology, DataSource(dataset.name), arrangement.arm, way, seed=1, fault=arrangement.fault)
    asked: list[Asked] = []
    for scope in dataset.scopes:
        arm = await open_here(cell, scope, means, search_by(run.method))
        asked += [replace(one, group=_group(dataset, scope, one)) for one in await ask_all(arm, scope, run.limit, means.progress)]
    return asked


def _group(dataset: Dataset, scope: Scope, one: Asked) -> str:
    id = row_id(dataset, scope, one.question)
    return dataset.groups.get(id, "")


def load(run: RetrievalRun) -> Dataset:
    """The data of a run, pooled where it says so. Raises `InvalidInput`."""
    # As for `eval run`, --data may also be the folder of all sets.
    inner = run.data / run.name
    is_inner = bool(run.name) and inner.is_dir()
    dataset = load_dataset(inner if is_inner else run.data, "" if is_inner else run.name, run.dataset)
    return pooled(dataset) if run.scope == "pooled" else dataset


class Remembering:
    """An embedder that embeds no text twice, for as long as it lives: every topology holds the same texts.

    Questions also not where a run before kept their vectors in `folder`, beside the databases, which have those of documents.
    """

    def __init__(self, embedder: Embedder, folder: Path | None = None) -> None:
        self._embedder = embedder
        self._kept = VectorCache(Vectors(folder, embedder.model, embedder.dimension)) if folder and embedder.dimension else None
        self._passages: dict[str, NDArray[np.float32]] = {}
        self._queries: dict[str, NDArray[np.float32]] = {}

    @property
    def model(self) -> str:
        return self._embedder.model

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    async def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """Unit rows, one per text."""
        new = [text for text in dict.fromkeys(texts) if text not in self._passages]
        if new:
            self._passages.update(zip(new, await self._embedder.embed_passages(new), strict=True))
        return np.array([self._passages[text] for text in texts], dtype=np.float32).reshape(len(texts), self.dimension)

    async def embed_query(self, text: str) -> NDArray[np.float32]:
        if text not in self._queries:
            self._queries[text] = await self._embedded_query(text)
        return self._queries[text]

    async def _embedded_query(self, text: str) -> NDArray[np.float32]:
        known = self._kept.get("query", text) if self._kept is not None else None
        if known is not None:
            return known
        found = await self._embedder.embed_query(text)
        if self._kept is not None:
            self._kept.keep("query", [text], found.reshape(1, -1))
        return found

    async def close(self) -> None:
        """Do nothing: the embedder's owner closes it."""

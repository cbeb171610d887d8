"""One retrieval evaluation from start to end: read the data, open memories by the settings, ask, and make the report's row."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hive_mind.embed.base import Embedder, Matrix
from hive_mind.errors import InvalidInput
from hive_mind.evals.datasets import Dataset, Scope, load_jsonl, load_locomo, pooled
from hive_mind.evals.dealing import deal_by
from hive_mind.evals.fleets import Arrangement, ask_fleet
from hive_mind.evals.methods import NEEDS_VECTORS, search_by
from hive_mind.evals.retrieval import Asked, Progress, ask_all, identical_share, scorecard_row
from hive_mind.memory.base import Memory
from hive_mind.ranking.pipeline import RankingSettings
from hive_mind.runtime.nodes import Borrowed
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import memory_with, open_embedder

ScopeName = Literal["per-conversation", "pooled"]
DATASETS = ("locomo", "jsonl")


@dataclass(frozen=True, slots=True)
class RetrievalRun:
    """What to measure. `keep` is a folder for databases that are reused, so that nothing is embedded twice; None: in RAM only.

    `arrangements` are measured side by side, each on the same data.
    """

    dataset: str
    data: Path
    method: str = "hybrid"
    scope: ScopeName = "per-conversation"
    name: str = ""
    limit: int = 10
    keep: Path | None = None
    arrangements: tuple[Arrangement, ...] = (Arrangement(),)
    ranking: RankingSettings | None = None
    """How memories and hives rank; None: by themselves."""


async def evaluate(run: RetrievalRun, settings: Settings, progress: Progress | None = None) -> list[dict[str, object]]:
    """The rows of the report. Raises `InvalidInput` for data or a method that can't be used, or a missing embedding model."""
    search_by(run.method)
    for arrangement in run.arrangements:
        arrangement.plan().arranged()
        deal_by(arrangement.deal)
    dataset = load(run)
    needs_vectors = run.method in NEEDS_VECTORS
    embedder = await open_embedder(settings if needs_vectors else replace(settings, embed="none"))
    try:
        if needs_vectors and not embedder.dimension:
            raise InvalidInput(f"method {run.method!r} compares vectors and there is no embedding model: see hive-mind doctor")
        return await _rows(run, dataset, settings, Remembering(embedder), progress)
    finally:
        await embedder.close()


async def _rows(
    run: RetrievalRun, dataset: Dataset, settings: Settings, embedder: Embedder, progress: Progress | None
) -> list[dict[str, object]]:
    """One row per arrangement. What a single memory finds is what the others are compared with."""
    alone = await _ask_alone(run, dataset, settings, embedder, progress)
    rows = []
    for arrangement in run.arrangements:
        about: dict[str, object] = {"embedding": embedder.model if run.method in NEEDS_VECTORS else ""}
        asked = alone
        if arrangement.topology != "single":
            arranged = replace(arrangement, ranking=run.ranking)
            asked = await ask_fleet(dataset, arranged, settings, embedder, run.method, run.limit, progress)
            about |= {"topology": arrangement.topology, "agents": arrangement.agents, "deal": arrangement.deal}
        about["identical_top10"] = identical_share(asked, alone, min(run.limit, 10))
        rows.append(scorecard_row(dataset, run.scope, run.method, asked, run.limit) | about)
    return rows


async def _ask_alone(
    run: RetrievalRun, dataset: Dataset, settings: Settings, embedder: Embedder, progress: Progress | None
) -> list[Asked]:
    async def open_memory(scope: Scope) -> Memory:
        name = _agent_for(dataset, scope, embedder.model)
        return memory_with(_settings_for(run, settings), name, Borrowed(embedder), run.ranking)

    return await ask_all(dataset, open_memory, run.method, run.limit, progress)


def load(run: RetrievalRun) -> Dataset:
    """The data of a run, pooled where it says so. Raises `InvalidInput`."""
    if run.dataset not in DATASETS:
        raise InvalidInput(f"there is no data set format {run.dataset!r}; known: {', '.join(DATASETS)}")
    dataset = load_locomo(run.data) if run.dataset == "locomo" else load_jsonl(run.data, run.name)
    return pooled(dataset) if run.scope == "pooled" else dataset


def _settings_for(run: RetrievalRun, settings: Settings) -> Settings:
    if run.keep is None:
        return replace(settings, store="memory")
    return replace(settings, home=run.keep)


def _agent_for(dataset: Dataset, scope: Scope, model: str) -> str:
    """A name that is another one for other documents or another model, so that a kept database never mixes two."""
    digest = blake2b(model.encode(), digest_size=6)
    for document in scope.documents:
        kept = (document.id, document.text, document.speaker, document.said_at, document.before, "")
        digest.update("\0".join(kept).encode("utf-8", "replace"))
    # A file may be called what no agent may be called.
    name = re.sub(r"[^A-Za-z0-9._-]", "-", dataset.name[:20])
    return f"eval-{name}-{digest.hexdigest()}"


class Remembering:
    """An embedder that embeds no text twice, for as long as it lives: every topology holds the same texts."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._passages: dict[str, NDArray[np.float32]] = {}
        self._queries: dict[str, NDArray[np.float32]] = {}

    @property
    def model(self) -> str:
        """The model's name."""
        return self._embedder.model

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._embedder.dimension

    async def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """Unit rows, one per text."""
        new = [text for text in dict.fromkeys(texts) if text not in self._passages]
        if new:
            self._passages.update(zip(new, await self._embedder.embed_passages(new), strict=True))
        return np.array([self._passages[text] for text in texts], dtype=np.float32).reshape(len(texts), self.dimension)

    async def embed_query(self, text: str) -> NDArray[np.float32]:
        """A unit vector."""
        if text not in self._queries:
            self._queries[text] = await self._embedder.embed_query(text)
        return self._queries[text]

    async def close(self) -> None:
        """Nothing: whoever opened the embedder closes it."""

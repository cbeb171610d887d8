"""Embedding everything a run needs before it begins, in one process, with progress.

Texts go to the model in chunks that depend on nothing but the data: a model's arithmetic depends a little on what else is in a
batch, so a fill that was interrupted must ask in the same company to get the same vectors.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hive_mind.embed.base import Embedder
from hive_mind.evals.arms.base import Progress
from hive_mind.evals.arms.keeping import candidate_of, worded
from hive_mind.evals.datasets import Dataset
from hive_mind.evals.running.vector_cache import Vectors
from hive_mind.memory.intake import new_fact
from hive_mind.ranking.form import texts_to_embed
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import open_embedder

# A few seconds' worth, so that progress moves; sorted by length, so that a batch is not as long as one long text.
_CHUNK = 256


@dataclass(frozen=True, slots=True)
class Filled:
    """Result of filling: the model there is, if any, and how many texts had to be embedded."""

    vectors: Vectors
    embedded: int = 0


async def fill(folder: Path, datasets: Sequence[Dataset], settings: Settings, progress: Progress) -> Filled:
    """Embed what is not in the cache. Without a model the result is a `Vectors` without dimension."""
    progress("loading the embedding model", 0, 0)
    embedder = await open_embedder(settings)
    try:
        vectors = Vectors(folder, embedder.model if embedder.dimension else "", embedder.dimension)
        return Filled(vectors, await stored(vectors, datasets, embedder, progress) if embedder.dimension else 0)
    finally:
        await embedder.close()


def passages_of(dataset: Dataset) -> list[str]:
    """The texts that a memory embeds of these documents, each once."""
    documents = worded(document for scope in dataset.scopes for document in scope.documents)
    facts = (new_fact(candidate_of(document), dataset.name or "data", 0) for document in documents)
    return list(dict.fromkeys(text for fact in facts for text in texts_to_embed(fact)))


def queries_of(dataset: Dataset) -> list[str]:
    """The texts of the questions, each once."""
    return list(dict.fromkeys(question.text for scope in dataset.scopes for question in scope.questions))


async def stored(vectors: Vectors, datasets: Sequence[Dataset], embedder: Embedder, progress: Progress) -> int:
    """Have everything that these data sets need in the cache; how many texts were new to it."""
    cache = vectors.open()
    chunks = [chunk for dataset in datasets for chunk in _chunks(passages_of(dataset))]
    questions = [text for dataset in datasets for text in queries_of(dataset)]
    new = [chunk for chunk in chunks if not all(cache.has("passage", text) for text in chunk)]
    asked = [text for text in dict.fromkeys(questions) if not cache.has("query", text)]
    total, before = sum(map(len, new)) + len(asked), len(cache)
    done = 0
    for chunk in new:
        cache.keep("passage", chunk, await embedder.embed_passages(chunk))
        done += len(chunk)
        progress("embedding", done, total)
    for text in asked:
        cache.keep("query", [text], (await embedder.embed_query(text)).reshape(1, -1))
        done += 1
        if done % 32 == 0:
            progress("embedding", done, total)
    return len(cache) - before


def _chunks(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    ordered = sorted(texts, key=lambda text: (len(text), text))
    return (ordered[start : start + _CHUNK] for start in range(0, len(ordered), _CHUNK))

"""Embeddings computed on this machine by a sentence-transformers model.

One worker thread owns the model, so the event loop is never blocked and no two calls compete for the cores. Finding and
loading the model is left to `_model_files`; caching vectors is left to the memory above.
"""

import asyncio
import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hive_mind.embed._model_files import Prompts, identity_of, load_model, prompts_of
from hive_mind.embed.base import Matrix, distinct, rounded_unit_rows
from hive_mind.errors import BackendRejected

DEFAULT_MODEL = "BAAI/bge-base-en-v1.5"
NAME = "sentence_transformers"

# 16 and 32 are the fastest for sentences on two cores with MiniLM; 64 is a quarter slower, 128 half as fast: a batch is
# as long as its longest text.
BATCH_TEXTS = 32

T = TypeVar("T")


@dataclass(slots=True)
class _Question:
    """One that waits for the model, and its vector."""

    text: str
    vector: "Future[NDArray[np.float32]]" = field(default_factory=Future)


async def open(
    model: str = DEFAULT_MODEL,
) -> "SentenceTransformersEmbedder":
    """Load a model by its name on the Hugging Face hub or by its folder.

    Files that are on this machine are used without asking the network. Raises `BackendNotInstalled` without the extra
    and `BackendUnavailable` when the model can't be had.
    """
    _prepare()
    worker = ThreadPoolExecutor(1, thread_name_prefix="hive-embed")
    try:
        loaded = await asyncio.get_running_loop().run_in_executor(worker, _load, model)
    except Exception:
        worker.shutdown(wait=True)
        raise
    except asyncio.CancelledError:
        # The load can't be stopped; waiting for it would block the loop that wants to go on.
        worker.shutdown(wait=False)
        raise
    return SentenceTransformersEmbedder(identity_of(model), *loaded, worker)


def cross_encoder(model: str) -> Any:
    """A model that reads a question and a text together, found and loaded like one that embeds; the same is raised."""
    _prepare()
    return load_model(model, "CrossEncoder")


class SentenceTransformersEmbedder:
    """A loaded model and the thread it runs on. Calls may overlap; they run one after the other."""

    def __init__(self, model: str, loaded: Any, dimension: int, worker: ThreadPoolExecutor) -> None:
        self.model = model
        self.dimension = dimension
        self._loaded = loaded
        self._worker = worker
        self._prompts: Prompts = prompts_of(model, loaded.prompts)
        self._questions: deque[_Question] = deque()

    async def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """Shape (len(texts), dimension); a text longer than the model reads is cut. Raises `BackendError`."""
        return await self._on_worker(lambda: self._rows(texts, self._prompts.passage))

    async def embed_query(self, text: str) -> NDArray[np.float32]:
        """Shape (dimension,). Questions that wait for the same model go through it together. Raises `BackendError`."""
        question = _Question(text)
        self._questions.append(question)
        await self._on_worker(lambda: self._embed_until(question))
        return question.vector.result()

    async def close(self) -> None:
        """Finish what was asked for, then end the worker thread. Closing twice is fine."""
        worker = self._worker
        try:
            # Waiting in the queue rather than in `shutdown` keeps the event loop free.
            await self._on_worker(lambda: None)
        except BackendRejected:
            return
        worker.shutdown(wait=True)

    async def _on_worker(self, work: Callable[[], T]) -> T:
        try:
            running = asyncio.get_running_loop().run_in_executor(self._worker, work)
        except RuntimeError as error:
            raise BackendRejected(NAME, "this embedder is closed; open it again") from error
        return await running

    def _embed_until(self, question: _Question) -> None:
        """Answer what waits, the first first, until this one is answered; mostly it was by a turn before."""
        while not question.vector.done():
            # Only this thread takes any away.
            self._embed_together([self._questions.popleft() for _ in range(min(len(self._questions), BATCH_TEXTS))])

    def _embed_together(self, questions: Sequence[_Question]) -> None:
        try:
            rows = self._rows([question.text for question in questions], self._prompts.query)
        except Exception as error:  # noqa: BLE001 - it is raised where the question was asked
            if len(questions) == 1:
                questions[0].vector.set_exception(error)
                return
            # The others are not at fault.
            for question in questions:
                self._embed_together([question])
        else:
            for question, row in zip(questions, rows, strict=True):
                question.vector.set_result(row)

    def _rows(self, texts: Sequence[str], prompt: str) -> Matrix:
        parts = distinct(texts)
        if not parts.texts:
            return parts.spread(np.zeros((0, self.dimension), np.float32), self.dimension)
        vectors = self._loaded.encode(
            [prompt + text for text in parts.texts],
            batch_size=BATCH_TEXTS,
            show_progress_bar=False,
            convert_to_numpy=True,
        )
        try:
            return parts.spread(rounded_unit_rows(np.asarray(vectors, np.float32)), self.dimension)
        except ValueError as error:
            raise BackendRejected(NAME, f"model {self.model!r}: {error}; choose another model") from error


def _prepare() -> None:
    # Read when torch starts its threads: idle ones must sleep, spinning ones cost a factor of 7 on busy cores.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # Otherwise every later fork of this process prints a warning; a batch is too small to gain from it.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


def _load(model: str) -> tuple[Any, int]:
    loaded = load_model(model)
    # Asking for a vector works with every version of the library; the methods that tell the length were renamed.
    return loaded, len(loaded.encode("length", show_progress_bar=False))

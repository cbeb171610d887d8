"""Embeddings computed on this machine by a sentence-transformers model.

One worker thread owns the model, so the event loop is never blocked and no two calls compete for the cores. The model is looked
for on this machine first, on the hub only when it must be; caching vectors is left to the memory above.
"""

import asyncio
import logging
import os
import re
import socket
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path, PurePath
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies

import numpy as np
from numpy.typing import NDArray

from hive_mind.embed import Matrix, distinct, rounded_unit_rows
from hive_mind.errors import BackendNotInstalled, BackendRejected, BackendUnavailable, reason_of
from hive_mind.regex import regex

NAME = "sentence_transformers"

# One small request; a network that is there answers at once, and nobody wants to wait longer to hear that it is not.
HUB_TIMEOUT_S = 5.0

# The hub allows 96 characters; a longer name is a slip that should not fill the screen.
_NAME_SHOWN_CHARS_MAX = 96

# A vocabulary of some megabytes counts by its size, like the weights.
_CONFIGURATION_BYTES_MAX = 100_000

_LOGGERS = ("sentence_transformers", "transformers", "huggingface_hub")


Kind = Literal["SentenceTransformer", "CrossEncoder"]
"""The library's names for a model that embeds, and one that reads two texts together."""
_OTHERWISE = {"SentenceTransformer": "choose embedder 'none'", "CrossEncoder": "do without a cross-encoder"}

_BGE_ENGLISH = regex(r"bge-(small|base|large)-en(-v1(\.5)?)?", re.IGNORECASE)
_BGE_QUERY = "Represent this sentence for searching relevant passages: "


def load_model(model: str, kind: Kind = "SentenceTransformer") -> Any:
    """The loaded model, on the CPU.

    Raises `BackendNotInstalled` without the packages, `BackendUnavailable` when `model` is neither a usable folder, nor
    in the local cache, nor to be had from the hub.
    """
    if find_spec("sentence_transformers") is None:
        raise BackendNotInstalled("embed", NAME, "embeddings")
    folder = _folder(model)
    if folder is None and (not model or model.startswith((".", "/", "~")) or "\\" in model or model.count("/") > 1):
        raise BackendUnavailable(NAME, f"there is no folder {_shown(model)}; give a model's folder or its name on the hub")
    if folder is None and not is_cached(model):
        # The library costs seconds, so it is imported only where there is something to load.
        _look_for_hub(model, kind)
    with _quiet():
        return _from_folder(folder, kind) if folder else _from_cache(model, kind) or _from_hub(model, kind)


def is_cached(model: str) -> bool:
    hub: Any = import_module("huggingface_hub")
    try:
        return isinstance(hub.try_to_load_from_cache(_on_hub(model), "config.json"), str)
    except ValueError:
        # No name the hub could have.
        return False


def identity_of(model: str) -> str:
    """The identity of a model for a database: its name on the hub, or for a folder its last name and a digest of its contents.

    So a folder may be moved, copied or linked and stays the same model. Weights count by their size.
    """
    if (folder := _folder(model)) is None:
        return model
    digest = blake2b(digest_size=4)
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts):
        digest.update(f"{path.relative_to(folder)}\0{path.stat().st_size}\0".encode("utf-8", "surrogateescape"))
        if path.suffix == ".json" and path.stat().st_size < _CONFIGURATION_BYTES_MAX:
            digest.update(path.read_bytes())
    return f"{folder.resolve().name}#{digest.hexdigest()}"


def _folder(model: str) -> Path | None:
    """Folder of this name, if there is one. A text that no file system takes as a name (too long, an unknown user's) is none."""
    try:
        folder = Path(model).expanduser()
        return folder if model and folder.is_dir() else None
    except (OSError, RuntimeError, ValueError):
        return None


def _from_folder(folder: Path, kind: Kind) -> Any:
    try:
        return _load(str(folder), kind, local_only=True)
    except Exception as error:
        raise BackendUnavailable(
            NAME,
            f"{str(folder)!r} holds no model that can be loaded ({_one_line(error)}); "
            "give the folder that has the model's modules.json and config.json",
        ) from error


def _from_cache(model: str, kind: Kind) -> Any | None:
    """None when the model's files are not, or not all, in the local cache."""
    try:
        return _load(model, kind, local_only=True)
    except (OSError, ValueError):
        return None


def _from_hub(model: str, kind: Kind) -> Any:
    _ask_hub_for(model, kind)
    try:
        return _load(model, kind, local_only=False)
    except Exception as error:
        raise BackendUnavailable(
            NAME, f"model {_shown(model)} could not be fetched from the hub ({_one_line(error)}); try again"
        ) from error


def _look_for_hub(model: str, kind: Kind) -> None:
    """One quick look whether there is a way to the hub at all. Behind a proxy only a request would tell."""
    constants: Any = import_module("huggingface_hub.constants")
    hub = urlsplit(constants.ENDPOINT)
    if getproxies():
        return
    try:
        if constants.HF_HUB_OFFLINE:
            raise OSError("HF_HUB_OFFLINE is set")
        socket.create_connection((hub.hostname, hub.port or 443), HUB_TIMEOUT_S).close()
    except OSError as error:
        raise _no_answer(model, kind, error) from error


def _on_hub(model: str) -> str:
    return model if "/" in model else f"sentence-transformers/{model}"


def _no_answer(model: str, kind: Kind, error: BaseException) -> BackendUnavailable:
    return BackendUnavailable(
        NAME,
        f"model {_shown(model)} is not on this machine and the hub does not answer ({_one_line(_root(error))}); "
        f"connect once to fetch it, give the folder of a model you have, or {_OTHERWISE[kind]}",
    )


def _ask_hub_for(model: str, kind: Kind) -> None:
    """Raise unless the hub answers, knows the model and lets us have it."""
    hub: Any = import_module("huggingface_hub")
    errors: Any = import_module("huggingface_hub.errors")
    try:
        hub.HfApi().model_info(_on_hub(model), timeout=HUB_TIMEOUT_S)
    except (errors.RepositoryNotFoundError, errors.HFValidationError) as error:
        raise BackendUnavailable(
            NAME, f"the hub has no public model {_shown(model)}; check the name, or give a folder"
        ) from error
    except Exception as error:
        raise _no_answer(model, kind, error) from error


def _load(model: str, kind: Kind, *, local_only: bool) -> Any:
    library: Any = import_module("sentence_transformers")
    return getattr(library, kind)(model, device="cpu", local_files_only=local_only)


def _shown(model: str) -> str:
    return repr(model if len(model) <= _NAME_SHOWN_CHARS_MAX else f"{model[:_NAME_SHOWN_CHARS_MAX]}…")


def _root(error: BaseException) -> BaseException:
    """The error that came first. The clients in between only repeat it in their own words, with addresses and retries."""
    errors_seen = {id(error)}
    while (earlier := error.__cause__ or error.__context__) is not None and id(earlier) not in errors_seen:
        errors_seen.add(id(earlier))
        error = earlier
    return error


def _one_line(error: BaseException) -> str:
    lines = reason_of(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__


@contextmanager
def _quiet() -> Iterator[None]:
    """Hold back the libraries' notes and progress bars while a model loads; errors still get through."""
    # Even a bar that is switched off starts a thread that watches over bars, and never ends it.
    import_module("tqdm").tqdm.monitor_interval = 0
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        with _no_bars():
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


@contextmanager
def _no_bars() -> Iterator[None]:
    hub: Any = import_module("huggingface_hub.utils")
    transformers: Any = import_module("transformers.utils.logging")
    hub_bars, own_bars = not hub.are_progress_bars_disabled(), transformers.is_progress_bar_enabled()
    hub.disable_progress_bars()
    transformers.disable_progress_bar()
    try:
        yield
    finally:
        if hub_bars:
            hub.enable_progress_bars()
        if own_bars:
            transformers.enable_progress_bar()


@dataclass(frozen=True, slots=True)
class Prompts:
    """Text put in front, with its own trailing space; "" for none."""

    query: str = ""
    passage: str = ""


def prompts_of(model: str, own_prompts: Mapping[str, str]) -> Prompts:
    """`own` are the prompts the model brings along, by sentence-transformers' names: query, document or passage."""
    passage = own_prompts.get("document") or own_prompts.get("passage") or ""
    query = own_prompts.get("query") or ""
    if not query and _BGE_ENGLISH.fullmatch(PurePath(model).name.partition("#")[0]):
        query = _BGE_QUERY
    return Prompts(query, passage)


DEFAULT_MODEL = "BAAI/bge-base-en-v1.5"

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
        loaded = await asyncio.get_running_loop().run_in_executor(worker, _loaded, model)
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


def _loaded(model: str) -> tuple[Any, int]:
    loaded = load_model(model)
    # Asking for a vector works with every version of the library; the methods that tell the length were renamed.
    return loaded, len(loaded.encode("length", show_progress_bar=False))

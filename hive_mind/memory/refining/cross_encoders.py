"""Cross-encoders, which read a question and a text together, for a second look at the best of a ranking.

Each is loaded once per process, and all run on one thread of their own. Without a model or its library, one line says what to
install, and the ranking stays as it is.
"""

import asyncio
import logging
import math
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Protocol

from hive_mind import backends
from hive_mind.errors import BackendError, BackendNotInstalled, BackendUnavailable

_log = logging.getLogger(__name__)

# Beyond this a logit says no more, and `exp` of it would overflow further up.
_LOGIT_MAX = 60.0


class CrossEncoder(Protocol):
    """A model as sentence-transformers has it."""

    def predict(self, pairs: list[tuple[str, str]], /, *, show_progress_bar: bool) -> Iterable[float]:
        """A figure for each question with its text: a logit, or a share in [0, 1]."""
        ...


class CrossEncoders:
    """Cross-encoders by name. One that can't be loaded is reported once and not tried again."""

    def __init__(self) -> None:
        self._loaded: dict[str, CrossEncoder] = {}
        self._missing: dict[str, str] = {}
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="hive-rerank")

    def put(self, model: str, loaded: CrossEncoder) -> None:
        """Have one at hand that was made elsewhere, under this name."""
        self._loaded[model] = loaded

    async def load(self, model: str) -> str:
        """Have a model at hand. One line on why it can't be had, or ""."""
        if model not in self._loaded and model not in self._missing:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._load, model)
        return self._missing.get(model, "")

    async def scores_or_note(self, model: str, query: str, texts: Sequence[str]) -> tuple[list[float], str]:
        """How well each text answers, each in [0, 1]; where they can't be had, none and one line that says why."""
        note = await self.load(model) if texts else ""
        if note or not texts:
            return [], note
        pairs = [(query, text) for text in texts]
        loop, loaded = asyncio.get_running_loop(), self._loaded[model]
        try:
            raw = await loop.run_in_executor(self._thread, lambda: loaded.predict(pairs, show_progress_bar=False))
            return _shares([float(value) for value in raw]), ""
        except Exception as error:  # noqa: BLE001 - a library of somebody else's, and the first ranking stands
            return [], f"not reranked: cross-encoder {model!r} failed ({_line(error)})"

    def _load(self, model: str) -> None:
        """On the thread, so never twice at once."""
        if model in self._loaded or model in self._missing:
            return
        try:
            self._loaded[model] = _load(model)
        except (BackendError, BackendNotInstalled) as error:
            self._missing[model] = f"not reranked: {error}"
            _log.warning("%s", self._missing[model])


@cache
def of_this_process() -> CrossEncoders:
    """Those that all memories and collections of this process share."""
    return CrossEncoders()


def _load(model: str) -> CrossEncoder:
    try:
        encoder: CrossEncoder = backends.load("embed", "sentence_transformers").cross_encoder(model)
        return encoder
    except (BackendError, BackendNotInstalled):
        raise
    except Exception as error:
        message = f"cross-encoder {model!r} can't be loaded ({_line(error)}); name a folder or a model"
        raise BackendUnavailable("rerank", message) from error


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:160]


def _shares(values: Sequence[float]) -> list[float]:
    """Some models give shares and some logits; all of one query's are taken for the same, so their order stays."""
    finite = [value if math.isfinite(value) else -_LOGIT_MAX for value in values]
    if all(0.0 <= value <= 1.0 for value in finite):
        return finite
    return [1.0 / (1.0 + math.exp(-max(min(value, _LOGIT_MAX), -_LOGIT_MAX))) for value in finite]

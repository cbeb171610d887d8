"""A second look at the best candidates by a cross-encoder, which reads question and chunk together.

The model is loaded at its first use, on a thread of its own; without it or its library, one line says what to install and the
ranking stays as it is.
"""

import asyncio
import logging
import math
from collections.abc import Sequence
from typing import Any

from hive_mind import backends
from hive_mind.errors import BackendError, BackendNotInstalled, BackendUnavailable

_log = logging.getLogger(__name__)


class Reranker:
    """Cross-encoders by name. One that can't be loaded is reported once and not tried again."""

    def __init__(self) -> None:
        self._loaded: dict[str, Any] = {}
        self._missing: dict[str, str] = {}
        self._turn = asyncio.Lock()

    async def scores(self, model: str, query: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers, each in [0, 1]. Raises `BackendNotInstalled` or `BackendUnavailable`."""
        if not texts:
            return []
        async with self._turn:
            if model not in self._loaded:
                self._loaded[model] = await asyncio.to_thread(_load, model)
            loaded = self._loaded[model]
            raw = await asyncio.to_thread(loaded.predict, [(query, text) for text in texts], show_progress_bar=False)
        return _shares([float(value) for value in raw])

    async def scores_or_note(self, model: str, query: str, texts: Sequence[str]) -> tuple[list[float], str]:
        """The same; where the model can't be had, no scores and one line that says so."""
        if model not in self._missing:
            try:
                return await self.scores(model, query, texts), ""
            except (BackendError, BackendNotInstalled) as error:
                self._missing[model] = f"not reranked: {error}"
                _log.warning("%s", self._missing[model])
        return [], self._missing[model]


def _load(model: str) -> Any:
    try:
        return backends.load("embed", "sentence_transformers").cross_encoder(model)
    except (BackendError, BackendNotInstalled):
        raise
    except Exception as error:
        told = f"cross-encoder {model!r} can't be loaded ({_line(error)}); name a folder or a model"
        raise BackendUnavailable("rerank", told) from error


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:160]


def _shares(values: Sequence[float]) -> list[float]:
    """Some models give shares and some logits; all of one query's are taken for the same, so their order stays."""
    finite = [value if math.isfinite(value) else -60.0 for value in values]
    if all(0.0 <= value <= 1.0 for value in finite):
        return finite
    return [1.0 / (1.0 + math.exp(-max(min(value, 60.0), -60.0))) for value in finite]

"""Cross-encoders without a model: what they say follows from the question and the text alone."""

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any
from zlib import crc32

import numpy as np

from hive_mind.memory.reranking import CrossEncoder, of_this_process
from hive_mind.ranking.pipeline import RankingSettings

_numbers = count(1)


class Reading:
    """One that thinks of a question and a text what it is told to; by default something that has nothing to do with either."""

    def __init__(
        self, think: Callable[[str, str], float] = lambda query, text: crc32(f"{query}|{text}".encode()) / 2**32
    ) -> None:
        self.think = think
        self.asked: list[list[tuple[str, str]]] = []

    def predict(self, pairs: Sequence[tuple[str, str]], **_: Any) -> np.ndarray:
        self.asked.append(list(pairs))
        return np.array([self.think(query, text) for query, text in pairs], np.float32)


def looked_at_by(encoder: CrossEncoder, **settings: Any) -> RankingSettings:
    """Settings under a name of their own by which this one looks at the best again; it has a minute for it."""
    model = f"test-{next(_numbers)}"
    of_this_process().put(model, encoder)
    return RankingSettings(**{"rerank": 20, "rerank_model": model, "refine_within_ms": 60_000} | settings)

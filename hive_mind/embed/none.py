"""No embeddings at all: vectors of length 0, so that search goes by keywords only.

It needs no model, no network and no extra. An index builds no vector arm for dimension 0.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hive_mind.embed import Matrix


async def open(model: str = "none") -> "NoEmbedder":
    """An embedder of dimension 0; `model` is only what it reports as its name."""
    return NoEmbedder(model)


class NoEmbedder:
    """Gives rows of width 0."""

    dimension = 0

    def __init__(self, model: str = "none") -> None:
        self.model = model

    async def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """Shape (len(texts), 0)."""
        return np.zeros((len(texts), 0), np.float32)

    async def embed_query(self, text: str) -> NDArray[np.float32]:  # noqa: ARG002 - the protocol's name
        """Shape (0,)."""
        return np.zeros(0, np.float32)

    async def close(self) -> None:
        """Nothing to release."""

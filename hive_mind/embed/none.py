"""No embeddings at all: vectors of length 0, so that search goes by keywords only.

It needs no model, no network and no extra. An index builds no vector arm for dimension 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hive_mind.embed import Matrix


async def open(model: str = "none") -> "NoEmbedder":
    """An embedder of dimension 0; `model` is only what it reports as its name."""
    return NoEmbedder(model)


@dataclass(frozen=True, slots=True)
class NoEmbedder:
    """Gives rows of width 0."""

    model: str = "none"
    dimension = 0

    async def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """Shape (len(texts), 0)."""
        return np.zeros((len(texts), 0), np.float32)

    async def embed_query(self, text: str) -> NDArray[np.float32]:  # noqa: ARG002 - the protocol's name
        """Shape (0,)."""
        return np.zeros(0, np.float32)

    async def close(self) -> None:
        """Nothing to release."""

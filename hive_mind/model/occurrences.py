"""The inputs of a pool's keyword scores: with statistics of the whole hive, the asker recomputes them to the last bit."""

import msgspec
import numpy as np

from hive_mind.model.probe import Scores
from hive_mind.model.scores import TermStatistics


def _none() -> Scores:
    return np.empty(0, dtype=np.float32)


class Occurrences(msgspec.Struct, frozen=True, array_like=True):
    """Where the terms of a probe occur in the candidates of a pool.

    Each distinct term is there once, in the probe's order. `counts`, `rows` and `weights` list the occurrences term after term.
    """

    statistics: TermStatistics
    """Of the index that gave the pool."""
    lengths: Scores = msgspec.field(default_factory=_none)
    """Of the candidates, in terms; shape (candidates,)."""
    counts: tuple[int, ...] = ()
    """How many candidates have each term; shape (terms,)."""
    rows: bytes = b""
    """Which they are: places in the pool as little-endian uint16, of which an arm's depth allows no more."""
    weights: Scores = msgspec.field(default_factory=_none)
    """What the term weighs in each of them."""

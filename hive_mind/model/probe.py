"""A query as an index takes it, and what an index gives back: raw figures column by column, never ranks.

They travel between the members of a hive, so that the asker can rank candidates of all members as one index would.

The inputs of a pool's keyword scores: with statistics of the whole hive, the asker recomputes them to the last bit.
"""

from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from hive_mind.model.query import TermStatistics

Vector = NDArray[np.float32]
Scores = NDArray[np.float32]

# A claim on "IL-6 in type 2 diabetes" is about more than the code: at 1.0 SciFact loses a point of recall
# (docs/adr/0003-ranking.md).
IN_A_SENTENCE = 0.3

ANALYSIS = 10
"""Version of the terms and places of texts (`ranking.tokens`, `ranking.form`, `ranking.neighbours`): counted up when they change.

Members of two versions do not know each other's questions, so each is silent for the other. Sealed terms are made anew.
"""

PLACE = np.dtype([("session", "<u8"), ("before", "<u8"), ("speaker", "<u4"), ("other", "<u4")])
"""Where a fact was said, as opaque keys: its session, the fact before it, and the speaker of each; 0 for none."""
NOWHERE = bytes(PLACE.itemsize)


@dataclass(frozen=True, slots=True)
class Anchors:
    """Identifiers of a query: each is a tuple of terms that a fact must all have to match it."""

    required: tuple[tuple[str, ...], ...] = ()
    is_pure: bool = False
    """Whether the query is nothing but names and codes, so that comparing meanings can't help."""

    @property
    def weight(self) -> float:
        """The gain of a fact that matches every anchor: all that relevance can be, or in a sentence a good part of it."""
        return 1.0 if self.is_pure else IN_A_SENTENCE


@dataclass(frozen=True, slots=True)
class Probe:
    """A query as an index takes it: its terms with their repeats, the identifiers it names, its vector (None: keywords only)."""

    terms: tuple[str, ...]
    anchors: Anchors
    vector: Vector | None = None
    depth: int = 100
    """Candidates per arm. Raise it and weaker ones can still win by evidence; each costs some microseconds."""
    statistics: TermStatistics | None = None
    """Of the whole hive; None: this index is the whole."""
    beside: TermStatistics | None = None
    """Where `statistics` are not known: of what will be ranked beside this index, which with it is the whole."""
    as_of_ms: int = 0
    """Of a hive: only what was said there by this time; 0: all."""


class Pool(msgspec.Struct, frozen=True):
    """Candidates and their raw scores, column by column: BM25, cosine (NaN: no vector), share of the anchors named."""

    ids: tuple[str, ...]
    keyword: Scores
    semantic: Scores
    exact: Scores

    def __len__(self) -> int:
        return len(self.ids)


def _none() -> Scores:
    return np.empty(0, dtype=np.float32)


class EvidenceColumns(msgspec.Struct, frozen=True):
    """Evidence for each candidate of a pool besides its words, in the same order, shapes (candidates,).

    `confirmations` and `trust` as shares in [0, 1], `confidence` in [0, 1] as it is at the time of asking. `places` are entries
    of `PLACE`; empty where no candidate has one.
    """

    confirmations: Scores = msgspec.field(default_factory=_none)
    trust: Scores = msgspec.field(default_factory=_none)
    confidence: Scores = msgspec.field(default_factory=_none)
    places: bytes = b""


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
    """The weight of the term in each of them."""

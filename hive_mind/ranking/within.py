"""A part of an index that filters chose, and what is kept of it from one query to the next."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Term = tuple[str, float]
"""A term of a query, and what it weighs there."""
Added = tuple[NDArray[np.int32], NDArray[np.float32]]
"""A term's additions to documents: their positions, and a share for each."""

# Each takes 8 bytes: at most a kilobyte for each document, half of what its own words take in the index.
_KEPT_PER_DOCUMENT = 128


class TermCache:
    """Additions of terms to the documents of a part. Those used longest ago make room."""

    def __init__(self) -> None:
        self._parts: dict[Term, Added] = {}
        self.entries = 0

    def get(self, term: Term) -> Added | None:
        """A term's additions, where they are still known."""
        if (part := self._parts.pop(term, None)) is not None:
            # Those used last stand last.
            self._parts[term] = part
        return part

    def put(self, term: Term, positions: NDArray[np.int32], shares: NDArray[np.float32], entries_max: int) -> None:
        """Keep what a new term adds, if there is room for it at all."""
        if len(positions) > entries_max:
            return
        while self.entries + len(positions) > entries_max:
            self.entries -= len(self._parts.pop(next(iter(self._parts)))[0])
        self._parts[term] = (positions, shares)
        self.entries += len(positions)


@dataclass(frozen=True, slots=True)
class Within:
    """A part of an index, chosen before anything is scored: statistics and scores are those of an index of this part alone.

    Good until the index changes: then what is kept here is no longer true.
    """

    mask: NDArray[np.bool_]
    """By position; only live ones may be chosen."""
    rows: NDArray[np.int64]
    """The same as ascending positions."""
    total_length: float
    """Of the chosen documents, in weighted terms."""
    total_squares: float
    """The same of their squares."""
    kept: TermCache = field(default_factory=TermCache, repr=False, compare=False)

    @property
    def kept_max(self) -> int:
        return _KEPT_PER_DOCUMENT * len(self.rows)

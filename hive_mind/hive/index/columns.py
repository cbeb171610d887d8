"""What stands behind the facts of one index, column by column, by their position in it.

A question wants it for a hundred candidates of every node. Found fact by fact, that costs more than finding the candidates.
"""

from array import array
from collections.abc import Callable, Sequence
from itertools import islice

import numpy as np

from hive_mind.model.probe import EvidenceColumns
from hive_mind.ranking.index import Positions

Voices = tuple[str, ...]
"""The agents that vouch for a fact."""


class Columns:
    """Evidence by position; positions are dense and handed out in rising order."""

    def __init__(self) -> None:
        self._confirmations, self._confidence = array("f"), array("f")
        # Most facts have one of a few agents behind them, so trust is kept once for each set of agents.
        self._voices = array("q")
        self._number_of: dict[Voices, int] = {}
        self._trust = array("f")
        self._places: dict[int, bytes] = {}

    def put(self, position: int, confirmations: float, confidence: float, voices: Voices) -> None:
        """Set what stands behind the fact at a position, the next one or an earlier one."""
        if position == len(self._voices):
            self._confirmations.append(0.0)
            self._confidence.append(0.0)
            self._voices.append(0)
        self._places.pop(position, None)
        self._confirmations[position], self._confidence[position] = confirmations, confidence
        self._voices[position] = self._number_of.setdefault(voices, len(self._number_of))

    def forget_trust(self) -> None:
        """It may have changed."""
        self._trust = array("f")

    def at(self, positions: Positions, trust_of: Callable[[Voices], float], place_of: Callable[[int], bytes]) -> EvidenceColumns:
        """For candidates at these positions. `place_of` is asked with the number of a candidate, once for each position."""
        if not len(positions):
            return EvidenceColumns()
        if len(self._trust) < len(self._number_of):
            self._trust.extend([trust_of(voices) for voices in islice(self._number_of, len(self._trust), None)])
        voices = np.frombuffer(self._voices, dtype=np.int64)[positions]
        return EvidenceColumns(
            np.frombuffer(self._confirmations, dtype=np.float32)[positions],
            np.frombuffer(self._trust, dtype=np.float32)[voices],
            np.frombuffer(self._confidence, dtype=np.float32)[positions],
            self._places_at(positions.tolist(), place_of),
        )

    def _places_at(self, positions: Sequence[int], place_of: Callable[[int], bytes]) -> bytes:
        known = self._places
        for number, position in enumerate(positions):
            if position not in known:
                known[position] = place_of(number)
        found = b"".join([known[position] for position in positions])
        return found if found.strip(b"\0") else b""

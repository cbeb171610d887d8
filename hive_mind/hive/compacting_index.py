"""One of a replica's two indexes, and the evidence for its facts.

One from which much was taken is made anew a few facts at a time: a hive that forgets as much as it learns stays as large as it
is, and nobody waits for that.

Evidence is kept column by column, by the facts' position in the index. A question wants it for a hundred
candidates of every node. Found fact by fact, that costs more than finding the candidates.
"""

from array import array
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from hive_mind.model.gathered import NOWHERE, PLACE, EvidenceColumns
from hive_mind.ranking.index import Compacting, FactIndex, Positions
from hive_mind.ranking.vector import Vector

# For each fact that is taken out: so it has come to its end before as many places are empty again.
_RENEWED_BESIDE = 4

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
        self._places, self._is_placed = bytearray(), bytearray()
        self._has_places = False
        """Whether a fact has one; most memories are no conversations."""

    def put(self, position: int, evidence: "IndexedEvidence") -> None:
        """Set what stands behind the fact at a position, the next one or an earlier one."""
        if position == len(self._voices):
            self._confirmations.append(0.0)
            self._confidence.append(0.0)
            self._voices.append(0)
            self._places += NOWHERE
            self._is_placed.append(False)
        self._is_placed[position] = False
        self._has_places |= evidence.has_place
        self._confirmations[position], self._confidence[position] = evidence.confirmations, evidence.confidence
        self._voices[position] = self._number_of.setdefault(evidence.agents, len(self._number_of))

    def forget_trust(self) -> None:
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
            self._places_at(positions, place_of) if self._has_places else b"",
        )

    def _places_at(self, positions: Positions, place_of: Callable[[int], bytes]) -> bytes:
        for number in np.flatnonzero(np.frombuffer(self._is_placed, dtype=np.uint8)[positions] == 0).tolist():
            position, place = int(positions[number]), place_of(number)
            self._places[position * PLACE.itemsize : (position + 1) * PLACE.itemsize] = place
            self._is_placed[position] = True
        place_bytes = np.frombuffer(self._places, dtype=PLACE)[positions].tobytes()
        return place_bytes if place_bytes.strip(b"\0") else b""


@dataclass(frozen=True, slots=True)
class IndexedEvidence:
    """Evidence for a fact."""

    confirmations: float
    confidence: float
    agents: Voices
    has_place: bool = False
    """Whether it was said in a dated conversation."""


@dataclass(frozen=True, slots=True)
class Indexed:
    """Terms and vector of a fact, and the evidence for it."""

    terms: Mapping[str, float]
    vector: Vector | None
    evidence: IndexedEvidence


Again = Callable[[str], Indexed]
"""A fact of the part, as it was added."""


@dataclass(slots=True)
class _Side:
    """An index and the columns beside it."""

    index: FactIndex
    columns: Columns = field(default_factory=Columns)

    def __len__(self) -> int:
        return len(self.index)

    def __iter__(self) -> Iterator[str]:
        return iter(self.index)

    def __contains__(self, fact_id: str) -> bool:
        return fact_id in self.index

    def add(self, fact_id: str, indexed: Indexed) -> None:
        self.index.add(fact_id, indexed.terms, indexed.vector)
        self.note(fact_id, indexed.evidence)

    def note(self, fact_id: str, evidence: IndexedEvidence) -> None:
        self.columns.put(self.index.position(fact_id), evidence)


class CompactingIndex:
    """Facts by id. `again` says what a fact of it was added with."""

    def __init__(self, new_index: Callable[[], FactIndex], again: Again) -> None:
        self._sides = Compacting(lambda: _Side(new_index()), lambda side, fact_id: side.add(fact_id, again(fact_id)))

    @property
    def index(self) -> FactIndex:
        return self._sides.current.index

    @property
    def columns(self) -> Columns:
        return self._sides.current.columns

    def add(self, fact_id: str, indexed: Indexed) -> None:
        for side in self._sides.sides:
            side.add(fact_id, indexed)

    def note(self, fact_id: str, evidence: IndexedEvidence) -> None:
        for side in self._sides.sides:
            if fact_id in side:
                side.note(fact_id, evidence)

    def remove(self, fact_id: str, terms: Mapping[str, float]) -> None:
        for side in self._sides.sides:
            side.index.remove(fact_id, terms)
        self._sides.emptied()
        self.renew_some(_RENEWED_BESIDE)

    def forget_trust(self) -> None:
        for side in self._sides.sides:
            side.columns.forget_trust()

    def renew_some(self, facts_max: int) -> bool:
        """Do a little of making it anew, where that is due. Whether more is left; never necessary."""
        return self._sides.renew(facts_max)

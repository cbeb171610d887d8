"""An agent's facts that are not shared: one more shard of the hive, which only its owner searches.

It follows the memory's facts lazily: a fact that comes and is shared before the next search costs nothing here.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from hive_mind.memory.recall import Recall
from hive_mind.model.fact import Fact, Sharing
from hive_mind.ranking.form import weighted_terms
from hive_mind.ranking.index import FactIndex

# An index keeps the place of what was taken out. Beyond as many empty places as facts, and some, it is made anew.
_EMPTY_PLACES_MIN = 256


def is_at_home(fact: Fact) -> bool:
    """Whether only its agent can find the fact: current, and not known to be held where others ask."""
    return fact.is_current and fact.sharing is not Sharing.SHARED


class Home:
    """An index of the facts of `recall` that are not shared. Tell `note` of every fact that changed."""

    def __init__(self, recall: Recall) -> None:
        self.recall = recall
        self._index = FactIndex(recall.new_arm())
        self._indexed: dict[str, Fact] = {}
        self._empty_places = 0
        self._changed: dict[str, None] = dict.fromkeys(recall.facts.held)
        self._watchers: list[set[str]] = []

    def note(self, fact_id: str) -> None:
        """The fact is new or has changed."""
        self._changed[fact_id] = None
        for watcher in self._watchers:
            watcher.add(fact_id)

    @property
    def index(self) -> FactIndex:
        """The index, as the facts are now."""
        for fact_id in self._changed:
            self._follow(self.recall.facts[fact_id])
        self._changed.clear()
        if self._empty_places > len(self._indexed) + _EMPTY_PLACES_MIN:
            self._rebuild()
        return self._index

    @contextmanager
    def leaving(self) -> Iterator[set[str]]:
        """Ids of what changed while the block ran: the hive may have been asked before it got them."""
        seen: set[str] = set()
        self._watchers.append(seen)
        try:
            yield seen
        finally:
            self._watchers.remove(seen)

    def _follow(self, fact: Fact) -> None:
        former = self._indexed.pop(fact.id, None)
        if former is not None:
            self._index.remove(fact.id, weighted_terms(former))
            self._empty_places += 1
        if is_at_home(fact):
            self._add(fact)

    def _add(self, fact: Fact) -> None:
        self._index.add(fact.id, weighted_terms(fact), self.recall.current.vector(fact.id))
        self._indexed[fact.id] = fact

    def _rebuild(self) -> None:
        facts, self._indexed, self._empty_places = list(self._indexed.values()), {}, 0
        self._index = FactIndex(self.recall.new_arm())
        for fact in facts:
            self._add(fact)

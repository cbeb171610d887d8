"""An agent's facts that are not shared: one more shard of the hive, which only its owner searches.

It follows the memory's facts lazily: a fact that comes and is shared before the next search costs nothing here.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from hive_mind.memory.recall import Recall
from hive_mind.model.fact import Fact, Sharing
from hive_mind.ranking.form import weighted_terms
from hive_mind.ranking.index import Compacting, FactIndex


def is_at_home(fact: Fact) -> bool:
    """Whether only its agent can find the fact: current, and not known to be held where others ask."""
    return fact.is_current and fact.sharing is not Sharing.SHARED


class Home:
    """An index of the facts of `recall` that are not shared. Tell `note` of every fact that changed."""

    def __init__(self, recall: Recall) -> None:
        self.recall = recall
        self._indexed: dict[str, Fact] = {}
        self._index = Compacting(lambda: FactIndex(recall.new_arm()), self._add)
        self._changed: dict[str, None] = dict.fromkeys(recall.facts.held)
        self._watchers: list[set[str]] = []

    def note(self, fact_id: str) -> None:
        """The fact is new or has changed."""
        self._changed[fact_id] = None
        for watcher in self._watchers:
            watcher.add(fact_id)

    @property
    def index(self) -> FactIndex:
        for fact_id in self._changed:
            self._follow(self.recall.facts[fact_id])
        self._changed.clear()
        self._index.renew()
        return self._index.current

    @contextmanager
    def leaving(self) -> Iterator[set[str]]:
        """Ids of what changed while the block ran: the hive may have been asked before it got them."""
        ids_seen: set[str] = set()
        self._watchers.append(ids_seen)
        try:
            yield ids_seen
        finally:
            self._watchers.remove(ids_seen)

    def _follow(self, fact: Fact) -> None:
        former = self._indexed.pop(fact.id, None)
        if former is not None:
            self._index.current.remove(fact.id, weighted_terms(former))
            self._index.emptied()
        if is_at_home(fact):
            self._indexed[fact.id] = fact
            self._add(self._index.current, fact.id)

    def _add(self, index: FactIndex, fact_id: str) -> None:
        index.add(fact_id, weighted_terms(self._indexed[fact_id]), self.recall.current.vector(fact_id))

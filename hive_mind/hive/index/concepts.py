"""Facts by what they are about, and which of them can't be true beside one another.

A fact is compared with the first few of its concept, by id, so that every node compares the same ones. That costs the same
however many there are: a concept such as "note" may have a hundred thousand facts.
"""

from bisect import bisect_left, insort
from collections.abc import Callable
from heapq import nsmallest

from hive_mind.hive.trust.contradiction import excluding
from hive_mind.model.evidence import Statement
from hive_mind.model.ids import canonical

COMPARED_MAX = 64
"""A person is helped by the first few that disagree."""
# As many are known in order, so that most removals need not look at all of them for the next one.
_ORDERED_MAX = 4 * COMPARED_MAX


class Concepts:
    """Ids of facts by concept. Facts without one are in none."""

    def __init__(self) -> None:
        self._ids: dict[str, set[str]] = {}
        self._first: dict[str, list[str]] = {}
        """The smallest ids of each concept, in order: at least `COMPARED_MAX + 1` of them, or all."""

    def add(self, fact_id: str, concept: str) -> None:
        if not (name := _name(concept)):
            return
        ids, first = self._ids.setdefault(name, set()), self._first.setdefault(name, [])
        if fact_id in ids:
            return
        if len(first) == len(ids) or fact_id < first[-1]:
            insort(first, fact_id)
            del first[_ORDERED_MAX:]
        ids.add(fact_id)

    def remove(self, fact_id: str, concept: str) -> None:
        if not (name := _name(concept)):
            return
        ids, first = self._ids[name], self._first[name]
        ids.discard(fact_id)
        if not ids:
            del self._ids[name], self._first[name]
            return
        place = bisect_left(first, fact_id)
        if place < len(first) and first[place] == fact_id:
            del first[place]
        if len(first) <= COMPARED_MAX and len(first) < len(ids):
            self._first[name] = nsmallest(_ORDERED_MAX, ids)

    def rivals(self, fact_id: str, statement: Statement, statement_of: Callable[[str], Statement]) -> list[str]:
        """Those of the first of its concept that can't be true beside a fact, by id."""
        rivals_named = [id for id in self._first.get(_name(statement.concept), ())[: COMPARED_MAX + 1] if id != fact_id]
        return excluding(statement, ((id, statement_of(id)) for id in rivals_named[:COMPARED_MAX]))


def _name(concept: str) -> str:
    return canonical(concept).casefold() if concept else ""

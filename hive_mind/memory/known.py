"""Facts by id: those a memory may need at any moment in RAM, those that were taken back for good in its store.

An agent that stores and retracts without end would otherwise hold all it ever took back. Of such a fact the id remains, 16 bytes;
a lookup (the fact is stated again) reads it, in some tens of microseconds.
"""

from collections.abc import Callable, Iterable, Iterator, ValuesView
from itertools import islice

from hive_mind.errors import InvalidInput
from hive_mind.model.fact import Fact, Sharing

_HEX_CHARACTERS = 32


class KnownFacts:
    """`fetch` reads a fact from the store at once; without it everything stays in RAM."""

    def __init__(self, fetch: Callable[[str], Fact | None] | None = None) -> None:
        self.held: dict[str, Fact] = {}
        """in the order in which they came"""
        self.current = self.on_its_way = 0
        """how many are current, and how many of those are to be shared and are not: asked for often, so counted as they come"""
        self._fetch = fetch
        self._put_away: set[bytes] = set()

    def keep(self, fact: Fact) -> None:
        """Hold a fact, new or revised, or put it away."""
        key = _key(fact.id) if self._fetch is not None and _is_over(fact) else None
        self._count(self.held.get(fact.id), -1)
        self._count(fact, 1)
        if key is not None:
            self.held.pop(fact.id, None)
            self._put_away.add(key)
            return
        self.held[fact.id] = fact
        if self._put_away and (former := _key(fact.id)) is not None:
            self._put_away.discard(former)

    def get(self, fact_id: str) -> Fact | None:
        fact = self.held.get(fact_id)
        if fact is None and self._fetch is not None and self._is_put_away(fact_id):
            return self._fetch(fact_id)
        return fact

    def named(self, fact_id: str) -> Fact:
        """A fact that somebody names. Raises `InvalidInput` where there is none."""
        if (fact := self.get(fact_id)) is None:
            raise InvalidInput(f"there is no fact {fact_id!r}: `hive-mind facts list` shows the ids")
        return fact

    def __getitem__(self, fact_id: str) -> Fact:
        if (fact := self.get(fact_id)) is None:
            raise KeyError(fact_id)
        return fact

    def all_of(self, fact_ids: Iterable[str]) -> list[Fact]:
        """These facts. Raises `KeyError` for what is not there."""
        facts = self.held
        return [facts.get(id) or self[id] for id in fact_ids]

    def some_of(self, fact_ids: Iterable[str]) -> dict[str, Fact]:
        """Those of these facts that are there, by id."""
        return {fact_id: fact for fact_id in dict.fromkeys(fact_ids) if (fact := self.get(fact_id)) is not None}

    def beginning_like(self, prefix: str, count: int) -> list[Fact]:
        """Facts whose id begins like this, at most `count`."""
        return self.all_of(list(islice((fact_id for fact_id in self.ids() if fact_id.startswith(prefix)), count)))

    def __contains__(self, fact_id: object) -> bool:
        return fact_id in self.held or (isinstance(fact_id, str) and self._is_put_away(fact_id))

    def values(self) -> ValuesView[Fact]:
        """Those in RAM: all that are current, were superseded, or of which the hive has still to hear."""
        return self.held.values()

    def ids(self) -> Iterator[str]:
        """All, those in RAM first."""
        yield from self.held
        yield from (key.hex() for key in self._put_away)

    @property
    def put_away(self) -> int:
        """How many are not in RAM."""
        return len(self._put_away)

    def copy(self) -> "KnownFacts":
        facts = KnownFacts(self._fetch)
        facts.held, facts._put_away = dict(self.held), set(self._put_away)
        facts.current, facts.on_its_way = self.current, self.on_its_way
        return facts

    def _count(self, fact: Fact | None, change: int) -> None:
        # Facts put away are not current, and neither were they before.
        if fact is not None and fact.is_current:
            self.current += change
            self.on_its_way += change * (not fact.held_back and fact.sharing is not Sharing.SHARED)

    def _is_put_away(self, fact_id: str) -> bool:
        return bool(self._put_away) and _key(fact_id) in self._put_away


def _is_over(fact: Fact) -> bool:
    """Whether nothing will be asked of it but whether it was once said."""
    return fact.is_retracted and not fact.offered and not fact.superseded_by


def _key(fact_id: str) -> bytes | None:
    """Half the room of the id's text, a third of its object; None for what is no id of a fact."""
    if len(fact_id) != _HEX_CHARACTERS:
        return None
    try:
        return bytes.fromhex(fact_id)
    except ValueError:
        return None

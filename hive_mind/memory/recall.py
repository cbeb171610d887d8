"""The content of an awake memory in RAM: its facts by id, and two indexes, of current and of former facts.

The two are searched as two shards of one corpus, so a query that asks for the past too ranks both by the same scores. Everything
here can be rebuilt from the store; nothing here waits.

Facts that were taken back for good are in the store: an agent that stores and retracts without end would otherwise hold all it
ever took back. Of such a fact the id remains, 16 bytes; a lookup (the fact is stated again) reads it, in some tens of
microseconds.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, ValuesView
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np

from hive_mind.errors import InvalidInput
from hive_mind.model.fact import Fact, Sharing
from hive_mind.model.gathered import NOWHERE, Pool, Probe
from hive_mind.model.query import Hit, Query
from hive_mind.ranking.form import KnownTerms, Vocabulary, joined, seal, weighted_terms
from hive_mind.ranking.index import Accept, Compacting, FactIndex, with_statistics
from hive_mind.ranking.merge import merge_pools, union
from hive_mind.ranking.neighbours import has_place, place_of
from hive_mind.ranking.pipeline import CONFIRMATIONS_FULL, RankingSettings, Rows, Support, trust_share
from hive_mind.ranking.question import Steps, anchors, as_asked_once, at_once, ranking_of, unscored
from hive_mind.ranking.vector import Narrow, Vector, VectorArm

_HEX_CHARACTERS = 32


@dataclass(slots=True, eq=False)
class KnownFacts:
    """`_fetch` reads a fact from the store at once; without it everything stays in RAM."""

    _fetch: Callable[[str], Fact | None] | None = None
    held: dict[str, Fact] = field(default_factory=dict)
    """in the order in which they came"""
    current: int = 0
    on_its_way: int = 0
    """how many are current, and how many of those are to be shared and are not: asked for often, so counted as they come"""
    _put_away: set[bytes] = field(default_factory=set)

    def keep(self, fact: Fact) -> None:
        """Hold a fact, new or revised, or put it away."""
        # Nothing will be asked of one that is over but whether it was once said.
        is_over = fact.is_retracted and not fact.offered and not fact.superseded_by
        key = _key(fact.id) if self._fetch is not None and is_over else None
        for counted_fact, change in ((self.held.get(fact.id), -1), (fact, 1)):
            # Facts put away are not current, and neither were they before.
            if counted_fact is not None and counted_fact.is_current:
                self.current += change
                self.on_its_way += change * (not counted_fact.held_back and counted_fact.sharing is not Sharing.SHARED)
        if key is not None:
            self.held.pop(fact.id, None)
            self._put_away.add(key)
            return
        self.held[fact.id] = fact
        if self._put_away and (former := _key(fact.id)) is not None:
            self._put_away.discard(former)

    def get(self, fact_id: str) -> Fact | None:
        fact = self.held.get(fact_id)
        if fact is None and self._fetch is not None and self._put_away and _key(fact_id) in self._put_away:
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
        return fact_id in self.held or (isinstance(fact_id, str) and _key(fact_id) in self._put_away)

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
        return replace(self, held=dict(self.held), _put_away=set(self._put_away))


def _key(fact_id: str) -> bytes | None:
    """Half the room of the id's text, a third of its object; None for what is no id of a fact."""
    if len(fact_id) != _HEX_CHARACTERS:
        return None
    try:
        return bytes.fromhex(fact_id)
    except ValueError:
        return None


# An agent trusts what it learned itself neither more nor less than average; a hive knows better.
_OWN_TRUST = trust_share(1.0)
# Empty places for each fact before an index is rebuilt: where the same few facts hold in turn, that is at once; where there are
# many, after enough changes to make the rebuild cheap.
_EMPTY_PLACES_EACH = 4
# Facts that are loaded at once: some 50 ms, and more at once would take no less time for each.
_AT_ONCE = 4096


@dataclass(slots=True)
class Recall:
    """Facts and their indexes. `new_arm` makes an empty vector index."""

    new_arm: Callable[[], VectorArm | None]
    settings: RankingSettings = field(default_factory=RankingSettings)
    facts: KnownFacts = field(default_factory=KnownFacts)
    taken_back: FactIndex | None = None
    """Of retracted facts, for questions about a time before; None until somebody asks one."""
    cosine_least: float = 0.0
    """The cosine of unrelated sentences, by the model of the vectors."""
    tokenized: int = 0
    """How many facts were, as their terms were not known."""
    _current: Compacting[FactIndex] = field(init=False)
    _past: Compacting[FactIndex] = field(init=False)
    _places: dict[str, bytes] = field(default_factory=dict)
    """Where facts were said, of those that were asked for."""
    _has_places: bool = False
    """Whether a fact that was kept has a place; most memories are no conversations."""

    def __post_init__(self) -> None:
        self._current, self._past = self._new_part(), self._new_part()

    @property
    def current(self) -> FactIndex:
        return self._current.current

    @property
    def past(self) -> FactIndex:
        return self._past.current

    def load(self, facts: Sequence[Fact], vectors: Mapping[str, Narrow], terms_known: KnownTerms) -> Iterator[None]:
        """Hold facts that are new here, step by step: between two others may have a turn. `vectors` by id."""
        for fact in facts:
            self.facts.keep(fact)
            self._has_places |= has_place(fact)
        vocabulary = Vocabulary()
        for part in (self._current, self._past):
            index = part.current
            facts_there, terms, rest = terms_known.take(fact for fact in facts if self._part_for(fact) is part)
            index.add_all([fact.id for fact in facts_there], terms)
            yield
            for start in range(0, len(rest), _AT_ONCE):
                batch = rest[start : start + _AT_ONCE]
                index.add_all([fact.id for fact in batch], vocabulary.weighted_terms(batch))
                yield
            ids = [fact.id for fact in (*facts_there, *rest) if fact.id in vectors]
            for start in range(0, len(ids), _AT_ONCE):
                index.set_vectors({id: vectors[id] for id in ids[start : start + _AT_ONCE]})
                yield
            self.tokenized += len(rest)

    def sealed(self) -> bytes:
        """The terms of all that can be found, for `load` to know."""
        parts = [index.everything() for index in (self.current, self.past)]
        return seal([fact for ids, _ in parts for fact in self.facts.all_of(ids)], joined([terms for _, terms in parts]))

    def keep(self, fact: Fact, vector: Vector | None = None) -> None:
        """Hold a fact, new or revised, where searches look for one in its state. A vector it had before stays."""
        # Of what was put away the store has the new state already; it was in no index.
        earlier = self.facts.held.get(fact.id)
        self.facts.keep(fact)
        self._places.pop(fact.id, None)
        self._has_places |= has_place(fact)
        part, former = self._part_for(fact), self._part_for(earlier)
        if former is part and part is not None:
            if vector is not None:
                part.current.set_vector(fact.id, vector)
            return
        if former is not None and earlier is not None:
            vector = former.current.vector(fact.id) if vector is None else vector
            former.current.remove(fact.id, weighted_terms(earlier))
            former.emptied()
        if part is not None:
            part.current.add(fact.id, weighted_terms(fact), vector)
            self.tokenized += former is None
        if former is not None:
            former.renew()
        if self.taken_back is not None:
            taken_back = self.taken_back
            if fact.is_retracted and fact.id not in taken_back:
                taken_back.add(fact.id, weighted_terms(fact), vector)
            elif not fact.is_retracted and fact.id in taken_back:
                # Said again. Its former words are not known any more: the next question makes the index anew.
                self.taken_back = None

    def search(self, query: Query, vector: Vector | None, count: int = 0) -> list[Hit]:
        """The best facts for a query, best first: `count` of them or as many as it wants. Without a vector, by keywords."""
        count = count or query.limit

        def gather(probe: Probe) -> _Found:
            pool = self._pool(probe, query)
            return _Found(self, pool, self.places(pool.ids))

        steps: Steps[_Found] = ranking_of(query, vector, count, self.settings, self.cosine_least)
        ranking = at_once(steps, gather, lambda reading: self.facts.some_of(reading.ids))
        return [
            Hit(self.then(document.id, query), document.score, document.components, document.contributions)
            for document in ranking.best(count)
        ]

    def support(self, fact_ids: Sequence[str]) -> Support:
        facts = self.facts.all_of(fact_ids)
        confirmations = np.minimum([fact.confirmations for fact in facts], CONFIRMATIONS_FULL) / CONFIRMATIONS_FULL
        confidence = np.array([fact.confidence for fact in facts], dtype=np.float64)
        return Support(confirmations, np.full(len(facts), _OWN_TRUST), confidence)

    def places(self, fact_ids: Iterable[str]) -> bytes:
        """Where these facts were said, as `PLACE`s; empty where none of them has a place."""
        if not self._has_places:
            return b""
        places_known = [self._places.get(id) or self._place(id) for id in fact_ids]
        return b"".join(places_known) if any(place != NOWHERE for place in places_known) else b""

    def then(self, fact_id: str, query: Query) -> Fact:
        """A fact as it was at the time that a query is about."""
        fact = self.facts[fact_id]
        return fact.as_held_at(query.as_of_us) if query.as_of_us else fact

    def accept(self, query: Query) -> Accept | None:
        """Which facts a query may find, of those in its indexes; None: all."""
        if query.min_confidence <= 0 and not query.as_of_us:
            return None

        def is_meant(fact_id: str) -> bool:
            fact = self.facts[fact_id]
            return fact.confidence >= query.min_confidence and (not query.as_of_us or fact.held_at(query.as_of_us))

        return is_meant

    def former(self, query: Query) -> list[FactIndex]:
        """The indexes a query looks into besides the current one."""
        if query.as_of_us:
            return [self.past] if self.taken_back is None else [self.past, self.taken_back]
        return [self.past] if query.with_superseded and len(self.past) else []

    def searched(self, query: Query) -> int:
        """The number of facts that a query looks at."""
        return sum(map(len, (self.current, *self.former(query))))

    def names_exactly(self, query: Query) -> bool:
        """Whether the query is nothing but identifiers that some fact names, so that comparing meanings adds nothing."""
        named_anchors = anchors(query.text)
        if not named_anchors.is_pure:
            return False
        pool = self._pool(Probe((), named_anchors, None, 1), query)
        return bool(np.any(pool.exact >= 1.0))

    def is_searchable(self, fact_id: str) -> bool:
        """Whether a search may return the fact, now or among what is past."""
        return self._part_for(self.facts.get(fact_id)) is not None

    def replaced_by(self, fact_id: str) -> list[Fact]:
        return [fact for fact in self.facts.values() if fact.superseded_by == fact_id]

    @property
    def vectors_missing(self) -> int:
        """How many facts a search may return that only keywords can find."""
        return self.current.vectors_missing + self.past.vectors_missing

    def without_vector(self) -> Iterable[Fact]:
        """Facts a search may return that only keywords can find."""
        for fact in self.facts.values():
            part = self._part_for(fact)
            if part is not None and part.current.vector(fact.id) is None:
                yield fact

    def _new_part(self) -> Compacting[FactIndex]:
        def index_again(index: FactIndex, fact_id: str) -> None:
            index.add(fact_id, weighted_terms(self.facts[fact_id]), part.current.vector(fact_id))

        part = Compacting(lambda: FactIndex(self.new_arm()), index_again, _EMPTY_PLACES_EACH)
        return part

    def _pool(self, probe: Probe, query: Query) -> Pool:
        accept, former = self.accept(query), self.former(query)
        if not former:
            return as_asked_once(self.current.pool(probe, accept), probe.terms)
        parts = (self.current, *former)
        shared = with_statistics(probe, parts)
        return as_asked_once(merge_pools([part.pool(shared, accept) for part in parts], probe.depth), probe.terms)

    def _place(self, fact_id: str) -> bytes:
        fact = self.facts[fact_id]
        place = self._places[fact_id] = place_of(fact, fact.sources[0])
        return place

    def _part_for(self, fact: Fact | None) -> Compacting[FactIndex] | None:
        if fact is None or fact.is_retracted:
            return None
        return self._past if fact.superseded_by else self._current


@dataclass(frozen=True, slots=True)
class _Found:
    """Candidates of a memory. The support of most is never looked up."""

    recall: Recall
    pool: Pool
    places: bytes

    def support(self, rows: Rows) -> Support:
        return self.recall.support([self.pool.ids[row] for row in rows.tolist()])

    def joined(self, second: "_Found") -> "_Found":
        pool = union([self.pool, unscored(second.pool)])
        return _Found(self.recall, pool, self.recall.places(pool.ids))

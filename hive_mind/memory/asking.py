"""One query put to a hive and to what its agent has not shared, ranked as one memory of all of it would.

The agent's own unshared facts are one more shard: their statistics go along with the question, and they are scored by the
statistics of all. So an agent's own facts are neither favoured nor found twice.

That shard (`Home`) follows the memory's facts lazily: a fact that comes and is shared before the next search costs nothing.

Aggregations over both count every fact once, however many replicas and agents have it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from hive_mind.errors import BackendError
from hive_mind.memory.base import Hive
from hive_mind.memory.disputes import likeliest_first, with_rivals
from hive_mind.memory.editions import after_successors
from hive_mind.memory.opening import Awake, may_embed
from hive_mind.memory.recall import Recall
from hive_mind.memory.reranking import SecondLook
from hive_mind.memory.sharing import fact_of, voices_of
from hive_mind.memory.vectors import Vector, VectorSource
from hive_mind.model.aggregation import Aggregated, Aggregation, MemoryStatistics, in_order, moment_ms
from hive_mind.model.bounds import BOUNDS
from hive_mind.model.evidence import HiveFact
from hive_mind.model.fact import Fact, Sharing, is_about
from hive_mind.model.gathered import EvidenceColumns, Gathered, Pool, Probe, SearchResult
from hive_mind.model.query import LIMIT, Hit, Query
from hive_mind.ornament import ornament
from hive_mind.ranking.form import weighted_terms
from hive_mind.ranking.index import Compacting, FactIndex
from hive_mind.ranking.merge import merge_found, rows_of, total
from hive_mind.ranking.pipeline import Ranked
from hive_mind.ranking.question import InColumns, Ranking, Reading, Steps, as_asked_once, ranking_of

if TYPE_CHECKING:
    from hive_mind.hive.effects import Tallied


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
            fact = self.recall.facts[fact_id]
            former = self._indexed.pop(fact.id, None)
            if former is not None:
                self._index.current.remove(fact.id, weighted_terms(former))
                self._index.emptied()
            if is_at_home(fact):
                self._indexed[fact.id] = fact
                self._add(self._index.current, fact.id)
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

    def _add(self, index: FactIndex, fact_id: str) -> None:
        index.add(fact_id, weighted_terms(self._indexed[fact_id]), self.recall.current.vector(fact_id))


# A fact may be taken back between being found and being fetched; then the next best takes its place, at most this often.
_FETCHES_MAX = 4
# Facts that contradict those shown and were not found themselves: more than a few nobody reads.
_RIVALS_FETCHED_MAX = 8


@dataclass(frozen=True, slots=True)
class Candidates(InColumns):
    """Candidates for a query, of the hive and of the agent's own; `gathered` is the hive's part of them."""

    gathered: Gathered


_InRows = TypeVar("_InRows", Candidates, Gathered)


@dataclass(frozen=True, slots=True)
class Asking:
    """Asks one hive for one memory that is awake. `look` has the query."""

    hive: Hive
    home: Home
    look: SecondLook
    facts: "dict[str, HiveFact | Fact]" = field(default_factory=dict)
    """Those that were read already, by id."""
    holders: dict[str, str] = field(default_factory=dict)
    """Which node has each of the others; of one that it did not give all are to be asked."""

    async def ranking(self, vector: Vector | None) -> Ranking[Candidates]:
        """The candidates in their order. Without a vector, by keywords. Raises `BackendError`."""
        recall = self.home.recall
        steps: Steps[Candidates] = ranking_of(self.look.query, vector, self.look.count, recall.settings, recall.cosine_least)
        try:
            wanted = next(steps)
            while True:
                try:
                    answer = await (self._found(wanted) if isinstance(wanted, Probe) else self._read(wanted))
                except BackendError as error:
                    wanted = steps.throw(error)
                else:
                    wanted = steps.send(answer)
        except StopIteration as end:
            ranking: Ranking[Candidates] = end.value
            return ranking

    async def _read(self, reading: Reading) -> dict[str, Fact]:
        ids = dict.fromkeys([*reading.ids, *reading.beside])
        self.facts.update(await self._facts([fact_id for fact_id in ids if fact_id not in self.facts], self.holders))
        for fact_id in ids.keys() - self.facts.keys():
            self.holders.pop(fact_id, None)
        return {fact_id: _as_fact(self.facts[fact_id]) for fact_id in reading.ids if fact_id in self.facts}

    async def _found(self, probe: Probe) -> Candidates:
        """Candidates for one probe, of the hive and of the agent's own."""
        query = self.look.query
        statistics = total(part.statistics(probe.terms) for part in self._own_parts(query))
        probe = replace(probe, beside=statistics if statistics.documents else None, as_of_ms=query.as_of_us // 1000)
        with self.home.leaving() as left:
            gathered = await self._asked(probe, query)
        scored = replace(probe, statistics=gathered.statistics, beside=None)
        accept = self.home.recall.accept(query)
        pools = [part.pool(scored, accept) for part in self._own_parts(query)]
        pools += self._left_behind(scored, left, gathered, query)
        ids = frozenset(gathered.pool.ids)
        evidence = [gathered.evidence, *(self._evidence(pool, ids) for pool in pools)]
        pool, merged = merge_found([gathered.pool, *pools], evidence, probe.depth)
        self.holders.update(gathered.holders)
        return Candidates(as_asked_once(pool, probe.terms), merged, gathered)

    async def result(self, ranking: Ranking[Candidates]) -> SearchResult:
        """The best candidates as facts, best first, after a second look where one is wanted. Raises `BackendError`."""
        gathered = reduce(Gathered.with_more, [part.gathered for part in ranking.passed], ranking.candidates.gathered)
        for _ in range(_FETCHES_MAX):
            ranked = ranking.best(max(self.look.count, LIMIT))
            ids_missing = [document.id for document in ranked if document.id not in self.facts]
            self.facts.update(await self._facts(ids_missing, self.holders))
            # Its holder may only have been out of reach: before it counts as gone, all possible holders are asked.
            self.facts.update(await self._facts([fact_id for fact_id in ids_missing if fact_id not in self.facts], {}))
            ids_gone = {fact_id for fact_id in ids_missing if fact_id not in self.facts}
            if not ids_gone:
                break
            rows = [row for row, fact_id in enumerate(ranking.candidates.pool.ids) if fact_id not in ids_gone]
            ranking = replace(ranking, candidates=_only(ranking.candidates, rows), first=())
        best = [_hit(self.facts[document.id], document) for document in ranked if document.id in self.facts]
        hits, note = await self.look.at(best[: self.look.count])
        return SearchResult(await self._shown(hits, best), gathered, note=note)

    async def _shown(self, hits: Sequence[Hit], further: Sequence[Hit]) -> list[Hit]:
        """The hits as a reader gets them: former facts after their successors, each with the facts that contradict it."""
        held_away = [fact for hit in hits if isinstance(fact := self.facts[hit.fact.id], HiveFact)]
        shown_hits = with_rivals(after_successors(hits), await self._rivals(held_away), further)
        return likeliest_first(shown_hits, await self._votes(shown_hits))

    @ornament(lambda *_: {})
    async def _votes(self, hits: Sequence[Hit]) -> dict[str, float | None]:
        """The hive's votes for disputed facts; of this agent's own, too, where others may say the same."""
        disputed = [hit.fact.id for hit in hits if hit.rivals]
        own_ids = [fact_id for fact_id in disputed if not isinstance(self.facts.get(fact_id), HiveFact)]
        shared = [(fact_id, holder) for fact_id in own_ids if (holder := self.holders.get(fact_id))]
        facts_fetched = await self.hive.fetch(shared) if shared else ()
        facts = (*facts_fetched, *(self.facts[fact_id] for fact_id in disputed if fact_id in self.facts))
        return {fact.id: fact.votes for fact in facts if isinstance(fact, HiveFact)}

    @ornament(lambda *_: {})
    async def _rivals(self, facts_shown: Sequence[HiveFact]) -> dict[str, list[Fact]]:
        """Facts of the nodes that contradict the facts shown; the nodes that hold the latter have them too."""
        rivals_away = {
            rival: self.holders.get(fact.id, "") for fact in facts_shown for rival in fact.disputed_by if rival not in self.facts
        }
        rivals_fetched = dict(list(rivals_away.items())[:_RIVALS_FETCHED_MAX])
        facts_known = {**self.facts, **(await self._facts(rivals_fetched, rivals_fetched) if rivals_fetched else {})}
        return {
            fact.id: [_as_fact(facts_known[rival]) for rival in fact.disputed_by if rival in facts_known] for fact in facts_shown
        }

    async def _facts(self, ids: Iterable[str], holders: Mapping[str, str]) -> dict[str, HiveFact | Fact]:
        recall, query = self.home.recall, self.look.query
        accept = recall.accept(replace(query, min_confidence=0.0))
        own_facts: dict[str, HiveFact | Fact] = {
            fact_id: recall.then(fact_id, query)
            for fact_id in ids
            if fact_id in recall.facts and (accept is None or accept(fact_id))
        }
        places_away = [(fact_id, holders.get(fact_id, "")) for fact_id in ids if fact_id not in recall.facts]
        facts = await self.hive.fetch(places_away) if places_away else ()
        # A member of an earlier version does not know that a question may be about a time before.
        known_ms = query.as_of_us // 1000
        return own_facts | {fact.id: fact for fact in facts if not 0 < known_ms < fact_of(fact).learned_at_us // 1000}

    async def _asked(self, probe: Probe, query: Query) -> Gathered:
        """The hive's results, without those this agent knows to be past: it asks for more until that leaves enough."""
        depth = probe.depth
        while True:
            gathered = await self.hive.ask(replace(probe, depth=depth), confidence_min=query.min_confidence)
            rows = [row for row, fact_id in enumerate(gathered.pool.ids) if not self._is_past(fact_id, query)]
            if len(rows) == len(gathered.pool):
                return gathered
            if len(rows) >= probe.depth or len(gathered.pool) < depth:
                return _only(gathered, rows)
            depth *= 4

    def _is_past(self, fact_id: str, query: Query) -> bool:
        fact = self.home.recall.facts.get(fact_id)
        return fact is not None and not (fact.held_at(query.as_of_us) if query.as_of_us else fact.is_current)

    def _own_parts(self, query: Query) -> list[FactIndex]:
        """As they are at this moment: while others answer they change."""
        return [self.home.index, *self.home.recall.former(query)]

    def _left_behind(self, probe: Probe, left: set[str], gathered: Gathered, query: Query) -> list[Pool]:
        """Own facts the hive could not be asked about: those shared meanwhile, and all that are, where a part of it is silent.

        Of a question about a time before, all: they may have been shared after it.
        """
        recall = self.home.recall
        accept, asks_all = recall.accept(query), bool(gathered.missing or query.as_of_us)
        looked_for = {fact_id for fact_id in left if fact_id in recall.current}
        if not looked_for and not asks_all:
            return []

        def is_left_behind(fact_id: str) -> bool:
            is_unasked = asks_all or fact_id in looked_for
            return is_unasked and not is_at_home(recall.facts[fact_id]) and (accept is None or accept(fact_id))

        return [recall.current.pool(probe, is_left_behind)]

    def _evidence(self, pool: Pool, ids_known: frozenset[str]) -> EvidenceColumns:
        """An agent trusts its own facts like anybody's. Facts the hive has too are counted there."""
        recall = self.home.recall
        support = recall.support(pool.ids)
        is_counted = np.array([fact_id in ids_known for fact_id in pool.ids], dtype=np.bool_)
        columns = (np.where(is_counted, 0.0, support.confirmations), support.trust, support.confidence)
        first, trust, confidence = (column.astype(np.float32) for column in columns)
        return EvidenceColumns(first, trust, confidence, recall.places(pool.ids))


def _only(candidates: _InRows, rows: list[int]) -> _InRows:
    pool = candidates.pool
    pool = Pool(tuple([pool.ids[row] for row in rows]), pool.keyword[rows], pool.semantic[rows], pool.exact[rows])
    return replace(candidates, pool=pool, evidence=rows_of(candidates.evidence, rows))


def _as_fact(fact: HiveFact | Fact) -> Fact:
    return fact_of(fact) if isinstance(fact, HiveFact) else fact


def _hit(fact: HiveFact | Fact, ranked: Ranked) -> Hit:
    voices = voices_of(fact) if isinstance(fact, HiveFact) else None
    return Hit(_as_fact(fact), ranked.score, ranked.components, ranked.contributions, voices=voices)


def aggregated_of(aggregation: Aggregation, facts: Iterable[Fact]) -> Aggregated:
    """The facts one memory holds. Raises `InvalidInput` for a limit out of its bounds."""
    BOUNDS["limit"].refuse("limit", aggregation.limit)
    own_facts = _about(aggregation, facts)
    ids_shown = first_of(aggregation, _moments(own_facts))
    return Aggregated(aggregation, len(own_facts), tuple(own_facts[id] for id in ids_shown))


def together(aggregation: Aggregation, own_known: Mapping[str, Fact], hive: "Tallied") -> tuple[dict[str, int], dict[str, Fact]]:
    """The moments of all facts, the hive's where it tells one, and those of this agent. Facts it knows it decides by itself."""
    facts = _about(aggregation, own_known.values())
    hive_moments = {id: moment for id, moment in hive.moments.items() if id in facts or id not in own_known}
    return _moments(facts) | hive_moments, facts


def first_of(aggregation: Aggregation, moments: Mapping[str, int]) -> list[str]:
    """The ids that are shown, in their order."""
    return [] if aggregation.kind == "count" else in_order(moments, aggregation.kind)[: aggregation.limit]


def shown_of(ids: Iterable[str], facts: Mapping[str, Fact], fetched: Iterable[HiveFact]) -> tuple[Fact, ...]:
    """Facts in the order of their ids; one that was taken back since it was counted is left out."""
    found_facts = {fact.id: fact_of(fact) for fact in fetched} | dict(facts)
    return tuple(found_facts[id] for id in ids if id in found_facts)


def _about(aggregation: Aggregation, facts: Iterable[Fact]) -> dict[str, Fact]:
    return {
        fact.id: fact for fact in facts if fact.is_current and (not aggregation.about or concept_matches(fact, aggregation.about))
    }


def _moments(facts: Mapping[str, Fact]) -> dict[str, int]:
    return {id: moment_ms(fact.said_at, fact.learned_at_us // 1000) for id, fact in facts.items()}


_CONCEPTS_SHOWN = 10


def statistics_of(awake: Awake, vectors: VectorSource, counts: Mapping[str, int]) -> MemoryStatistics:
    """The figures of an awake memory; `counts` come from its store."""
    facts = awake.recall.facts.values()
    current = [fact for fact in facts if fact.is_current]
    embeds = may_embed(awake.recorded, vectors)
    return MemoryStatistics(
        facts=len(current),
        superseded=sum(1 for fact in facts if fact.superseded_by and not fact.is_retracted),
        retracted=sum(1 for fact in facts if fact.is_retracted) + awake.recall.facts.put_away,
        confirmed=sum(1 for fact in current if fact.confirmations),
        episodes=counts["episodes"],
        entities=counts["entities"],
        sources=len({source for fact in facts for source in fact.sources}),
        vectors=counts["vectors"],
        without_vector=sum(1 for _ in awake.recall.without_vector()) if embeds else 0,
        embedding=vectors.model if embeds else "",
        dimension=vectors.dimension if embeds else 0,
        concepts=tuple(Counter(fact.concept for fact in current if fact.concept).most_common(_CONCEPTS_SHOWN)),
    )


def concept_matches(fact: Fact, concept: str) -> bool:
    """Whether a fact is about a concept: by its own concept or by an entity it names."""
    return is_about(concept, fact.concept, fact.entities)

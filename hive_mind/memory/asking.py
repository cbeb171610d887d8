"""One query put to a hive and to what its agent has not shared, ranked as one memory of all of it would.

The agent's own unshared facts are one more shard: their statistics go along with the question, and they are scored by the
statistics of all. So an agent's own facts are neither favoured nor found twice.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from hive_mind.errors import BackendError
from hive_mind.memory.base import Hive
from hive_mind.memory.disputes import likeliest_first, with_rivals
from hive_mind.memory.editions.former import after_successors
from hive_mind.memory.refining.reranking import SecondLook
from hive_mind.memory.sharing.conversion import fact_of, voices_of
from hive_mind.memory.sharing.private_index import Home, is_at_home
from hive_mind.memory.vectors import Vector
from hive_mind.model.evidence import HiveFact
from hive_mind.model.fact import Fact
from hive_mind.model.gathered import Gathered, SearchResult
from hive_mind.model.probe import NOWHERE, PLACE, EvidenceColumns, Pool, Probe
from hive_mind.model.query import Hit, Method, Query
from hive_mind.ornament import ornament
from hive_mind.ranking.adaptive import anchors
from hive_mind.ranking.index import FactIndex
from hive_mind.ranking.merge import merge_found, merge_replicas, rows_of, total
from hive_mind.ranking.pipeline import Ranked, Related, in_columns, rank
from hive_mind.ranking.related.feedback import as_asked_once, expanded, with_more
from hive_mind.ranking.related.neighbours import speakers_named
from hive_mind.ranking.related.second_hop import LOOKED_AT, is_sure, lent, may_hop, naming_all, second_probe, unscored
from hive_mind.ranking.tokens import question_terms, tokenize

# A fact may be taken back between being found and being fetched; then the next best takes its place, at most this often.
_FETCHES_MAX = 4
# More than any hive holds; a depth travels as a number.
_DEPTH_MAX = 1 << 31
# Facts that contradict those shown and were not found themselves: more than a few nobody reads.
_RIVALS_FETCHED_MAX = 8


@dataclass(frozen=True, slots=True)
class Candidates:
    """Candidates for a query, of the hive and of the agent's own; `gathered` is the hive's part of them."""

    pool: Pool
    evidence: EvidenceColumns
    method: Method
    gathered: Gathered
    lent: Mapping[str, float] = field(default_factory=dict)
    """Scores lent by a second hop, by id."""
    named: frozenset[int] = frozenset()
    """Speakers the question may name, where there are speakers."""
    facts: "Mapping[str, HiveFact | Fact]" = field(default_factory=dict)
    """Those that were looked at already, by id."""
    ranked: tuple[Ranked, ...] = ()
    """The best of them, as far as they were ranked already."""

    def is_said(self, id: str) -> bool:
        """Whether it was said in a conversation, from which names never lead on."""
        start = self.pool.ids.index(id) * PLACE.itemsize
        return self.evidence.places[start : start + PLACE.itemsize] not in (b"", NOWHERE)

    @property
    def related(self) -> Related:
        return Related(self.evidence.places, self.lent, self.named)

    @property
    def is_named(self) -> bool:
        """Whether some candidate names every identifier of the query."""
        return bool(np.any(self.pool.exact >= 1.0))


@dataclass(frozen=True, slots=True)
class Asking:
    """Asks one hive for one memory that is awake."""

    hive: Hive
    home: Home

    async def candidates(self, query: Query, vector: Vector | None) -> Candidates:
        """Candidates for a query. Without a vector, by keywords. Raises `BackendError`."""
        settings = self.home.recall.settings
        method: Method = "keyword" if vector is None else query.method
        terms = () if method == "vector" else with_more(question_terms(query.text), tokenize(query.also))
        depth = min(settings.depth_for(method, query.limit), _DEPTH_MAX)
        probe = Probe(terms, anchors(query.text), None if method == "keyword" else vector, depth)
        candidates = await self._found(probe, method, query)
        if settings.expansion == "feedback" and may_hop(probe):
            candidates = await self._expanded(candidates, probe, query)
        return await self._second_hop(candidates, probe, query) if settings.second_hop and may_hop(probe) else candidates

    async def _expanded(self, candidates: Candidates, probe: Probe, query: Query) -> Candidates:
        """Candidates for the question with words of the best of them. Where the hive is away meanwhile, as they are."""
        try:
            best = next(
                iter(await self._facts_in(candidates, [document.id for document in self._ranked(candidates, 1)], query)), None
            )
            expanded_probe = expanded(probe, best) if best else None
            candidates_more = await self._found(expanded_probe, candidates.method, query) if expanded_probe else None
        except BackendError:
            return candidates
        return (
            replace(candidates_more, gathered=candidates_more.gathered.with_more(candidates.gathered))
            if candidates_more
            else candidates
        )

    async def _second_hop(self, candidates: Candidates, probe: Probe, query: Query) -> Candidates:
        """With what the best of them finds in turn. Where the hive is away meanwhile, as they are."""
        shown_max = max(query.limit, self.home.recall.settings.rerank)
        ranked = self._ranked(candidates, max(LOOKED_AT, shown_max))
        first, candidates = [document.id for document in ranked], replace(candidates, ranked=tuple(ranked))
        leads_on = not is_sure(ranked) and not candidates.is_said(first[0])
        if not (leads_on or probe.anchors.required):
            return candidates
        naming = naming_all(probe, candidates.pool, first)
        try:
            candidates = await self._with_facts(candidates, dict.fromkeys([*first[:shown_max], *naming]), query)
            facts = candidates.facts
            best = _as_fact(facts[first[0]]) if leads_on and first[0] in facts else None
            further = second_probe(probe, best, [_as_fact(facts[id]) for id in naming if id in facts])
            second = await self._found(further, candidates.method, query) if further else None
        except BackendError:
            return candidates
        if further is None or second is None:
            return candidates
        columns = [candidates.evidence, second.evidence]
        pool, merged = merge_replicas([candidates.pool, unscored(second.pool)], columns)
        gathered = candidates.gathered.with_more(second.gathered)
        gains = lent(further, second.pool, candidates.pool, first[0])
        return replace(candidates, pool=pool, evidence=merged, gathered=gathered, lent=gains, ranked=())

    async def _with_facts(self, candidates: Candidates, ids: Collection[str], query: Query) -> Candidates:
        """With these facts, which would be fetched to be shown; where a holder did not give one, all are to be asked."""
        facts = await self._facts(ids, candidates.gathered.holders, query)
        holders = {id: name for id, name in candidates.gathered.holders.items() if id in facts or id not in ids}
        return replace(candidates, facts=facts, gathered=replace(candidates.gathered, holders=holders))

    def _ranked(self, candidates: Candidates, count: int) -> list[Ranked]:
        if len(candidates.ranked) >= count:
            return list(candidates.ranked[:count])
        settings = self.home.recall.settings
        return rank(candidates.pool, in_columns(candidates.evidence), count, candidates.method, settings, candidates.related)

    async def _facts_in(self, candidates: Candidates, ids: Sequence[str], query: Query) -> list[Fact | None]:
        """These facts, None where nobody has one any more. Raises `BackendError`."""
        facts = await self._facts(dict.fromkeys(ids), candidates.gathered.holders, query)
        return [_as_fact(facts[id]) if id in facts else None for id in ids]

    async def _found(self, probe: Probe, method: Method, query: Query) -> Candidates:
        """Candidates for one question, of the hive and of the agent's own."""
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
        return Candidates(as_asked_once(pool, probe.terms), merged, method, gathered, named=speakers_named(query.text))

    async def result(self, candidates: Candidates, look: SecondLook) -> SearchResult:
        """The best candidates as facts, best first, after a second look where one is wanted. Raises `BackendError`."""
        facts, query = dict(candidates.facts), look.query
        for _ in range(_FETCHES_MAX):
            ranked = self._ranked(candidates, look.count)
            ids_missing = [document.id for document in ranked if document.id not in facts]
            facts |= await self._facts(ids_missing, candidates.gathered.holders, query)
            # Its holder may only have been out of reach: before it counts as gone, all possible holders are asked.
            facts |= await self._facts([fact_id for fact_id in ids_missing if fact_id not in facts], {}, query)
            fact_ids = {fact_id for fact_id in ids_missing if fact_id not in facts}
            if not fact_ids:
                break
            candidates = _without(candidates, fact_ids)
        first = [_hit(facts[document.id], document) for document in ranked if document.id in facts]
        hits, note = await look.at(first)
        return SearchResult(await self._shown(hits, facts, candidates.gathered, query), candidates.gathered, note=note)

    async def _shown(
        self, hits: Sequence[Hit], facts: Mapping[str, HiveFact | Fact], gathered: Gathered, query: Query
    ) -> list[Hit]:
        """The hits as a reader gets them: former facts after their successors, each with the facts that contradict it."""
        held_away = [fact for hit in hits if isinstance(fact := facts[hit.fact.id], HiveFact)]
        shown_hits = with_rivals(after_successors(hits), await self._rivals(held_away, facts, gathered, query))
        return likeliest_first(shown_hits, await self._votes(shown_hits, facts, gathered))

    @ornament(lambda *_: {})
    async def _votes(
        self, hits: Sequence[Hit], facts: Mapping[str, HiveFact | Fact], gathered: Gathered
    ) -> dict[str, float | None]:
        """The hive's votes for disputed facts; of this agent's own, too, where others may say the same."""
        disputed = [hit.fact.id for hit in hits if hit.rivals]
        own_places = [(id, gathered.holders.get(id, "")) for id in disputed if not isinstance(facts.get(id), HiveFact)]
        shared = [(id, holder) for id, holder in own_places if holder]
        facts_fetched = [*(await self.hive.fetch(shared) if shared else ()), *(facts[id] for id in disputed if id in facts)]
        return {fact.id: fact.votes for fact in facts_fetched if isinstance(fact, HiveFact)}

    @ornament(lambda *_: {})
    async def _rivals(
        self, facts_shown: Sequence[HiveFact], facts: Mapping[str, HiveFact | Fact], gathered: Gathered, query: Query
    ) -> dict[str, list[Fact]]:
        """Facts of the nodes that contradict the facts shown; the nodes that hold the latter have them too."""
        rivals_away = {
            rival: gathered.holders.get(fact.id, "") for fact in facts_shown for rival in fact.disputed_by if rival not in facts
        }
        rivals_fetched = dict(list(rivals_away.items())[:_RIVALS_FETCHED_MAX])
        facts_known = {**facts, **(await self._facts(rivals_fetched, rivals_fetched, query) if rivals_fetched else {})}
        return {
            fact.id: [_as_fact(facts_known[rival]) for rival in fact.disputed_by if rival in facts_known] for fact in facts_shown
        }

    async def _facts(self, ids: Iterable[str], holders: Mapping[str, str], query: Query) -> dict[str, HiveFact | Fact]:
        recall = self.home.recall
        accept = recall.accept(replace(query, min_confidence=0.0))
        own_facts: dict[str, HiveFact | Fact] = {
            fact_id: recall.then(fact_id, query)
            for fact_id in ids
            if fact_id in recall.facts and (accept is None or accept(fact_id))
        }
        places_away = [(fact_id, holders.get(fact_id, "")) for fact_id in ids if fact_id not in recall.facts]
        facts = await self.hive.fetch(places_away) if places_away else ()
        # A member of an earlier version does not know that a question may be about a time before.
        return own_facts | {fact.id: fact for fact in facts if not 0 < query.as_of_us < fact_of(fact).learned_at_us}

    async def _asked(self, probe: Probe, query: Query) -> Gathered:
        """The hive's results, without those this agent knows to be past: it asks for more until that leaves enough."""
        depth = probe.depth
        while True:
            gathered = await self.hive.ask(replace(probe, depth=depth), confidence_min=query.min_confidence)
            rows = [row for row, fact_id in enumerate(gathered.pool.ids) if not self._is_past(fact_id, query)]
            if len(rows) == len(gathered.pool):
                return gathered
            if len(rows) >= probe.depth or len(gathered.pool) < depth:
                return replace(gathered, pool=_rows(gathered.pool, rows), evidence=rows_of(gathered.evidence, rows))
            depth *= 4

    def _is_past(self, fact_id: str, query: Query) -> bool:
        fact = self.home.recall.facts.get(fact_id)
        return fact is not None and not (fact.held_at(query.as_of_us) if query.as_of_us else fact.is_current)

    def _own_parts(self, query: Query) -> list[FactIndex]:
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


def _without(candidates: Candidates, ids_gone: set[str]) -> Candidates:
    rows = [row for row, fact_id in enumerate(candidates.pool.ids) if fact_id not in ids_gone]
    return replace(candidates, pool=_rows(candidates.pool, rows), evidence=rows_of(candidates.evidence, rows), ranked=())


def _rows(pool: Pool, rows: list[int]) -> Pool:
    return Pool(tuple([pool.ids[row] for row in rows]), pool.keyword[rows], pool.semantic[rows], pool.exact[rows])


def _as_fact(fact: HiveFact | Fact) -> Fact:
    return fact_of(fact) if isinstance(fact, HiveFact) else fact


def _hit(fact: HiveFact | Fact, ranked: Ranked) -> Hit:
    voices = voices_of(fact) if isinstance(fact, HiveFact) else None
    return Hit(_as_fact(fact), ranked.score, ranked.components, ranked.contributions, voices=voices)

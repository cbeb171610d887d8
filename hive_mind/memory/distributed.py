"""An agent's memory with a hive behind it: local first, then shared; found together with what all others know.

It keeps the promises of `CognitiveMemory`, and the agent can't tell the difference. Everything is written to the agent's own
database first; then facts that pass the gate are promoted. The hive may be away: nothing is lost, they are promoted later, and a
search result says how much of it was reached. The `local_…` methods never leave home.
"""

import logging
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from heapq import merge

from hive_mind.api.request import Progress
from hive_mind.awaiting import off_loop
from hive_mind.errors import BackendError
from hive_mind.hive.trust.contradiction import ROW_BYTES
from hive_mind.memory.asking import Asking, Candidates, Home, aggregated_of, concept_matches, first_of, shown_of, together
from hive_mind.memory.base import PREFIXED_MAX, Hive, asked_for, refuse_limit
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.memory.disputes import disputable
from hive_mind.memory.erased_from import erase_from
from hive_mind.memory.erasing import ErasureScope, the_one
from hive_mind.memory.gate import PromotionSettings
from hive_mind.memory.gate.promotion import Review
from hive_mind.memory.intake import by_hand
from hive_mind.memory.opening import Awake, has_news, reason_with, told
from hive_mind.memory.outbox import HiveFacts, Outbox, mark_forgotten
from hive_mind.memory.sharing import another_agents, as_offered, fact_of, moderated, said_by
from hive_mind.model.aggregation import Aggregated, Aggregation, MemoryStatistics
from hive_mind.model.bounds import BOUNDS
from hive_mind.model.content import SOURCE, Candidate, Content, Episode, KnownSource, SourceNote
from hive_mind.model.erasure import Erasure
from hive_mind.model.evidence import HiveFact
from hive_mind.model.fact import CONFIDENCE, KEPT_HOME, Fact, FactList, Relation
from hive_mind.model.gathered import SearchResult
from hive_mind.model.query import LIMIT, Query
from hive_mind.ranking.question import Ranking, anchors
from hive_mind.tracing import operation

_log = logging.getLogger(__name__)


class DistributedCognitiveMemory:
    """The `Memory` protocol over one agent's own memory and a hive. `agent` is the name under which it promotes and retracts.

    `forgets`: the hive drops what grows old, so repeated statements are promoted again. `has_lost`: whether the
    node was damaged and nobody else holds what it held.
    """

    def __init__(
        self,
        local: CognitiveMemory,
        hive: Hive,
        *,
        agent: str,
        gate: PromotionSettings | None = None,
        forgets: bool = False,
        has_lost: Callable[[], bool] = lambda: False,
    ) -> None:
        self._local, self._hive, self._agent, self.forgets = local, hive, agent, forgets
        self._shared = HiveFacts(hive)
        self.store_id = agent
        self._has_lost, self._has_made_good = has_lost, False
        self._outbox = Outbox(local, hive, agent, gate or PromotionSettings())
        self._home: Home | None = None
        # Of which waking of the local memory everything was looked at.
        self._settled_waking = 0
        local.listen(self._note)

    def reviewed_by(self, review: Review | None) -> None:
        """Set the review of facts before they are shared; None: no review. `reconsider` facts decided otherwise before."""
        self._outbox.review = review

    async def reconsider(self, fact_ids: Sequence[str] | None = None) -> None:
        """Ask the gate and the review again about these facts, or about all: some are shared now, others taken back."""
        if fact_ids is None:
            async with self._local.awake() as awake:
                fact_ids = [fact.id for fact in awake.recall.facts.values()]
        await self._outbox.reconsider(fact_ids)

    @property
    def completeness(self) -> float:
        """Share of the hive that the latest search or listing reached, by any caller; each result has its own."""
        return self._shared.reached

    async def store_fact(
        self,
        concept: str,
        content: str,
        confidence: float = CONFIDENCE,
        *,
        source: str = SOURCE,
        said_at: str = "",
        labels: tuple[str, ...] = (),
    ) -> Fact:
        """Keep one statement; durable and findable when this returns, and shared if it may be. Raises `InvalidInput`."""
        return the_one(await self.store_facts([by_hand(concept, content, confidence, said_at, labels)], source))

    @operation("create_memory")
    async def store_facts(self, candidates: Sequence[Candidate], source: str, episode: Episode | None = None) -> list[Fact]:
        """Keep many statements of one source, all or none, with the episode they derive from."""
        await self._settle_after_waking()
        facts = await self._local.store_facts(candidates, source, episode)
        if self.forgets:
            await self._outbox.share_again(fact.id for fact in facts)
        return await self._settled(facts)

    async def embed_ahead(self, candidates: Sequence[Candidate], progress: Progress) -> bool:
        """Embed statements of several sources together, before each is kept; False without a model."""
        return await self._local.embed_ahead(candidates, progress)

    async def store_episode(self, content: Content, summary: str = "") -> Episode:
        """Keep content verbatim, here: episodes are not shared. The same text from the same source is kept once."""
        return await self._local.store_episode(content, summary)

    @operation("search_memory")
    async def search_facts(self, query: str | Query, limit: int = LIMIT) -> SearchResult:
        """The best facts of the whole hive and of this agent, best first. `limit` is for a query given as text."""
        asked_query = asked_for(query, limit)
        await self._settle_after_waking()
        async with self._local.awake() as awake:
            if asked_query.method == "vector":
                # Raises what is in the way of it, which is not the hive's fault; the vector is kept for the search.
                await self._local.query_vector(awake, asked_query)
            try:
                return await self._search(awake, asked_query)
            except BackendError as error:
                self._shared.note_reached(0.0, str(error))
        return SearchResult(await self._local.search_facts(asked_query), completeness=0.0)

    async def get_all_facts(self, limit: int | None = None) -> FactList:
        """Current facts of the hive and of this agent, newest first."""
        refuse_limit(limit)
        return await self._listed("", limit, lambda _: True)

    async def disputable_facts(self) -> FactList:
        """Of `get_all_facts` those that may be in a pair of `disputes.disputed`, so that nothing else has to be read."""
        await self._settle_after_waking()
        async with self._local.awake() as awake:
            known_facts = awake.recall.facts.copy()
        facts = [fact for fact in reversed(known_facts.held.values()) if fact.is_current]
        worded, completeness = await self._shared.worded(known_facts)
        size = sum(len(fact.content) for fact in facts) + ROW_BYTES * len(worded)
        ids = await off_loop(size, disputable, facts, worded)
        fetched_facts = await self._shared.fetched_in_order([fact.fact_id for fact in worded if fact.fact_id in ids])
        return _newest_first(
            [fact for fact in facts if fact.id in ids], FactList(fetched_facts, fetched_facts.completeness * completeness)
        )

    async def search_by_concept(self, concept: str, limit: int = LIMIT) -> FactList:
        """Current facts about this concept or entity, newest first; letter case does not matter."""
        refuse_limit(limit)
        return await self._listed(concept, limit, lambda fact: concept_matches(fact, concept))

    async def aggregate(self, wanted: Aggregation) -> Aggregated:
        """How many current facts of the hive and of this agent there are about something, and the first of them as wanted."""
        BOUNDS["limit"].refuse("limit", wanted.limit)
        await self._settle_after_waking()
        async with self._local.awake() as awake:
            known_facts = awake.recall.facts.copy().held
        try:
            tallied = await self._hive.tally(wanted.about)
            self._shared.note_gathered(tallied.completeness, tallied.silent)
            moments, own_facts = together(wanted, known_facts, tallied)
            ids = first_of(wanted, moments)
            places_away = [(fact_id, "") for fact_id in ids if fact_id not in own_facts]
            facts = shown_of(ids, own_facts, await self._hive.fetch(places_away) if places_away else ())
            return Aggregated(wanted, len(moments), facts, tallied.completeness, tallied.silent)
        except BackendError as error:
            self._shared.note_reached(0.0, str(error))
            return replace(aggregated_of(wanted, known_facts.values()), completeness=0.0)

    async def get_fact(self, fact_id: str) -> Fact | None:
        """One fact by id, of this agent (superseded and retracted ones too) or else of the hive."""
        return (await self.get_facts([fact_id])).get(fact_id)

    async def get_facts(self, fact_ids: Sequence[str]) -> dict[str, Fact]:
        """Facts by id: of this agent as `own_facts`, all others in one question to the hive."""
        facts = await self.own_facts(fact_ids)
        shared = await self._shared.fetched([fact_id for fact_id in dict.fromkeys(fact_ids) if fact_id not in facts])
        return facts | {fact.id: fact_of(fact) for fact in shared}

    async def own_facts(self, fact_ids: Sequence[str]) -> dict[str, Fact]:
        """Of these the facts of this agent, superseded and retracted ones too."""
        return await self._local.own_facts(fact_ids)

    async def facts_with_prefix(self, prefix: str) -> FactList:
        """Facts with an id that begins like this: this agent's, superseded and retracted ones too, then others' of the hive."""
        fact_list = await self._local.facts_with_prefix(prefix)
        facts_of_others = await self._shared.with_prefix(prefix, {fact.id for fact in fact_list})
        return FactList([*fact_list, *facts_of_others][:PREFIXED_MAX], facts_of_others.completeness)

    @operation("delete_memory")
    async def retract_fact(self, fact_id: str, *, request: str = "") -> Fact:
        """Take a fact of this agent back, here and in the hive; the facts it had superseded hold again. Raises `InvalidInput`.

        A moderator can take back any agent's fact: it leaves the hive. `request`: see `CognitiveMemory.retract_fact`.
        """
        await self._settle_after_waking()
        if (fact := await self._local.done(request)) is not None:
            # Asked for again it would go on to what others say of it.
            return fact
        own_fact, reclaimed_fact = await self.reclaimed(fact_id)
        if reclaimed_fact is not None and (own_fact is None or (own_fact.is_retracted and not own_fact.offered)):
            refusals = await self._hive.write([(f"retracted/{fact_id}", reason_with(request))], self._agent)
            if own_fact is None:
                return moderated(reclaimed_fact, *refusals)
        return (await self._settled([await self._local.retract_fact(fact_id, request=request)]))[0]

    @operation("update_memory")
    async def supersede(self, fact_id: str, replacement: Candidate, source: str, *, request: str = "") -> Fact:
        """Keep a newer statement in place of a fact of this agent; the old one leaves the hive."""
        await self._settle_after_waking()
        fact, reclaimed_fact = await self.reclaimed(fact_id)
        if fact is None and reclaimed_fact is not None:
            raise another_agents(fact_id)
        return (await self._settled([await self._local.supersede(fact_id, replacement, source, request=request)]))[0]

    async def supersede_former(self, source: str, episodes: Sequence[str]) -> list[Fact]:
        """Take these episodes for all that a source says to this agent now; former facts leave the hive."""
        await self._settle_after_waking()
        return await self._settled(await self._local.supersede_former(source, episodes))

    async def withdraw(self, source: str) -> list[Fact]:
        """A source says nothing to this agent any more; former facts leave the hive."""
        await self._settle_after_waking()
        return await self._settled(await self._local.withdraw(source))

    async def note(self, source: str, note: SourceNote | None) -> None:
        """Keep what a reader has to say of a source of this agent."""
        await self._local.note(source, note)

    async def sources(self, below: str = "") -> list[KnownSource]:
        """Facts learned by this agent, by source."""
        return await self._local.sources(below)

    async def contradict(self, fact_id: str, other_id: str) -> None:
        """Record that two facts of this agent can't both be true; both stay."""
        for named_id in (fact_id, other_id):
            await self.reclaimed(named_id)
        await self._local.contradict(fact_id, other_id)

    async def related(self, fact_id: str, relation: Relation, *, backwards: bool = False) -> Sequence[str]:
        """Ids of what a fact is linked to (or what links to it, `backwards`)."""
        return await self._local.related(fact_id, relation, backwards=backwards)

    async def episodes_of(self, fact_id: str) -> list[Episode]:
        return await self._local.episodes_of(fact_id)

    async def get_statistics(self) -> MemoryStatistics:
        """Statistics of this agent's facts."""
        return await self._local.get_statistics()

    async def export(self) -> AsyncIterator[str]:
        """Everything this agent holds as JSON Lines; see `CognitiveMemory.export`."""
        async for line in self._local.export():
            yield line

    async def import_lines(self, lines: Sequence[str]) -> int:
        """Take in what `export` wrote, and share what may be shared."""
        await self._settle_after_waking()
        count = await self._local.import_lines(lines)
        await self._outbox.settle()
        return count

    async def reembed(self, progress: Progress | None = None) -> int:
        """Embed everything this agent holds with the model at hand, and tell the hive the new vectors of what is shared."""
        self._home = None
        embedded = await self._local.reembed(progress)
        await self._settle_after_waking()
        return embedded

    async def settle(self) -> None:
        """Bring the hive up to date on every fact; facts the gate held back are judged again. Where the hive is away, later.

        Facts the hive forgot stay here, marked so: the `local_…` methods find them, and the hive gets them when they are stored
        again.
        """
        await self._settle_all()
        if self.forgets:
            await mark_forgotten(self._local, self._hive)

    async def on_shared(self, fact_ids: Sequence[str]) -> None:
        """Call it when facts have reached a node that others ask; not from inside a call to the hive."""
        await self._outbox.shared(fact_ids)

    async def local_store_fact(
        self,
        concept: str,
        content: str,
        confidence: float = CONFIDENCE,
        *,
        source: str = SOURCE,
        said_at: str = "",
        labels: tuple[str, ...] = (),
    ) -> Fact:
        """Keep one statement for this agent alone, until `store_fact` stores it again. A shared one stays shared."""
        candidate = by_hand(concept, content, confidence, said_at, labels)
        return the_one(await self._local.store_facts([candidate], source, held_back=KEPT_HOME))

    async def local_search_facts(self, query: str | Query, limit: int = LIMIT) -> SearchResult:
        """The best of this agent's own facts."""
        return await self._local.search_facts(query, limit)

    async def local_get_all_facts(self, limit: int | None = None) -> FactList:
        """This agent's own current facts, newest first."""
        return await self._local.get_all_facts(limit)

    async def local_search_by_concept(self, concept: str, limit: int = LIMIT) -> FactList:
        """This agent's own current facts about a concept, newest first."""
        return await self._local.search_by_concept(concept, limit)

    @property
    def local(self) -> CognitiveMemory:
        """This agent's own memory."""
        return self._local

    async def erase(self, wanted: Sequence[Erasure], at_us: int, *, everything: bool = False) -> ErasureScope:
        """Let go of what is meant for good, here; the hive hears anew of what stays in another form."""
        self._home = None
        scope = await erase_from(self._local, wanted, at_us, everything=everything)
        if scope.revised:
            await self._settle_after_waking()
        return scope

    async def sleep(self) -> None:
        """Let go of database and index; the next call wakes the memory again."""
        self._home = None
        await self._local.sleep()

    async def close(self) -> None:
        """Finish what is under way and release this agent's own memory; the hive goes on. Closing twice is fine."""
        with self._local.here():
            await self._outbox.close()
            self._home = None
            await self._local.close()

    async def evidence_of(self, fact_id: str) -> HiveFact | None:
        """A fact as the hive has it, with the agents that vouch for it; None where it has none such, or is away."""
        return next(iter(await self._shared.fetched([fact_id])), None)

    async def reclaimed(self, fact_id: str) -> tuple[Fact | None, Fact | None]:
        """A fact of the own record, and as the hive has it if it was asked: the record may be an older copy, or a new one.

        What the hive has in this agent's name is the agent's, so it is taken into the record before it is changed.
        """
        fact = await self._local.get_fact(fact_id)
        if fact is not None and fact.offered:
            return fact, None
        hive_fact = next(iter(await self._shared.fetched([fact_id], must_answer=fact is None)), None)
        reclaimed_fact = said_by(hive_fact, self._agent) if hive_fact else None
        if fact is None and reclaimed_fact is not None:
            fact = the_one(await self._local.keep([reclaimed_fact]))
        elif reclaimed_fact is not None:
            async with self._local.awake() as awake:
                (fact,) = await self._local.revise(awake, [fact_id], as_offered(reclaimed_fact))
        return fact, fact_of(hive_fact) if hive_fact else None

    async def __aenter__(self) -> "DistributedCognitiveMemory":
        """Wake now, and promote what is pending."""
        await self._settle_after_waking()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _note(self, fact: Fact) -> None:
        self._outbox.note(fact)
        if self._home is not None:
            self._home.note(fact.id)

    async def _settled(self, facts: Sequence[Fact]) -> list[Fact]:
        """The facts written, after promotion. Nothing here may fail: the facts are durable."""
        await self._outbox.settle()
        return [self._local.known(fact.id) or fact for fact in facts]

    async def _settle_after_waking(self) -> None:
        """Others may have changed the database while it slept, and what was cut short before is to be found."""
        async with self._local.awake():
            former, self._settled_waking = self._settled_waking, self._local.times_woken
        if former == self._settled_waking and not self._has_to_make_good:
            return
        try:
            await self._settle_all()
        except BaseException:
            self._settled_waking = former
            raise

    async def _settle_all(self) -> None:
        await self._outbox.settle_all()
        if self._has_to_make_good:
            self._has_made_good = True
            await self._outbox.share_again()
        async with self._local.awake() as awake:
            if await has_news(awake):
                await self._outbox.share_again()
                await told(awake)

    @property
    def _has_to_make_good(self) -> bool:
        """Not where the hive forgets: it would count all of it from now on."""
        return not self._has_made_good and not self.forgets and self._has_lost()

    async def _search(self, awake: Awake, query: Query) -> SearchResult:
        if self._home is None or self._home.recall is not awake.recall:
            self._home = Home(awake.recall)
        asking = Asking(self._hive, self._home, await self._local.refining.begin(query))
        await self._local.look_back(awake, query)
        found = await asking.result(await self._ranking(awake, asking, query))
        assert found.gathered is not None  # noqa: S101 - a hive was asked
        self._shared.note_gathered(found.completeness, found.gathered.silent)
        return found

    async def _ranking(self, awake: Awake, asking: Asking, query: Query) -> Ranking[Candidates]:
        """As a single memory decides it: identifiers that some fact names are looked up by words, all else by meaning too."""
        if query.method == "hybrid" and anchors(query.text).is_pure:
            by_words = await asking.ranking(None)
            if by_words.is_named:
                return by_words
        return await asking.ranking(await self._local.query_vector(awake, query))

    async def _listed(self, concept: str, limit: int | None, is_wanted: Callable[[Fact], bool]) -> FactList:
        await self._settle_after_waking()
        async with self._local.awake() as awake:
            known_facts = awake.recall.facts.copy()
        facts = [fact for fact in reversed(known_facts.held.values()) if fact.is_current and is_wanted(fact)]
        fact_list = await self._shared.listed(concept, limit, known_facts, [fact.learned_at_us for fact in facts])
        return _newest_first(facts, fact_list, limit)


def _newest_first(facts: Sequence[Fact], fact_list: FactList, limit: int | None = None) -> FactList:
    """Own facts in the order in which they came, others where their time puts them."""
    return FactList(list(merge(facts, fact_list, key=lambda fact: -fact.learned_at_us))[:limit], fact_list.completeness)

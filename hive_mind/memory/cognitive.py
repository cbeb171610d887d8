"""One agent's own memory: facts in a store, found through an index in RAM.

The store is the truth. A memory that sleeps holds neither database nor index; when it is used it rebuilds the index from there.
"""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import replace
from tempfile import SpooledTemporaryFile

from hive_mind.api.request import Progress
from hive_mind.embed import Embedder
from hive_mind.errors import InvalidInput
from hive_mind.memory import opening
from hive_mind.memory.asking import aggregated_of, concept_matches, statistics_of
from hive_mind.memory.base import PREFIXED_MAX, asked_for, refuse_limit
from hive_mind.memory.disputes import with_rivals
from hive_mind.memory.editions import WITHDRAWN, after_successors, edits_of, noted, sources_of, timed, vouched_by
from hive_mind.memory.erasing import kept_changes, kept_of, refuse_erased, the_one
from hive_mind.memory.intake import Intake, by_hand, new_episode, new_fact, refuse_source, retracting, superseding, take_in
from hive_mind.memory.opening import Awake, Commits, NewVectorArm, OneLoop, OpenStore, Outcome, PlannedCommit, Transition
from hive_mind.memory.reranking import Refining
from hive_mind.memory.transfer import EXPORT_IN_RAM_BYTES, read_back, write_down
from hive_mind.memory.transfer.importing import BATCH_EMBEDDED, BATCH_RECORDS, current_count, import_all
from hive_mind.memory.vectors import NewVectors, Vector, VectorSource
from hive_mind.model.aggregation import Aggregated, Aggregation, MemoryStatistics
from hive_mind.model.content import SOURCE, Candidate, Content, Episode, KnownSource, SourceNote
from hive_mind.model.fact import CONFIDENCE, Fact, FactList, Relation, turned
from hive_mind.model.gathered import SearchResult
from hive_mind.model.query import LIMIT, Query
from hive_mind.ranking.pipeline import RankingSettings
from hive_mind.ranking.vector import ExactVectors
from hive_mind.store import AddEpisode, Change, Link, ReviseFact
from hive_mind.tracing import operation

Clock = Callable[[], int]
Listener = Callable[[Fact], None]


class CognitiveMemory:
    """The `Memory` protocol over one store. For one event loop; any number of its tasks.

    `open_store` opens the database and is called again after each sleep. `new_arm` makes a vector index. Spans name `store_id`.
    """

    def __init__(
        self,
        open_store: OpenStore,
        embedder: Embedder,
        *,
        ranking: RankingSettings | None = None,
        new_arm: NewVectorArm = ExactVectors,
        clock: Clock = lambda: time.time_ns() // 1000,
        store_id: str = "",
    ) -> None:
        self._open_store, self._new_arm, self._clock, self.store_id = open_store, new_arm, clock, store_id
        self.refining, self._vectors, self._commits = Refining(ranking or RankingSettings()), VectorSource(embedder), Commits()
        self._listener: Listener = lambda _: None
        self._state: Awake | None = None
        self.times_woken = self._revision = 0
        """`times_woken`: knowledge about its facts may be out of date when this has grown."""
        self._transition, self._is_closed = Transition(), False
        self._loop = OneLoop(lambda: self._state is None and not self._transition.is_under_way)

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
        """Keep one statement; durable and findable when this returns. Raises `InvalidInput` for text that says nothing."""
        return the_one(await self.store_facts([by_hand(concept, content, confidence, said_at, labels)], source))

    @operation("create_memory")
    async def store_facts(
        self, candidates: Sequence[Candidate], source: str, episode: Episode | None = None, *, held_back: str = ""
    ) -> list[Fact]:
        """Keep many statements of one source, all or none, with the episode they derive from; none of what was erased.

        `held_back` says why they should not be shared, where the memory is part of a hive.
        """
        facts = [replace(new_fact(candidate, source, self._clock()), held_back=held_back) for candidate in candidates]
        return await self.keep(facts, episode)

    async def embed_ahead(self, candidates: Sequence[Candidate], progress: Progress) -> bool:
        """Embed statements of several sources together, before each is kept. Nothing is kept by it; False without a model."""
        async with self.awake() as awake:
            facts = (fact for fact in (new_fact(c, SOURCE, 0) for c in candidates) if not awake.recall.is_searchable(fact.id))
            return opening.may_embed(awake.recorded, self._vectors) and await self._vectors.embed_ahead(facts, progress)

    async def store_episode(self, content: Content, summary: str = "") -> Episode:
        """Keep content verbatim, unless it was erased. The same text from the same source is kept once."""
        refuse_source(content.source)
        episode = new_episode(content, summary, self._clock())
        async with self.awake() as awake:
            if not (awake.erasures and awake.erasures.covers_episode(episode)):
                await self._commits.run(awake.store, [episode.id], lambda: PlannedCommit([AddEpisode(episode)], lambda: None))
        return episode

    @operation("search_memory")
    async def search_facts(self, query: str | Query, limit: int = LIMIT) -> SearchResult:
        """The best facts for a query, best first. `limit` is for a query given as text."""
        search = asked_for(query, limit)
        async with self.awake() as awake:
            look = await self.refining.begin(search)
            is_named = search.method == "hybrid" and awake.recall.names_exactly(search)
            vector = None if is_named else await self.query_vector(awake, search)
            await self.look_back(awake, search)
            hits, note = await look.at((best := awake.recall.search(look.query, vector, max(look.count, LIMIT)))[: look.count])
            return SearchResult(with_rivals(after_successors(hits), {}, best), note=note, searched=awake.recall.searched(search))

    async def get_all_facts(self, limit: int | None = None) -> FactList:
        """Current facts, newest first."""
        refuse_limit(limit)
        async with self.awake() as awake:
            return FactList([fact for fact in reversed(awake.recall.facts.held.values()) if fact.is_current][:limit])

    async def search_by_concept(self, concept: str, limit: int = LIMIT) -> FactList:
        """Current facts about this concept or entity, newest first; letter case does not matter."""
        refuse_limit(limit)
        return FactList([fact for fact in await self.get_all_facts() if concept_matches(fact, concept)][:limit])

    async def aggregate(self, wanted: Aggregation) -> Aggregated:
        """How many current facts there are about something, and the first of them in the order that is wanted: over all."""
        async with self.awake() as awake:
            return aggregated_of(wanted, awake.recall.facts.held.values())

    async def get_fact(self, fact_id: str) -> Fact | None:
        """One fact by id, superseded and retracted ones too."""
        return (await self.get_facts([fact_id])).get(fact_id)

    async def get_facts(self, fact_ids: Sequence[str]) -> dict[str, Fact]:
        """Facts by id, superseded and retracted ones too; those that are not there are left out."""
        async with self.awake() as awake:
            return awake.recall.facts.some_of(fact_ids)

    own_facts = get_facts

    async def facts_with_prefix(self, prefix: str) -> FactList:
        """Facts with an id that begins like this, superseded and retracted ones too; at most `PREFIXED_MAX`."""
        async with self.awake() as awake:
            return FactList(awake.recall.facts.beginning_like(prefix, PREFIXED_MAX))

    @operation("delete_memory")
    async def retract_fact(self, fact_id: str, *, request: str = "") -> Fact:
        """Take a fact back: it is found by id only, and what it had superseded holds again. `request`: see `done`."""
        async with self.awake() as awake:
            replaced = awake.recall.replaced_by(fact_id)

            def plan() -> Intake:
                return retracting(awake.recall.facts.named(fact_id), awake.recall.replaced_by(fact_id))

            return await self._once(awake, request, [fact_id, *(fact.id for fact in replaced)], plan, NewVectors())

    @operation("update_memory")
    async def supersede(self, fact_id: str, replacement: Candidate, source: str, *, request: str = "") -> Fact:
        """Keep a newer statement in place of a fact, which only queries `with_superseded` find then. `request`: see `done`."""
        newer = new_fact(replacement, source, self._clock())
        if newer.id == fact_id:
            raise InvalidInput("a fact can't supersede itself: the new statement says the same")
        async with self.awake() as awake:
            refuse_erased([newer], awake.erasures)
            new = await self._new_vectors(awake, [newer])

            def plan() -> Intake:
                return superseding(newer, awake.recall.facts.named(fact_id), awake.recall.facts.get)

            return await self._once(awake, request, [newer.id, fact_id], plan, new)

    async def done(self, request: str) -> Fact | None:
        """The fact that a request left, as it is now, for one that is put again under its key; None for one not carried out."""
        if not request:
            return None
        async with self.awake() as awake:
            return awake.recall.facts.get(awake.done.fact_id(request))

    async def supersede_former(self, source: str, episodes: Sequence[str]) -> list[Fact]:
        """Take these episodes for all that a source says now: statements of earlier ones only are former; what changed."""
        async with self.awake() as awake:
            edits = await edits_of(awake, source, episodes)
            return await self.revise(awake, edits.ids, edits.revised, edits.links(awake.recall.facts))

    async def withdraw(self, source: str) -> list[Fact]:
        """A source says nothing any more: its own statements are former, of the rest it is left out; what changed."""
        async with self.awake() as awake:
            if not any(vouched_by(source, awake.recall.facts.values())):
                return []
        # First: an agent stopped in between must not be thought to have read the source when it is back.
        await self.note(source, None)
        instead = await self.store_episode(Content(WITHDRAWN, source))
        async with self.awake() as awake:
            edits = await edits_of(awake, source, [instead.id], is_withdrawn=True)
            return await self.revise(awake, edits.ids, edits.revised)

    async def note(self, source: str, note: SourceNote | None) -> None:
        """Keep what a reader has to say of a source, in place of what it said before."""
        change = noted(source, note)
        async with self.awake() as awake:
            await self._commits.run(awake.store, [change.key], lambda: PlannedCommit([change], lambda: None))

    async def sources(self, below: str = "") -> list[KnownSource]:
        """Facts learned by source, for all sources with a name that begins like this."""
        async with self.awake() as awake:
            return sources_of(awake.recall.facts.values(), await awake.store.meta(), below)

    async def revise(
        self, awake: Awake, fact_ids: Sequence[str], revised: Callable[[Fact], Fact], links: Sequence[Link] = ()
    ) -> list[Fact]:
        """Change how far facts have gone, in one write; `revised` gets each as it is then, and must keep its content."""

        def plan() -> PlannedCommit[list[Fact]]:
            known_facts = awake.recall.facts
            facts = [turned(revised(fact), fact, self._clock()) for fact in map(known_facts.named, fact_ids)]
            changes = [ReviseFact(fact) for fact in facts if fact != known_facts[fact.id]]
            return PlannedCommit([*changes, *links], lambda: self._applied(awake, facts, NewVectors()))

        return await self._commits.run(awake.store, fact_ids, plan)

    async def contradict(self, fact_id: str, other_id: str) -> None:
        """Record that two facts can't both be true; both stay. Raises `InvalidInput` where one does not exist."""
        if fact_id == other_id:
            raise InvalidInput("a fact can't contradict itself: name two facts")
        async with self.awake() as awake:
            ends = [awake.recall.facts.named(end).id for end in (fact_id, other_id)]
            await self._commits.run(awake.store, ends, lambda: PlannedCommit([Link(Relation.CONTRADICTS, *ends)], lambda: None))

    async def related(self, fact_id: str, relation: Relation, *, backwards: bool = False) -> Sequence[str]:
        """Ids of what a fact is linked to (or what links to it, `backwards`)."""
        async with self.awake() as awake:
            return await awake.store.linked(relation, fact_id, backwards=backwards)

    async def episodes_of(self, fact_id: str) -> list[Episode]:
        async with self.awake() as awake:
            return list((await awake.store.episodes(await awake.store.linked(Relation.DERIVES_FROM, fact_id))).values())

    async def look_back(self, awake: Awake, query: Query) -> None:
        if query.as_of_us:
            await opening.look_back(awake, self._vectors)

    async def query_vector(self, awake: Awake, query: Query) -> Vector | None:
        if (vector := await opening.vector_for(query, awake.recorded, self._vectors)) is not None:
            awake.recall.cosine_least = await self._vectors.cosine_least()
        return vector

    async def get_statistics(self) -> MemoryStatistics:
        async with self.awake() as awake:
            return statistics_of(awake, self._vectors, await awake.store.counts())

    async def export(self) -> AsyncIterator[str]:
        """Everything as JSON Lines, without line ends: episodes, facts, then links; as it is when the first line is asked for."""
        # Read whole before the first line is handed out: a reader that stops halfway must not keep the memory from closing.
        with SpooledTemporaryFile(EXPORT_IN_RAM_BYTES) as file:
            async with self.awake() as awake:
                await write_down(awake.store, awake.recall.facts.copy(), file)
            for line in read_back(file):
                yield line

    async def import_lines(self, lines: Sequence[str]) -> int:
        """Take in what `export` wrote; facts already known gain its sources. Returns how many facts the lines held.

        Raises `InvalidInput` naming the bad lines; then nothing was taken in. An interrupted caller repeats the same call.
        """
        async with self.awake() as awake:
            meta = await awake.store.meta()
            batch = BATCH_EMBEDDED if opening.may_embed(awake.recorded, self._vectors) else BATCH_RECORDS
        return (await import_all(lambda: lines, self._keep_imported, meta, batch_records=batch)).facts

    async def reembed(self, progress: Progress | None = None) -> int:
        """Embed everything with the model at hand, then forget vectors of the former one. Returns how many texts were embedded.

        If it is interrupted, the next call goes on where it stopped. `progress` gets (done, total) in texts.
        """
        return await self.overhaul(lambda awake: opening.reembed(awake, self._vectors, progress))

    async def overhaul(self, work: Callable[[Awake], Awaitable[Outcome]]) -> Outcome:
        """Do something to all that is kept while nobody writes; then sleep, for what is in RAM is as it was before."""
        async with self.awake() as awake:
            await self._commits.finish()
            outcome = await work(awake)
        self._vectors.forget_recent()
        await self.sleep()
        return outcome

    async def tidy(self) -> None:
        """Let the store put itself in order, for one that is awake and will not be written to for a while."""
        if self._state is not None:
            async with self.awake() as awake:
                await awake.store.tidy()

    async def sleep(self) -> None:
        """Let go of database and index; the next call wakes the memory again."""
        with self._loop.call():
            async with self._loop.waking:
                await self._loop.is_idle.wait()
                await self._transition.finish()
                await self._commits.finish()
                if self._state is not None:
                    state, self._state = self._state, None
                    await self._transition.run(opening.fall_asleep(state))

    async def close(self) -> None:
        """Finish what is under way and release everything. Closing twice is fine."""
        with self._loop.call():
            self._is_closed = True
            await self.sleep()
            await self._vectors.close()

    def here(self) -> AbstractContextManager[None]:
        """As long as a call lasts. Raises `InvalidInput` where the memory is open in another event loop."""
        return self._loop.call()

    def stay_here(self) -> None:
        """Belong to this event loop, asleep too. Raises `InvalidInput` where it is open in another one."""
        self._loop.enter()

    async def __aenter__(self) -> "CognitiveMemory":
        """Wake now, so that a locked or damaged database is reported at once."""
        async with self.awake():
            return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def keep(self, said: Sequence[Fact], episode: Episode | None = None, extra: Sequence[Change] = ()) -> list[Fact]:
        """Keep facts with what is known of each already, all or none; without what was erased."""
        async with self.awake() as awake:
            facts, known_episode = list(said), episode
            if awake.erasures:
                facts = kept_of(said, awake.erasures)
                known_episode = None if episode is None or awake.erasures.covers_episode(episode) else episode
                extra = await kept_changes(awake.store, facts, extra, awake.erasures)
            new = await self._new_vectors(awake, facts)

            def plan() -> PlannedCommit[list[Fact]]:
                refuse_erased(facts, awake.erasures)
                intake = timed(take_in(facts, awake.recall.facts.get, known_episode), awake.recall.facts.get, self._clock())
                return PlannedCommit(
                    [*intake.changes, *new.cache, *new.record, *extra], lambda: self._applied(awake, intake.facts, new)
                )

            return await self._commits.run(awake.store, {fact.id for fact in said}, plan)

    async def _keep_imported(self, facts: Sequence[Fact], extra: Sequence[Change]) -> int:
        before = current_count(fact for kept_fact in facts if (fact := self.known(kept_fact.id)))
        return current_count(await self.keep(facts, None, extra)) - before

    async def _once(
        self, awake: Awake, request: str, fact_ids: Sequence[str], planned: Callable[[], Intake], new: NewVectors
    ) -> Fact:
        """Write what is planned unless this request did it already. Returns the first of its facts."""

        def plan() -> PlannedCommit[Fact]:
            if fact_id := awake.done.fact_id(request):
                return PlannedCommit((), lambda: awake.recall.facts.named(fact_id))
            intake = timed(planned(), awake.recall.facts.get, self._clock())
            first = intake.facts[0].id

            def apply() -> Fact:
                awake.done.remember(request, first)
                return self._applied(awake, intake.facts, new)[0]

            return PlannedCommit([*intake.changes, *new.cache, *new.record, *awake.done.note(request, first)], apply)

        return await self._commits.run(awake.store, fact_ids, plan)

    async def _new_vectors(self, awake: Awake, facts: Sequence[Fact]) -> NewVectors:
        if not opening.may_embed(awake.recorded, self._vectors):
            return NewVectors()
        by_id, cache = await self._vectors.of_facts(fact for fact in facts if not awake.recall.is_searchable(fact.id))
        return NewVectors(by_id, tuple(cache), opening.record(self._vectors) if cache and not awake.recorded else ())

    def _applied(self, awake: Awake, facts: Sequence[Fact], new: NewVectors) -> list[Fact]:
        """The facts that are durable now, shown to searches."""
        self._revision += 1
        embeds = opening.may_embed(awake.recorded, self._vectors)
        for fact in facts:
            needs_one = embeds and not awake.recall.is_searchable(fact.id)
            awake.recall.keep(fact, self._vectors.known(fact, new) if needs_one else new.by_id.get(fact.id))
        if new.cache:
            self._vectors.remember({put.key: put.vector for put in new.cache})
        awake.recorded = self._vectors.model if new.record else awake.recorded
        for fact in facts:
            self._listener(fact)
        return list(facts)

    async def _wake_up(self) -> None:
        self._state = await opening.wake(self._open_store, self._vectors, self._new_arm, self.refining.settings)
        self.times_woken += 1

    @property
    def model(self) -> str:
        return self._vectors.model

    @property
    def trouble(self) -> str:
        """A problem of its store, as far as is known without waiting; "" also while it sleeps."""
        return "" if self._state is None else self._state.store.trouble

    @property
    def facts(self) -> Mapping[str, Fact] | None:
        """The facts it has in RAM, by id, as they are now; None while it sleeps. Facts taken back may not be among them."""
        return None if self._state is None else self._state.recall.facts.held

    @property
    def counts(self) -> tuple[int, int] | None:
        """How many facts are current, and how many of them are to be shared and are not yet; None while it sleeps."""
        return None if self._state is None else (self._state.recall.facts.current, self._state.recall.facts.on_its_way)

    @property
    def revision(self) -> tuple[int, int]:
        """Another one whenever the facts may be other ones."""
        return self.times_woken, self._revision

    def listen(self, listener: Listener) -> None:
        """Tell this one of every fact that is durable in a new state, as soon as searches see it. It must not fail."""
        self._listener = listener

    def known(self, fact_id: str) -> Fact | None:
        """A fact as it is at this moment, without waiting; None also while the memory sleeps."""
        return None if self._state is None else self._state.recall.facts.get(fact_id)

    @asynccontextmanager
    async def awake(self) -> AsyncIterator[Awake]:
        """The state, awake for as long as the block runs. For what is built on this memory, which must change nothing in it.

        Inside the block await only methods that are given the state: others may wait for a sleep, which waits for the block.
        """
        with self._loop.call():
            async with self._loop.waking:
                if self._is_closed:
                    raise InvalidInput("this memory is closed: open it again")
                await self._transition.finish()
                if self._state is None:
                    await self._transition.run(self._wake_up())
                assert self._state is not None  # noqa: S101 - a transition that fails raises
                state = self._state
            # Nothing is awaited in between, so nobody puts it to sleep before it is used.
            self._loop.users += 1
            self._loop.is_idle.clear()
            try:
                yield state
            finally:
                self._loop.users -= 1
                if not self._loop.users:
                    self._loop.is_idle.set()

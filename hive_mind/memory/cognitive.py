"""One agent's own memory: facts in a store, found through an index in RAM.

The store is the truth; the index is rebuilt from it when the memory wakes. A memory that sleeps holds neither database nor index
and wakes by itself when it is used.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from hive_mind.embed.base import Embedder
from hive_mind.errors import InvalidInput
from hive_mind.memory.base import MemoryStatistics
from hive_mind.memory.commits import Commits, Plan
from hive_mind.memory.intake import new_fact, retracted, take_in
from hive_mind.memory.reembedding import Progress, reembed
from hive_mind.memory.summary import concept_matches, statistics_of
from hive_mind.memory.transfer import Records, read_records, write_records
from hive_mind.memory.vectors import Vector, VectorSource
from hive_mind.memory.waking import Awake, NewVectorArm, OpenStore, record, wake
from hive_mind.model.content import Candidate, Content, Episode
from hive_mind.model.fact import Fact, Relation
from hive_mind.model.ids import episode_id
from hive_mind.model.query import Hit, Query
from hive_mind.ranking.pipeline import RankingSettings
from hive_mind.ranking.vector import ExactVectors
from hive_mind.store.base import AddEpisode, Change, Link, ReviseFact

Clock = Callable[[], int]


def _wall_clock_us() -> int:
    return time.time_ns() // 1000


class CognitiveMemory:
    """The `Memory` protocol over one store. For one event loop; any number of its tasks.

    `open_store` opens the database and is called again after each sleep. `new_arm` makes a vector index for a dimension.
    """

    def __init__(
        self,
        open_store: OpenStore,
        embedder: Embedder,
        *,
        ranking: RankingSettings | None = None,
        new_arm: NewVectorArm = ExactVectors,
        clock: Clock = _wall_clock_us,
    ) -> None:
        self._open_store, self._new_arm, self._clock = open_store, new_arm, clock
        self._ranking = ranking or RankingSettings()
        self._vectors = VectorSource(embedder)
        self._commits = Commits()
        self._state: Awake | None = None
        self._waking = asyncio.Lock()
        self._users = 0
        self._is_idle = asyncio.Event()
        self._is_idle.set()
        self._is_closed = False

    async def store_fact(
        self, concept: str, content: str, confidence: float = 0.8, *, source: str = "user", said_at: str = ""
    ) -> Fact:
        """Keep one statement; durable and findable when this returns. Raises `InvalidInput` for text that says nothing."""
        return (await self.store_facts([Candidate(content, concept, confidence, said_at)], source))[0]

    async def store_facts(self, candidates: Sequence[Candidate], source: str, episode: Episode | None = None) -> list[Fact]:
        """Keep many statements of one source, all or none, with the episode they derive from."""
        said = [new_fact(candidate, source, self._clock()) for candidate in candidates]
        return await self._keep(said, episode)

    async def store_episode(self, content: Content, summary: str = "") -> Episode:
        """Keep content verbatim. The same text from the same source is kept once."""
        episode = self.episode_of(content, summary)
        async with self._awake() as awake:
            await self._commits.run(awake.store, [episode.id], lambda: Plan([AddEpisode(episode)], lambda: None))
        return episode

    def episode_of(self, content: Content, summary: str = "") -> Episode:
        """Content as the episode it would be kept as; nothing is stored."""
        return Episode(
            id=episode_id(content.text, content.source),
            text=content.text,
            source=content.source,
            said_at=content.said_at,
            learned_at_us=self._clock(),
            speaker=content.speaker,
            title=content.title,
            summary=summary,
        )

    async def search_facts(self, query: str | Query, limit: int = 10) -> list[Hit]:
        """The best facts for a query, best first. `limit` is for a query given as text."""
        asked = Query(query, limit) if isinstance(query, str) else query
        if asked.limit < 1:
            raise InvalidInput(f"a search returns at least one fact: limit {asked.limit} is too small")
        async with self._awake() as awake:
            is_lexical = asked.method == "keyword" or not awake.embeds_with(self._vectors) or awake.recall.names_exactly(asked)
            vector = None if is_lexical else await self._vectors.of_query(asked.text)
            return awake.recall.search(asked, vector)

    async def get_all_facts(self, limit: int | None = None) -> list[Fact]:
        """Current facts, newest first."""
        async with self._awake() as awake:
            return [fact for fact in reversed(awake.recall.facts.values()) if fact.is_current][:limit]

    async def search_by_concept(self, concept: str, limit: int = 10) -> list[Fact]:
        """Current facts whose concept or entities include this one, newest first; letter case does not matter."""
        return [fact for fact in await self.get_all_facts() if concept_matches(fact, concept)][:limit]

    async def get_fact(self, fact_id: str) -> Fact | None:
        """One fact by id, superseded and retracted ones too."""
        async with self._awake() as awake:
            return awake.recall.facts.get(fact_id)

    async def retract_fact(self, fact_id: str) -> Fact:
        """Take a fact back: it is found by id only. Raises `InvalidInput` where there is none."""
        return await self._revise(fact_id, retracted)

    async def supersede(self, fact_id: str, replacement: Candidate, source: str) -> Fact:
        """Keep a newer statement in place of a fact, which is then found only by queries `with_superseded`."""
        newer = new_fact(replacement, source, self._clock())
        if newer.id == fact_id:
            raise InvalidInput("a fact can't supersede itself: the new statement says the same")
        if await self.get_fact(fact_id) is None:
            raise _no_such(fact_id)
        (kept,) = await self._keep([newer])
        await self._revise(
            fact_id, lambda old: replace(old, superseded_by=newer.id), Link(Relation.SUPERSEDES, newer.id, fact_id)
        )
        return kept

    async def contradict(self, fact_id: str, other_id: str) -> None:
        """Record that two facts can't both be true; both stay. Raises `InvalidInput` where one does not exist."""
        async with self._awake() as awake:
            for named in (fact_id, other_id):
                if named not in awake.recall.facts:
                    raise _no_such(named)
            link = Link(Relation.CONTRADICTS, fact_id, other_id)
            await self._commits.run(awake.store, [fact_id, other_id], lambda: Plan([link], lambda: None))

    async def related(self, fact_id: str, relation: Relation, *, backwards: bool = False) -> Sequence[str]:
        """Ids of what a fact is linked to (or what links to it, `backwards`)."""
        async with self._awake() as awake:
            return await awake.store.linked(relation, fact_id, backwards=backwards)

    async def episodes_of(self, fact_id: str) -> list[Episode]:
        """What a fact was taken from, verbatim."""
        async with self._awake() as awake:
            ids = await awake.store.linked(Relation.DERIVES_FROM, fact_id)
            return list((await awake.store.episodes(ids)).values())

    async def get_statistics(self) -> MemoryStatistics:
        """What is held."""
        async with self._awake() as awake:
            return statistics_of(awake, self._vectors, await awake.store.counts())

    async def export(self) -> AsyncIterator[str]:
        """Everything as JSON Lines, without line ends: episodes, facts, then links."""
        async with self._awake() as awake:
            async for line in write_records(awake):
                yield line

    async def import_lines(self, lines: Sequence[str]) -> int:
        """Take in what `export` wrote; facts already known gain its sources. Returns how many facts the lines held.

        Raises `InvalidInput` naming the bad lines; then nothing was taken in.
        """
        records: Records = read_records(lines)
        await self._keep(records.facts, None, records.changes)
        return len(records.facts)

    async def reembed(self, progress: Progress | None = None) -> int:
        """Embed everything with the model at hand, then forget vectors of the former one. Returns how many texts were embedded.

        Interrupted, it goes on where it stopped the next time. `progress` gets (done, total) in texts.
        """
        async with self._awake() as awake:
            await self._commits.finish()
            embedded = await reembed(awake, self._vectors, progress or _no_progress)
        await self.sleep()
        return embedded

    async def sleep(self) -> None:
        """Let go of database and index; the next call wakes the memory again."""
        async with self._waking:
            await self._is_idle.wait()
            await self._commits.finish()
            state, self._state = self._state, None
            if state is not None:
                await state.store.close()

    async def close(self) -> None:
        """Finish what is under way and release everything. Closing twice is fine."""
        self._is_closed = True
        await self.sleep()
        await self._vectors.close()

    async def __aenter__(self) -> "CognitiveMemory":
        """Wake now, so that a locked or damaged database is told at once."""
        async with self._awake():
            return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _keep(self, said: Sequence[Fact], episode: Episode | None = None, extra: Sequence[Change] = ()) -> list[Fact]:
        async with self._awake() as awake:
            vectors, cache = await self._vectors_for(awake, said)

            def plan() -> Plan[list[Fact]]:
                intake = take_in(said, awake.recall.facts.get, episode)
                return Plan([*intake.changes, *cache, *extra], lambda: _applied(awake, intake.facts, vectors))

            return await self._commits.run(awake.store, {fact.id for fact in said}, plan)

    async def _vectors_for(self, awake: Awake, said: Sequence[Fact]) -> tuple[dict[str, Vector], list[Change]]:
        if not awake.embeds_with(self._vectors):
            return {}, []
        new = [fact for fact in said if not awake.recall.is_searchable(fact.id)]
        vectors, cache = await self._vectors.of_facts(new)
        if not cache or awake.recorded:
            return vectors, list(cache)
        awake.recorded = self._vectors.model
        return vectors, [*cache, *record(self._vectors)]

    async def _revise(self, fact_id: str, revise: Callable[[Fact], Fact], *links: Link) -> Fact:
        async with self._awake() as awake:

            def plan() -> Plan[Fact]:
                if (fact := awake.recall.facts.get(fact_id)) is None:
                    raise _no_such(fact_id)
                revised = revise(fact)
                return Plan([ReviseFact(revised), *links], lambda: _applied(awake, [revised], {})[0])

            return await self._commits.run(awake.store, [fact_id], plan)

    @asynccontextmanager
    async def _awake(self) -> AsyncIterator[Awake]:
        """The state, awake for as long as the block runs."""
        async with self._waking:
            if self._is_closed:
                raise InvalidInput("this memory is closed: open it again")
            if self._state is None:
                self._state = await wake(self._open_store, self._vectors, self._new_arm, self._ranking)
            state = self._state
            self._users += 1
            self._is_idle.clear()
        try:
            yield state
        finally:
            self._users -= 1
            if not self._users:
                self._is_idle.set()


def _applied(awake: Awake, facts: Sequence[Fact], vectors: dict[str, Vector]) -> list[Fact]:
    for fact in facts:
        awake.recall.keep(fact, vectors.get(fact.id))
    return list(facts)


def _no_progress(done: int, total: int) -> None:
    del done, total


def _no_such(fact_id: str) -> InvalidInput:
    return InvalidInput(f"there is no fact {fact_id!r}: `hive-mind facts list` shows the ids")

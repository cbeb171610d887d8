"""The protocol an agent's memory speaks, whatever is behind it: one database, or a whole hive; and the one a hive speaks to it.

An agent never learns which. Everything is async; a search never writes.
"""

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Protocol

from hive_mind.api.request import Progress
from hive_mind.errors import InvalidInput
from hive_mind.model.aggregation import Aggregated, Aggregation, MemoryStatistics
from hive_mind.model.bounds import BOUNDS, OF_SOME, refuse_other_than
from hive_mind.model.content import SOURCE, Candidate, Content, Episode, KnownSource, SourceNote
from hive_mind.model.evidence import HiveFact
from hive_mind.model.fact import CONFIDENCE, Fact, FactList, Relation
from hive_mind.model.gathered import Gathered, Probe, SearchResult
from hive_mind.model.query import LIMIT, METHODS, Query

if TYPE_CHECKING:
    from hive_mind.hive.effects import Held, Listed, Promotion, Retracted, Tallied


def asked_for(query: str | Query, limit: int) -> Query:
    """The input of a search, checked. `limit` is for a query given as text. Raises `InvalidInput`."""
    asked_query = Query(query, limit) if isinstance(query, str) else query
    refuse_other_than(Query, asked_query)
    BOUNDS["limit"].refuse("limit", asked_query.limit)
    if asked_query.method not in METHODS:
        raise InvalidInput(f"there is no method {asked_query.method!r} to search by; there are {', '.join(METHODS)}")
    BOUNDS["min_confidence"].refuse("min_confidence", asked_query.min_confidence)
    return asked_query


def refuse_limit(limit: int | None) -> None:
    """Raises `InvalidInput` for a list of less than one fact; None is all."""
    if limit is not None:
        OF_SOME.refuse("limit", limit)


PREFIXED_MAX = 256
"""The beginning of an id means a single fact: more are shown only so that a person can choose."""


class Memory(Protocol):
    """An agent's memory."""

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

    async def store_facts(self, candidates: Sequence[Candidate], source: str, episode: Episode | None = None) -> list[Fact]:
        """Keep many statements of one source, all or none, with the episode they derive from."""

    async def embed_ahead(self, candidates: Sequence[Candidate], progress: Progress) -> bool:
        """Embed statements of several sources together, before each is kept. Nothing is kept by it; False without a model."""

    async def store_episode(self, content: Content, summary: str = "") -> Episode:
        """Keep content verbatim. The same text from the same source is kept once."""

    async def search_facts(self, query: str | Query, limit: int = LIMIT) -> SearchResult:
        """The best facts for a query, best first. `limit` is for a query given as text."""

    async def get_all_facts(self, limit: int | None = None) -> FactList:
        """Current facts, newest first."""

    async def search_by_concept(self, concept: str, limit: int = LIMIT) -> FactList:
        """Current facts about this concept or entity, newest first; letter case does not matter."""

    async def aggregate(self, wanted: Aggregation) -> Aggregated:
        """How many current facts there are about something, and the first of them in the order that is wanted: over all."""

    async def get_fact(self, fact_id: str) -> Fact | None:
        """One fact by id, superseded and retracted ones too."""

    async def get_facts(self, fact_ids: Sequence[str]) -> dict[str, Fact]:
        """Facts by id, as `get_fact`; all that is not held here is one question to the hive. Those nobody has are left out."""

    async def own_facts(self, fact_ids: Sequence[str]) -> dict[str, Fact]:
        """Of these the facts that this agent itself keeps, superseded and retracted ones too; nobody is asked."""

    async def facts_with_prefix(self, prefix: str) -> FactList:
        """At most `PREFIXED_MAX` facts with an id that begins like this; this agent's first, among them what holds no longer."""

    async def retract_fact(self, fact_id: str, *, request: str = "") -> Fact:
        """Take a fact back: it is found by id only, and the facts it had superseded hold again. Raises `InvalidInput`.

        `request`: its key; a request carried out under it is not done again.
        """

    async def supersede(self, fact_id: str, replacement: Candidate, source: str, *, request: str = "") -> Fact:
        """Keep a newer statement in place of a fact, which is then found only by queries `with_superseded`."""

    async def supersede_former(self, source: str, episodes: Sequence[str]) -> list[Fact]:
        """Take these episodes for all that a source says now: statements of earlier ones only are former. Returns the changed
        facts."""

    async def withdraw(self, source: str) -> list[Fact]:
        """A source says nothing any more: its own statements are former, of the rest it is left out. Returns the
        changed facts."""

    async def note(self, source: str, note: SourceNote | None) -> None:
        """Keep what a reader has to say of a source, in place of what it said before."""

    async def sources(self, below: str = "") -> list[KnownSource]:
        """Facts learned by this agent, by source, for all sources with a name that begins like this."""

    async def related(self, fact_id: str, relation: Relation, *, backwards: bool = False) -> Sequence[str]:
        """Ids of what a fact is linked to (or what links to it, `backwards`)."""

    async def episodes_of(self, fact_id: str) -> list[Episode]:
        """The episodes a fact was taken from, verbatim."""

    def export(self) -> AsyncIterator[str]:
        """Everything this agent holds as JSON Lines, without line ends; as it is when the first line is asked for."""

    async def sleep(self) -> None:
        """Let go of database and index; the next call wakes the memory again."""

    async def get_statistics(self) -> MemoryStatistics:
        """Statistics of the facts held."""

    async def close(self) -> None:
        """Finish what is under way and release everything. Closing twice is fine."""


class Hive(Protocol):
    """A hive, as a memory sees it. All methods raise `BackendError` where the node it is asked through can't be reached."""

    async def promote(self, promotions: "Sequence[Promotion]") -> "Sequence[Held]":
        """Share statements; the outcome of each, in order. Promoting the same again changes nothing and returns its state."""

    async def retract(self, fact_ids: Sequence[str], by: str, why: str = "retracted") -> "Sequence[Retracted]":
        """Take back what an agent vouched for; a fact that it never vouched for is no error. See `hive.effects.Retract`."""

    async def write(self, entries: Sequence[tuple[str, str]], by: str) -> Sequence[str]:
        """Write what everybody is to know, (key, JSON value); for each why `by` may not, or "" (`hive.policy.admission`)."""

    async def ask(self, probe: Probe, *, confidence_min: float = 0.0, domains: tuple[str, ...] = ()) -> Gathered:
        """Candidates of the whole hive. `probe.beside` are those of what the asker ranks beside them, and are part of
        `Gathered.statistics`."""

    async def fetch(self, wanted: Sequence[tuple[str, str]]) -> Sequence[HiveFact]:
        """Facts by id and the node that holds them ("": not known). Those that are gone are left out."""

    async def facts(self, *, concept: str = "", prefix: str = "", limit: int | None = None) -> "Listed":
        """Facts, newest first by when they were shared; those about a concept (`model.fact.is_about`), or those with an id that
        begins like `prefix`."""

    async def tally(self, about: str = "", *, with_wording: bool = False) -> "Tallied":
        """Every fact, by id; where something is given, those about it (`model.fact.is_about`).

        `with_wording`: see `hive.effects.Tally`.
        """

"""`LearningAgent`: a name, a memory and a reader; it learns and it answers, and never knows the topology behind its memory.

The OODA loop (observe, orient, decide, act; Boyd) as four steps that can each be called alone.

Learning from content is one turn of it: read it, choose what is worth keeping, keep it together with where it came from. Learning
the same content again adds nothing; after an interruption it completes what is missing.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol, TypeVar

from hive_mind.api.request import Progress
from hive_mind.cognition import Extraction, Reader
from hive_mind.counted import counted
from hive_mind.errors import BackendError, InvalidInput, ModelOutputError
from hive_mind.memory.base import Memory
from hive_mind.memory.editions import former_of, likely_originals, original_of
from hive_mind.memory.intake import statement
from hive_mind.model.bounds import refuse_other_than
from hive_mind.model.content import Candidate, Content, Episode, LeftOut
from hive_mind.model.fact import Fact
from hive_mind.model.gathered import Answer, Question
from hive_mind.model.ids import fact_id
from hive_mind.model.query import LIMIT, METHOD, Method

if TYPE_CHECKING:
    from hive_mind.agents.answering import OnFound


@dataclass(frozen=True, slots=True)
class LearningSettings:
    """`confidence_min`: raise it and hedged statements are not kept. `batch_facts`: facts per durable write; more is faster, and
    an interruption costs at most one batch.
    """

    confidence_min: float = 0.3
    batch_facts: int = 256


@dataclass(frozen=True, slots=True)
class Learned:
    """The result of a turn of learning. `skipped` counts candidates not worth keeping; `missing` names what could not be had.

    `former` counts facts that the source said before and says no longer. `left_out` are words that became no fact, and why.
    """

    episode: Episode
    facts: tuple[Fact, ...]
    added: int
    confirmed: int
    skipped: int
    missing: str = ""
    former: int = 0
    left_out: tuple[LeftOut, ...] = ()

    @property
    def reasons(self) -> Mapping[str, int]:
        """How often something was left out for each reason."""
        return Counter(out.reason for out in self.left_out)


@dataclass(frozen=True, slots=True)
class LearningPlan:
    """The facts to keep of some content."""

    content: Content
    summary: str
    candidates: tuple[Candidate, ...]
    skipped: int
    missing: str = ""
    left_out: tuple[LeftOut, ...] = ()


@dataclass(slots=True)
class LearningSteps:
    """Observe content, orient by extracting, decide what to keep, act by storing. `progress` gets (kept, to keep)."""

    memory: Memory
    reader: Reader
    settings: LearningSettings = field(default_factory=LearningSettings)
    progress: Progress | None = None

    async def observe(self, content: Content) -> Content:
        """The content, if there is anything in it. Raises `InvalidInput`."""
        refuse_other_than(Content, content)
        if not content.text.strip():
            raise InvalidInput("there is nothing to learn: the content is empty")
        if not content.source:
            raise InvalidInput("content needs a source: say who or what it comes from")
        if content.said_at:
            from hive_mind.cognition.extraction.dating import refuse_no_time

            refuse_no_time(content.said_at)
        # Half a surrogate pair is no text and can't be stored; it shows as what it is, something unreadable.
        return replace(content, text=content.text.encode("utf-8", "replace").decode("utf-8"))

    async def orient(self, observed: Content) -> tuple[Content, Extraction]:
        """Its statements, one by one, and when it was said."""
        extraction = await self.reader.extract(observed)
        refuse_other_than(Extraction, extraction)
        return replace(observed, said_at=observed.said_at or extraction.said_at), extraction

    async def decide(self, oriented: tuple[Content, Extraction]) -> LearningPlan:
        """Which statements are worth keeping, and what the whole is about, as far as that can be had."""
        content, extraction = oriented
        least = self.settings.confidence_min
        candidates = tuple(c for c in extraction.candidates if c.confidence >= least)
        unsure = tuple(LeftOut(c.content, "too unsure") for c in extraction.candidates if c.confidence < least)
        summary = missing = ""
        try:
            summary = await self.reader.summarise(content, candidates)
        except (BackendError, ModelOutputError) as error:
            missing = f"no concept map: {error}"
        return LearningPlan(content, summary, candidates, len(unsure), missing, (*extraction.left_out, *unsure))

    async def act(self, decided: LearningPlan) -> Learned:
        """Keep the content and its facts; durable, batch by batch, when this returns."""
        episode = await self.memory.store_episode(decided.content, decided.summary)
        copied_from = await self._original_of(decided) if decided.content.is_whole else ""
        earlier: dict[str, Fact] = {}
        said: dict[str, Candidate] = {}
        facts: list[Fact] = []
        size = self.settings.batch_facts
        for batch in (decided.candidates[start : start + size] for start in range(0, len(decided.candidates), size)):
            # New or not is about what this agent knew: what others know of it says nothing, and asking them takes time.
            batch_by_id = {fact_id(statement(candidate)): candidate for candidate in batch}
            earlier |= await self.memory.own_facts([id for id in batch_by_id if id not in said])
            said |= batch_by_id
            candidates = [replace(candidate, copied_from=copied_from) for candidate in batch]
            try:
                facts += await self.memory.store_facts(candidates, decided.content.source, episode)
            except BackendError as error:
                if facts:
                    facts_kept, all_ = counted(len(facts), "fact"), len(decided.candidates)
                    error.args = (
                        f"{error}; {facts_kept} of {all_:,} of {decided.content.source!r} are kept: learn it again to go on",
                    )
                raise
            if self.progress:
                self.progress(len(facts), len(decided.candidates))
        learned_facts = {fact.id: fact for fact in facts}
        # Erased facts are not kept: they are in neither.
        erased = [LeftOut(candidate.content, "erased before") for id, candidate in said.items() if id not in learned_facts]
        confirmed = sum(1 for id, was in earlier.items() if id in learned_facts and len(was.roots) < len(learned_facts[id].roots))
        former, content = 0, decided.content
        if content.is_whole:
            # Now that all of it is kept: what the source said before is former.
            former = former_of(await self.memory.supersede_former(content.source, [episode.id]), content.source)
        added = len(learned_facts.keys() - earlier.keys())
        return Learned(
            episode, tuple(facts), added, confirmed, decided.skipped, decided.missing, former, (*decided.left_out, *erased)
        )

    async def _original_of(self, decided: LearningPlan) -> str:
        """The digest of the source of which this one, the whole of it, is a copy; "" for none. Of a part nobody can tell."""
        ids = {fact_id(statement(candidate)) for candidate in decided.candidates}
        source, facts = decided.content.source, tuple((await self.memory.own_facts(list(ids))).values())
        sizes: dict[str, int] = {}
        for original in likely_originals(source, len(ids), facts):
            sizes |= {
                source.source: source.facts or source.former
                for source in await self.memory.sources(original)
                if source.source == original
            }
        return original_of(source, len(ids), facts, sizes)


Given = TypeVar("Given", contravariant=True)
Observed = TypeVar("Observed")
Oriented = TypeVar("Oriented")
Decided = TypeVar("Decided")
Done = TypeVar("Done", covariant=True)


class Steps(Protocol[Given, Observed, Oriented, Decided, Done]):
    """Four steps; each takes what the one before it gave."""

    async def observe(self, given: Given) -> Observed:
        """Take in what there is, and refuse what can't be worked with."""

    async def orient(self, observed: Observed) -> Oriented:
        """Find out what it means here."""

    async def decide(self, oriented: Oriented) -> Decided:
        """Choose what to do. Changes nothing yet."""

    async def act(self, decided: Decided) -> Done:
        """Do it."""


async def turn(steps: Steps[Given, Observed, Oriented, Decided, Done], given: Given) -> Done:
    """One pass through the loop."""
    return await steps.act(await steps.decide(await steps.orient(await steps.observe(given))))


class LearningAgent:
    """Learns from content and answers questions. Use it with `async with`, or `close` it.

    `release` is called when it closes, for what its reader holds: the connections of a language model. `reads_freely`: its reader
    costs nothing, so that a text may be read once more.
    """

    def __init__(
        self,
        name: str,
        memory: Memory,
        reader: Reader,
        settings: LearningSettings | None = None,
        release: Callable[[], Awaitable[None]] | None = None,
        *,
        reads_freely: bool = True,
    ) -> None:
        self.name, self.memory, self.reader = name, memory, reader
        self._settings, self._reads_freely = settings, reads_freely
        self._release = release

    async def learn_from_content(self, content: Content | str, progress: Progress | None = None) -> Learned:
        """Keep what content says; durable when this returns. Plain text counts as said by "user".

        Raises `InvalidInput` for nothing at all, `BackendError` or `ModelOutputError` when store or model fail; batches kept
        until then stay.
        """
        steps = LearningSteps(self.memory, self.reader, self._settings or LearningSettings(), progress)
        return await turn(steps, Content(content, source="user") if isinstance(content, str) else content)

    async def embed_ahead(self, contents: Sequence[Content], progress: Progress) -> bool:
        """Embed together what these contents say, before each is learned. False without an embedding model: nothing is read.

        So it is for a reader that costs: each content is read once more when it is learned.
        """
        if not self._reads_freely or not await self.memory.embed_ahead([], progress):
            return False
        extractions = [await self.reader.extract(content) for content in contents]
        return await self.memory.embed_ahead([c for extraction in extractions for c in extraction.candidates], progress)

    async def answer_question(
        self, question: Question | str, limit: int = LIMIT, method: Method = METHOD, *, on_found: "OnFound | None" = None
    ) -> Answer:
        """An answer with its sources, or an honest "not known". `limit` is the least number of facts to consider.

        `on_found` gets the best facts that were found for it, before it is worded.
        """
        from hive_mind.agents.answering import AnsweringSteps

        asked_question = Question(question) if isinstance(question, str) else question
        return await turn(AnsweringSteps(self.memory, self.reader, limit, method, on_found), asked_question)

    async def close(self) -> None:
        """Release memory and reader. Closing twice is fine."""
        release, self._release = self._release, None
        try:
            await self.memory.close()
        finally:
            if release is not None:
                await release()

    async def __aenter__(self) -> "LearningAgent":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

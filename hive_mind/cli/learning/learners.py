"""The learner: an agent of a fleet that runs, or the one whose database is here."""

from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from hive_mind.cli.asking.asked import Called, agent_elsewhere
from hive_mind.cli.options import DEFAULT_AGENT
from hive_mind.model.content import Content, KnownSource, LeftOut, SourceNote
from hive_mind.model.decoding import converted
from hive_mind.runtime.settings import Settings

if TYPE_CHECKING:
    # The engine, which a process that runs has loaded already.
    from hive_mind.agents.agent import LearningAgent
    from hive_mind.agents.learning import Learned, Progress

# At four bytes each they fit a request of one megabyte, with room for what is written in two bytes instead of one.
_PART_CHARACTERS = 200_000


class LearnedFigures(Protocol):
    """The result of learning, as far as known."""

    @property
    def facts(self) -> Sequence[object]:
        """`Fact`s, or their ids of an agent that runs elsewhere."""
        ...

    @property
    def added(self) -> int:
        """How many are new."""
        ...

    @property
    def confirmed(self) -> int:
        """How many another source had said before."""
        ...

    @property
    def skipped(self) -> int:
        """How many were too unsure to keep."""
        ...

    @property
    def missing(self) -> str:
        """The things that could not be had, "" for nothing."""
        ...

    @property
    def former(self) -> int:
        """How many the source said before and says no longer."""
        ...

    @property
    def reasons(self) -> Mapping[str, int]:
        """How often something was left out for each reason."""
        ...

    @property
    def left_out(self) -> Sequence[LeftOut]:
        """The omissions, where they are known."""
        ...


class Learner(Protocol):
    """Takes in content: an agent, or one that runs elsewhere."""

    async def learn_from_content(self, content: Content, progress: "Progress", /) -> LearnedFigures:
        """Durable when this returns. `progress` gets how much of it is, of how much."""
        ...

    async def embed_ahead(self, contents: Sequence[Content], progress: "Progress", /) -> bool:
        """Embed together what is learned next. False where each is embedded when its turn comes."""
        ...

    async def sources(self, below: str, /) -> Sequence[KnownSource]:
        """The sources that it learned from, of those whose name begins like this."""
        ...

    async def withdraw(self, source: str, /) -> int:
        """A source says nothing any more. How many facts it said before and says no longer."""
        ...

    async def note(self, source: str, note: SourceNote, /) -> None:
        """Keep what was read of a source, and when."""
        ...


@dataclass(frozen=True, slots=True)
class LocalLearner:
    """An agent whose database is here, as one that learns."""

    agent: "LearningAgent"
    reads_ahead: bool = False

    async def embed_ahead(self, contents: Sequence[Content], progress: "Progress", /) -> bool:
        return self.reads_ahead and await self.agent.embed_ahead(contents, progress)

    async def learn_from_content(self, content: Content, progress: "Progress", /) -> "Learned":
        return await self.agent.learn_from_content(content, progress)

    async def sources(self, below: str, /) -> Sequence[KnownSource]:
        return await self.agent.memory.sources(below)

    async def withdraw(self, source: str, /) -> int:
        from hive_mind.memory.editions.former import former_of

        return former_of(await self.agent.memory.withdraw(source), source)

    async def note(self, source: str, note: SourceNote, /) -> None:
        """Keep what was read of a source, and when."""
        await self.agent.memory.note(source, note)


@dataclass(frozen=True, slots=True)
class RemoteLearned:
    """The result of learning, as an agent elsewhere reported it."""

    facts: Sequence[str]
    added: int
    confirmed: int
    skipped: int
    missing: str = ""
    former: int = 0
    episode: str = ""
    reasons: Mapping[str, int] = field(default_factory=dict)
    left_out: Sequence[LeftOut] = ()


@dataclass(frozen=True, slots=True)
class RemoteLearner:
    """An agent of a fleet that runs, as one that learns."""

    agent: Called

    async def embed_ahead(self, contents: Sequence[Content], progress: "Progress", /) -> bool:
        """The agent embeds what it is sent."""
        del contents, progress
        return False

    async def sources(self, below: str, /) -> Sequence[KnownSource]:
        return converted((await self.agent.call("sources", query=below))["sources"], list[KnownSource])

    async def withdraw(self, source: str, /) -> int:
        return int((await self.agent.call("withdraw", source=source))["former"])

    async def note(self, source: str, note: SourceNote, /) -> None:
        """Keep what was read of a source; the agent notes when."""
        await self.agent.call("note", source=source, digest=note.digest, left_out=note.left_out)

    async def learn_from_content(self, content: Content, progress: "Progress", /) -> RemoteLearned:
        """Durable when this returns; what is worth sharing is with the hive soon."""
        parts, outcomes = parts_of(content.text), list[RemoteLearned]()
        for part in parts:
            outcomes.append(await self._learn_part(part, content, is_whole=content.is_whole and len(parts) == 1))
            progress(len(outcomes), len(parts))
        facts = [fact for outcome in outcomes for fact in outcome.facts]
        added, confirmed, skipped = [
            sum(column)
            for column in zip(*((outcome.added, outcome.confirmed, outcome.skipped) for outcome in outcomes), strict=True)
        ]
        missing = dict.fromkeys(outcome.missing for outcome in outcomes if outcome.missing)
        former = outcomes[0].former if len(parts) == 1 or not content.is_whole else await self._replace(content.source, outcomes)
        reasons = sum((Counter(outcome.reasons) for outcome in outcomes), Counter[str]())
        return RemoteLearned(facts, added, confirmed, skipped, "; ".join(missing), former, reasons=reasons)

    async def _learn_part(self, text: str, content: Content, *, is_whole: bool) -> RemoteLearned:
        fields = {"text": text, "source": content.source, "said_at": content.said_at, "title": content.title}
        reply = await self.agent.call("learn", **fields, **({"whole": True} if is_whole else {}))
        figures = (reply["facts"], reply["added"], reply["confirmed"], reply["skipped"], reply.get("missing", ""))
        return RemoteLearned(*figures, reply.get("former", 0), reply.get("episode", ""), reply.get("left_out", {}))

    async def _replace(self, source: str, parts: Sequence[RemoteLearned]) -> int:
        """All parts together are the whole: none of them takes the place of another."""
        reply = await self.agent.call("replace", source=source, episodes=[part.episode for part in parts])
        return int(reply["former"])


def parts_of(text: str) -> list[str]:
    """A text in parts that fit a request, each of whole lines where a line is not longer than a part."""
    parts, start = list[str](), 0
    while len(text) - start > _PART_CHARACTERS:
        end = text.rfind("\n", start, start + _PART_CHARACTERS) + 1 or start + _PART_CHARACTERS
        parts.append(text[start:end])
        start = end
    return [*parts, text[start:]]


OpenedLearner = AbstractAsyncContextManager[tuple[str, Learner]]


@asynccontextmanager
async def opened_learner(settings: Settings, agent: str, fleet: str) -> AsyncIterator[tuple[str, Learner]]:
    async with agent_elsewhere(settings, fleet, agent) as running:
        if running is not None:
            yield running.name, RemoteLearner(running)
            return
    from hive_mind.runtime.wiring import open_agent

    name = agent or DEFAULT_AGENT
    async with await open_agent(settings, name) as learning_agent:
        # Reading ahead with a language model would cost twice.
        yield name, LocalLearner(learning_agent, reads_ahead=not settings.llm)

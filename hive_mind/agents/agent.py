"""`LearningAgent`: a name, a memory and a reader; it learns and it answers, and never knows the topology behind its memory.

The OODA loop (observe, orient, decide, act; Boyd) as four steps that can each be called alone.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from hive_mind.api.request import Progress
from hive_mind.cognition import Reader
from hive_mind.memory.base import Memory
from hive_mind.model.content import Content
from hive_mind.model.gathered import Answer, Question
from hive_mind.model.query import LIMIT, METHOD, Method

if TYPE_CHECKING:
    from hive_mind.agents.answering import OnFound
    from hive_mind.agents.learning import Learned, LearningSettings

Given = TypeVar("Given", contravariant=True)
Observed = TypeVar("Observed")
Oriented = TypeVar("Oriented")
Decided = TypeVar("Decided")
Done = TypeVar("Done", covariant=True)


class Steps(Protocol[Given, Observed, Oriented, Decided, Done]):
    """Four steps; each takes what the one before it gave."""

    async def observe(self, given: Given) -> Observed:
        """Take in what there is, and refuse what can't be worked with."""
        ...

    async def orient(self, observed: Observed) -> Oriented:
        """Find out what it means here."""
        ...

    async def decide(self, oriented: Oriented) -> Decided:
        """Choose what to do. Changes nothing yet."""
        ...

    async def act(self, decided: Decided) -> Done:
        """Do it."""
        ...


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
        settings: "LearningSettings | None" = None,
        release: Callable[[], Awaitable[None]] | None = None,
        *,
        reads_freely: bool = True,
    ) -> None:
        self.name, self.memory, self.reader = name, memory, reader
        self._settings, self._reads_freely = settings, reads_freely
        self._release = release

    async def learn_from_content(self, content: Content | str, progress: Progress | None = None) -> "Learned":
        """Keep what content says; durable when this returns. Plain text counts as said by "user".

        Raises `InvalidInput` for nothing at all, `BackendError` or `ModelOutputError` when store or model fail; batches kept
        until then stay.
        """
        from hive_mind.agents.learning import LearningSettings, LearningSteps

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

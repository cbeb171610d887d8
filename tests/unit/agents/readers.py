"""A reader that says what it was told to say, and remembers what it was asked."""

from collections.abc import Sequence

from hive_mind.cognition import Extraction
from hive_mind.model.content import Candidate, Content
from hive_mind.model.gathered import Answer, Question
from hive_mind.model.query import Hit


class ScriptedReader:
    """Extracts these candidates from any content. `failure` is raised by every call while it is set."""

    def __init__(self, *candidates: Candidate, said_at: str = "") -> None:
        self._extraction = Extraction(candidates, said_at)
        self.asked: list[tuple[Question, tuple[Hit, ...]]] = []
        self.failure: Exception | None = None

    async def extract(self, content: Content) -> Extraction:
        del content
        self._fail()
        return self._extraction

    async def summarise(self, content: Content, candidates: Sequence[Candidate]) -> str:
        self._fail()
        return f"{content.source} said {len(candidates)} things"

    async def synthesise(self, question: Question, hits: Sequence[Hit]) -> Answer:
        self._fail()
        self.asked.append((question, tuple(hits)))
        return (
            Answer(hits[0].fact.content, tuple(hits[:1]), "quoted", 0.9) if hits else Answer("I don't know.", (), "unknown", 0.0)
        )

    def _fail(self) -> None:
        if self.failure:
            raise self.failure

"""A reader that is loaded when it is first used: a command that lists facts reads nothing and words no answer."""

from collections.abc import Callable, Sequence
from functools import cached_property

from hive_mind.cognition.reader import Extraction, Reader
from hive_mind.model.answer import Answer, Question
from hive_mind.model.content import Candidate, Content
from hive_mind.model.query import Hit


class LateReader:
    """Implements `Reader` by the one that `load` gives."""

    def __init__(self, load: Callable[[], Reader]) -> None:
        self._load = load

    @cached_property
    def _reader(self) -> Reader:
        return self._load()

    async def extract(self, content: Content) -> Extraction:
        return await self._reader.extract(content)

    async def summarise(self, content: Content, candidates: Sequence[Candidate]) -> str:
        return await self._reader.summarise(content, candidates)

    async def synthesise(self, question: Question, hits: Sequence[Hit]) -> Answer:
        return await self._reader.synthesise(question, hits)

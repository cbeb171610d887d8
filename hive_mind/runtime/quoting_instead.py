"""A reader that answers by quotation where its language model can't: no key, a server that is away, a budget that is spent.

Only answers fall back. Learned facts stay for good and must not depend on whether a server could be reached that day.
"""

import logging
from collections.abc import Sequence

from hive_mind.cognition.extractive import ExtractiveReader
from hive_mind.cognition.prompted import PromptedReader
from hive_mind.cognition.reader import Extraction, Reader
from hive_mind.errors import BackendError, ConfigError, ModelOutputError
from hive_mind.model.answer import Answer, Question
from hive_mind.model.content import Candidate, Content
from hive_mind.model.query import Hit

_log = logging.getLogger(__name__)


class QuotingInstead:
    """Implements `Reader` over one that may fail, or over why there is none. An answer's `method` says how it came about."""

    def __init__(self, reader: Reader | ConfigError) -> None:
        self._given, self._quoting = reader, ExtractiveReader()

    @property
    def reader(self) -> Reader:
        """The one that may fail. Raises `ConfigError` where there is none."""
        if isinstance(self._given, ConfigError):
            raise self._given
        return self._given

    async def more_words(self, question: str) -> str:
        """As the reader does, where it can."""
        if not isinstance(reader := self.reader, PromptedReader):
            return ""
        return await reader.more_words(question)

    async def extract(self, content: Content) -> Extraction:
        return await self.reader.extract(content)

    async def summarise(self, content: Content, candidates: Sequence[Candidate]) -> str:
        return await self.reader.summarise(content, candidates)

    async def synthesise(self, question: Question, hits: Sequence[Hit]) -> Answer:
        """The reader's answer; where it fails, quotations and one line that says why."""
        try:
            return await self.reader.synthesise(question, hits)
        except (BackendError, ModelOutputError, ConfigError) as error:
            _log.warning("quoted instead of reasoned: %s", error)
            return await self._quoting.synthesise(question, hits)

"""A reader that answers by quotation where its language model can't: no key, a server that is away, a budget that is spent.

Only answers fall back. Learned facts stay for good and must not depend on whether a server could be reached that day.

A model that was late is let alone for a while: the next questions are answered by quotation at once, and one at a time tries
whether it replies again. So nobody queues behind a server that is dead or overloaded, and one question waits for it once.
"""

import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from hive_mind.cognition import Extraction, Reader
from hive_mind.cognition.extractive import ExtractiveReader
from hive_mind.cognition.prompted import PromptedReader
from hive_mind.errors import BackendError, BackendTimeout, ConfigError, ModelOutputError
from hive_mind.model.content import Candidate, Content
from hive_mind.model.gathered import Answer, Question
from hive_mind.model.query import Hit

_log = logging.getLogger(__name__)

_T = TypeVar("_T")

# Long enough for a server to work off what it has, and short enough for the next question of the same person.
_LET_ALONE_S = 30.0


class QuotingInstead:
    """Implements `Reader` over one that may fail, or over why there is none. An answer's `method` says how it came about."""

    def __init__(
        self,
        reader: Reader | ConfigError,
        quoting: Reader | None = None,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._reader, self._quoting = reader, quoting or ExtractiveReader()
        self._clock_s = clock_s
        self._alone_until_s = 0.0

    @property
    def reader(self) -> Reader:
        """The one that may fail. Raises `ConfigError` where there is none."""
        if isinstance(self._reader, ConfigError):
            raise self._reader
        return self._reader

    async def more_words(self, question: str) -> str:
        if not isinstance(reader := self.reader, PromptedReader) or self._skip_while_late():
            return ""
        return await self._heard(reader.more_words(question))

    async def extract(self, content: Content) -> Extraction:
        return await self.reader.extract(content)

    async def summarise(self, content: Content, candidates: Sequence[Candidate]) -> str:
        return await self.reader.summarise(content, candidates)

    async def synthesise(self, question: Question, hits: Sequence[Hit]) -> Answer:
        """The reader's answer; where it fails, quotations and one line that says why."""
        if self._skip_while_late():
            _log.warning("quoted instead of reasoned: the language model was late a moment ago; it is asked again soon")
            return await self._quoting.synthesise(question, hits)
        try:
            return await self._heard(self.reader.synthesise(question, hits))
        except (BackendError, ModelOutputError, ConfigError) as error:
            _log.warning("quoted instead of reasoned: %s", error)
            return await self._quoting.synthesise(question, hits)

    def _skip_while_late(self) -> bool:
        """Whether the model was late and is not to be asked yet. After a while one question finds out for all."""
        if not self._alone_until_s:
            return False
        now_s = self._clock_s()
        if now_s < self._alone_until_s:
            return True
        self._alone_until_s = now_s + _LET_ALONE_S
        return False

    async def _heard(self, reply: Awaitable[_T]) -> _T:
        try:
            reply_text = await reply
        except BackendTimeout:
            self._alone_until_s = self._clock_s() + _LET_ALONE_S
            raise
        self._alone_until_s = 0.0
        return reply_text

"""Refinements of one memory's searches: words of a language model before the first ranking, and a second look after it.

Both have to be done within the question's time, and a note names the steps left out.
"""

import asyncio
from collections import OrderedDict
from dataclasses import replace
from typing import Protocol

from hive_mind.errors import BackendError, ConfigError, ModelOutputError
from hive_mind.memory.refining.reranking import SecondLook
from hive_mind.model.query import Query
from hive_mind.ranking.adaptive import anchors
from hive_mind.ranking.pipeline import RankingSettings

# Questions with remembered words: those of an afternoon.
_REMEMBERED_MAX = 256


class Expander(Protocol):
    """A source of other words for a question."""

    async def more_words(self, question: str) -> str:
        """Synonyms and the like, in one text. Raises `BackendError`, `ModelOutputError` or `ConfigError`."""
        ...


class Refining:
    """See above. Without an `expander` a question has its own words."""

    def __init__(self, settings: RankingSettings) -> None:
        self.settings = settings
        self.expander: Expander | None = None
        self._expansions: OrderedDict[str, str] = OrderedDict()

    async def begin(self, query: Query) -> SecondLook:
        """A question, from now on: its `query` with further words where they are wanted and can be had in time."""
        look = SecondLook(query, self.settings)
        if self.settings.expansion != "model" or anchors(query.text).is_pure:
            return look
        try:
            async with asyncio.timeout_at(look.ends_s):
                return replace(look, query=replace(query, also=f"{await self._words(query.text)} {query.also}"))
        except TimeoutError:
            return replace(look, note=f"not expanded: {look.over}")
        except (BackendError, ModelOutputError, ConfigError) as error:
            return replace(look, note=f"not expanded: {error}")

    async def _words(self, question: str) -> str:
        if question not in self._expansions:
            if self.expander is None:
                raise ConfigError("there is no language model; see HIVE_MIND_LLM")
            self._expansions[question] = await self.expander.more_words(question)
            while len(self._expansions) > _REMEMBERED_MAX:
                self._expansions.popitem(last=False)
        return self._expansions[question]

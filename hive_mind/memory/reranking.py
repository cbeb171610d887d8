"""A second look at the best of a search by a cross-encoder, which reads the question and each text together.

It is taken where everything is found and ranked, so a hive of any topology and a single memory give it the same texts in the same
order. Its score is added to the first score: alone it is not reliable (docs/adr/0003-ranking.md). All of the best are looked at
or none: where the question's time is over first, the first ranking is the answer, and a note says so.

Before the first ranking a question may get words of a language model (`Refining`). Both have to be done within its time, and a
note names what was left out.

Each cross-encoder is loaded once per process, and all run on one thread of their own. Without a model or its library, one line
says what to install, and the ranking stays as it is.
"""

import asyncio
import logging
import math
import re
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Protocol

from hive_mind import backends
from hive_mind.errors import BackendError, BackendNotInstalled, BackendUnavailable, ConfigError, ModelOutputError
from hive_mind.model.query import Hit, Query
from hive_mind.ranking.pipeline import RankingSettings
from hive_mind.ranking.question import anchors
from hive_mind.ranking.tokens import is_english
from hive_mind.regex import regex

_log = logging.getLogger(__name__)

# Beyond this a logit says no more, and `exp` of it would overflow further up.
_LOGIT_MAX = 60.0


class CrossEncoder(Protocol):
    """A model as sentence-transformers has it."""

    def predict(self, pairs: list[tuple[str, str]], /, *, show_progress_bar: bool) -> Iterable[float]:
        """A figure for each question with its text: a logit, or a share in [0, 1]."""


class CrossEncoders:
    """Cross-encoders by name. One that can't be loaded is reported once and not tried again."""

    def __init__(self) -> None:
        self._loaded: dict[str, CrossEncoder] = {}
        self._missing: dict[str, str] = {}
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="hive-rerank")

    def put(self, model: str, loaded: CrossEncoder) -> None:
        """Have one at hand that was made elsewhere, under this name."""
        self._loaded[model] = loaded

    async def load(self, model: str) -> str:
        """Have a model at hand. One line on why it can't be had, or ""."""
        if model not in self._loaded and model not in self._missing:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._load, model)
        return self._missing.get(model, "")

    async def scores_or_note(self, model: str, query: str, texts: Sequence[str]) -> tuple[list[float], str]:
        """How well each text answers, each in [0, 1]; where they can't be had, none and one line that says why."""
        note = await self.load(model) if texts else ""
        if note or not texts:
            return [], note
        pairs = [(query, text) for text in texts]
        loop, loaded = asyncio.get_running_loop(), self._loaded[model]
        try:
            raw = await loop.run_in_executor(self._thread, lambda: loaded.predict(pairs, show_progress_bar=False))
            return _shares([float(value) for value in raw]), ""
        except Exception as error:  # noqa: BLE001 - a library of somebody else's, and the first ranking stands
            return [], f"not reranked: cross-encoder {model!r} failed ({_line(error)})"

    def _load(self, model: str) -> None:
        """On the thread, so never twice at once."""
        if model in self._loaded or model in self._missing:
            return
        try:
            self._loaded[model] = _load(model)
        except (BackendError, BackendNotInstalled) as error:
            self._missing[model] = f"not reranked: {error}"
            _log.warning("%s", self._missing[model])


@cache
def of_this_process() -> CrossEncoders:
    """Those that all memories and collections of this process share."""
    return CrossEncoders()


def _load(model: str) -> CrossEncoder:
    try:
        encoder: CrossEncoder = backends.load("embed", "sentence_transformers").cross_encoder(model)
        return encoder
    except (BackendError, BackendNotInstalled):
        raise
    except Exception as error:
        message = f"cross-encoder {model!r} can't be loaded ({_line(error)}); name a folder or a model"
        raise BackendUnavailable("rerank", message) from error


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:160]


def _shares(values: Sequence[float]) -> list[float]:
    """Some models give shares and some logits; all of one query's are taken for the same, so their order stays."""
    finite = [value if math.isfinite(value) else -_LOGIT_MAX for value in values]
    if all(0.0 <= value <= 1.0 for value in finite):
        return finite
    return [1.0 / (1.0 + math.exp(-max(min(value, _LOGIT_MAX), -_LOGIT_MAX))) for value in finite]


# As they are named on the hub; others read English.
_MULTILINGUAL = regex(r"multilingual|mmarco|xlm|\bm3\b|gte-m", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SecondLook:
    """Of one question; its time begins when this is made. `looks_at`: how many hits it looks at again, at most.

    `note` names the steps left out before.
    """

    query: Query
    settings: RankingSettings
    looks_at: int = 0
    note: str = ""
    began_s: float = field(default_factory=lambda: asyncio.get_running_loop().time())

    @property
    def ends_s(self) -> float:
        return self.began_s + self.settings.refine_within_ms / 1000

    @property
    def over(self) -> str:
        return f"the {self.settings.refine_within_ms:,} ms of the question were over"

    @property
    def count(self) -> int:
        """How many hits the first ranking has to give."""
        return max(self.query.limit, self.looks_at)

    async def at(self, first: Sequence[Hit]) -> tuple[list[Hit], str]:
        """The best `query.limit` of the first `count`, and a note where they are in their first order."""
        hits, note = (await self._again(first)) if self.looks_at else (first, "")
        return list(hits[: self.query.limit]), "; ".join(filter(None, (self.note, note)))

    async def _again(self, first: Sequence[Hit]) -> tuple[Sequence[Hit], str]:
        settings = self.settings
        if not (is_english(self.query.text) or _MULTILINGUAL.search(settings.rerank_model)):
            return first, f"not reranked: cross-encoder {settings.rerank_model!r} reads English; name a multilingual one"
        texts = [hit.fact.content for hit in first[: settings.rerank]]
        try:
            async with asyncio.timeout_at(self.ends_s):
                shares, note = await of_this_process().scores_or_note(settings.rerank_model, self.query.text, texts)
        except TimeoutError:
            return first, f"not reranked: {self.over}"
        return reranked(first, shares, settings.rerank_weight), note


def reranked(hits: Sequence[Hit], shares: Sequence[float], weight: float) -> list[Hit]:
    """Hits in the order of their first score and `weight` times what a second look gives the first of them, each in [0, 1].

    It adds and takes nothing away, so what was not looked at stays behind the rest.
    """
    looked_at = [_gained(hit, share, weight * share) for hit, share in zip(hits, shares, strict=False)]
    return sorted([*looked_at, *hits[len(looked_at) :]], key=lambda hit: -hit.score)


def _gained(hit: Hit, share: float, gain: float) -> Hit:
    """With its share kept apart: whether a fact answers at all is decided by it, too."""
    components, contributions = replace(hit.components, second_look=share), replace(hit.contributions, reranked=gain)
    return replace(hit, score=hit.score + gain, components=components, contributions=contributions)


# Questions with remembered words: those of an afternoon.
_REMEMBERED_MAX = 256


class Expander(Protocol):
    """A source of other words for a question."""

    async def more_words(self, question: str) -> str:
        """Synonyms and the like, in one text. Raises `BackendError`, `ModelOutputError` or `ConfigError`."""


@dataclass(slots=True)
class Refining:
    """See above. Without an `expander` a question has its own words."""

    settings: RankingSettings
    expander: Expander | None = None
    _expansions: OrderedDict[str, str] = field(default_factory=OrderedDict)

    async def begin(self, query: Query) -> SecondLook:
        """A question, from now on: its `query` with further words where they are wanted and can be had in time."""
        # Of nothing but identifiers there is nothing to understand.
        is_pure = anchors(query.text).is_pure
        look = SecondLook(query, self.settings, 0 if is_pure else self.settings.rerank)
        if self.settings.expansion != "model" or is_pure:
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

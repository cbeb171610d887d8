"""The interface of an arm: it learns a scope's documents when it opens, and is asked questions until it is closed."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from hive_mind.embed.base import Embedder
from hive_mind.evals.datasets import LabelledQuestion
from hive_mind.evals.experiments import Learned
from hive_mind.model.query import Hit
from hive_mind.runtime.settings import Settings

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of a question to a hive, replies included, how many nodes were asked besides the asker's own, and which share of the
    hive was searched."""

    messages: int = 0
    bytes: int = 0
    fan_out: int = 0
    completeness: float = 1.0


@dataclass(frozen=True, slots=True)
class ArmResult:
    """Results of one question, best first, and the cost of finding them. Times in seconds, without embedding the question."""

    hits: tuple[Hit, ...]
    cost: Cost = field(default=Cost())
    cpu_s: float = 0.0
    wall_s: float = 0.0


class OpenArm(Protocol):
    """An arm that has learned its scope."""

    @property
    def documents(self) -> Mapping[str, Sequence[str]]:
        """Ids of the documents by the fact they became; two of the same words are one fact."""
        ...

    @property
    def learned(self) -> Learned: ...

    def ask(self, question: LabelledQuestion, limit: int, /) -> Awaitable[ArmResult]:
        """Put one question. Raises `HiveMindError` where it can't be answered at all."""
        ...

    def close(self) -> Awaitable[None]: ...


async def _nothing() -> None:
    pass


@dataclass(frozen=True, slots=True)
class AskedArm:
    """An arm whose questions go to a function. Without `close` it is all in RAM."""

    documents: Mapping[str, Sequence[str]]
    learned: Learned
    ask: Callable[[LabelledQuestion, int], Awaitable[ArmResult]]
    close: Callable[[], Awaitable[None]] = _nothing


@dataclass(frozen=True, slots=True)
class Means:
    """Parts that arms are made with; the same for all arms of a run.

    `embedder` had better remember its embeddings: every arm embeds the same texts.
    """

    settings: Settings
    embedder: Embedder
    progress: Progress | None = None

"""The interface of a store of facts: keep changes durably, and give everything back at start.

A store does not search and does not decide. The memory above it computes a list of changes; `write` makes all of them durable or
none. Indexes are rebuilt from `facts` and `vectors` when a memory opens.
"""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hive_mind.model.content import Episode
from hive_mind.model.fact import Fact, Relation

Vector = NDArray[np.float32]
Narrow = NDArray[np.float16]
"""A vector as it is kept."""


@dataclass(frozen=True, slots=True)
class AddFact:
    """A fact that is not in the store yet; its id is new."""

    fact: Fact


@dataclass(frozen=True, slots=True)
class ReviseFact:
    """The same fact (same id and content) with other evidence or state: confirmed, superseded, retracted, shared."""

    fact: Fact


@dataclass(frozen=True, slots=True)
class AddEpisode:
    """Kept once: adding an episode with an id that is there already changes nothing."""

    episode: Episode


@dataclass(frozen=True, slots=True)
class AddEntity:
    """Kept once, like an episode."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Link:
    """An edge between two things that are in the store or in the same write. The same edge twice is one edge."""

    relation: Relation
    from_id: str
    to_id: str


@dataclass(frozen=True, slots=True)
class PutVector:
    """Cache an embedding under `model.ids.vector_key`. Shape (dimension,), float16-representable values, kept as float16."""

    model: str
    key: str
    vector: Vector


@dataclass(frozen=True, slots=True)
class DropVectors:
    """Forget every cached embedding of a model."""

    model: str


@dataclass(frozen=True, slots=True)
class SetMeta:
    """A small named value of the database itself, such as the embedding model in use."""

    key: str
    value: str


@dataclass(frozen=True, slots=True)
class Erase:
    """Let go of facts, episodes and entities for good: their edges, entities that nothing else names, embeddings of `texts`.

    It comes after everything else of its write. Their bytes stay in the file until `scrub`.
    """

    ids: tuple[str, ...]
    texts: tuple[str, ...] = ()


Change = AddFact | ReviseFact | AddEpisode | AddEntity | Link | PutVector | DropVectors | SetMeta | Erase


class FactStore(Protocol):
    """One agent's durable facts. Safe to call from many tasks of one event loop.

    Raises `DatabaseLocked` (another process has it open), `DatabaseUnreadable` (damaged, foreign or newer file),
    `BackendError` for anything else the world does wrong.
    """

    @property
    def trouble(self) -> str:
        """Why it is not as it should be, "" where it is: the last write failed, or something is damaged and left out."""
        ...

    async def write(self, changes: Sequence[Change]) -> None:
        """All changes or none, durable when this returns. Writes waiting at the same time may share one commit."""
        ...

    def facts(self) -> AsyncIterator[Sequence[Fact]]:
        """Every fact, retracted and superseded ones too, in the order they were added, in batches."""
        ...

    def vectors(self, model: str) -> AsyncIterator[Mapping[str, Narrow]]:
        """Every cached embedding of `model` by its key, in batches, each of shape (dimension,)."""
        ...

    def fetch(self, id: str) -> Fact | None:
        """One fact, read at once without waiting for a turn; it blocks for as long as the disk takes."""
        ...

    async def find(self, ids: Iterable[str]) -> Mapping[str, Fact]:
        """The facts that exist among `ids`."""
        ...

    async def episodes(self, ids: Iterable[str]) -> Mapping[str, Episode]:
        """The episodes that exist among `ids`."""
        ...

    def all_episodes(self) -> AsyncIterator[Sequence[Episode]]:
        """Every episode, in the order they were added, in batches."""
        ...

    def links(self) -> AsyncIterator[Sequence[Link]]:
        """Every edge, in no promised order, in batches."""
        ...

    async def linked(self, relation: Relation, id: str, *, backwards: bool = False) -> Sequence[str]:
        """Ids at the other end of the edges that leave `id` (or arrive at it, `backwards`), in the order they were added."""
        ...

    async def meta(self) -> Mapping[str, str]:
        """All named values."""
        ...

    async def counts(self) -> Mapping[str, int]:
        """How many `facts`, `episodes`, `entities` and `vectors` are kept."""
        ...

    async def put_aside(self, derived: bytes) -> None:
        """Keep something that was made of what is kept, in place of what was put aside before; it may be gone at any time."""
        ...

    async def aside(self) -> bytes:
        """The bytes put aside, whole and unaltered, or nothing."""
        ...

    async def tidy(self) -> None:
        """Give back what only makes the next writes faster. Changes nothing that is kept; for when nobody writes."""
        ...

    async def scrub(self) -> None:
        """Leave no byte of what was erased: in freed pages, in the log, in what was made of the facts. Reads and writes it whole.

        Raises `BackendError` where somebody else still reads it; then it is to be asked again.
        """
        ...

    async def close(self) -> None:
        """Finish what was handed in, release the file, leave no thread behind. Closing twice is fine."""
        ...

"""The interface of a store of facts: keep changes durably, and give everything back at start.

A store does not search and does not decide. The memory above it computes a list of changes; `write` makes all of them durable or
none. Indexes are rebuilt from `facts` and `vectors` when a memory opens.

Every back end calls `check` first, so all of them refuse the same values with the same words and may rely on the rest: text that
is Unicode, numbers that are numbers, vectors that survive float16. The sum of a group of changes has each node, edge and value
once.
"""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hive_mind.errors import InvalidInput
from hive_mind.model.content import Episode
from hive_mind.model.evidence import names_of, texts_of
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

    async def write(self, changes: Sequence[Change]) -> None:
        """All changes or none, durable when this returns. Writes waiting at the same time may share one commit."""

    def facts(self) -> AsyncIterator[Sequence[Fact]]:
        """Every fact, retracted and superseded ones too, in the order they were added, in batches."""

    def vectors(self, model: str) -> AsyncIterator[Mapping[str, Narrow]]:
        """Every cached embedding of `model` by its key, in batches, each of shape (dimension,)."""

    def fetch(self, id: str) -> Fact | None:
        """One fact, read at once without waiting for a turn; it blocks for as long as the disk takes."""

    async def find(self, ids: Iterable[str]) -> Mapping[str, Fact]:
        """The facts that exist among `ids`."""

    async def episodes(self, ids: Iterable[str]) -> Mapping[str, Episode]:
        """The episodes that exist among `ids`."""

    def all_episodes(self) -> AsyncIterator[Sequence[Episode]]:
        """Every episode, in the order they were added, in batches."""

    def links(self) -> AsyncIterator[Sequence[Link]]:
        """Every edge, in no promised order, in batches."""

    async def linked(self, relation: Relation, id: str, *, backwards: bool = False) -> Sequence[str]:
        """Ids at the other end of the edges that leave `id` (or arrive at it, `backwards`), in the order they were added."""

    async def meta(self) -> Mapping[str, str]:
        """All named values."""

    async def counts(self) -> Mapping[str, int]:
        """How many `facts`, `episodes`, `entities` and `vectors` are kept."""

    async def put_aside(self, derived: bytes) -> None:
        """Keep something that was made of what is kept, in place of what was put aside before; it may be gone at any time."""

    async def aside(self) -> bytes:
        """The bytes put aside, whole and unaltered, or nothing."""

    async def tidy(self) -> None:
        """Give back what only makes the next writes faster. Changes nothing that is kept; for when nobody writes."""

    async def scrub(self) -> None:
        """Leave no byte of what was erased: in freed pages, in the log, in what was made of the facts. Reads and writes it whole.

        Raises `BackendError` where somebody else still reads it; then it is to be asked again.
        """

    async def close(self) -> None:
        """Finish what was handed in, release the file, leave no thread behind. Closing twice is fine."""


@dataclass(slots=True)
class WriteBatch:
    """All members keep the order in which things were added."""

    added: dict[str, Fact] = field(default_factory=dict)
    once: dict[str, Episode | str] = field(default_factory=dict)
    """episodes and entities (by their name), added where they are not there yet"""
    revised: dict[str, Fact] = field(default_factory=dict)
    links: dict[Link, None] = field(default_factory=dict)
    dropped_models: set[str] = field(default_factory=set)
    vectors: dict[tuple[str, str], Vector] = field(default_factory=dict)
    """by model and key; they come after what is dropped"""
    named: dict[str, str] = field(default_factory=dict)
    erased: dict[str, None] = field(default_factory=dict)
    """ids, of whatever kind; they go after everything else came"""
    erased_texts: dict[str, None] = field(default_factory=dict)
    """texts of the embeddings to delete"""

    def take(self, changes: Iterable[Change]) -> "WriteBatch":
        """Add changes. Raises `InvalidInput` for what can't be, whatever is kept."""
        for change in changes:
            match change:
                case AddFact(fact):
                    if fact.id in self.added or fact.id in self.once or fact.id in self.revised:
                        raise already_there(fact.id)
                    self.added[fact.id] = fact
                case ReviseFact(fact):
                    if added := self.added.get(fact.id):
                        self.added[fact.id] = replace(fact, content=added.content)
                    else:
                        self.revised[fact.id] = fact
                case AddEpisode(episode):
                    self.once.setdefault(episode.id, episode)
                case AddEntity(id, name):
                    self.once.setdefault(id, name)
                case Link():
                    self.links[change] = None
                case PutVector(model, key, vector):
                    self.vectors[model, key] = vector
                case DropVectors(model):
                    self.dropped_models.add(model)
                    self.vectors = {place: vector for place, vector in self.vectors.items() if place[0] != model}
                case SetMeta(key, value):
                    self.named[key] = value
                case Erase(ids, texts):
                    self.erased |= dict.fromkeys(ids)
                    self.erased_texts |= dict.fromkeys(texts)
        return self


def already_there(fact_id: str) -> InvalidInput:
    return InvalidInput(f"{fact_id!r} is in the store already; send ReviseFact to change it")


def not_there(fact_id: str) -> InvalidInput:
    return InvalidInput(f"fact {fact_id!r} is not in the store; send AddFact first")


def no_end(id: str) -> InvalidInput:
    return InvalidInput(f"{id!r} is not in the store; add both ends of a link before it or in the same write")


# Times are kept as 64-bit integers.
_INT64_LIMIT = 1 << 63


def check(changes: Sequence[Change]) -> None:
    """Raises `InvalidInput` for the first change that no store can keep."""
    for change in changes:
        kind, id, texts, times = "", "", tuple[str, ...](), tuple[int, ...]()
        match change:
            case AddFact(fact) | ReviseFact(fact):
                kind, id, times = "fact", fact.id, (fact.learned_at_us, *fact.turned_at_us)
                texts = (id, *texts_of(fact), *names_of(fact), fact.superseded_by, fact.held_back, *fact.sources, *fact.offered)
                if not (isfinite(fact.confidence) and 0.0 <= fact.confidence <= 1.0):
                    problem = f"confidence {fact.confidence} is not in [0, 1]; correct it and write again"
                    raise InvalidInput(f"fact {id!r}: {problem}")
            case AddEpisode(Episode(id=id, text=text, source=source) as episode):
                kind, times = "episode", (episode.learned_at_us,)
                texts = (id, text, source, episode.said_at, episode.speaker, episode.title, episode.summary)
            case AddEntity(id, name):
                kind, texts = "entity", (id, name)
            case Link(_, id, to_id):
                kind, texts = "link from", (id, to_id)
            case PutVector(model, id, vector):
                kind, texts = "vector", (model, id)
                _check_vector(model, id, vector)
            case DropVectors(id):
                kind, texts = "model", (id,)
            case SetMeta(id, value):
                kind, texts = "named value", (id, value)
            case Erase(ids, erased_texts):
                kind, texts = "what is erased", (*ids, *erased_texts)
        try:
            "".join(texts).encode()
        except UnicodeEncodeError:
            raise InvalidInput(
                f"{kind} {id!r} contains an unpaired surrogate, which no encoding can store; "
                "decode the source with errors='replace' and write again"
            ) from None
        for time_us in times:
            if not -_INT64_LIMIT <= time_us < _INT64_LIMIT:
                raise InvalidInput(f"{kind} {id!r}: the time {time_us} does not fit 64 bits; it is microseconds since 1970")


def _check_vector(model: str, key: str, vector: Vector) -> None:
    if not model:
        raise InvalidInput(f"vector {key!r} names no model; a vector can't be compared without knowing its model")
    if vector.ndim != 1 or vector.size == 0:
        raise InvalidInput(f"vector {key!r} of {model!r} has shape {vector.shape}; one row of numbers is wanted")
    with np.errstate(over="ignore", invalid="ignore"):
        half = vector.astype(np.float16)
    if not np.isfinite(half).all():
        raise InvalidInput(
            f"vector {key!r} of {model!r} holds NaN, infinity or a number beyond float16; normalise it and write again"
        )

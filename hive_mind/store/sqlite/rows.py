"""Facts, episodes, entities, edges, vectors and named values as rows, and back; each row carries a checksum of itself.

Plain functions without a database. What a node holds is JSON in one column: a fact of an older version reads as one of today with
defaults for what it lacks. A row whose checksum is wrong is never shown as anything.
"""

import struct
from collections.abc import Callable, Sequence
from typing import NamedTuple
from zlib import crc32

import msgspec
import numpy as np

from hive_mind.model.content import Episode
from hive_mind.model.fact import Fact, Relation
from hive_mind.model.ids import episode_id, fact_id
from hive_mind.store.base import Narrow, Vector

FACT, EPISODE, ENTITY = 1, 2, 3
KIND_NAMES = {FACT: "fact", EPISODE: "episode", ENTITY: "entity"}
# Numbers in the file; only ever append.
RELATIONS: Sequence[Relation] = (Relation.DERIVES_FROM, Relation.SUPERSEDES, Relation.CONTRADICTS, Relation.MENTIONS)
RELATION_NUMBERS = {relation: number for number, relation in enumerate(RELATIONS)}

# One bit makes text of bytes.
NODE_COLUMNS = "seq, kind, CAST(id AS BLOB), changed, CAST(body AS BLOB), sum"
EDGE_COLUMNS = "seq, relation, from_seq, to_seq, sum"
VECTOR_COLUMNS = "CAST(model AS BLOB), CAST(key AS BLOB), CAST(value AS BLOB), sum"
NAMED_COLUMNS = "CAST(key AS BLOB), CAST(value AS BLOB), changed, sum"

_ID_CHARACTERS = 32
_encode = msgspec.json.encode
_fact_of = msgspec.json.Decoder(Fact).decode
_episode_of = msgspec.json.Decoder(Episode).decode
_entity_of = msgspec.json.Decoder(str).decode
_edge_bytes = struct.Struct("<4q").pack


class NodeRow(NamedTuple):
    """A row of `node`. `changed` is the tick of its last revision, `seq` that of its first writing."""

    seq: int
    kind: int
    id: bytes
    changed: int
    body: bytes
    sum: int

    @property
    def is_sound(self) -> bool:
        """Whether it is as it was written."""
        seq, kind, id, changed, body, sum = self
        try:
            return sum == crc32(body, crc32(b"%d,%d,%d," % (seq, kind, changed) + id))
        except TypeError:
            return False

    @property
    def value(self) -> Fact | Episode | str:
        """What it holds; an entity is its name."""
        if self.kind == FACT:
            return _fact_of(self.body)
        return _episode_of(self.body) if self.kind == EPISODE else _entity_of(self.body)

    @property
    def told(self) -> str:
        """What to call it in a message."""
        return f"{KIND_NAMES.get(self.kind, 'node')} {self.id.decode(errors='replace')}"


def is_itself(id: str, value: Fact | Episode | str) -> bool:
    """Whether an id of ours is that of what stands under it. Who edits a file can make a checksum; such an id follows from the
    content. What is called otherwise stands in nobody's place.
    """
    if len(id) != _ID_CHARACTERS:
        return True
    match value:
        case Fact():
            return id == value.id == fact_id(value.content)
        case Episode():
            return id == value.id == episode_id(value.text, value.source)
    return True


def node_row(seq: int, id: str, value: Fact | Episode | str, changed: int) -> NodeRow:
    """A value as a row."""
    kind = FACT if isinstance(value, Fact) else EPISODE if isinstance(value, Episode) else ENTITY
    body, key = _encode(value), id.encode()
    return NodeRow(seq, kind, key, changed, body, _node_sum(seq, kind, key, changed, body))


class EdgeRow(NamedTuple):
    """A row of `edge`."""

    seq: int
    relation: int
    from_seq: int
    to_seq: int
    sum: int

    @property
    def is_sound(self) -> bool:
        """Whether it is as it was written."""
        return _is_sum(self.sum, lambda: crc32(_edge_bytes(*self[:4])))


def edge_row(seq: int, relation: Relation, from_seq: int, to_seq: int) -> EdgeRow:
    """An edge as a row."""
    number = RELATION_NUMBERS[relation]
    return EdgeRow(seq, number, from_seq, to_seq, crc32(_edge_bytes(seq, number, from_seq, to_seq)))


class VectorRow(NamedTuple):
    """A row of `vector`, without its number."""

    model: bytes
    key: bytes
    value: bytes
    sum: int

    @property
    def is_sound(self) -> bool:
        """Whether it is as it was written."""
        model, key, value, sum = self
        try:
            return sum == crc32(value, crc32(key, crc32(model)))
        except TypeError:
            return False

    @property
    def vector(self) -> Narrow:
        """Shape (dimension,)."""
        return np.frombuffer(self.value, dtype="<f2")


def vector_row(model: str, key: str, vector: Vector) -> VectorRow:
    """An embedding as a row."""
    by, name, value = model.encode(), key.encode(), vector.astype("<f2").tobytes()
    return VectorRow(by, name, value, crc32(value, crc32(name, crc32(by))))


class NamedRow(NamedTuple):
    """A row of `named`."""

    key: bytes
    value: bytes
    changed: int
    sum: int

    @property
    def is_sound(self) -> bool:
        """Whether it is as it was written."""
        return _is_sum(self.sum, lambda: crc32(self.value, crc32(self.key, self.changed & 0xFFFFFFFF)))


def named_row(key: str, value: str, changed: int) -> NamedRow:
    """A named value as a row."""
    name, text = key.encode(), value.encode()
    return NamedRow(name, text, changed, crc32(text, crc32(name, changed & 0xFFFFFFFF)))


def _is_sum(sum: int, made: Callable[[], int]) -> bool:
    """A flipped bit may also make another type of a value, of which no checksum can be made."""
    try:
        return sum == made()
    except (TypeError, ValueError, struct.error):
        return False


def _node_sum(seq: int, kind: int, id: bytes, changed: int, body: bytes) -> int:
    return crc32(body, crc32(b"%d,%d,%d," % (seq, kind, changed) + id))

"""Rows of a record's tables as values, and back; each row carries a checksum of itself.

Plain tuples without a database. A node's value is JSON in one column: a fact of an older version reads as one of today with
defaults for missing fields. A row with a wrong checksum is never shown as anything.

A record on disk: its tables, and the steps from each version of them to the next.

One counter, the tick, numbers all writes: a node's `seq` and an edge's are the tick of their first writing, `changed` is
that of a node's last. So a derivation of the record (the graph) asks for everything after the tick it has reached. Rows
of `total` count the nodes of a kind (and edges) and add up their checksums: a row that is missing is noticed, too.
"""

import struct
from collections.abc import Sequence
from typing import TypeVar
from zlib import crc32

import msgspec
import numpy as np
from msgspec import structs

from hive_mind.model.content import Episode
from hive_mind.model.decoding import json_decoder
from hive_mind.model.fact import Fact, Relation
from hive_mind.model.ids import ID_CHARACTERS, episode_id, fact_id
from hive_mind.sqlite.file import FileFormat
from hive_mind.sqlite.log import Value
from hive_mind.store import Narrow

FACT, EPISODE, ENTITY = 1, 2, 3
KIND_NAMES = {FACT: "fact", EPISODE: "episode", ENTITY: "entity"}
# Numbers in the file; only ever append.
RELATIONS: Sequence[Relation] = (Relation.DERIVES_FROM, Relation.SUPERSEDES, Relation.CONTRADICTS, Relation.MENTIONS)
RELATION_NUMBERS = {relation: number for number, relation in enumerate(RELATIONS)}

_encode = msgspec.json.encode
_fact_of = json_decoder(Fact)
_episode_of = json_decoder(Episode)
_entity_of = json_decoder(str)
_edge_bytes = struct.Struct("<4q").pack

EDGE_TOTAL = 0
"""The row of `total` for edges; the others have a node's kind."""

IDENTITY_KEY = "record.identity"
"""Named value: random, made with the record, never shown as the memory's own."""
PROBE_KEY = "record.probe"
"""Named value that is written to find out whether writing works again; neither is it shown."""

FORMAT = FileFormat(
    owner="agent",
    application_id=int.from_bytes(b"hvmr", "big"),
    # Only ever append: a record on somebody's disk may need any of these.
    migrations=(
        (
            "CREATE TABLE node (seq INTEGER PRIMARY KEY, kind INTEGER NOT NULL, id TEXT NOT NULL, changed INTEGER NOT NULL,"
            " body BLOB NOT NULL, sum INTEGER NOT NULL)",
            "CREATE UNIQUE INDEX node_id ON node (id)",
            "CREATE INDEX node_changed ON node (changed)",
            "CREATE TABLE edge (seq INTEGER PRIMARY KEY, relation INTEGER NOT NULL, from_seq INTEGER NOT NULL,"
            " to_seq INTEGER NOT NULL, sum INTEGER NOT NULL)",
            "CREATE UNIQUE INDEX edge_ahead ON edge (from_seq, relation, to_seq)",
            "CREATE INDEX edge_back ON edge (to_seq, relation)",
            "CREATE TABLE vector (seq INTEGER PRIMARY KEY, model TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL,"
            " sum INTEGER NOT NULL, UNIQUE (model, key))",
            "CREATE TABLE named (key TEXT PRIMARY KEY, value TEXT NOT NULL, changed INTEGER NOT NULL, sum INTEGER NOT NULL)",
            "CREATE TABLE total (kind INTEGER PRIMARY KEY, rows INTEGER NOT NULL, sums INTEGER NOT NULL)",
            "INSERT INTO total VALUES (0, 0, 0), (1, 0, 0), (2, 0, 0), (3, 0, 0)",
        ),
    ),
    # A commit writes each page it touches whole: with 16 kB pages one fact would write 80 kB instead of 20.
    page_bytes=4096,
    log_bytes=4 << 20,
    when_damaged="save what can be saved with: hive-mind doctor --repair",
    cache_bytes=512 << 10,
)


class NodeRow(msgspec.Struct, frozen=True):
    """A fact, an episode or an entity. `changed` is the tick of its last revision, `seq` that of its first writing."""

    seq: int
    kind: int
    id: bytes
    changed: int
    body: bytes
    sum: int = 0

    def checksum(self) -> int:
        return crc32(self.body, crc32(b"%d,%d,%d," % (self.seq, self.kind, self.changed) + self.id))

    @property
    def value(self) -> Fact | Episode | str:
        if self.kind == FACT:
            return _fact_of(self.body)
        return _episode_of(self.body) if self.kind == EPISODE else _entity_of(self.body)

    @property
    def label(self) -> str:
        return f"{KIND_NAMES.get(self.kind, 'node')} {self.id.decode(errors='replace')}"


class EdgeRow(msgspec.Struct, frozen=True):
    """An edge between two nodes, by their `seq`."""

    seq: int
    relation: int
    from_seq: int
    to_seq: int
    sum: int = 0

    def checksum(self) -> int:
        return crc32(_edge_bytes(self.seq, self.relation, self.from_seq, self.to_seq))

    @property
    def ends(self) -> tuple[int, int]:
        return self.from_seq, self.to_seq

    @property
    def label(self) -> str:
        return f"edge {self.seq}"


class VectorRow(msgspec.Struct, frozen=True):
    """An embedding. Its checksum does not cover `seq`."""

    seq: int
    model: bytes
    key: bytes
    value: bytes
    sum: int = 0

    def checksum(self) -> int:
        return crc32(self.value, crc32(self.key, crc32(self.model)))

    @property
    def vector(self) -> Narrow:
        """Shape (dimension,)."""
        return np.frombuffer(self.value, dtype="<f2")

    @property
    def label(self) -> str:
        return f"embedding {self.key.decode(errors='replace')}"


class NamedRow(msgspec.Struct, frozen=True):
    """A named value."""

    key: bytes
    value: bytes
    changed: int
    sum: int = 0

    def checksum(self) -> int:
        return crc32(self.value, crc32(self.key, self.changed & 0xFFFFFFFF))

    @property
    def label(self) -> str:
        return f"named value {self.key.decode(errors='replace')}"


Row = NodeRow | EdgeRow | VectorRow | NamedRow
AnyRow = TypeVar("AnyRow", NodeRow, EdgeRow, VectorRow, NamedRow)

# Text as bytes: one flipped bit can make it invalid UTF-8.
SELECT: dict[type[Row], str] = {
    NodeRow: "SELECT seq, kind, CAST(id AS BLOB), changed, CAST(body AS BLOB), sum FROM node",
    EdgeRow: "SELECT seq, relation, from_seq, to_seq, sum FROM edge",
    VectorRow: "SELECT seq, CAST(model AS BLOB), CAST(key AS BLOB), CAST(value AS BLOB), sum FROM vector",
    NamedRow: "SELECT CAST(key AS BLOB), CAST(value AS BLOB), changed, sum FROM named",
}


def node_row(seq: int, id: str, value: Fact | Episode | str, changed: int) -> NodeRow:
    kind = FACT if isinstance(value, Fact) else EPISODE if isinstance(value, Episode) else ENTITY
    return summed(NodeRow(seq, kind, id.encode(), changed, _encode(value)))


def summed(row: AnyRow) -> AnyRow:
    return structs.replace(row, sum=row.checksum())


def is_sound(row: Row) -> bool:
    """Whether it is as it was written. A flipped bit may also make another type of a value, of which there is no checksum."""
    try:
        return row.sum == row.checksum()
    except (TypeError, ValueError, struct.error):
        return False


def is_itself(id: str, value: Fact | Episode | str) -> bool:
    """Whether an id of ours is that of the value under it. An editor of the file can make a checksum; such an id follows from the
    content. Other ids take no one's place.
    """
    if len(id) != ID_CHARACTERS:
        return True
    match value:
        case Fact():
            return id == value.id == fact_id(value.content)
        case Episode():
            return id == value.id == episode_id(value.text, value.source)
    return True


def row_of(rowid: int, values: Sequence[Value]) -> Row | None:
    """A row as it was found in a damaged file, told from others by its shape; None for what is no row of ours."""
    match values:
        case [None, int(kind), bytes(id), int(changed), bytes(body), int(sum)]:
            return NodeRow(rowid, kind, id, changed, body, sum)
        case [None, int(relation), int(start), int(end), int(sum)]:
            return EdgeRow(rowid, relation, start, end, sum)
        case [None, bytes(model), bytes(key), bytes(value), int(sum)]:
            return VectorRow(rowid, model, key, value, sum)
        case [bytes(key), bytes(value), int(changed), int(sum)]:
            return NamedRow(key, value, changed, sum)
        case _:
            return None

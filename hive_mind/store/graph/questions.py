"""The questions a graph answers, asked of the record itself: the surroundings of a thing, paths between two, derivations from a
source, replacements.

Plain functions over an open record; limits are the caller's. Each row carries its checksum, so nothing damaged is shown:
unreadable rows are left out, with the edges that lead there. A path between two things is searched from both ends.

Tables are described here, too, as a person exploring the graph sees them. Columns are the fields of our values, so a new field
becomes a column by itself, and `VERSION` changes with it: a graph of another version is made anew. A relation table takes the
ends that facts have, and those an imported file has brought along.
"""

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from time import monotonic
from typing import Any, get_type_hints

import msgspec

from hive_mind.errors import BackendTimeout, InvalidInput
from hive_mind.model.content import Episode
from hive_mind.model.fact import Fact, Relation, Sharing
from hive_mind.model.ids import PREFIX_CHARACTERS_MIN, entity_id
from hive_mind.store.sqlite import rows
from hive_mind.store.sqlite.reading import RecordReader
from hive_mind.store.sqlite.rows import RELATION_NUMBERS, RELATIONS, EdgeRow, NodeRow

FACT, EPISODE, ENTITY = KINDS = ("Fact", "Episode", "Entity")
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Pair:
    """A relation between two kinds."""

    relation: str
    from_kind: str
    to_kind: str

    @property
    def label(self) -> str:
        """Its name in a file's name."""
        return f"{self.relation}-{self.from_kind}-{self.to_kind}"


STANDARD = (
    Pair(Relation.DERIVES_FROM.value, FACT, EPISODE),
    Pair(Relation.SUPERSEDES.value, FACT, FACT),
    Pair(Relation.CONTRADICTS.value, FACT, FACT),
    Pair(Relation.MENTIONS.value, FACT, ENTITY),
)

_TYPES = {
    str: "STRING",
    Sharing: "STRING",
    int: "INT64",
    float: "DOUBLE",
    tuple[str, ...]: "STRING[]",
    tuple[int, ...]: "INT64[]",
}


def _columns(of: type) -> dict[str, str]:
    return {name: _TYPES[hint] for name, hint in get_type_hints(of).items()}


COLUMNS = {
    FACT: _columns(Fact) | {"state": "STRING"},
    EPISODE: _columns(Episode),
    ENTITY: {"id": "STRING", "name": "STRING"},
}

VERSION = zlib.crc32(repr((COLUMNS, STANDARD)).encode())


def kind_of(value: Fact | Episode | str) -> str:
    return FACT if isinstance(value, Fact) else EPISODE if isinstance(value, Episode) else ENTITY


def row_of(id: str, value: Fact | Episode | str) -> Row:
    """A node of the record as a row; an entity is its name."""
    if isinstance(value, str):
        return {"id": id, "name": value}
    # Kuzu takes lists, and no tuples.
    row: Row = {name: list(part) if isinstance(part, tuple) else part for name, part in msgspec.to_builtins(value).items()}
    if isinstance(value, Fact):
        row["state"] = state_of(value)
    return row


def state_of(fact: Fact) -> str:
    """Of a fact: current, superseded or retracted."""
    return "retracted" if fact.is_retracted else "superseded" if fact.superseded_by else "current"


def node_tables() -> list[str]:
    return [
        f"CREATE NODE TABLE {kind}({', '.join(f'`{name}` {type_}' for name, type_ in columns.items())}, PRIMARY KEY(id))"
        for kind, columns in COLUMNS.items()
    ]


def relation_tables(pairs: Iterable[Pair]) -> list[str]:
    ends: dict[str, list[str]] = {}
    for pair in dict.fromkeys((*STANDARD, *pairs)):
        ends.setdefault(pair.relation, []).append(f"FROM {pair.from_kind} TO {pair.to_kind}")
    return [f"CREATE REL TABLE {relation}({', '.join(columns)})" for relation, columns in ends.items()]


TABLES = "\n".join(
    (
        *(f"  (:{kind} {{{', '.join(columns)}}})" for kind, columns in COLUMNS.items()),
        *(f"  (:{pair.from_kind})-[:{pair.relation}]->(:{pair.to_kind})" for pair in STANDARD),
    )
)
"""The tables in words a person can write a query by."""


@dataclass(frozen=True, slots=True)
class Thing:
    """A fact, an episode or an entity. `text` is its content, title or name; `state` is "" for what is no fact."""

    kind: str
    id: str
    text: str
    state: str = ""
    """current, superseded or retracted"""


@dataclass(frozen=True, slots=True)
class Edge:
    """From a thing to what it derives from, supersedes, contradicts or mentions."""

    relation: str
    from_id: str
    to_id: str


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """Things around the first one, nearest first, and the edges by which they were found."""

    things: tuple[Thing, ...]
    edges: tuple[Edge, ...]
    is_cut: bool = False
    """Whether there is more than the limit let through."""

    @property
    def centre(self) -> Thing:
        return self.things[0]


@dataclass(frozen=True, slots=True)
class Way:
    """A way from the first thing to the last: edge n lies between things n and n + 1, in either direction."""

    things: tuple[Thing, ...]
    edges: tuple[Edge, ...]


@dataclass(frozen=True, slots=True)
class Rows:
    """The answer to a query; `cut` says in a sentence what was left out, "" where nothing was."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    cut: str = ""


_NAMES_SHOWN = 5
# Paths of six edges in a large memory touch most of it.
_PATIENCE_S = 30.0
_CONSIDERED_MAX = 1000
_AT = "WHERE from_seq = ? OR to_seq = ?"


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A thing and its row in the record."""

    place: int
    thing: Thing


def found(reader: RecordReader, name_or_id: str) -> GraphNode:
    """The one thing with this id, this name, or an id that begins like this. Raises `InvalidInput` for none and for several."""
    nodes = _nodes(reader, "WHERE id = ?", name_or_id) or _nodes(reader, "WHERE id = ?", entity_id(name_or_id))
    if not nodes:
        # Of another tenant, or imported.
        name = msgspec.json.encode(name_or_id).decode()
        nodes = _nodes(reader, "WHERE kind = ? AND lower(CAST(body AS TEXT)) = lower(?)", rows.ENTITY, name)
    if not nodes and len(name_or_id) >= PREFIX_CHARACTERS_MIN:
        prefix = name_or_id.lower()
        nodes = _nodes(reader, "WHERE id BETWEEN ? AND ? LIMIT ?", prefix, f"{prefix}\U0010ffff", _NAMES_SHOWN)
    if not nodes:
        raise InvalidInput(
            f"the graph has no {name_or_id!r}: give the name of an entity, or the id of a fact (`hive-mind facts list`)"
        )
    if len(nodes) > 1:
        several = ", ".join(
            f"{thing.kind} {thing.id} ({thing.text[:40]})" for thing in [node.thing for node in nodes[:_NAMES_SHOWN]]
        )
        raise InvalidInput(f"{name_or_id!r} may be several things: {several}; give more of the id")
    return nodes[0]


def neighbourhood(reader: RecordReader, name_or_id: str, depth: int, limit: int) -> Neighbourhood:
    """The things around a thing, nearest first: at most `limit` things beside it."""
    centre = found(reader, name_or_id)
    things, edges, is_cut = {centre.place: centre.thing}, dict[EdgeRow, None](), False
    border = [centre.place]
    for _ in range(depth):
        near, border = border, []
        for place in near:
            leading = list(reader.rows(EdgeRow, f"{_AT} ORDER BY seq LIMIT ?", place, place, limit + 1))
            is_cut = is_cut or len(leading) > limit
            for edge in leading:
                end = _other(edge, place)
                if end not in things:
                    if len(things) > limit:
                        is_cut = True
                        continue
                    if not (nodes := _at(reader, [end])):
                        continue
                    things |= nodes
                    border.append(end)
                edges[edge] = None
    return Neighbourhood(tuple(things.values()), tuple(_edge(edge, things) for edge in edges), is_cut)


def history(reader: RecordReader, name_or_id: str, limit: int) -> list[Thing]:
    """The facts a fact replaced, the fact, and its replacements: the oldest first."""
    fact = found(reader, name_or_id)
    if fact.thing.kind != FACT:
        raise InvalidInput(f"{name_or_id!r} is an {fact.thing.kind.lower()}: only facts are replaced by others")
    known_places = {fact.place}
    older, newer = (_replaced(reader, fact.place, known_places, limit, is_newer=side) for side in (False, True))
    return [*reversed(older), fact.thing, *newer]


def sources_of(reader: RecordReader, name_or_id: str, limit: int) -> list[Thing]:
    ends = _ends(reader, Relation.DERIVES_FROM, found(reader, name_or_id).place, limit)
    return list(_at(reader, ends).values())


def derived_from(reader: RecordReader, source: str, limit: int) -> list[Thing]:
    """Facts derived from an episode with this id; where there is none, the facts that rest on a source of this name."""
    derived: dict[int, Thing] = {}
    for node in _nodes(reader, "WHERE id = ?", source):
        return list(_at(reader, _ends(reader, Relation.DERIVES_FROM, node.place, limit, backwards=True)).values())
    source_text = msgspec.json.encode(source)
    for row, value in reader.themselves(reader.rows(NodeRow, "WHERE kind = ? AND instr(body, ?)", rows.FACT, source_text)):
        if len(derived) >= limit:
            break
        if isinstance(value, Fact) and source in value.sources:
            derived[row.seq] = _thing(row, value)
    return list(derived.values())[:limit]


def paths(reader: RecordReader, start_given: str, end_given: str, longest: int, limit: int) -> list[Way]:
    """The shortest paths between two things, at most `limit` of them; none where all are longer than `longest` edges."""
    start, end = found(reader, start_given), found(reader, end_given)
    if start == end:
        return [Way((start.thing,), ())]
    ahead, back = _Search(reader, start.place), _Search(reader, end.place)
    for _ in range(longest):
        nearer = ahead if ahead.cost <= back.cost else back
        nearer.widen()
        if any(place in back.border for place in ahead.border):
            ways = sorted(islice(_ways(ahead, back), _CONSIDERED_MAX), key=_derivations)
            return list(islice(_walked(reader, start.place, ways), limit))
        if not nearer.border:
            break
    return []


class _Search:
    """The surroundings of a place: `levels[n]` is n edges away, each with the edges by which it was reached."""

    def __init__(self, reader: RecordReader, place: int) -> None:
        self._reader, self._until = reader, monotonic() + _PATIENCE_S
        self.levels: list[dict[int, list[EdgeRow]]] = [{place: []}]
        self._reached = {place}

    @property
    def border(self) -> dict[int, list[EdgeRow]]:
        return self.levels[-1]

    @property
    def cost(self) -> int:
        """How many edges one level more looks at."""
        return self._reader.degree(self.border)

    def widen(self) -> None:
        beyond: dict[int, list[EdgeRow]] = {}
        for edge in self._reader.edges_at(self.border):
            if monotonic() > self._until:
                raise BackendTimeout("graph", "these things are too far apart to be joined in time: allow shorter paths only")
            for end in edge.ends:
                if end not in self._reached:
                    beyond.setdefault(end, []).append(edge)
        self._reached |= beyond.keys()
        self.levels.append(beyond)

    def ways(self, place: int, level: int | None = None) -> Iterator[list[EdgeRow]]:
        level = len(self.levels) - 1 if level is None else level
        if not level:
            yield []
        for edge in self.levels[level][place]:
            for way in self.ways(_other(edge, place), level - 1):
                yield [*way, edge]


def _ways(ahead: _Search, back: _Search) -> Iterator[list[EdgeRow]]:
    """Each shortest way through a place where both searches met."""
    for middle in ahead.border:
        if middle in back.border:
            for first in ahead.ways(middle):
                yield from ([*first, *reversed(second)] for second in back.ways(middle))


def _derivations(way: Iterable[EdgeRow]) -> int:
    """That two facts stand in one text says less than that they name the same thing."""
    return sum(RELATIONS[edge.relation] is Relation.DERIVES_FROM for edge in way)


def _walked(reader: RecordReader, start: int, ways: Iterable[list[EdgeRow]]) -> Iterator[Way]:
    """Ways as paths; none over what is damaged."""
    for way in ways:
        places = [start]
        for edge in way:
            places.append(_other(edge, places[-1]))
        things = _at(reader, places)
        if len(things) == len(places):
            yield Way(tuple(things.values()), tuple(_edge(edge, things) for edge in way))


def _nodes(reader: RecordReader, where: str, *values: object) -> list[GraphNode]:
    return [GraphNode(row.seq, _thing(row, value)) for row, value in reader.themselves(reader.rows(NodeRow, where, *values))]


def _at(reader: RecordReader, places: Iterable[int]) -> dict[int, Thing]:
    """The things in these rows, as far as they are sound."""
    return {node.place: node.thing for place in places for node in _nodes(reader, "WHERE seq = ?", place)}


def _thing(row: NodeRow, value: Fact | Episode | str) -> Thing:
    id = row.id.decode()
    match value:
        case Fact():
            return Thing(kind_of(value), id, value.content, state_of(value))
        case Episode():
            return Thing(kind_of(value), id, value.title or value.source)
    return Thing(kind_of(value), id, value)


def _other(edge: EdgeRow, place: int) -> int:
    return edge.from_seq if edge.to_seq == place else edge.to_seq


def _edge(edge: EdgeRow, things: dict[int, Thing]) -> Edge:
    return Edge(RELATIONS[edge.relation].value, things[edge.from_seq].id, things[edge.to_seq].id)


def _ends(reader: RecordReader, relation: Relation, place: int, limit: int, *, backwards: bool = False) -> list[int]:
    column = "to_seq" if backwards else "from_seq"
    edges = reader.rows(EdgeRow, f"WHERE {column} = ? AND relation = ? LIMIT ?", place, RELATION_NUMBERS[relation], limit)
    return [_other(edge, place) for edge in edges]


def _replaced(reader: RecordReader, fact: int, known_places: set[int], limit: int, *, is_newer: bool) -> list[Thing]:
    """By and by, nearest first; `known` grows."""
    chain = [fact]
    for link in chain:
        new = [end for end in _ends(reader, Relation.SUPERSEDES, link, limit, backwards=is_newer) if end not in known_places]
        known_places.update(new)
        chain += new[: limit + 1 - len(chain)]
    return list(_at(reader, chain[1:]).values())

"""The questions a graph answers, as Cypher: around a thing, between two, what derives from a source, what replaced what.

Plain functions over an open engine; limits are the caller's. Everything starts at a primary key: nothing else has an index, and
`id IN $list` scans a table. A way between two things is searched from both ends, which visits a hundredth of what one end would.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from hive_mind.errors import InvalidInput
from hive_mind.model.fact import Relation
from hive_mind.model.ids import entity_id
from hive_mind.store._kuzu.engine import Engine
from hive_mind.store.graph.schema import ENTITY, EPISODE, FACT, KINDS
from hive_mind.store.graph.values import Edge, Neighbourhood, Path, Thing

Place = tuple[str, int]
"""Kuzu's own name of a node: table and offset."""

_SHOWN = {
    FACT: "'Fact', x.id, x.content, x.state",
    EPISODE: "'Episode', x.id, CASE WHEN x.title = '' THEN x.source ELSE x.title END, ''",
    ENTITY: "'Entity', x.id, x.name, ''",
}
_SIDES = {False: f"-[:{Relation.SUPERSEDES}]->", True: f"<-[:{Relation.SUPERSEDES}]-"}
_NAMES_SHOWN, _ID_PREFIX_MIN = 5, 6
# A filter by more places than these costs more than looking at all that is reached.
_FILTERED_MAX, _MIDDLES_MAX = 300, 20


def found(engine: Engine, given: str) -> Thing:
    """The one thing with this id, this name, or an id that begins like this. Raises `InvalidInput` for none and for several."""
    things = _by_id(engine, given) or _by_id(engine, entity_id(given))
    if not things:
        things = _things(engine.run(f"MATCH (x:Entity) WHERE lower(x.name) = lower($name) RETURN {_SHOWN[ENTITY]}", name=given))
    if not things and len(given) >= _ID_PREFIX_MIN:
        for kind in KINDS:
            query = f"MATCH (x:{kind}) WHERE starts_with(x.id, $prefix) RETURN {_SHOWN[kind]} LIMIT 5"
            things += _things(engine.run(query, prefix=given.lower()))
    if not things:
        raise InvalidInput(
            f"the graph has no {given!r}: give the name of an entity, or the id of a fact (`hive-mind facts list`)"
        )
    if len(things) > 1:
        several = ", ".join(f"{thing.kind} {thing.id} ({thing.text[:40]})" for thing in things[:_NAMES_SHOWN])
        raise InvalidInput(f"{given!r} may be several things: {several}; give more of the id")
    return things[0]


def neighbourhood(engine: Engine, given: str, depth: int, limit: int) -> Neighbourhood:
    """What lies around a thing, nearest first: at most `limit` things beside it."""
    things = [found(engine, given)]
    known, edges, is_cut = {things[0].id}, dict[Edge, None](), False
    begun = 0
    for _ in range(depth):
        border, begun = things[begun:], len(things)
        for thing in border:
            query = f"MATCH (c:{thing.kind} {{id: $id}})-[r]-(x) RETURN id(c), r, {_any('x')} LIMIT $most"
            rows = engine.run(query, id=thing.id, most=limit + 1)
            is_cut = is_cut or len(rows) > limit
            for place, relation, *shown in rows:
                other = Thing(*shown)
                if other.id not in known:
                    if len(things) > limit:
                        is_cut = True
                        continue
                    known.add(other.id)
                    things.append(other)
                edges[_edge(relation, place, thing, other)] = None
    return Neighbourhood(tuple(things), tuple(edges), is_cut)


def history(engine: Engine, given: str, limit: int) -> list[Thing]:
    """What a fact replaced, the fact, and what replaced it: the oldest first."""
    fact = found(engine, given)
    if fact.kind != FACT:
        raise InvalidInput(f"{given!r} is an {fact.kind.lower()}: only facts are replaced by others")
    known = {fact.id}
    older, newer = (_replaced(engine, fact, side, known, limit) for side in _SIDES.values())
    return [*reversed(older), fact, *newer]


def sources_of(engine: Engine, given: str, limit: int) -> list[Thing]:
    """What a thing derives from."""
    thing = found(engine, given)
    query = f"MATCH (c:{thing.kind} {{id: $id}})-[:{Relation.DERIVES_FROM}]->(x) RETURN {_any('x')} LIMIT $most"
    return _things(engine.run(query, id=thing.id, most=limit))


def derived_from(engine: Engine, source: str, limit: int) -> list[Thing]:
    """What derives from an episode, or rests on a source of this name."""
    derived: dict[str, Thing] = {}
    for thing in _by_id(engine, source):
        query = f"MATCH (c:{thing.kind} {{id: $id}})<-[:{Relation.DERIVES_FROM}]-(x) RETURN {_any('x')} LIMIT $most"
        derived |= {one.id: one for one in _things(engine.run(query, id=source, most=limit))}
    query = f"MATCH (x:Fact) WHERE list_contains(x.sources, $source) RETURN {_SHOWN[FACT]} LIMIT $most"
    derived |= {one.id: one for one in _things(engine.run(query, source=source, most=limit))}
    return list(derived.values())[:limit]


def paths(engine: Engine, from_given: str, to_given: str, longest: int, limit: int) -> list[Path]:
    """The shortest ways between two things, at most `limit` of them; none where all are longer than `longest` edges."""
    start, end = found(engine, from_given), found(engine, to_given)
    if start.id == end.id:
        return [Path((start,), ())]
    # The end with fewer edges is cheaper to go far from.
    near, far = sorted((start, end), key=lambda thing: _degree(engine, thing))
    # Short ways first: most are, and a look two edges far costs a tenth of one four edges far.
    for most in sorted({min(2, longest), longest}):
        joined: list[Path] = []
        for middle, ahead, back in _meetings(engine, near, far, most):
            joined += _joined(engine, near, far, middle, ahead, back, limit)
            if len(joined) >= limit:
                break
        if joined:
            return [path if path.things[0] == start else _turned(path) for path in joined[:limit]]
    return []


def _by_id(engine: Engine, id: str) -> list[Thing]:
    rows = (engine.run(f"MATCH (x:{kind} {{id: $id}}) RETURN {shown}", id=id) for kind, shown in _SHOWN.items())
    return _things(next(filter(None, rows), []))


def _things(rows: Iterable[Sequence[Any]]) -> list[Thing]:
    return [Thing(*row) for row in rows]


def _edge(relation: dict[str, Any], place: dict[str, Any], thing: Thing, other: Thing) -> Edge:
    ends = (thing.id, other.id) if relation["_src"] == place else (other.id, thing.id)
    return Edge(relation["_label"], *ends)


def _replaced(engine: Engine, fact: Thing, side: str, known: set[str], limit: int) -> list[Thing]:
    """By and by, nearest first; `known` grows."""
    chain = [fact]
    for one in chain:
        rows = engine.run(f"MATCH (c:Fact {{id: $id}}){side}(x:Fact) RETURN {_SHOWN[FACT]} LIMIT $most", id=one.id, most=limit)
        new = [other for other in _things(rows) if other.id not in known]
        known.update(other.id for other in new)
        chain += new[: limit + 1 - len(chain)]
    return chain[1:]


def _any(name: str) -> str:
    """What is shown of a node of any kind; what its kind lacks is null."""
    text = f"coalesce({name}.content, {name}.name, CASE WHEN {name}.title = '' THEN {name}.source ELSE {name}.title END)"
    return f"label({name}), {name}.id, {text}, coalesce({name}.state, '')"


def _degree(engine: Engine, thing: Thing) -> int:
    degree: int = engine.run(f"MATCH (c:{thing.kind} {{id: $id}})-[r]-() RETURN count(r)", id=thing.id)[0][0]
    return degree


def _meetings(engine: Engine, near: Thing, far: Thing, longest: int) -> list[tuple[Thing, int, int]]:
    """Things in the middle of the shortest ways, and how far each is from both ends."""
    half = (longest + 1) // 2
    ahead = _reached(engine, near, half)
    back = _reached(engine, far, longest // 2, [offset for _, offset in ahead])
    lengths = {place: ahead[place] + back[place] for place in ahead.keys() & back.keys()}
    if not lengths:
        return []
    shortest = min(lengths.values())
    # Of one way many places are reached from both ends; its middle is counted.
    middle = min(shortest, half)
    places = sorted(place for place, length in lengths.items() if (length, ahead[place]) == (shortest, middle))
    return [(thing, middle, shortest - middle) for thing in _at(engine, near, half, places)]


def _reached(engine: Engine, thing: Thing, hops: int, only: Sequence[int] = ()) -> dict[Place, int]:
    """How far everything is that lies within so many edges; where `only` offsets are asked for, those at least."""
    reached: dict[Place, int] = {}
    if hops:
        where = "WHERE offset(id(x)) IN $places " if 0 < len(only) <= _FILTERED_MAX else ""
        query = f"{_around(thing, hops)} {where}RETURN label(x), length(p), collect(offset(id(x)))"
        for kind, length, offsets in engine.run(query, id=thing.id, **({"places": only} if where else {})):
            reached.update(((kind, offset), length) for offset in offsets)
    offset = engine.run(f"MATCH (x:{thing.kind} {{id: $id}}) RETURN offset(id(x))", id=thing.id)[0][0]
    return reached | {(thing.kind, offset): 0}


def _at(engine: Engine, near: Thing, hops: int, places: Sequence[Place]) -> list[Thing]:
    """The first few of these things, which lie so near."""
    wanted = places[:_MIDDLES_MAX]
    query = f"{_around(near, hops)} WHERE offset(id(x)) IN $places RETURN offset(id(x)), {_any('x')}"
    rows = engine.run(query, id=near.id, places=[offset for _, offset in wanted])
    return [Thing(kind, *shown) for offset, kind, *shown in rows if (kind, offset) in wanted]


def _around(thing: Thing, hops: int) -> str:
    return f"MATCH p = (c:{thing.kind} {{id: $id}})-[* SHORTEST 1..{hops}]-(x)"


def _legs(engine: Engine, start: Thing, end: Thing, hops: int, limit: int) -> list[Path]:
    """Ways of exactly so many edges."""
    if not hops:
        return [Path((start,), ())]
    names = [f"n{number}" for number in range(1, hops)]
    chain = (
        "".join(f"-[r{number}]-({name})" for number, name in enumerate(names, 1)) + f"-[r{hops}]-(e:{end.kind} {{id: $other}})"
    )
    shown = "".join(f", id({name}), {_any(name)}" for name in names)
    relations = ", ".join(f"r{number}" for number in range(1, hops + 1))
    query = f"MATCH (c:{start.kind} {{id: $id}}){chain} RETURN {relations}, id(c){shown} LIMIT $most"
    rows = engine.run(query, id=start.id, other=end.id, most=limit)
    return [_leg(start, end, row[:hops], row[hops], row[hops + 1 :]) for row in rows]


def _leg(start: Thing, end: Thing, relations: Sequence[Any], place: Any, shown: Sequence[Any]) -> Path:
    between = [shown[number : number + 5] for number in range(0, len(shown), 5)]
    places = [place, *(part[0] for part in between)]
    things = (start, *(Thing(*part[1:]) for part in between), end)
    edges = (_edge(relation, *ends) for relation, *ends in zip(relations, places, things, things[1:], strict=False))
    return Path(things, tuple(edges))


def _joined(engine: Engine, near: Thing, far: Thing, middle: Thing, ahead: int, back: int, limit: int) -> list[Path]:
    firsts, seconds = _legs(engine, near, middle, ahead, limit), _legs(engine, middle, far, back, limit)
    return [Path(first.things + second.things[1:], first.edges + second.edges) for first in firsts for second in seconds]


def _turned(path: Path) -> Path:
    return Path(path.things[::-1], path.edges[::-1])

"""Writes what `resolve` found, as one transaction.

New rows go in by one UNWIND where there are several (37 µs a row instead of 137), edges by the node they leave. It checks
nothing: an error here is the database's, and leaves the engine unfit for use.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from hive_mind.model.fact import Relation
from hive_mind.store.kuzu.batch import Edge
from hive_mind.store.kuzu.engine import Engine
from hive_mind.store.kuzu.resolve import Resolved
from hive_mind.store.kuzu.rows import MEMORY_COLUMNS, META_COLUMNS, REVISED_COLUMNS, Row

_T = TypeVar("_T")

# Below this many rows, a prepared CREATE for each is faster than one UNWIND, which costs 0.75 ms to begin with.
UNWIND_MIN_ROWS = 6
# Larger ones gain nothing more.
UNWIND_MAX_ROWS = 256
# Edges that leave the same node share a statement: 210 µs for one, 137 µs each for four, hardly less beyond.
EDGES_PER_STATEMENT_MAX = 4

_REVISE = f"MATCH (m:Memory {{id: $id}}) SET {', '.join(f'm.{column} = ${column}' for column in REVISED_COLUMNS)}"


def commit(engine: Engine, resolved: Resolved) -> None:
    """All of it, durable on return, or nothing. Raises `EngineError`; then close the engine."""
    engine.transaction(lambda: _write(engine, resolved))


def _write(engine: Engine, resolved: Resolved) -> None:
    for model in resolved.dropped_models:
        engine.run("MATCH (m:Meta) WHERE m.model = $model DELETE m", {"model": model})
    # What may turn out to be there already comes first, before any row is changed.
    _create(engine, "Memory", MEMORY_COLUMNS, resolved.created)
    _create(engine, "Meta", META_COLUMNS, resolved.cached)
    for row in resolved.replaced:
        parameters = {"key": row["key"], "value": row["value"]}
        engine.run("MATCH (m:Meta {key: $key}) SET m.value = $value", parameters)
    for row in resolved.revised:
        engine.run(_REVISE, {"id": row["id"]} | {column: row[column] for column in REVISED_COLUMNS})
    _link(engine, resolved.edges)


def _create(engine: Engine, table: str, columns: Sequence[str], rows: list[Row]) -> None:
    if len(rows) < UNWIND_MIN_ROWS:
        one = f"CREATE (:{table} {{{', '.join(f'{column}: ${column}' for column in columns)}}})"
        for row in rows:
            engine.run(one, row)
        return
    many = f"UNWIND $rows AS r CREATE (:{table} {{{', '.join(f'{column}: r.{column}' for column in columns)}}})"
    for some in _chunks(rows, UNWIND_MAX_ROWS):
        engine.run(many, {"rows": some})


def _link(engine: Engine, edges: Iterable[Edge]) -> None:
    leaving: defaultdict[str, list[Edge]] = defaultdict(list)
    for edge in edges:
        leaving[edge.from_id].append(edge)
    for from_id, some in leaving.items():
        # Sorted, so that the same relations always are the same statement.
        for few in _chunks(sorted(some, key=lambda edge: edge.relation), EDGES_PER_STATEMENT_MAX):
            ends = {f"to{n}": edge.to_id for n, edge in enumerate(few)}
            engine.run(_link_query([edge.relation for edge in few]), {"from": from_id, **ends})


def _link_query(relations: Sequence[Relation]) -> str:
    # A relation is a label, which can't be a parameter: an enumeration, so it is one of ours.
    ends = " ".join(f"MATCH (b{n}:Memory {{id: $to{n}}})" for n in range(len(relations)))
    edges = ", ".join(f"(a)-[:{relation.value}]->(b{n})" for n, relation in enumerate(relations))
    return f"MATCH (a:Memory {{id: $from}}) {ends} CREATE {edges}"


def _chunks(rows: Sequence[_T], size: int) -> Iterator[list[_T]]:
    source = iter(rows)
    return iter(lambda: list(islice(source, size)), [])

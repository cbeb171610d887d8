"""What a batch means for this database: which rows are new, which exist, and whether all it names is there.

Everything is looked up before anything is written, because Kuzu 0.11 does not survive giving up: after a rollback of a SET
the same row reports conflicts for ever or crashes the process. So what is bad in a batch must be found here. Only reads.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from hive_mind.errors import InvalidInput
from hive_mind.store.kuzu.batch import Batch, Edge
from hive_mind.store.kuzu.engine import Engine
from hive_mind.store.kuzu.rows import Row
from hive_mind.store.kuzu.schema import FACT


@dataclass(frozen=True, slots=True)
class Resolved:
    """Exactly what to write."""

    dropped_models: Iterable[str]
    created: list[Row]
    revised: list[Row]
    cached: list[Row]
    """new rows of `Meta`"""
    replaced: list[Row]
    """rows of `Meta` that get another value"""
    edges: list[Edge]


class Resolver:
    """Resolves batches, remembering ids of episodes and entities so that the same ones are not looked up each time."""

    def __init__(self, known_ids_max: int) -> None:
        self._known_ids: set[str] = set()
        self._known_ids_max = known_ids_max

    def resolve(self, engine: Engine, batch: Batch, *, is_careful: bool) -> Resolved:
        """Facts and embeddings to add are taken to be new unless `is_careful`. Raises `InvalidInput`."""
        if is_careful:
            _refuse_existing(engine, batch.added)
        _refuse_missing_facts(engine, batch.revised)
        created = [*batch.added.values(), *self._absent(engine, batch.once)]
        self._refuse_missing_ends(engine, batch)
        looked_up = [*batch.named.values()] + ([*batch.vectors.values()] if is_careful else [])
        existing = {row["key"] for row in looked_up if _has_key(engine, row) and row["model"] not in batch.dropped_models}
        values = [*batch.vectors.values(), *batch.named.values()]
        new_ids = {row["id"] for row in created}
        return Resolved(
            dropped_models=batch.dropped_models,
            created=created,
            revised=[*batch.revised.values()],
            cached=[row for row in values if row["key"] not in existing],
            replaced=[row for row in values if row["key"] in existing],
            edges=[edge for edge in batch.edges if edge.from_id in new_ids or not _has_edge(engine, edge)],
        )

    def remember(self, ids: Iterable[str]) -> None:
        """These ids are in the database for good."""
        self._known_ids.update(ids)
        if len(self._known_ids) > self._known_ids_max:
            self._known_ids.clear()

    def _absent(self, engine: Engine, once: dict[str, Row]) -> list[Row]:
        unknown = (row for row in once.values() if row["id"] not in self._known_ids)
        return [row for row in unknown if _kind_of(engine, row["id"]) is None]

    def _refuse_missing_ends(self, engine: Engine, batch: Batch) -> None:
        ends = {end for edge in batch.edges for end in (edge.from_id, edge.to_id)}
        for end in ends - batch.added.keys() - batch.once.keys() - batch.revised.keys() - self._known_ids:
            if _kind_of(engine, end) is None:
                raise InvalidInput(f"{end!r} is not in the store; add both ends of a link before it or in the same write")


def _refuse_existing(engine: Engine, added: Iterable[str]) -> None:
    for fact_id in added:
        if _kind_of(engine, fact_id) is not None:
            raise InvalidInput(f"{fact_id!r} is in the store already; send ReviseFact to change it")


def _refuse_missing_facts(engine: Engine, revised: Iterable[str]) -> None:
    for fact_id in revised:
        if _kind_of(engine, fact_id) != FACT:
            raise InvalidInput(f"fact {fact_id!r} is not in the store; send AddFact first")


def _kind_of(engine: Engine, id: str) -> str | None:
    rows = engine.run("MATCH (m:Memory {id: $id}) RETURN m.kind", {"id": id})
    return rows[0][0] if rows else None


def _has_key(engine: Engine, row: Row) -> bool:
    return bool(engine.run("MATCH (m:Meta {key: $key}) RETURN m.key", {"key": row["key"]}))


def _has_edge(engine: Engine, edge: Edge) -> bool:
    query = f"MATCH (a:Memory {{id: $from}})-[:{edge.relation.value}]->(b:Memory {{id: $to}}) RETURN b.id"
    return bool(engine.run(query, {"from": edge.from_id, "to": edge.to_id}))

"""Reading a database: pages of facts and vectors, edges, and counts.

Each function is one or a few prepared queries and leaves nothing open. Pages are ranges of the order in which rows were added, so
that a reader needs no transaction while other writes go on.
"""

from collections.abc import Iterable, Mapping, Sequence

from hive_mind.model.content import Episode
from hive_mind.model.fact import Fact, Relation
from hive_mind.store.base import Link, Vector
from hive_mind.store.kuzu.engine import Engine, EngineError, Rows, is_out_of_pool
from hive_mind.store.kuzu.rows import (
    EPISODE_COLUMNS,
    FACT_COLUMNS,
    episode_of,
    fact_of,
    named_of,
    vector_of,
)
from hive_mind.store.kuzu.schema import ENTITY, EPISODE, FACT

Page = tuple[int, int]
"""Rows numbered above the first and up to the second."""


def _columns(names: Sequence[str]) -> str:
    return ", ".join(f"m.{name}" for name in names)


def last_seq(engine: Engine) -> int:
    """The highest number given to a row so far; 0 in an empty database."""
    found = [engine.run(f"MATCH (m:{table}) RETURN max(m.seq)")[0][0] for table in ("Memory", "Meta")]
    return max((number for number in found if number is not None), default=0)


def facts(engine: Engine, page: Page) -> list[Fact]:
    """The facts of a page, in order."""
    return [fact_of(row) for row in _rows_of(engine, FACT, FACT_COLUMNS, page)]


def all_episodes(engine: Engine, page: Page) -> list[Episode]:
    """The episodes of a page, in order."""
    return [episode_of(row) for row in _rows_of(engine, EPISODE, EPISODE_COLUMNS, page)]


def _rows_of(engine: Engine, kind: str, columns: Sequence[str], page: Page) -> Rows:
    return _page_of(engine, "Memory", "id", f"m.kind = '{kind}'", columns, {"after": page[0], "upto": page[1]})


def _page_of(
    engine: Engine, table: str, key: str, condition: str, columns: Sequence[str], parameters: Mapping[str, int | str]
) -> Rows:
    matching = f"MATCH (m:{table}) WHERE m.seq > $after AND m.seq <= $upto AND {condition} RETURN"
    try:
        return engine.run(f"{matching} {_columns(columns)} ORDER BY m.seq", parameters)
    except EngineError as error:
        if not is_out_of_pool(error):
            raise
    # Kuzu reads 2048 rows at a time, whatever the page; with long texts that is too much. One by one is slow and fits.
    keys = engine.run(f"{matching} m.{key} ORDER BY m.seq", parameters)
    lookup = f"MATCH (m:{table} {{{key}: $key}}) RETURN {_columns(columns)}"
    return [engine.run(lookup, {"key": row_key})[0] for (row_key,) in keys]


def links(engine: Engine, page: Page) -> list[Link]:
    """The edges that leave the rows of a page."""
    return [
        Link(relation, from_id, to_id)
        for relation in Relation
        for from_id, to_id in engine.run(
            f"MATCH (m:Memory)-[:{relation.value}]->(b:Memory) WHERE m.seq > $after AND m.seq <= $upto RETURN m.id, b.id",
            {"after": page[0], "upto": page[1]},
        )
    ]


def vectors(engine: Engine, model: str, page: Page) -> dict[str, Vector]:
    """The embeddings of a page."""
    parameters: dict[str, int | str] = {"after": page[0], "upto": page[1], "model": model}
    rows = _page_of(engine, "Meta", "key", "m.model = $model", ("key", "value"), parameters)
    return dict(vector_of(model, key, value) for key, value in rows)


def episodes(engine: Engine, ids: Iterable[str]) -> dict[str, Episode]:
    """The episodes that exist among `ids`: a lookup each, because Kuzu answers a list of ids by scanning the table."""
    query = f"MATCH (m:Memory {{id: $id}}) WHERE m.kind = '{EPISODE}' RETURN {_columns(EPISODE_COLUMNS)}"
    found = (engine.run(query, {"id": wanted}) for wanted in dict.fromkeys(ids))
    return {rows[0][0]: episode_of(rows[0]) for rows in found if rows}


def linked(engine: Engine, relation: Relation, id: str, *, backwards: bool) -> list[str]:
    """Ids at the other end of an id's edges."""
    # The relation is a label, which can't be a parameter: an enumeration, so it is one of ours.
    edge = f"<-[:{relation.value}]-" if backwards else f"-[:{relation.value}]->"
    rows = engine.run(f"MATCH (a:Memory {{id: $id}}){edge}(b:Memory) RETURN b.id", {"id": id})
    return [row[0] for row in rows]


def meta(engine: Engine) -> Mapping[str, str]:
    """All named values."""
    rows = engine.run("MATCH (m:Meta) WHERE m.model = '' RETURN m.key, m.value")
    return named_of(rows)


def counts(engine: Engine) -> dict[str, int]:
    """How many of each kind."""
    kinds = dict(engine.run("MATCH (m:Memory) RETURN m.kind, count(*)"))
    cached = engine.run("MATCH (m:Meta) WHERE m.model <> '' RETURN count(*)")[0][0]
    return {
        "facts": kinds.get(FACT, 0),
        "episodes": kinds.get(EPISODE, 0),
        "entities": kinds.get(ENTITY, 0),
        "vectors": cached,
    }

"""Records to make graphs of."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from hive_mind import backends
from hive_mind.model.content import Episode
from hive_mind.model.fact import Fact, Relation
from hive_mind.model.ids import entity_id, fact_id
from hive_mind.store import AddEntity, AddEpisode, AddFact, Change, FactStore, Link
from hive_mind.store.graph import Graph
from hive_mind.store.graph.questions import COLUMNS, Row, row_of
from hive_mind.store.sqlite.reading import RecordReader

MENTIONS, DERIVES, REPLACES = Relation.MENTIONS, Relation.DERIVES_FROM, Relation.SUPERSEDES


def a_fact(content: str, **fields: object) -> Fact:
    return Fact(
        **{"id": fact_id(content), "content": content, "concept": "", "confidence": 0.5, "sources": ("s",), "learned_at_us": 1}
        | fields
    )


def an_episode(id: str, text: str = "text", title: str = "") -> Episode:
    return Episode(id, text, f"{id}.md", "", 1, title=title)


def named(name: str) -> AddEntity:
    return AddEntity(entity_id(name), name)


def facts(*contents: str) -> list[Change]:
    return [AddFact(a_fact(content)) for content in contents]


def mentions(content: str, *names: str) -> list[Change]:
    """A fact and the entities it names."""
    return [*map(named, names), *(Link(MENTIONS, fact_id(content), entity_id(name)) for name in names)]


def pump() -> list[Change]:
    """Two facts of one episode: one names the pump, one the pump and Ines; the second replaces a third."""
    return [
        *facts("cools", "sealed", "old seal"),
        *mentions("cools", "Pump D4"),
        *mentions("sealed", "Pump D4", "Ines"),
        AddEpisode(an_episode("e1", title="Notes")),
        Link(DERIVES, fact_id("cools"), "e1"),
        Link(DERIVES, fact_id("sealed"), "e1"),
        Link(REPLACES, fact_id("sealed"), fact_id("old seal")),
    ]


async def written(folder: Path, changes: Iterable[Change]) -> Path:
    """The path of a closed record with these changes."""
    async with kept(folder) as store:
        await store.write(list(changes))
    return folder / "memory.sqlite"


@asynccontextmanager
async def kept(folder: Path) -> AsyncIterator[FactStore]:
    store: FactStore = await backends.load("store", "sqlite").open(folder / "memory.sqlite")
    try:
        yield store
    finally:
        await store.close()


async def content_of(graph: Graph) -> tuple[dict[str, Row], set[tuple[str, str, str]]]:
    """Everything a graph holds: rows by id, and edges."""
    rows: dict[str, Row] = {}
    for kind, columns in COLUMNS.items():
        found = await graph.query(f"MATCH (x:{kind}) RETURN {', '.join(f'x.`{name}`' for name in columns)}", limit=100_000)
        assert not found.cut
        rows |= {row[0]: dict(zip(columns, row, strict=True)) for row in found.rows}
    edges = await graph.query("MATCH (a)-[r]->(b) RETURN label(r), a.id, b.id", limit=100_000)
    assert len(set(edges.rows)) == len(edges.rows)
    return rows, {tuple(row) for row in edges.rows}


def content_of_record(path: Path) -> tuple[dict[str, Row], set[tuple[str, str, str]]]:
    """The same, read from the record."""
    with RecordReader(path) as reader:
        rows = {node.id: row_of(node.id, node.value) for node in reader.nodes_since(0)}
        return rows, {(edge.relation.value, edge.from_id, edge.to_id) for edge in reader.edges_since(0)}

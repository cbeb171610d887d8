"""A graph holds what its record holds, whatever that is, and is made again where that has changed."""

import asyncio
import logging
import sqlite3
from dataclasses import replace

import numpy as np
import pytest

from hive_mind.model.fact import Relation, Sharing
from hive_mind.model.ids import entity_id, fact_id
from hive_mind.store import AddEntity, AddEpisode, AddFact, Erase, Link, PutVector, ReviseFact
from hive_mind.store.graph import Graph
from hive_mind.store.sqlite import backup, restore
from tests.unit.store.graph_builders import (
    a_fact,
    an_episode,
    content_of,
    content_of_record,
    facts,
    kept,
    mentions,
    named,
    pump,
    written,
)

HOSTILE = (
    *("", " ", "'", '"', "`", "\\", "\\n", "\n", "\r\n", "\t", ",", "[a,b]", '{"a":1}', "NULL", "null", "true", "1.0", "007"),
    *(
        *("\x00", "a\x00b", "\x1a\x7f\x01", "\u2028", "\u202e", "\ufeff", "\ufffe", "é", "e\u0301", "עברית"),
        *("😀", "\\u0000", r"\x00", "$id"),
    ),
    *("'; DROP TABLE Fact; //", "/*", "*/", "2020-01-01", "00000000-0000-0000-0000-000000000001", "x" * 100_000),
)


@pytest.fixture
def notices(caplog):
    caplog.set_level(logging.INFO, "hive_mind.store.graph")
    return lambda: [record.getMessage() for record in caplog.records if "making the graph" in record.getMessage()]


async def test_every_text_comes_through_a_bulk_copy_and_a_single_row_unchanged(tmp_path):
    def things(prefix):
        for text in HOSTILE:
            fact = a_fact(prefix + text, id=f"f{prefix}{text}", concept=text, sources=(text, "s"), entities=(text,))
            yield from (
                AddFact(fact),
                AddEpisode(an_episode(f"e{prefix}{text}", text, text)),
                AddEntity(f"n{prefix}{text}", text),
            )
            yield Link(Relation.DERIVES_FROM, fact.id, f"e{prefix}{text}")
            yield Link(Relation.MENTIONS, fact.id, f"n{prefix}{text}")

    async with kept(tmp_path) as store, Graph(tmp_path / "memory.sqlite") as graph:
        await store.write(list(things("copied ")))
        assert await content_of(graph) == content_of_record(tmp_path / "memory.sqlite")
        await store.write(list(things("created ")))
        assert await content_of(graph) == content_of_record(tmp_path / "memory.sqlite")


async def test_an_episode_larger_than_a_bulk_copy_takes_is_kept_whole(tmp_path):
    # As JSON, 40 MB: more than Kuzu's reader takes.
    text = "é\x01" * (5 << 20)
    async with Graph(await written(tmp_path, [AddEpisode(an_episode("large", text)), *facts("a")])) as graph:
        assert (await graph.query("MATCH (e:Episode) RETURN size(e.text)")).rows == ((len(text),),)


async def test_an_empty_record_has_an_empty_graph_and_any_kind_may_be_linked_to_any_kind(tmp_path):
    things = {"Fact": fact_id("a"), "Episode": "e1", "Entity": entity_id("n")}
    made = [*facts("a"), AddEpisode(an_episode("e1")), named("n")]
    links = [Link(relation, start, end) for relation in Relation for start in things.values() for end in things.values()]

    async with kept(tmp_path) as store, Graph(tmp_path / "memory.sqlite") as graph:
        assert await content_of(graph) == ({}, set())
        await store.write([*made, *links[:20]])
        assert await content_of(graph) == content_of_record(tmp_path / "memory.sqlite")
        await store.write(links[20:])
        assert await content_of(graph) == content_of_record(tmp_path / "memory.sqlite")
    assert len(links) == 36


async def test_whatever_changes_in_its_record_the_graph_follows_and_what_is_no_part_of_it_changes_nothing(tmp_path, notices):
    new = a_fact("new")
    steps = [
        [AddFact(new)],
        [ReviseFact(replace(new, confidence=0.9, sharing=Sharing.PRIVATE))],
        [Link(Relation.SUPERSEDES, new.id, fact_id("cools"))],
        mentions("new", "Ada"),
        [Erase((new.id,))],
    ]

    async with kept(tmp_path) as store, Graph(tmp_path / "memory.sqlite") as graph:
        await store.write(pump())
        await graph.query("RETURN 1")
        before = (tmp_path / "graph.kuzu").stat().st_mtime_ns
        await store.write([PutVector("m", "k", np.ones(4, np.float32))])
        await graph.query("RETURN 1")
        assert (tmp_path / "graph.kuzu").stat().st_mtime_ns == before
        for step in steps:
            await store.write(step)
            assert await content_of(graph) == content_of_record(tmp_path / "memory.sqlite")
            await graph.query("RETURN 1")
    assert len(notices()) == 1 + len(steps), "once for each change"


def test_a_record_that_was_set_back_and_written_to_again_has_its_own_graph(tmp_path):
    record, copy = tmp_path / "memory.sqlite", tmp_path / "copy"

    async def grown(fact):
        async with kept(tmp_path) as store, Graph(record) as graph:
            await store.write(facts(fact))
            assert await content_of(graph) == content_of_record(record)

    asyncio.run(written(tmp_path, pump()))
    backup(record, copy)
    asyncio.run(grown("first"))
    restore(copy, record)
    asyncio.run(grown("other"))


def test_a_damaged_row_of_the_record_is_missing_with_its_edges_and_all_else_is_there(tmp_path, notices):
    record = asyncio.run(written(tmp_path, [*pump(), *facts("flipped"), *mentions("flipped", "Pump D4")]))
    connection = sqlite3.connect(record)
    connection.execute(
        "UPDATE node SET body = CAST(replace(CAST(body AS TEXT), 'flipped', 'flapped') AS BLOB) WHERE id = ?",
        (fact_id("flipped"),),
    )
    connection.commit()
    connection.close()

    async def run():
        async with Graph(record) as graph:
            rows, edges = await content_of(graph)
            assert fact_id("flipped") not in rows
            assert len(rows) == len(content_of_record(record)[0])
            assert edges == {edge for edge in content_of_record(record)[1] if fact_id("flipped") not in edge}
        async with kept(tmp_path) as store, Graph(record) as graph:
            await store.write([AddFact(a_fact("flipped"))])
            assert await content_of(graph) == content_of_record(record)

    asyncio.run(run())
    assert len(notices()) == 2, "what was mended is taken in with its edges"

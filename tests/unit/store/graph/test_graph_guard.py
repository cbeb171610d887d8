"""Hostile queries: none writes, none touches a file or a setting of the machine, none lasts or grows without bound."""

import asyncio
import json
import subprocess
import sys

import pytest

from hive_mind.errors import BackendError, HiveError, InvalidInput
from hive_mind.store import graph as graph_module
from hive_mind.store.graph import Graph
from hive_mind.store.graph.server import checked
from tests.loops import about
from tests.unit.store.graph_builders import content_of, content_of_record, pump, written

WRITES = (
    *(
        "CREATE (:Entity {id: 'x'})",
        "MERGE (:Entity {id: 'x'})",
        "MATCH (e:Entity) SET e.name = 'x'",
        "MATCH (e) DETACH DELETE e",
    ),
    *("CREATE NODE TABLE T(id STRING PRIMARY KEY)", "DROP TABLE MENTIONS", "ALTER TABLE Entity ADD n INT64", "CHECKPOINT"),
    *("COMMENT ON TABLE Entity IS 'x'", "CREATE MACRO m(x) AS x", "BEGIN TRANSACTION", "COPY Entity FROM 'secret.json'"),
)
FILES = (
    *(
        "COPY (MATCH (e:Entity) RETURN e.name) TO 'out/a.csv'",
        "COPY (RETURN 1) TO 'out/a.json'",
        "COPY (RETURN 1) TO 'out/a.parquet'",
    ),
    *(
        "LOAD FROM 'secret.csv' RETURN *",
        "LOAD FROM 'secret.json' RETURN *",
        "LOAD FROM '/etc/passwd' (file_format='csv') RETURN *",
    ),
    *("UNWIND [1] AS x LOAD FROM 'secret.csv' RETURN *", "MATCH (e:Entity) WITH e LOAD FROM 'secret.csv' RETURN *"),
    *("PROFILE LOAD FROM 'secret.csv' RETURN *", "PROFILE COPY (RETURN 1) TO 'out/b.csv'", "LOAD FROM rows RETURN *"),
    *("EXPORT DATABASE 'out/all'", "EXPORT DATABASE 'out/csv' (format='csv')", "IMPORT DATABASE 'out/all'"),
    *(
        "ATTACH 'graph.kuzu' AS other (dbtype kuzu)",
        "INSTALL httpfs",
        "LOAD EXTENSION 'secret.csv'",
        "LOAD httpfs",
        "UNINSTALL json",
    ),
)
SETTINGS = (
    *("CALL threads=1", "CALL home_directory='out'", "CALL timeout=0", "CALL progress_bar=true", "CALL auto_checkpoint=true"),
    *("CALL current_setting('home_directory') RETURN *", "CALL READ_CSV_SERIAL('secret.csv') RETURN *", "USE other"),
    "CALL PROJECT_GRAPH('G', ['Entity'], ['MENTIONS'])",
)
HIDDEN = (
    *(
        "RETURN 1; COPY (RETURN 1) TO 'out/c.csv'",
        "return 1 union load from 'secret.csv' return *",
        "RETURN 1//\nUNION LOAD FROM 'x' RETURN 1",
    ),
    *(
        "RETURN 'it\\'s' UNION LOAD FROM 'x' RETURN 1",
        'RETURN "\\"" UNION LOAD FROM "x" RETURN 1',
        "RETURN `a` UNION LOAD FROM 'x' RETURN 1",
    ),
    *(
        "RETURN 1 //x\rUNION LOAD FROM 'x' RETURN 1",
        "RETURN 1\u00a0UNION\u2003LOAD\u2028FROM 'x' RETURN 1",
        "RETURN/**/1 UNION LOAD/**/FROM 'x' RETURN 1",
    ),
    *(
        "RETURN 1 /* */ UNION LOAD FROM 'x' RETURN 1 /* */",
        "RETURN éLOAD",
        "RETURN ²LOAD FROM 'x' RETURN 1",
        "CALL/**/threads=1",
        "EXPLAIN COPY (RETURN 1) TO 'x'",
    ),
    *(
        "",
        ";",
        "RETURN 1; RETURN 2",
        "  // nothing",
        "LOAD",
        "RETURN " + "(" * 5000 + "1" + ")" * 5000,
        "RETURN " + "[" * 3000,
        "RETURN 1" + " " * 30_000,
    ),
)


@pytest.mark.parametrize("query", [*WRITES, *FILES, *SETTINGS, *HIDDEN], ids=lambda query: query[:40])
def test_what_does_more_than_read_is_refused_before_kuzu_sees_it(query):
    with pytest.raises(InvalidInput):
        checked(query, 10)


@pytest.mark.parametrize(
    "query",
    [
        "MATCH (f:Fact) RETURN f.content LIMIT 3",
        "OPTIONAL MATCH (f:Fact {id: 'copy'}) WHERE f.content CONTAINS 'LOAD FROM \\'x\\' SET' RETURN f.`set`",
        "UNWIND [1, 2] AS x WITH x RETURN x // create nothing",
        "/* set */ match (a)-[r*1..2]-(b) where exists { match (a) } return count { match (a)-[]-(b) }",
        "CALL show_tables() RETURN name;",
        'RETURN "a \\" COPY b"',
    ],
)
def test_what_only_reads_is_let_through(query):
    assert checked(query, 10).startswith(query.rstrip(";"))


@pytest.mark.parametrize(
    ("query", "limited"),
    [
        ("MATCH (f) RETURN f", "MATCH (f) RETURN f\nLIMIT 11"),
        ("MATCH (f) RETURN f ORDER BY f.id // all;", "MATCH (f) RETURN f ORDER BY f.id // all\nLIMIT 11"),
        ("MATCH (f) WITH f LIMIT 3 RETURN f", "MATCH (f) WITH f LIMIT 3 RETURN f\nLIMIT 11"),
        ("MATCH (f) RETURN f LIMIT 1000", "MATCH (f) RETURN f LIMIT 1000"),
        ("RETURN 1 UNION RETURN 2", "RETURN 1 UNION RETURN 2"),
    ],
)
def test_a_query_without_a_limit_gets_one(query, limited):
    assert checked(query, 10) == limited


ATTACK = """
import json, sys
from pathlib import Path
from hive_mind.store.graph.server import Engine
from hive_mind.store.graph.server import confined

engine = Engine(Path("graph.kuzu"), 256 << 20, read_only=True)
told = {}
for query in json.load(sys.stdin):
    try:
        with confined():
            told[query] = engine.run_foreign(query, 5, lambda result: repr(result.get_all()))
    except Exception as error:
        told[query] = "refused: " + repr(error)
json.dump(told, sys.stdout)
"""


def test_past_the_words_the_system_itself_lets_no_query_read_or_write_a_file(tmp_path):
    """The same queries without the first wall: what the second and the third one hold."""
    asyncio.run(answered(asyncio.run(written(tmp_path, pump()))))
    (tmp_path / "out").mkdir()
    (tmp_path / "secret.csv").write_text("name\nthe secret\n")
    (tmp_path / "secret.json").write_text('[{"id": "the secret", "name": "the secret"}]')
    graph = (tmp_path / "graph.kuzu").read_bytes()
    attacks = [*WRITES, *FILES]

    command = [sys.executable, "-c", ATTACK]
    ended = subprocess.run(
        command, input=json.dumps(attacks).encode(), cwd=tmp_path, capture_output=True, check=True, timeout=100
    )

    told = json.loads(ended.stdout)
    assert {query: said for query, said in told.items() if not said.startswith("refused")} == {"BEGIN TRANSACTION": "[]"}
    assert "the secret" not in ended.stdout.decode().replace(json.dumps(attacks), "")
    assert [path for path in (tmp_path / "out").rglob("*") if path.is_file()] == []
    assert (tmp_path / "graph.kuzu").read_bytes() == graph


async def answered(record):
    async with Graph(record) as graph:
        return await graph.query("RETURN 1")


UNWELL = {
    "UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b RETURN max(a * b % 7)": "took too long|inside the deadline",
    "RETURN levenshtein(repeat('a', 200000), repeat('b', 200000))": "inside the deadline",
    "RETURN size(repeat('x', 3000000000))": "more memory",
    "RETURN size(range(1, 1000000000))": "more memory",
    "UNWIND range(1, 100000) AS x RETURN collect(repeat('x', 100000))": "more memory",
    "MATCH (f:Fact) RETURN f.wrong": "Cannot find property wrong",
    "MATCH (f:Fact RETURN f": "Parser exception",
}


async def test_a_query_that_can_not_end_well_ends_with_a_sentence_and_the_next_one_is_answered(tmp_path):
    async with Graph(await written(tmp_path, pump())) as graph:
        for query, said in UNWELL.items():
            await graph.query("RETURN 1")
            with about(query), pytest.raises(HiveError, match=said):
                async with asyncio.timeout(60):
                    await graph.query(query, timeout_s=1)
            assert await content_of(graph) == content_of_record(tmp_path / "memory.sqlite"), query


async def test_a_million_rows_and_a_hundred_large_ones_are_cut_and_it_is_said(tmp_path):
    async with Graph(await written(tmp_path, pump())) as graph:
        many = await graph.query("UNWIND range(1, 1000000) AS x RETURN x", limit=500, timeout_s=30)
        more = await graph.query("UNWIND range(1, 3000) AS x RETURN x UNION ALL RETURN 0 AS x", limit=500)
        large = await graph.query("UNWIND range(1, 100) AS x RETURN repeat('x', 1000000)", limit=500)
    assert (len(many.rows), len(more.rows)) == (500, 500)
    assert many.cut == more.cut == "cut after 500 rows: ask for less, or with a higher limit"
    assert len(large.rows) == 8
    assert large.cut.startswith("cut after 8 rows, which are")


async def test_a_query_that_ends_the_process_is_told_so_and_the_next_one_is_answered(tmp_path, monkeypatch):
    # As Kuzu's parser does where its stack overflows, but at once.
    refused = "lambda query, _: 'fatal' in query and os.abort() or query"
    fatal = f"import os; from hive_mind.store.graph import server; server.checked = {refused}; "
    monkeypatch.setattr(graph_module, "_CHILD", fatal + graph_module._CHILD)

    async with Graph(await written(tmp_path, pump())) as graph:
        await graph.query("RETURN 1")
        with pytest.raises(BackendError, match="this query ended the graph's process"):
            await graph.query("RETURN 'fatal'", timeout_s=60)
        assert (await graph.query("RETURN 1")).rows == ((1,),)


async def test_values_of_every_type_come_back_as_something_to_print(tmp_path):
    query = (
        "RETURN date('2020-01-01'), timestamp('2020-01-01'), interval('1 day'), "
        "to_int128(170141183460469231731687303715884105727), "
        "map(['a'], [2]), {a: [1, NULL]}, blob('\\\\xAA'), 1.5, NULL, CAST(1.5 AS DECIMAL(10, 2)), true"
    )

    async with Graph(await written(tmp_path, pump())) as graph:
        assert (await graph.query(query)).rows == (
            (
                *("2020-01-01", "2020-01-01 00:00:00", "1 day, 0:00:00", "170141183460469231731687303715884105727"),
                *({"a": 2}, {"a": [1, None]}, "aa", 1.5, None, "1.50", True),
            ),
        )

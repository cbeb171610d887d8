"""Whatever happens to a graph's file: it is made again from the record, is right, and one line says so."""

import asyncio
import logging
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from hive_mind.store.graph import Graph
from hive_mind.store.graph.pipe import GraphLocation, Seal, closed
from tests.chance import seed_of_this_run
from tests.unit.store.graph_builders import content_of, content_of_record, facts, kept, pump, written


@pytest.fixture
def notices(caplog):
    caplog.set_level(logging.INFO, "hive_mind.store.graph")

    def said():
        lines = [record.getMessage() for record in caplog.records]
        caplog.clear()
        return lines

    return said


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    path = asyncio.run(written(tmp_path_factory.mktemp("made"), pump()))
    assert_right(path)
    return path


@pytest.fixture
def record(made, tmp_path):
    """A closed record with its graph."""
    shutil.copytree(made.parent, tmp_path / "agent")
    return tmp_path / "agent" / made.name


def why_not(record, seal=None):
    """Why the graph may not be opened."""
    seal = seal or msgspec.json.decode(record.with_name("graph.json").read_bytes(), type=Seal)
    return GraphLocation(record.parent).distrust(seal.record, seal.fingerprint, seal.kuzu)


def assert_right(record):
    async def run():
        async with Graph(record) as graph:
            assert await content_of(graph) == content_of_record(record)

    asyncio.run(run())


def graph_of(record: Path) -> Path:
    return record.with_name("graph.kuzu")


def test_a_graph_that_is_as_it_was_left_is_opened_without_a_word(record, notices):
    notices()
    assert_right(record)
    assert notices() == []


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda graph: graph.unlink(), "there is none yet"),
        (lambda graph: graph.write_bytes(graph.read_bytes()[: graph.stat().st_size // 2]), "the file is damaged"),
        (lambda graph: graph.with_name("graph.json").unlink(), "its seal is missing or unreadable"),
        (
            lambda graph: graph.with_name("graph.kuzu.wal").write_bytes(b"what a killed writer left"),
            "somebody else has opened it",
        ),
        (
            lambda graph: graph.with_name("graph.kuzu.shadow").write_bytes(b"of a killed checkpoint"),
            "somebody else has opened it",
        ),
        (lambda graph: resealed(graph, kuzu="0.12.0"), "it was made by another version"),
        (lambda graph: resealed(graph, fingerprint="[]"), "the record has changed"),
    ],
)
def test_a_graph_that_is_not_as_it_was_left_is_made_anew_and_one_line_says_why(record, notices, damage, reason):
    notices()
    damage(graph_of(record))

    assert_right(record)

    (line,) = notices()
    assert line.startswith(f"making the graph of {record}: {reason}")
    assert sorted(path.name for path in record.parent.glob("graph.*")) == [
        "graph.json",
        "graph.kuzu",
        "graph.kuzu.lock",
        "graph.txt",
    ]


def resealed(graph, **fields):
    """As another version would have sealed it, or at another time."""
    file = graph.with_name("graph.json")
    seal = msgspec.json.decode(file.read_bytes(), type=Seal)
    file.write_bytes(msgspec.json.encode(closed(msgspec.structs.replace(seal, **fields))))


def test_a_flipped_bit_in_any_of_a_hundred_places_is_seen_before_the_file_is_opened(record):
    seed = seed_of_this_run()
    rng = random.Random(seed)
    whole = graph_of(record).read_bytes()
    assert why_not(record) == ""
    for _ in range(100):
        body = bytearray(whole)
        place = rng.randrange(len(body))
        body[place] ^= 1 << rng.randrange(8)
        graph_of(record).write_bytes(body)

        assert why_not(record) == "the file is damaged", (seed, place)


def test_any_flipped_bit_of_the_seal_is_seen(record):
    seal = record.with_name("graph.json")
    whole = seal.read_bytes()
    # Of each byte another one.
    for place in range(len(whole)):
        body = bytearray(whole)
        body[place] ^= 1 << place % 8
        seal.write_bytes(body)

        assert why_not(record, msgspec.json.decode(whole, type=Seal)), body


def test_a_file_that_kuzu_itself_has_changed_is_not_trusted(record, notices):
    notices()
    change = (
        "import kuzu, sys; kuzu.Connection(kuzu.Database(sys.argv[1])).execute(\"CREATE (:Entity {id: 'x', name: 'forged'})\")"
    )
    subprocess.run([sys.executable, "-c", change, graph_of(record)], check=True, timeout=100)

    assert_right(record)
    assert len(notices()) == 1


# At each of its steps it is killed in `tests/crash/test_graph_damage.py`, where nobody waits for an answer.
def test_killed_while_it_is_made_a_graph_is_made_again_and_answers(tmp_path):
    """The process is killed when this many of its files have been seen on the disk."""
    files = 4

    async def run():
        async with kept(tmp_path) as store:
            await store.write([*pump(), *facts(*(f"fact {n}" for n in range(3000)))])
            graph = Graph(tmp_path / "memory.sqlite")
            asking = asyncio.create_task(graph.query("MATCH (e:Entity) RETURN e.name ORDER BY e.name"))
            seen = set()
            while len(seen) < files and not asking.done():
                seen |= {path.name for path in (*tmp_path.glob("graph.*"), *tmp_path.glob("graph.kuzu.new/*"))}
                await asyncio.sleep(0)
            if graph._child and graph._child.process.returncode is None:
                graph._child.process.send_signal(signal.SIGKILL)
            assert (await asking).rows == (("Ines",), ("Pump D4",))
            await graph.close()

    asyncio.run(run())
    assert_right(tmp_path / "memory.sqlite")

"""A graph's file is damaged, replaced, or left half made: the memory answers at once, and the graph is right again, and says so.

What its seal alone can tell is in `tests/unit/store/graph/test_graph_seal.py`; here the graph is asked, in its own process, and
is also damaged under the process that has it open.
"""

import asyncio
import logging
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import pytest

from hive_mind import BackendError, CognitiveMemory
from hive_mind.embed.none import NoEmbedder
from hive_mind.store import graph, sqlite
from hive_mind.store.graph import Graph, pipe
from tests.chance import seed_of_this_run
from tests.sampled import thorough
from tests.servers.children import Child
from tests.unit.store.graph_builders import content_of, content_of_record, facts, kept, mentions, pump, written

MEGABYTE = 1 << 20
# `make chaos-store` flips more.
FLIPS = int(os.environ.get("HIVE_FLIPS", "2"))
FACTS = [f"Pump {number} ran {number % 7} hours." for number in range(2000)]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A record with its graph."""
    changes = [*pump(), *facts(*FACTS), *(change for one in FACTS[::40] for change in mentions(one, "Pump D4"))]
    record = asyncio.run(written(tmp_path_factory.mktemp("made"), changes))
    asyncio.run(right(record))
    return record


@pytest.fixture
def record(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made.parent, tmp_path / "agent")
    return tmp_path / "agent" / made.name


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """What was said of graphs since the last time."""
    caplog.set_level(logging.INFO, "hive_mind.store.graph")

    def said() -> list[str]:
        found = [record.getMessage() for record in caplog.records]
        caplog.clear()
        return found

    return said


async def right(record: Path) -> None:
    async with Graph(record) as graph:
        assert await content_of(graph) == content_of_record(record)


async def texts(graph: Graph) -> set[str]:
    """Of the pump's facts, as Kuzu has them."""
    found = await graph.query("MATCH (f:Fact) WHERE f.content STARTS WITH 'Pump 4000' OR f.content = 'cools' RETURN f.content")
    return {str(row[0]) for row in found.rows}


def graph_of(record: Path) -> Path:
    return record.with_name("graph.kuzu")


def flipped(path: Path, rng: random.Random) -> int:
    """Where one bit of a file was flipped, in its place."""
    with path.open("r+b") as file:
        place = rng.randrange(path.stat().st_size)
        file.seek(place)
        byte = file.read(1)[0]
        file.seek(place)
        file.write(bytes([byte ^ 1 << rng.randrange(8)]))
        return place


def truncated(path: Path, rng: random.Random) -> int:
    size = rng.randrange(path.stat().st_size)
    os.truncate(path, size)
    return size


def deleted(path: Path, _: random.Random) -> int:
    path.unlink()
    return 0


def zeroed(path: Path, rng: random.Random) -> int:
    """As an ill-fated block of a disk."""
    place = rng.randrange(path.stat().st_size // 4096) * 4096
    with path.open("r+b") as file:
        file.seek(place)
        file.write(rng.randbytes(4096))
    return place


async def test_damaged_under_the_process_that_has_it_open_it_is_right_at_the_next_question(
    record: Path, lines: Callable[[], list[str]]
) -> None:
    seed = seed_of_this_run()
    rng = random.Random(seed)
    truth = content_of_record(record)
    async with Graph(record) as graph:
        assert await content_of(graph) == truth
        for damage in (*[flipped] * FLIPS, truncated, zeroed, deleted):
            lines()
            place = damage(graph_of(record), rng)
            assert await content_of(graph) == truth, (seed, damage, place)
            assert len(lines()) == 1, (seed, damage, place)


async def test_another_agents_graph_put_in_its_place_is_never_shown_even_where_it_was_open(
    record: Path, lines: Callable[[], list[str]], tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    other = await written(tmp_path / "other", [*facts("theirs"), *mentions("theirs", "Ada")])
    (await right(other))
    async with Graph(record) as graph:
        await graph.query("RETURN 1")
        lines()
        for name in ("graph.kuzu", "graph.json"):
            # In its place: whoever has the file open has the other's now.
            shutil.copyfile(other.with_name(name), record.with_name(name))
        assert await content_of(graph) == content_of_record(record)
    (line,) = lines()
    assert line.endswith("it was made of another record")


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "something").write_bytes(b"")


def a_broken_link(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.with_name("nowhere"))


def in_the_way_of_the_next(path: Path) -> None:
    path.unlink()
    path.with_name("graph.kuzu.new").write_bytes(b"no folder")


@pytest.mark.parametrize(
    ("replaced", "name"),
    [(a_folder, "graph.kuzu"), (a_broken_link, "graph.kuzu"), (a_folder, "graph.json"), (in_the_way_of_the_next, "graph.json")],
)
def test_whatever_lies_in_its_place_it_is_made_again(
    record: Path, lines: Callable[[], list[str]], replaced: Callable[[Path], None], name: str
) -> None:
    replaced(record.with_name(name))
    asyncio.run(right(record))
    assert len(lines()) == 1


async def test_while_a_damaged_graph_is_made_again_the_memory_answers_and_learns(record: Path) -> None:
    flipped(graph_of(record), random.Random(seed_of_this_run()))
    async with memory_of(record) as memory, Graph(record) as graph:
        asking = asyncio.create_task(texts(graph))
        begun = perf_counter()
        found = await memory.search_facts("Pump 17 ran", 1)
        told = await memory.store_fact("pump", "Pump 4000 was sold.")
        took_s = perf_counter() - begun
        assert (found[0].fact.content, asking.done()) == (FACTS[17], False), "the memory waited for its graph"
        assert took_s < 10
        assert "cools" in await asking
        assert (await graph.neighbourhood(told.id)).centre.text == "Pump 4000 was sold."
        assert await texts(graph) == {"cools", "Pump 4000 was sold."}


def memory_of(record: Path) -> CognitiveMemory:
    return CognitiveMemory(lambda: sqlite.open(record), NoEmbedder())


def room_of(folder: Path) -> int:
    return shutil.disk_usage(folder).free


async def test_on_a_full_disk_it_says_so_takes_no_room_from_the_memory_and_comes_when_there_is_some(small_disk: Path) -> None:
    record = await written(small_disk, [*pump(), *facts(*FACTS[:500])])
    before = room_of(small_disk)
    async with memory_of(record) as memory, Graph(record) as graph:
        for _ in range(2):
            with pytest.raises(BackendError, match="the memory itself is not touched: its disk has 3 MB of room left"):
                await texts(graph)
            assert (await graph.neighbourhood("Ines")).centre.text == "Ines", "questions need no room"
            assert before - room_of(small_disk) < MEGABYTE
            await memory.store_fact("pump", f"Pump 4000 was sold with {room_of(small_disk)} bytes left.")
        resized(small_disk, "size=64m")
        assert "cools" in await texts(graph)
    await right(record)


def test_on_a_read_only_disk_it_is_asked_beside_it(small_disk: Path) -> None:
    resized(small_disk, "size=64m")
    record = asyncio.run(written(small_disk, pump()))
    asyncio.run(right(record))
    resized(small_disk, "ro")

    asyncio.run(right(record))

    resized(small_disk, "rw")
    asyncio.run(right(record))


def resized(disk: Path, how: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{how}", disk], check=True, timeout=100)


# Python tells of each of these before it does it. What Kuzu itself is killed at lies in a workshop that nobody opens again.
_SUICIDE = """
import os, signal, sys
left, steps = int(sys.argv.pop()), {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "open"}
def step(event, given):
    global left
    if event in steps and "graph" in str(given[0]) and given[1:2] != ("r",):
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(step)
"""


@pytest.mark.parametrize(("first", "every"), [(1, 12), thorough(0, 1)])
def test_killed_before_each_of_its_steps_it_is_right_again(tmp_path: Path, first: int, every: int) -> None:
    record, step, is_whole = asyncio.run(written(tmp_path, pump())), first, False
    while not is_whole:
        step += every
        asyncio.run(added(record, step))
        is_whole = survives(record, step)
        asyncio.run(right(record))
    assert step > 8


def survives(record: Path, step: int) -> bool:
    """Whether the graph's own process answered a query before it came to so many steps, where it is killed."""
    command = [sys.executable, "-P", "-c", _SUICIDE + graph._CHILD, str(record), "0.01", str(record.parent), str(step)]
    with Child(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        assert process.stdin is not None
        process.stdin.write(pipe.framed(({"cypher": "RETURN 1", "limit": 10, "timeout_s": 10.0}, "")))
        process.stdin.flush()
        assert process.wait(60) in (0, -signal.SIGKILL)
        return process.returncode == 0


async def added(record: Path, number: int) -> None:
    async with kept(record.parent) as store:
        await store.write(facts(*(f"New {number}.{one}" for one in range(40))))

"""The graph's own process: it comes when asked, goes when idle, and its end harms nobody."""

import asyncio
import logging
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from hive_mind.errors import BackendError, BackendUnavailable, InvalidInput
from hive_mind.model.ids import fact_id
from hive_mind.store import graph
from hive_mind.store.graph import Graph
from tests.servers.children import Child
from tests.unit.store.graph_builders import content_of, content_of_record, facts, kept, pump, written

ROOT = str(Path(__file__).parents[4])
ENDLESS = "UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b RETURN max(a * b % 7)"


@pytest.fixture
def record(tmp_path):
    return asyncio.run(written(tmp_path, pump()))


async def test_it_starts_at_the_first_question_again_where_it_was_killed_and_ends_with_the_graph(record):
    graph = Graph(record)
    assert graph._child is None
    await graph.query("RETURN 1")
    modes = {path.name: oct(path.stat().st_mode & 0o777) for path in record.parent.glob("graph.*")}
    assert modes == dict.fromkeys(("graph.json", "graph.kuzu", "graph.kuzu.lock", "graph.txt"), "0o600"), "others may read it"

    graph._child.process.kill()
    assert (await graph.query("RETURN 2")).rows == ((2,),)
    child = psutil.Process(graph._child.process.pid)
    await graph.close()
    await graph.close()
    assert not child.is_running()


async def test_idle_it_ends_by_itself_and_the_next_question_starts_another(record, caplog):
    caplog.set_level(logging.INFO, "hive_mind.store.graph")

    async with Graph(record, idle_s=0.1) as graph:
        await graph.query("RETURN 1")
        first = graph._child.process
        assert await first.wait() == 0
        assert (await graph.query("RETURN 2")).rows == ((2,),)
        assert graph._child.process is not first
    assert len(caplog.records) == 1, "the database itself stays"


def test_killed_at_every_try_it_is_given_up_with_a_word_on_what_to_do(record, monkeypatch):
    monkeypatch.setattr(graph, "_CHILD", "import sys; sys.stdin.buffer.read(4); sys.exit('kuzu aborted')")

    async def run():
        async with Graph(record) as graph:
            await graph.query("RETURN 1")

    with pytest.raises(
        BackendUnavailable, match=r"ended twice \(code 1: kuzu aborted\); the memory itself is not touched: delete"
    ):
        asyncio.run(run())


PARENT = """
import asyncio, sys
from pathlib import Path
from hive_mind.store.graph import Graph

async def run():
    graph = Graph(Path(sys.argv[1]))
    await graph.query("RETURN 1")
    asking = asyncio.create_task(graph.query(sys.argv[2], timeout_s=600))
    await asyncio.sleep(0)
    print(graph._child.process.pid, flush=True)
    await asking

asyncio.run(run())
"""


def test_when_its_parent_is_killed_it_ends_in_the_middle_of_a_question(record):
    parent = Child(
        [sys.executable, "-c", PARENT, str(record), ENDLESS], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": ROOT}
    )
    child = psutil.Process(int(parent.stdout.readline()))

    parent.send_signal(signal.SIGKILL)

    parent.wait()
    parent.stdout.close()
    gone, _ = psutil.wait_procs([child], timeout=20)
    assert gone == [child]


async def test_each_of_many_tasks_gets_its_own_answer_also_after_a_question_that_was_given_up(record):
    async with Graph(record) as graph:
        await graph.query("RETURN 1")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await graph.query(ENDLESS)
        answers = await asyncio.gather(*(graph.query(f"RETURN {number}") for number in range(20)))
        assert [answer.rows for answer in answers] == [((number,),) for number in range(20)]


async def test_two_graphs_of_one_record_follow_it_side_by_side(tmp_path):
    async with kept(tmp_path) as store:
        await store.write([*pump(), *facts(*(f"fact {n}" for n in range(500)))])
        async with Graph(tmp_path / "memory.sqlite") as one, Graph(tmp_path / "memory.sqlite") as other:
            for number in range(2):
                await store.write(facts(f"new {number}"))
                found = await asyncio.gather(*(content_of(graph) for graph in (one, other)))
                assert found == [content_of_record(tmp_path / "memory.sqlite")] * 2


async def test_questions_need_neither_a_process_nor_a_file_of_kuzu(record):
    async with Graph(record) as graph:
        around = await graph.neighbourhood("Ines")
        await graph.path("Ines", "Pump D4")
        await graph.history(fact_id("sealed"))
        await graph.derived_from("e1")
        assert graph._child is None
        assert around.centre.text == "Ines"
    assert not list(record.parent.glob("graph.*"))


ASK = """
import asyncio, sys
from pathlib import Path
sys.path.append(sys.argv[1])
from hive_mind.store.graph import Graph

async def run():
    async with Graph(Path(sys.argv[2])) as graph:
        await graph.query("RETURN 1")
        print((await graph.neighbourhood("Ines")).centre.text, [name for name in sys.modules if name.partition(".")[0] == "kuzu"])

asyncio.run(run())
"""


def test_the_process_that_asks_loads_no_kuzu_and_nothing_of_its_current_folder(record, tmp_path):
    (tmp_path / "kuzu.py").write_text("raise SystemExit('the wrong one')")
    told = subprocess.run(
        [sys.executable, "-P", "-c", ASK, ROOT, record], cwd=tmp_path, capture_output=True, check=True, timeout=100
    )
    assert told.stdout.decode().split() == ["Ines", "[]"]


async def test_without_a_record_it_is_told_and_nothing_is_made(tmp_path):

    with pytest.raises(BackendError, match="there is no file"):
        async with Graph(tmp_path / "memory.sqlite") as graph:
            await graph.query("RETURN 1")
    assert list(tmp_path.iterdir()) == []


def test_a_path_too_long_to_look_for_is_refused(record):
    with pytest.raises(InvalidInput, match="give 1 to 6"):
        asyncio.run(Graph(record).path("Ines", "Pump D4", max_length=7))

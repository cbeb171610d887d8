"""Arms of real processes over a real Redis server find what one memory finds, send what the simulator counts, and are gone."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from hive_mind.errors import BackendError, BackendUnavailable, ConfigError
from hive_mind.evals.arms import Means
from hive_mind.evals.arms.processes_arm import ProcessesArm, open_arm
from hive_mind.evals.experiments import Arm, Cell, DataSource, Fault, Learned, Retrieval
from hive_mind.runtime.settings import Settings
from tests.builders import BagOfWords
from tests.sampled import usually
from tests.servers.children import Child
from tests.servers.forked_async import installed
from tests.servers.redis_server import redis_program
from tests.unit.evals.arms.notes import drawn, told

pytestmark = pytest.mark.slow

ARMS = [Arm("flat", 3, place="redis"), Arm("federated", 4, groups=2, place="redis"), Arm("sharded", 4, replicas=2, place="redis")]
SMALL, ALONE = (Arm("flat", agents, place="redis") for agents in (2, 1))
# As a large model has them: a batch of them has more megabytes than a worker of a fleet takes in one request.
WIDE = BagOfWords(dimension=8_192)
_GONE_WITHIN_S = 30.0
_MB = 1 << 20


@pytest.fixture(autouse=True)
def server() -> Iterator[None]:
    """Skip where there is none. Processes are copies of one that has loaded the package."""
    redis_program()
    with installed():
        yield


@pytest.mark.parametrize("arm", usually(ARMS, ARMS[2]), ids=lambda arm: arm.kind)
def test_processes_find_what_one_memory_finds_and_send_what_the_simulator_counts(arm: Arm):
    once = drawn(120, 8)
    # Some of it is said again, to other agents.
    again = tuple(replace(one, id=f"{one.id}-again", said_at="2031-05-05") for one in once.documents[5:20])
    scope = replace(once, documents=(*once.documents, *again))

    real, simulated, alone = (
        told(one, scope, "hybrid", embedder=WIDE) for one in (arm, replace(arm, place="simulator"), Arm("single"))
    )

    assert real.facts == alone.facts
    for one, other in zip(real.outcomes, simulated.outcomes, strict=True):
        assert one.cost == other.cost
        assert [hit.score for hit in one.hits] == pytest.approx([hit.score for hit in other.hits], abs=1e-6)
    assert real.documents == alone.documents
    assert {outcome.cost.completeness for outcome in real.outcomes} == {1.0}
    assert all(outcome.cpu_s > 0 and outcome.wall_s > 0 for outcome in real.outcomes)
    look_at(real.learned, arm)


def look_at(learned: Learned, arm: Arm) -> None:
    """It is measured in all processes."""
    assert learned.messages is not None
    assert learned.messages >= 2 * arm.agents, "each tells a replica, which says that it has it"
    assert learned.bytes is not None
    assert learned.replica_lag_s is not None
    assert 0 <= learned.replica_lag_s < 60
    assert learned.cpu_s is not None
    assert learned.cpu_s > 0
    assert learned.memory_per_agent_bytes is not None
    # A process of Python with its libraries and an open database.
    assert 10 * _MB < learned.memory_per_agent_bytes < 500 * _MB


def test_who_was_stopped_is_missed_as_in_the_simulator_and_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    arm, scope, fault = Arm("sharded", 4, replicas=2, place="redis"), drawn(40, 6), Fault(down=3)

    real, simulated = told(arm, scope, fault=fault), told(replace(arm, place="simulator"), scope, fault=fault)

    assert real.facts == simulated.facts
    assert [one.cost for one in real.outcomes] == [one.cost for one in simulated.outcomes]
    assert {one.cost.completeness < 1.0 for one in real.outcomes} == {True}, "a whole set of two is gone"
    assert list(tmp_path.iterdir()) == []
    assert of_folder(tmp_path) == []


def test_nothing_is_left_when_whoever_measures_is_killed_and_no_worker_where_its_guardian_is_killed_too(tmp_path: Path):
    # A program that holds two arms open.
    script = "from tests.unit.evals.arms.test_processes import stay_open; stay_open()"
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with Child([sys.executable, "-c", script], env=environment, stdout=subprocess.PIPE) as measuring:
        assert measuring.stdout.readline() == b"open\n"
        begun = psutil.Process(measuring.pid).children(recursive=True)
        servers = [one for one in of_folder(tmp_path) if "redis" in " ".join(one.cmdline())]
        guardians = [one for one in begun if "processes_arm" in " ".join(one.cmdline())]
        assert (len(servers), len(guardians)) == (2, 2)
        guardians[0].kill()
        measuring.send_signal(signal.SIGKILL)

    try:
        until(lambda: not any(map(lives, set(begun) - set(servers))), "all workers are gone")
        until(lambda: sum(map(lives, servers)) == len(list(tmp_path.iterdir())) == 1, "one server and its folder are gone")
    finally:
        for server in filter(lives, servers):
            server.kill()


def test_without_a_server_to_run_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(ConfigError, match="apt-get install redis-server"):
        opened(SMALL)


def test_what_a_process_of_members_refuses_is_told_and_nothing_is_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))

    with pytest.raises(BackendError, match="store back end 'shoebox'"):
        opened(SMALL, Settings(store="shoebox"))

    assert list(tmp_path.iterdir()) == []


def test_a_worker_that_was_killed_is_named_with_how_it_ended():
    async def ask_a_killed_one() -> None:
        arm = await arm_of(SMALL)
        try:
            (worker, *_) = [one for one in psutil.Process().children(recursive=True) if "process-0" in " ".join(one.cmdline())]
            worker.kill()
            await arm.ask(drawn(8, 1).questions[0], 5)
        finally:
            await arm.close()

    with pytest.raises(BackendUnavailable, match=r"process-0: it is not running .*SIGKILL"):
        asyncio.run(ask_a_killed_one())


def opened(arm: Arm, settings: Settings | None = None) -> None:
    """Open the arm over a few notes, and close it."""

    async def open_and_close() -> None:
        await (await arm_of(arm, settings)).close()

    asyncio.run(open_and_close())


async def arm_of(arm: Arm, settings: Settings | None = None) -> ProcessesArm:
    """The arm over a few notes."""
    cell = Cell("cell", DataSource("notes"), arm, Retrieval(), 1)
    return await open_arm(cell, drawn(8, 1), Means(settings or Settings(ann="exact"), BagOfWords()))


def stay_open() -> None:
    """Open two arms and wait to be killed; run by a test in a process of its own."""

    async def stay() -> None:
        for _ in range(2):
            await arm_of(ALONE, Settings(store="memory", ann="exact"))
        print("open", flush=True)
        await asyncio.Event().wait()

    asyncio.run(stay())


def of_folder(folder: Path) -> list[psutil.Process]:
    """Processes that work in a folder."""

    def works_there(one: psutil.Process) -> bool:
        try:
            return Path(one.cwd()).is_relative_to(folder)
        except (psutil.Error, OSError):
            return False

    return [one for one in psutil.process_iter() if works_there(one)]


def lives(one: psutil.Process) -> bool:
    """Whether it is there, and not only waiting for somebody to take note of its end."""
    try:
        return one.is_running() and one.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def until(holds: Callable[[], Any], what: str) -> None:
    """Return when it holds; it is waited for."""
    began_s = time.monotonic()
    while not holds():
        assert time.monotonic() < began_s + _GONE_WITHIN_S, f"not within {_GONE_WITHIN_S:g} s: {what}"
        time.sleep(0.02)

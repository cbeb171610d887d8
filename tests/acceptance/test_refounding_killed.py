"""Founding a hive again is killed at every moment of it: beginning once more ends it, no fact is lost, and there is one hive."""

from pathlib import Path

import msgspec
import pytest

from hive_mind.control.state import FleetFolder
from hive_mind.runtime.workers.config import WorkerConfig
from tests.acceptance.hive_mind_command import HiveMind
from tests.acceptance.killing import MOMENTS, is_alive, killed_while_refounding, processes
from tests.acceptance.test_members import FACTS, applied, listed
from tests.servers.redis_server import RedisServer


@pytest.mark.thorough
def test_whenever_it_is_killed_it_ends_when_it_is_begun_again(fleet: HiveMind, redis: RedisServer, tmp_path: Path) -> None:
    applied(fleet, redis, tmp_path, replicas=2)
    again = (("fleet", "refound", "--yes"), ("apply", "-f", tmp_path / "fleet.yaml"))
    for number, (moment, worker) in enumerate((moment, worker) for worker in ("", "bob") for moment in MOMENTS):
        before = killed_while_refounding(fleet, "harbour", moment, worker=worker)
        ended = fleet(*again[number % 2])
        assert ended.code == 0, f"{moment} {worker}: {ended.err}"

        folder = FleetFolder(fleet.home, "harbour")
        state, now = folder.state(), processes(fleet)
        assert now.keys() == {"ada", "bob", "cleo", "dan"}, f"{moment} {worker}"
        assert not any(is_alive(pid) for name, pid in before.pids.items() if now[name] != pid)
        assert (state.generation > before.generation, state.is_refounding) == (True, False), f"{moment} {worker}"
        assert state.hive is not None
        configs = [msgspec.json.decode(path.read_bytes(), type=WorkerConfig) for path in folder.config.glob("*.json")]
        assert {one.hive.id for one in configs} == {state.hive.id}
        assert not list(folder.home.glob("hives/*.partial"))
        assert {fact["content"] for fact in fleet("get", "facts", "-o", "json").json} == set(FACTS), f"{moment} {worker}"
        assert {(row["state"], row["is_member"]) for row in listed(fleet).values()} == {("alive", True)}, f"{moment} {worker}"
        print(f"killed when {moment}{' with ' + worker if worker else ''}: generation {state.generation}, {len(FACTS)} facts")

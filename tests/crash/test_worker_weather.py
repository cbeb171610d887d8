"""A worker whose disk is full is not ready and says why, once; it is ready again when there is room, with all it acknowledged."""

from pathlib import Path

import pytest

from hive_mind import CognitiveMemory
from hive_mind.bus import admin_of
from hive_mind.bus.redis import keys
from hive_mind.errors import HiveError
from hive_mind.runtime.workers import agents as worker_agents
from hive_mind.runtime.workers.config import BusConfig
from hive_mind.runtime.workers.health import reasons_not_ready
from hive_mind.runtime.workers.worker import Worker
from tests.servers.quota import filled
from tests.servers.redis_server import RedisServer
from tests.unit.runtime.worker_builders import agent, config, play, running, source, with_agent
from tests.waiting import until


@pytest.fixture
def home(small_disk: Path, tmp_path: Path) -> Path:
    """A home in which ada's memory, and nothing else, lies on a small disk."""
    agents = tmp_path / "home" / "agents"
    agents.mkdir(parents=True)
    (agents / "ada").symlink_to(small_disk)
    return tmp_path / "home"


@pytest.fixture
def tries(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """One for each time that a worker, which does not wait for a quiet moment, tried to tidy a memory."""
    made: list[None] = []
    tidy = CognitiveMemory.tidy

    async def counted(memory: CognitiveMemory) -> None:
        made.append(None)
        await tidy(memory)

    monkeypatch.setattr(CognitiveMemory, "tidy", counted)
    monkeypatch.setattr(worker_agents, "_QUIET_S", 0.0)
    return made


async def stored(worker: Worker, number: int) -> str:
    return str((await worker.call("ada", "store", content=f"Gate {number} is {'very ' * 200} blue."))["fact_id"])


async def until_refused(worker: Worker) -> tuple[set[str], str]:
    kept: set[str] = set()
    while len(kept) < 10_000:
        try:
            kept.add(await stored(worker, len(kept)))
        except HiveError as error:
            return kept, str(error)
    raise AssertionError("nothing was ever refused")


def test_an_agent_whose_disk_is_full_is_not_ready_and_says_why_until_there_is_room(
    home: Path, small_disk: Path, tries: list[None], caplog: pytest.LogCaptureFixture
) -> None:
    async def work() -> None:
        async with running(config(home, store="sqlite")) as worker:
            await until(lambda: worker.status().is_ready)
            filler = filled(small_disk, but=200_000)

            kept, said = await until_refused(worker)

            assert kept
            assert reasons_not_ready(worker.status()) == [f"agent ada: {said}"]
            assert "disk is full; nothing of this was written: check the disk" in said
            assert (await worker.call("ada", "search", query="blue gate"))["hits"], "it still answers"
            assert agent(worker, "ben").phase == "ready"
            tries.clear()
            await until(lambda: len(tries) > 4)
            assert reasons_not_ready(worker.status()) == [f"agent ada: {said}"]
            filler.unlink()
            await until(lambda: worker.status().is_ready)
            kept.add(await stored(worker, 20_000))
        async with running(config(home, store="sqlite")) as worker:
            await until(lambda: worker.status().is_ready)
            assert agent(worker, "ada").facts == len(kept)

    play(work())
    assert len([record for record in caplog.records if "disk is full" in record.getMessage()]) <= 2


def test_what_could_not_be_learned_on_a_full_disk_is_learned_when_there_is_room(
    home: Path, small_disk: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("".join(f"Pump {number} ran {'very ' * 20} well on day {number}.\n" for number in range(400)))
    filler = filled(small_disk, but=300_000)

    async def work() -> None:
        whole = with_agent(config(home, store="sqlite"), "ada", sources=(source(notes),))
        async with running(whole) as worker:
            await until(lambda: worker.status().phase == "ready" and agent(worker, "ada").phase == "failed")
            assert "disk is full" in agent(worker, "ada").error
            filler.unlink()
            await until(lambda: worker.status().is_ready)
            await until(lambda: agent(worker, "ada").facts == 400)

    play(work())
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


async def test_a_node_whose_journal_finds_no_room_says_so_while_its_agents_go_on_and_shares_all_when_started_again(
    small_disk: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "hives").symlink_to(small_disk)

    kept: set[str] = set()
    async with running(config(home, store="sqlite")) as worker:
        await until(lambda: worker.status().is_ready)
        filler = filled(small_disk, but=200_000)
        while worker.status().phase != "failed":
            kept.add(await stored(worker, len(kept)))
        kept.add(await stored(worker, len(kept)))
        assert "disk is full" in reasons_not_ready(worker.status())[0]
        assert agent(worker, "ada").phase == "ready"
        assert (await worker.call("ada", "search", query="blue gate"))["hits"], "it still answers"
    filler.unlink()
    async with running(config(home, store="sqlite")) as worker:
        await until(lambda: worker.status().is_ready and agent(worker, "ada").pending == 0)
        assert agent(worker, "ada").facts == worker.status().nodes[0].facts == len(kept)


async def test_a_node_that_can_not_write_what_it_refuses_acknowledges_nothing_of_it_and_says_so_until_there_is_room(
    small_disk: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "hives").symlink_to(small_disk)
    with RedisServer() as server:
        async with running(config(home, store="sqlite", bus=BusConfig(server.url))) as worker:
            await until(lambda: worker.status().is_ready)
            filler = filled(small_disk)
            for number in range(20):
                server.do("XADD", keys.inbox("town", "town").decode(), "*", "e", f"garbage {number}".encode())
            await until(lambda: bool(reasons_not_ready(worker.status())))

            (reason,) = reasons_not_ready(worker.status())
            assert "refused messages can't be written, so they are not acknowledged" in reason
            assert worker._host is not None
            bus = worker._host.bus
            (queue,) = [queue for queue in await admin_of(bus).queues("town") if queue.name == "town"]
            assert queue.unacknowledged == 20
            assert (await worker.call("ada", "search", query="blue gate"))["hits"] == [], "it still answers"
            filler.unlink()
            await until(lambda: worker.status().is_ready)
            assert len((await worker.call("ada", "dead_letters", limit=100))["letters"]) == 20
            (queue,) = [queue for queue in await admin_of(bus).queues("town") if queue.name == "town"]
            assert queue.unacknowledged == 0

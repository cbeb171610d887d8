"""A worker in this process: its nodes join and leave, the trouble of one is not that of others, and it can always be closed.

What the configuration of a worker says is used: gate, ranking, prompts and embedders; what can't be is refused.
"""

import asyncio
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from hive_mind.bus import EventBus
from hive_mind.errors import BackendError, BackendUnavailable, InvalidInput, UnknownBackend
from hive_mind.model.fact import Fact
from hive_mind.runtime.workers import worker_host as worker_parts
from hive_mind.runtime.workers.config import BusConfig, ModelsConfig, NodeConfig, WorkerConfig
from hive_mind.runtime.workers.worker import open_worker
from hive_mind.runtime.workers.worker_host import Hosting, open_bus_of
from tests.builders import BagOfWords
from tests.unit.runtime.members.test_damaged_journal import rotten
from tests.unit.runtime.worker_builders import NAMES, agent, config, play, running, with_agent
from tests.waiting import until


async def test_a_worker_whose_nodes_are_the_whole_hive_has_nobody_to_leave_to(tmp_path: Path) -> None:
    async with running(config(tmp_path, "sharded")) as worker:
        await until(lambda: worker.status().is_ready)
        await worker.leave(5)


class Unread(dict[str, Fact]):
    """Facts that nobody goes through."""

    def values(self) -> Any:
        raise AssertionError("a status is asked for often, and must cost the same however many facts there are")

    items = __iter__ = values


async def test_the_status_counts_facts_without_going_through_them(tmp_path: Path) -> None:
    async with running(config(tmp_path)) as worker:
        await until(lambda: worker.status().is_ready)
        agent = worker._agents["ada"]
        await worker.call("ada", "store", content="The gate is blue.")
        state = agent._local._state
        assert state is not None
        held = state.recall.facts.held
        state.recall.facts.held = Unread(held)
        try:
            await worker.call("ada", "store", content="The gate is new.")
            assert [one.facts for one in worker.status().agents if one.name == "ada"] == [2]
        finally:
            state.recall.facts.held = held


def damage(home: Path) -> None:
    """The database of ada."""
    database = home / "agents" / "ada" / "memory.sqlite"
    database.parent.mkdir(parents=True)
    database.write_bytes(b"this is no database, though it is as long as one might be" * 100)


async def test_an_agent_whose_database_is_damaged_or_whose_model_can_not_be_had_fails_alone(tmp_path: Path) -> None:
    damage(tmp_path)
    async with running(with_agent(config(tmp_path, store="sqlite"), "ben", model="nobody:knows-this")) as worker:
        await until(lambda: worker.status().phase == "ready")
        assert [agent(worker, name).phase for name in NAMES] == ["failed", "failed", "ready", "ready"]
        assert "memory.sqlite" in agent(worker, "ada").error
        assert agent(worker, "ben").error
        with pytest.raises(BackendUnavailable, match=r"memory\.sqlite"):
            await worker.call("ada", "stats")
        assert (await worker.call("cleo", "stats"))["facts"] == 0


async def test_an_agent_whose_file_can_not_be_reached_opens_soon_after_somebody_asks(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A loop of links, since a test may run as root. By itself it is tried after 1, 2, 4, 8, … seconds."""
    there = tmp_path / "agents" / "ada"
    there.parent.mkdir(parents=True)
    there.symlink_to(there)

    async with running(config(tmp_path, store="sqlite")) as worker:
        await until(lambda: "tried again in 4 s" in caplog.text)
        assert agent(worker, "ada").phase == "failed"
        there.unlink()
        with pytest.raises(BackendUnavailable, match=r"memory\.sqlite: File exists.*tried again now"):
            await worker.call("ada", "stats")
        await until(lambda: agent(worker, "ada").phase == "ready", within_s=2)


async def test_a_bus_that_is_away_at_first_is_told_and_waited_for(tmp_path: Path) -> None:
    is_there = False

    async def moody(given: WorkerConfig) -> EventBus:
        if not is_there:
            raise BackendUnavailable("redis", "nobody answers at 127.0.0.1")
        return await open_bus_of(given)

    async with running(config(tmp_path), Hosting(bus=moody)) as worker:
        await until(lambda: "nobody answers" in worker.status().error)
        assert worker.status().phase == "starting"
        assert [node.is_connected for node in worker.status().nodes] == [False]
        with pytest.raises(BackendUnavailable, match="nobody answers"):
            await worker.call("ada", "stats")
        is_there = True
        await until(lambda: worker.status().is_ready)
        assert worker.status().error == ""


async def test_one_that_gives_up_ends_with_what_it_lacks(tmp_path: Path) -> None:
    async def away(_: WorkerConfig) -> EventBus:
        raise BackendUnavailable("redis", "nobody answers at 127.0.0.1")

    damage(tmp_path)
    for store, hosting, why in (
        ("memory", Hosting(bus=away, gives_up_s=1.0), "nobody answers"),
        ("sqlite", Hosting(gives_up_s=1.0), r"memory\.sqlite"),
    ):
        async with running(config(tmp_path, store=store), hosting) as worker:
            with pytest.raises(BackendError, match=why):
                await worker.run_until(asyncio.Event())
            assert worker.status().phase == "failed"

    async with running(config(tmp_path), Hosting(gives_up_s=1.0)) as worker:
        await until(lambda: worker.status().is_ready)
        worker._nodes["town"].runner.fail(sqlite3.OperationalError("disk full"))
        with pytest.raises(BackendUnavailable, match="town: has stopped: disk full"):
            await worker.run_until(asyncio.Event())


async def test_a_damaged_journal_is_told_in_the_status_and_stops_nothing(tmp_path: Path) -> None:
    durable = config(tmp_path, store="sqlite")
    async with running(durable) as worker:
        await until(lambda: worker.status().is_ready)
        await worker.call("ada", "store", content="The gate is blue.", concept="gate")
        assert worker.status().notices == ()
    (journal,) = (tmp_path / "hives").rglob("town.sqlite")
    rotten(journal)

    async with running(durable) as worker:
        await until(lambda: worker.status().is_ready)
        (notice,) = worker.status().notices
        assert "the journal of town had a damaged record, set aside" in notice
        assert (await worker.call("ada", "search", query="gate"))["hits"]


async def test_one_that_drains_takes_no_request(tmp_path: Path) -> None:
    async with running(config(tmp_path)) as worker:
        await until(lambda: worker.status().is_ready)
        worker.drain()
        with pytest.raises(BackendUnavailable, match="shutting down"):
            await worker.call("ada", "stats")
        assert worker.status().phase == "draining"


async def test_a_worker_can_be_closed_before_it_is_ready_and_twice(tmp_path: Path) -> None:
    worker = await open_worker(config(tmp_path, store="sqlite"), lambda _: None)
    await worker.close()
    await worker.close()


async def test_an_agent_with_a_language_model_is_told_its_prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Any] = []
    real = worker_parts.open_model

    async def noted(*given: Any) -> Any:
        opened.append(await real(*given))
        return opened[-1]

    monkeypatch.setattr(worker_parts, "open_model", noted)
    reply = json.dumps({"facts": [{"fact": "The gate is blue.", "confidence": 0.9, "context": "gate", "speaker": ""}]})
    given = with_agent(config(tmp_path), "ada", model=f"scripted:{reply}", prompt="You know everything of harbours.")
    async with running(with_agent(given, "ben", model=f"scripted:{reply}")) as worker:
        await until(lambda: worker.status().is_ready)
        for name in ("ada", "ben"):
            await asyncio.gather(worker.call(name, "learn", text="Blue it is."), return_exceptions=True)
    (model,) = opened
    told = ["harbours" in prompt.instructions for prompt in model.prompts]
    assert any(told)
    assert not all(told)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"models": ModelsConfig(store="tape")}, UnknownBackend),
        ({"bus": BusConfig("pigeon://x")}, UnknownBackend),
        ({"bus": BusConfig(credential="${env:NOT_SET_ANYWHERE}")}, InvalidInput),
        ({"nodes": (NodeConfig("town", NAMES[:3]),)}, InvalidInput),
        ({"nodes": (NodeConfig("town", (*NAMES, "eve")),)}, InvalidInput),
    ],
)
def test_a_configuration_that_can_not_be_is_refused_at_once(tmp_path: Path, fields: dict[str, Any], error: type[Exception]):
    with pytest.raises(error):
        asyncio.run(open_worker(config(tmp_path, **fields), lambda _: None))


def test_one_embedder_serves_all_and_another_model_embeds_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[BagOfWords] = []

    async def begun_with(model: str) -> None:
        async def open_embedder(*_: object) -> BagOfWords:
            opened.append(BagOfWords(model))
            return opened[-1]

        monkeypatch.setattr(worker_parts, "open_embedder", open_embedder)
        async with running(config(tmp_path, store="sqlite")) as worker:
            await until(lambda: worker.status().is_ready)
            if model == "first":
                for name in NAMES:
                    await worker.call(name, "store", content=f"The gate of {name} is blue.")

    for model in ("first", "second", "second"):
        play(begun_with(model))
    assert [len(one.passages) for one in opened] == [4, 4, 0]

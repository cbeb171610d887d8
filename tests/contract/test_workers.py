"""Workers that know each other by a real bus alone: found a hive, join it, leave it, and outlive their broker."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from hive_mind.hive.membership import MembershipSettings
from hive_mind.runtime.workers.config import AgentConfig, BusConfig, HiveConfig, ModelsConfig, NodeConfig, WorkerConfig
from hive_mind.runtime.workers.worker import Worker, open_worker
from tests.servers.redis_server import RedisServer
from tests.waiting import until

PATIENCE_S = 90
FOUNDERS = {"flat": {"": ("one", "two")}, "sharded": {"": ("one", "two")}, "federated": {"north": ("one",), "south": ("two",)}}
QUICK = MembershipSettings(beat_ms=100, suspect_after_ms=3_000, settle_ms=100)


def config(folder: Path, url: str, topology: str, name: str) -> WorkerConfig:
    """A process with one node and two agents."""
    founders = FOUNDERS[topology]
    group = next((group for group, names in founders.items() if name in names), "north" if topology == "federated" else "")
    hive = HiveConfig("town", topology, founders, {"south": ("museum",)} if topology == "federated" else {}, 0.9, 2, 16)
    names = (f"{name}-a", f"{name}-b")
    return WorkerConfig(
        fleet="town",
        process=name,
        home=str(folder),
        run=str(folder / "run"),
        hive=hive,
        nodes=(NodeConfig(name, names, group),),
        agents=tuple(AgentConfig(one) for one in names),
        bus=BusConfig(url),
        models=ModelsConfig(ann="exact"),
        membership=QUICK,
    )


async def finds(worker: Worker, agent: str, query: str, wanted: str) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            hits = (await worker.call(agent, "search", query=query))["hits"]
            if any(hit["content"] == wanted for hit in hits):
                return
            await asyncio.sleep(0.05)


@asynccontextmanager
async def town(folder: Path, url: str, topology: str, *names: str) -> AsyncIterator[list[Worker]]:
    async with AsyncExitStack() as stack:
        workers = []
        for name in names:
            workers.append(await open_worker(config(folder, url, topology, name), lambda _: None))
            stack.push_async_callback(workers[-1].close)
        await until(lambda: all(worker.status().is_ready for worker in workers))
        yield workers


@pytest.mark.parametrize("topology", FOUNDERS)
async def test_processes_share_what_their_agents_learn(tmp_path: Path, redis: RedisServer, topology: str) -> None:
    async with town(tmp_path, redis.url, topology, "one", "two") as (one, two):
        await one.call("one-a", "store", content="The museum opens at ten.")
        await two.call("two-b", "store", content="The gate is blue.")

        await finds(two, "two-a", "museum", "The museum opens at ten.")
        await finds(one, "one-b", "gate", "The gate is blue.")


async def test_a_worker_joins_a_hive_that_runs_and_leaves_it_again_and_nothing_is_lost(tmp_path: Path, redis: RedisServer):
    async with town(tmp_path, redis.url, "sharded", "one", "two") as (one, _):
        await one.call("one-a", "store", content="The museum opens at ten.")
        async with town(tmp_path, redis.url, "sharded", "three") as (three,):
            await until(lambda: one.status().nodes[0].members == ("one", "three", "two"))
            await three.call("three-a", "store", content="The gate is blue.")
            await three.leave(PATIENCE_S)
        await until(lambda: one.status().nodes[0].members == ("one", "two"))

        await finds(one, "one-a", "gate", "The gate is blue.")
        await finds(one, "one-a", "museum", "The museum opens at ten.")


async def test_a_broker_that_goes_away_is_told_and_what_was_stored_meanwhile_is_shared_when_it_is_back(
    tmp_path: Path, redis: RedisServer
) -> None:
    async with town(tmp_path, redis.url, "sharded", "one", "two") as (one, two):
        redis.kill()
        await until(lambda: not one.status().is_ready)
        assert "the bus can't be reached" in one.status().error
        assert one.status().phase == "ready"
        await one.call("one-a", "store", content="The museum opens at ten.")

        redis.start()
        await until(lambda: one.status().is_ready and two.status().is_ready)
        await finds(two, "two-a", "museum", "The museum opens at ten.")
        await until(lambda: one.status().agents[0].pending == 0)
        assert one.status().error == ""

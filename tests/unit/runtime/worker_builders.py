"""Configurations of workers for tests, and running them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from hive_mind.hive.membership import MembershipSettings
from hive_mind.runtime.workers import AgentStatus
from hive_mind.runtime.workers.config import AgentConfig, HiveConfig, ModelsConfig, NodeConfig, SourceConfig, WorkerConfig
from hive_mind.runtime.workers.worker import Worker, open_worker
from hive_mind.runtime.workers.worker_host import ORDINARY, Hosting

PATIENCE_S = 60
NAMES = ("ada", "ben", "cleo", "dan")
QUICK = MembershipSettings(beat_ms=50, suspect_after_ms=2_000, settle_ms=50)


def source(path: Path) -> SourceConfig:
    return SourceConfig(str(path), sha256(path.read_bytes()).hexdigest() if path.exists() else "")


def config(home: Path, topology: str = "flat", store: str = "memory", **fields: Any) -> WorkerConfig:
    """Four agents in one process."""
    match topology:
        case "federated":
            nodes = (NodeConfig("north", NAMES[:2], "north"), NodeConfig("south", NAMES[2:], "south"))
            founders = {"north": ("north",), "south": ("south",)}
        case "sharded":
            nodes = tuple(NodeConfig(name, (name,)) for name in NAMES)
            founders = {"": NAMES}
        case _:
            nodes, founders = (NodeConfig("town", NAMES),), {"": ("town",)}
    given: dict[str, Any] = {"models": ModelsConfig(store=store, ann="exact"), "membership": QUICK} | fields
    run = home / "fleets" / "town" / "run"
    hive = HiveConfig("town", topology, founders, replicas=2, partitions=16)
    agents = tuple(AgentConfig(name) for name in NAMES)
    return msgspec.structs.replace(WorkerConfig("town", "town", str(home), str(run), hive, nodes, agents), **given)


def with_agent(one: WorkerConfig, name: str, **fields: Any) -> WorkerConfig:
    """The same with another configuration of one agent."""
    agents = tuple(msgspec.structs.replace(agent, **fields) if agent.name == name else agent for agent in one.agents)
    return msgspec.structs.replace(one, agents=agents)


@asynccontextmanager
async def running(one: WorkerConfig, hosting: Hosting = ORDINARY) -> AsyncIterator[Worker]:
    """A worker until the block ends; nothing may be left of it."""
    worker = await open_worker(one, lambda _: None, hosting=hosting)
    try:
        yield worker
    finally:
        await worker.close()


def agent(worker: Worker, name: str) -> AgentStatus:
    """What a worker says of one agent."""
    return next(one for one in worker.status().agents if one.name == name)


def play(work: Any) -> None:
    """Run it, and see that no task is left behind."""

    async def whole() -> None:
        await work
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(whole())


async def is_found(worker: Worker, name: str, text: str) -> bool:
    hits: list[dict[str, Any]] = (await worker.call(name, "search", query=text))["hits"]
    return text in [hit["content"] for hit in hits]


async def until_found(worker: Worker, name: str, text: str, *, found: bool) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while await is_found(worker, name, text) is not found:  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.01)

"""Agents as real processes of the real command, over a real wire; for tests that kill them, ask them and compare them."""

import asyncio
import os
import signal
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from hive_mind.control.platforms import Running, local
from hive_mind.hive.topology.spec import TopologyName, reads
from hive_mind.runtime.workers.config import AgentConfig, BusConfig, HiveConfig, NodeConfig, SeenConfig, WorkerConfig
from tests.contract.wires import Wire, secrets_of
from tests.servers.forked import workers_as_copies
from tests.servers.home_guard import HomeGuard
from tests.waiting import until

NAMES = ("ada", "ben", "cleo", "dan")
_HEARD_WITHIN_S = 30.0


class Agent:
    """A worker with one node and one agent."""

    def __init__(self, platform: local.LocalPlatform, config: WorkerConfig) -> None:
        self.name, self._platform, self._config = config.process, platform, config

    async def start(self) -> None:
        await self._platform.start(self._config)

    async def ready(self, timeout_s: float = 60.0) -> None:
        """Return when it is in its hive and has heard everybody, or some time after it is."""
        began_s = time.monotonic()

        async def is_in() -> bool:
            running = await self._seen()
            assert running.is_alive, running.error
            status = running.status
            is_late = time.monotonic() - began_s > _HEARD_WITHIN_S
            return status is not None and status.is_ready and (is_late or not any(node.silent for node in status.nodes))

        await until(is_in, f"{self.name} is in its hive", timeout_s)

    async def do(self, what: str, *, timeout_s: float = 60.0, **fields: object) -> Any:
        return await self._platform.call(self.name, self.name, what, timeout_s=timeout_s, **fields)

    async def leave(self) -> None:
        await self._platform.leave(self.name, 60.0)

    @property
    def pid(self) -> int:
        identity = local.ProcessFiles(self._platform._folder, self.name).running()
        assert identity is not None
        return identity.pid

    async def kill(self) -> None:
        """End it as if the power went."""
        if (await self._seen()).is_alive:
            os.kill(self.pid, signal.SIGKILL)

        async def is_gone() -> bool:
            return not (await self._seen()).is_alive

        await until(is_gone, f"{self.name} is gone", 30)

    async def _seen(self) -> Running:
        return (await self._platform.observe()).get(self.name) or Running(self.name)


class Agents(dict[str, Agent]):
    """By name."""

    def __init__(self, wire: Wire, hive: str, folder: Path, topology: TopologyName, *, log: str = "text") -> None:
        super().__init__()
        self.wire, self.folder, self.topology, self._log = wire, folder, topology, log
        self.hive = hive
        groups = {"group-0": NAMES[:2], "group-1": NAMES[2:]} if reads(topology, "groups") else {"": NAMES}
        self._founding = HiveConfig(hive, topology, groups, replicas=2)
        self._platform: local.LocalPlatform | None = None
        self._guard: HomeGuard | None = None

    def buses_of(self, name: str) -> tuple[str, str]:
        """Where an agent finds the bus, and the one for searches; "" where there is only one."""
        del name
        return self.wire.bus, self.wire.searches

    async def start(self, name: str, *, is_joining: bool = False) -> Agent:
        """Another boot of an agent; `ready` says when it is in the hive."""
        self._platform = self._platform or await local.open(self.folder, self.folder)
        # Workers outlive who started them.
        self._guard = self._guard or HomeGuard(self.folder)
        config = WorkerConfig(
            fleet=self.hive,
            process=name,
            home=str(self.folder),
            run=str(self.folder / "run"),
            hive=self._founding,
            nodes=(NodeConfig(name, (name,), is_joining=is_joining),),
            agents=(AgentConfig(name),),
            bus=BusConfig(*self.buses_of(name)),
            seen=SeenConfig(log=self._log),
        )
        self[name] = Agent(self._platform, config)
        with secrets_of(self.wire), workers_as_copies():
            await self[name].start()
        return self[name]

    async def begin(self, names: Iterable[str] = NAMES) -> None:
        """Start them, side by side, and wait until all are in the hive."""
        names = list(names)
        self.wire.provide(self.hive, *names)
        for name in names:
            await self.start(name)
        await asyncio.gather(*(self[name].ready() for name in names))

    async def end(self) -> None:
        await asyncio.gather(*(agent.kill() for agent in self.values()))
        if self._guard is not None:
            await asyncio.to_thread(self._guard.release)

    def logs(self) -> str:
        """What they said, for a failure."""
        paths = sorted((self.folder / "logs").glob("*"))
        return "\n".join(f"── {path.name}\n{path.read_text('utf-8')[-1500:]}" for path in paths)

    async def contents(self, name: str) -> set[str]:
        """What an agent finds of the whole hive."""
        return {fact["content"] for fact in (await self[name].do("facts", limit=0))["facts"]}


async def settled(agents: Mapping[str, Agent], timeout_s: float = 20.0) -> None:
    """Return when everybody has everything that it should have."""

    async def is_quiet() -> bool:
        states = await asyncio.gather(*(agent.do("stats") for agent in agents.values()))
        return not any(cast(bool, state["is_busy"]) for state in states)

    await until(is_quiet, "nothing is under way", timeout_s)

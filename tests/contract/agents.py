"""Agents as real processes of the real command, over a real wire; for tests that kill them, ask them and compare them."""

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path

from hive_mind.runtime.processes import AgentProcess
from tests.contract.wires import Wire, secrets_of
from tests.servers.forked_async import installed
from tests.waiting import until

NAMES = ("ada", "ben", "cleo", "dan")


class Agents(dict[str, AgentProcess]):
    """By name."""

    def __init__(self, wire: Wire, hive: str, folder: Path, topology: str, *more: str) -> None:
        super().__init__()
        self.wire, self.hive, self.folder = wire, hive, folder
        self.options = ["--hive", hive, "--home", str(folder), "--store", "sqlite", *more]
        self.founding = ["--topology", topology, "--replicas", "2", "--members", ",".join(NAMES)]

    def buses_of(self, name: str) -> tuple[str, str]:
        """Where an agent finds the bus, and the one for searches; "" where there is only one."""
        del name
        return self.wire.bus, self.wire.searches

    async def start(self, name: str, *arguments: str) -> AgentProcess:
        """Another boot of an agent; `ready` says when it is in the hive."""
        bus, searches = self.buses_of(name)
        route = ["--bus", bus, *(["--searches", searches] if searches else [])]
        options = [*route, *self.options, *(arguments or self.founding)]
        self[name] = AgentProcess(name, options, self.folder / f"{name}.log")
        with secrets_of(self.wire), installed():
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
        await asyncio.gather(*(process.kill() for process in self.values()))

    def logs(self) -> str:
        """What they said, for a failure."""
        return "\n".join(f"── {path.name}\n{path.read_text('utf-8')[-1500:]}" for path in sorted(self.folder.glob("*.log")))

    async def contents(self, name: str) -> set[str]:
        """What an agent finds of the whole hive."""
        return {fact["content"] for fact in (await self[name].do("facts", limit=0))["facts"]}


async def settled(agents: Mapping[str, AgentProcess], timeout_s: float = 20.0) -> None:
    """Return when everybody has everything that it should have."""

    async def is_quiet() -> bool:
        states = await asyncio.gather(*(agent.do("stats") for agent in agents.values()))
        return not any(state["is_busy"] for state in states)

    await until(is_quiet, "nothing is under way", timeout_s)

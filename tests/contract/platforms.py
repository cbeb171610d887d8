"""Platforms for tests: each in a folder of its own, with everything that it started gone afterwards, however the test ended."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from signal import SIGKILL

import psutil

from hive_mind.control.platforms import Platform, Running, inprocess, local
from hive_mind.control.processes import prepare
from hive_mind.runtime.workers.config import AgentConfig, HiveConfig, ModelsConfig, NodeConfig, WorkerConfig
from tests.servers.guard import Guard

FAKE = (sys.executable, str(Path(__file__).parents[1] / "servers" / "fake_worker.py"))
PATIENCE_S = 90.0
STOP_S = 60.0


class Ground:
    """A home with one fleet and the platform that runs it."""

    def __init__(self, home: Path, kind: str, command: Sequence[str] = ()) -> None:
        self.home, self.kind, self._command = home, kind, tuple(command)
        self.folder = home / "fleets" / "town"
        self.platform: Platform
        self._opened: list[Platform] = []
        self._guards: dict[int, Guard] = {}

    async def open(self) -> Platform:
        """Another platform over the same folder, as after a crash of the program that had the former one."""
        if self.kind == "inprocess":
            opened: Platform = await inprocess.open(self.folder, self.home)
        elif self._command:
            opened = await local.open(self.folder, self.home, self._command)
        else:
            opened = await local.open(self.folder, self.home)
        self._opened.append(opened)
        return opened

    def config(self, process: str, **env: str) -> WorkerConfig:
        """One agent of the same name on one node."""
        return WorkerConfig(
            fleet="town",
            process=process,
            home=str(self.home),
            run=str(self.folder / "run"),
            hive=HiveConfig("town", founders={"": (process,)}),
            nodes=(NodeConfig(process, (process,)),),
            agents=(AgentConfig(process),),
            models=ModelsConfig(store="memory", ann="exact"),
            env=env,
        )

    async def start(self, process: str, **env: str) -> Running:
        """Returns when it says how it is."""
        await self.begin(process, **env)
        return await self.until(process, lambda one: one.status is not None)

    async def begin(self, process: str, **env: str) -> None:
        await self.platform.start(self.config(process, **env))
        self.watch((await self.platform.observe())[process].pid)

    def watch(self, pid: int) -> None:
        """Let it end at the latest with this test."""
        if pid > 0 and self.kind == "local" and pid not in self._guards:
            self._guards[pid] = Guard(pid, SIGKILL)

    async def until(self, process: str, is_so: Callable[[Running], bool]) -> Running:
        """The process, as soon as that holds for it."""
        async with asyncio.timeout(PATIENCE_S):
            while not is_so(found := (await self.platform.observe()).get(process, Running(process))):  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.02)
        self.watch(found.pid)
        return found

    def pids(self) -> list[int]:
        """All processes of this fleet that are there, whatever the platform knows."""
        return [one.pid for one in psutil.process_iter() if str(self.folder / "config") in " ".join(_command_of(one))]

    async def close(self) -> None:
        for opened in self._opened:
            await opened.close()
        for guard in self._guards.values():
            guard.release()
        for pid in self.pids():
            with suppress(psutil.Error):
                psutil.Process(pid).kill()


def with_fakes(home: Path) -> Ground:
    """Its processes are of this machine and only act as if they were agents, in any way that is wanted."""
    found = Ground(home, "local", FAKE)
    prepare(found.folder)
    return found


def contact_of(ground: Ground, process: str) -> dict[str, object]:
    found: dict[str, object] = json.loads((ground.folder / "run" / f"{process}.json").read_bytes())
    return found


def kill(pid: int) -> None:
    psutil.Process(pid).kill()


def _command_of(one: psutil.Process) -> list[str]:
    with suppress(psutil.Error):
        return [] if one.status() == psutil.STATUS_ZOMBIE else one.cmdline()
    return []


@asynccontextmanager
async def opened_ground(ground: Ground) -> AsyncIterator[Ground]:
    ground.platform = await ground.open()
    try:
        yield ground
    finally:
        await ground.close()

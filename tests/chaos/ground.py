"""Where a storm takes place: a broker of its own, four agents, and everything that can be done to them."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from random import Random
from typing import ClassVar

from tests.contract.agents import NAMES, Agents
from tests.contract.wires import AmqpWire
from tests.servers.redis_server import RedisServer
from tests.servers.tcp_proxy import TcpProxy


class Ground(Agents):
    """Agents, and what can happen to them. A fault lasts as long as its block."""

    faults: ClassVar[tuple[str, ...]] = ("kill", "pause")
    pause_s = 3.0

    async def kill_for(self, name: str, seconds: float) -> None:
        """As if the power of its machine went; and it comes back."""
        await self[name].kill()
        await asyncio.sleep(seconds)
        await (await self.start(name)).ready(90)

    async def pause_for(self, name: str, seconds: float) -> None:
        os.kill(self[name].pid, signal.SIGSTOP)
        try:
            await asyncio.sleep(seconds)
        finally:
            os.kill(self[name].pid, signal.SIGCONT)

    async def happen(self, fault: str, chance: Random) -> str:
        """Let a fault happen, and end. What it was."""
        name, seconds = chance.choice(NAMES), chance.uniform(0.2, self.pause_s)
        match fault:
            case "kill":
                await self.kill_for(name, seconds / 3)
            case "kill two":
                names = chance.sample(NAMES, 2)
                await asyncio.gather(*(self.kill_for(one, seconds / 3) for one in names))
                name = " and ".join(names)
            case "pause":
                await self.pause_for(name, seconds)
            case _:
                await self.harm(fault, name, seconds)
        return f"{fault} {name} {seconds:.1f} s"

    async def harm(self, fault: str, name: str, seconds: float) -> None:
        """What depends on the broker."""
        raise NotImplementedError(fault)

    async def close(self) -> None:
        await self.end()


class RedisGround(Ground):
    """Every agent reaches the server through a proxy of its own."""

    faults = ("kill", "kill two", "pause", "cut", "drop", "kill broker", "pause broker")

    def __init__(self, folder: Path, topology: str) -> None:
        self._server = RedisServer()
        self._server.start()
        self._proxies = {name: TcpProxy(self._server.port) for name in NAMES}
        for proxy in self._proxies.values():
            proxy.start()
        super().__init__(_Nothing(), "storm", folder, topology)

    def bus_of(self, name: str) -> str:
        return f"redis://127.0.0.1:{self._proxies[name].port}/0"

    async def harm(self, fault: str, name: str, seconds: float) -> None:
        proxy = self._proxies[name]
        match fault:
            case "cut":
                proxy.cut()
                await asyncio.sleep(seconds)
                proxy.cut(is_cut=False)
            case "drop":
                for one in self._proxies.values():
                    one.drop_connections()
            case "kill broker":
                self._server.kill()
                await asyncio.sleep(seconds / 2)
                await asyncio.to_thread(self._server.start)
            case "pause broker":
                self._server.pause()
                await asyncio.sleep(seconds)
                self._server.resume()

    async def close(self) -> None:
        await super().close()
        for proxy in self._proxies.values():
            await asyncio.to_thread(proxy.stop)
        self._server.stop()


class AmqpGround(Ground):
    """Service Bus and Event Hubs of the development broker, which keeps nothing over a restart."""

    faults = ("kill", "pause", "drop", "kill broker")

    def __init__(self, folder: Path, topology: str) -> None:
        self._amqp = AmqpWire()
        super().__init__(self._amqp, "storm", folder, topology)

    async def harm(self, fault: str, name: str, seconds: float) -> None:
        del name
        if fault == "drop":
            for harness in self._amqp.harnesses:
                await asyncio.to_thread(harness.drop_connections)
            return
        with ExitStack() as stack:
            for harness in self._amqp.harnesses:
                stack.enter_context(harness.down())
            await asyncio.sleep(seconds / 2)

    async def close(self) -> None:
        await super().close()
        await asyncio.to_thread(self._amqp.stop)


class _Nothing:
    bus = searches = ""
    environment: ClassVar[dict[str, str]] = {}

    def provide(self, hive: str, *names: str) -> None:
        """A Redis server need not know who comes."""


GROUNDS = {"redis": RedisGround, "amqp": AmqpGround}


@asynccontextmanager
async def opened(kind: str, folder: Path, topology: str) -> AsyncIterator[Ground]:
    """Four agents in their hive; all ends with the block."""
    ground = GROUNDS[kind](folder, topology)
    try:
        await ground.begin()
        yield ground
    except BaseException as error:
        error.add_note(ground.logs())
        raise
    finally:
        await ground.close()

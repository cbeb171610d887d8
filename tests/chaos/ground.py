"""Where a storm takes place: a broker of its own, four agents, and everything that can be done to them."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from random import Random
from typing import ClassVar

from hive_mind.bus.address import address_of
from tests.contract.agents import NAMES, Agents
from tests.contract.wires import AmqpWire, RedisWire, Wire
from tests.servers.guard import Guard
from tests.servers.tcp_proxy import TcpProxy

# Of the cuts: those that connections don't survive.
_TORN = 0.5
# Of each agent, for a failure: some minutes.
_LOG_CHARS = 20_000


class Ground(Agents):
    """Agents, each with proxies of its own to the broker, and what can happen to them. A fault lasts as long as its block."""

    faults: ClassVar[tuple[str, ...]] = ("kill", "kill two", "pause", "cut", "drop", "kill broker", "pause broker")
    pause_s = 3.0

    def __init__(self, wire: Wire, folder: Path, topology: str) -> None:
        super().__init__(wire, "storm", folder, topology, log="json")
        self._proxies = {name: [TcpProxy(_port_of(url)) for url in (wire.bus, wire.searches) if url] for name in NAMES}
        for proxy in self._all_proxies:
            proxy.start()

    def buses_of(self, name: str) -> tuple[str, str]:
        near = [proxy.port for proxy in self._proxies[name]]
        urls = (self.wire.bus, self.wire.searches)
        bus, searches = (str(replace(address_of(url), port=near.pop(0))) if url else "" for url in urls)
        return bus, searches

    async def happen(self, fault: str, chance: Random) -> str:
        """Let a fault happen, and end. What it was."""
        name, seconds = chance.choice(NAMES), chance.uniform(0.2, self.pause_s)
        match fault:
            case "kill":
                await self._kill(name, seconds / 3)
            case "kill two":
                names = chance.sample(NAMES, 2)
                await asyncio.gather(*(self._kill(one, seconds / 3) for one in names))
                name = " and ".join(names)
            case "pause":
                with paused(self[name].pid):
                    await asyncio.sleep(seconds)
            case "cut":
                await _cut(self._proxies[name], seconds, is_torn=chance.random() < _TORN)
            case "drop":
                for proxy in self._all_proxies:
                    proxy.drop_connections()
            case "kill broker":
                await self.kill_broker(seconds / 2)
            case "pause broker":
                await self.pause_broker(seconds)
        return f"{fault} {name} {seconds:.1f} s"

    async def kill_broker(self, seconds: float) -> None:
        """As if the power of its machine went; and it comes back."""
        raise NotImplementedError

    async def pause_broker(self, seconds: float) -> None:
        """It says nothing for so long; then it goes on as if nothing had been."""
        raise NotImplementedError

    def logs(self) -> str:
        parts = [
            f"── {path.name}\n{path.read_text('utf-8')[-_LOG_CHARS:]}" for path in sorted((self.folder / "logs").glob("*.log"))
        ]
        return "\n".join(parts)

    async def close(self) -> None:
        await self.end()
        for proxy in self._all_proxies:
            await asyncio.to_thread(proxy.stop)

    @property
    def _all_proxies(self) -> list[TcpProxy]:
        return list(chain(*self._proxies.values()))

    async def _kill(self, name: str, seconds: float) -> None:
        await self[name].kill()
        await asyncio.sleep(seconds)
        await (await self.start(name)).ready(90)


class RedisGround(Ground):
    """A server that writes everything down before it answers."""

    def __init__(self, folder: Path, topology: str) -> None:
        self._redis = RedisWire()
        super().__init__(self._redis, folder, topology)

    async def kill_broker(self, seconds: float) -> None:
        self._redis.server.kill()
        await asyncio.sleep(seconds)
        await asyncio.to_thread(self._redis.server.start)

    async def pause_broker(self, seconds: float) -> None:
        with paused(self._redis.server.pid):
            await asyncio.sleep(seconds)

    async def close(self) -> None:
        try:
            await super().close()
        finally:
            self._redis.stop()


class AmqpGround(Ground):
    """Service Bus and Event Hubs of the development broker, which keeps nothing over a restart."""

    def __init__(self, folder: Path, topology: str) -> None:
        self._amqp = AmqpWire()
        super().__init__(self._amqp, folder, topology)

    async def kill_broker(self, seconds: float) -> None:
        with ExitStack() as stack:
            for harness in self._amqp.harnesses:
                stack.enter_context(harness.down())
            await asyncio.sleep(seconds)

    async def pause_broker(self, seconds: float) -> None:
        # It is a thread of this process: only for the agents it can fall silent.
        await _cut(self._all_proxies, seconds, is_torn=False)

    async def close(self) -> None:
        try:
            await super().close()
        finally:
            await asyncio.to_thread(self._amqp.stop)


@contextmanager
def paused(pid: int) -> Iterator[None]:
    """A process stands still for the block."""
    guard = Guard(pid, signal.SIGCONT)
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)
        guard.release()


async def _cut(proxies: Sequence[TcpProxy], seconds: float, *, is_torn: bool) -> None:
    """Carry nothing for a while. What was under way comes late, or never, if the connections are torn meanwhile."""
    for proxy in proxies:
        proxy.cut()
    try:
        await asyncio.sleep(seconds)
    finally:
        for proxy in proxies:
            if is_torn:
                proxy.drop_connections()
            proxy.cut(is_cut=False)


def _port_of(url: str) -> int:
    port = address_of(url).port
    assert port is not None
    return port


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

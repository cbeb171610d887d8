"""The world that a controller touches besides its own files: platforms, the private Redis server, journals, clock and chance.

Handed in, so a test can put another world around the same decisions.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from hive_mind.control.platforms.base import Platform
from hive_mind.control.processes import private_redis
from hive_mind.control.state import FleetFolder
from hive_mind.control.waiting import Patience
from hive_mind.errors import ConfigError
from hive_mind.runtime.buses import purge, reach
from hive_mind.runtime.workers.config import BusConfig

if TYPE_CHECKING:
    from hive_mind.runtime.members.generations import Move, Moved

Report = Callable[[str], None]
MoveFacts = Callable[["Move"], Awaitable["Moved"]]
"""How facts come into the next generation."""


def silent(line: str) -> None:
    del line


class PrivateBus(Protocol):
    """The server that processes of one fleet share where their manifest names none."""

    async def ensure(self, folder: FleetFolder) -> int:
        """Its port; it runs when this returns. Raises `ConfigError` or `BackendError`."""
        ...

    async def stop(self, folder: FleetFolder) -> None:
        """End it; what it holds stays."""
        ...


class PrivateRedis:
    """`processes.private_redis` as it is asked here."""

    async def ensure(self, folder: FleetFolder) -> int:
        """See `PrivateBus`."""
        await private_redis.ensure(folder.path)
        return private_redis.state(folder.path).port

    async def stop(self, folder: FleetFolder) -> None:
        """See `PrivateBus`."""
        await private_redis.stop(folder.path)


async def open_platform(kind: str, folder: FleetFolder) -> Platform:
    """Where processes of the fleet run. Raises `ConfigError` for a place that this machine can't reconcile."""
    match kind:
        case "local":
            from hive_mind.control.platforms import local

            return await local.open(folder.path, folder.home)
        case "inprocess":
            from hive_mind.control.platforms import inprocess

            return await inprocess.open(folder.path, folder.home)
    remedy = "write its objects with --render and hand them to the cloud's own tools"
    raise ConfigError(f"platform {kind!r} is not run from here: {remedy}")


async def move(asked: "Move") -> "Moved":
    """See `runtime.members.generations`. The modules that read journals are loaded when one has to be read."""
    from hive_mind.runtime.members.generations import move as moved

    return await moved(asked)


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The real ones by default."""

    open_platform: Callable[[str, FleetFolder], Awaitable[Platform]] = open_platform
    private_bus: PrivateBus = field(default_factory=PrivateRedis)
    move: MoveFacts = move
    reach_bus: Callable[[BusConfig, Path], Awaitable[None]] = reach
    purge_bus: Callable[[BusConfig, Sequence[str], Path], Awaitable[list[str]]] = purge
    now_ms: Callable[[], int] = _wall_ms
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    rng: random.Random = field(default_factory=lambda: random.Random())  # noqa: S311 - jitter
    # A short change is waited for; of a long one a person hears within five seconds who is at it.
    lock_wait_s: float = 1.0

    def patience(self, timeout_s: float) -> Patience:
        return Patience(timeout_s, self.monotonic, self.sleep)

"""The world that a controller touches besides its own files: platforms, the private Redis server, journals, clock and chance.

Handed in, so a test can put another world around the same decisions.

Processes are waited for here, too: what is of use, what will not become so by waiting, and looking until then.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from hive_mind.clocks import wall_clock_ms
from hive_mind.control.platforms import Platform, Running
from hive_mind.control.processes import private_redis
from hive_mind.control.state import FleetFolder
from hive_mind.errors import ConfigError
from hive_mind.runtime.buses import purge, reach
from hive_mind.runtime.workers.config import BusConfig

if TYPE_CHECKING:
    from hive_mind.runtime.members.generations import Move, Moved


# Each look asks every process. The first ones come soon, because most starts take a second.
_LOOK_FIRST_S = 0.1
_LOOK_MAX_S = 1.0
_SLOWER = 1.3


class Patience:
    """A deadline. Clock and sleep are handed in, so a test waits for nothing."""

    def __init__(
        self,
        timeout_s: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._clock, self.sleep = clock, sleep
        self._end = clock() + timeout_s

    @property
    def left_s(self) -> float:
        """Time left; never 0, because work under way must still be cancelled."""
        return max(0.1, self._end - self._clock())

    @property
    def is_over(self) -> bool:
        return self._clock() >= self._end

    def at_most(self, seconds: float) -> "Patience":
        """A part of it, from now on."""
        return Patience(min(seconds, self.left_s), self._clock, self.sleep)


def is_of_use(process: Running | None) -> bool:
    """Whether its nodes take part in their hive. Its agents may still be learning."""
    status = process.status if process else None
    return status is not None and status.phase == "ready" and all(node.is_ready for node in status.nodes)


def is_silent(process: Running | None) -> bool:
    """Whether it is there and does not answer, though it has had the time to begin: it hangs, was stopped, or is very busy."""
    return process is not None and process.is_alive and process.status is None and bool(process.error)


def is_ready(process: Running | None) -> bool:
    return process is not None and process.status is not None and process.status.is_ready


def is_settled(process: Running | None) -> bool:
    """Whether waiting changes nothing: it is of use, has ended, or has failed."""
    if process is None or not process.is_alive or is_of_use(process):
        return True
    return process.status is not None and process.status.phase == "failed"


def is_done(process: Running | None) -> bool:
    """The same of its agents: each is ready, asleep or has failed."""
    status = process.status if process else None
    if status is None or not is_of_use(process):
        return is_settled(process)
    return all(agent.phase in ("ready", "asleep", "failed") for agent in status.agents)


def behind(running: Mapping[str, Running], names: Iterable[str]) -> list[str]:
    """Nodes that know of an older membership than others: they stay silent where the others ask. A beat or two mends it."""
    statuses = [running[name].status for name in names if name in running]
    nodes = [node for status in statuses if status is not None for node in status.nodes if node.is_ready]
    newest = max((node.epoch for node in nodes), default=0)
    return sorted(node.name for node in nodes if node.epoch < newest)


async def until(platform: Platform, is_so: Callable[[Mapping[str, Running]], bool], patience: Patience) -> Mapping[str, Running]:
    """Look until it is so, or the patience is over; what was seen last."""
    wait_s = _LOOK_FIRST_S
    while True:
        processes = await platform.observe()
        if is_so(processes) or patience.is_over:
            return processes
        await patience.sleep(min(wait_s, patience.left_s))
        wait_s = min(_LOOK_MAX_S, wait_s * _SLOWER)


async def side_by_side(doing: Iterable[Awaitable[None]], at_once_max: int) -> None:
    """All of it, no more at once."""
    room = asyncio.Semaphore(at_once_max)

    async def in_turn(call: Awaitable[None]) -> None:
        async with room:
            await call

    async with asyncio.TaskGroup() as group:
        for call in doing:
            group.create_task(in_turn(call))


Report = Callable[[str], None]
MoveFacts = Callable[["Move"], Awaitable["Moved"]]
"""How facts come into the next generation."""


def silent(line: str) -> None:
    del line


async def open_platform(kind: str, folder: FleetFolder) -> Platform:
    """Where processes of the fleet run. Raises `ConfigError` for a place that this machine can't reconcile."""
    if kind in ("local", "inprocess"):
        platform: Platform = await import_module(f"hive_mind.control.platforms.{kind}").open(folder.path, folder.home)
        return platform
    remedy = "write its objects with --render and hand them to the cloud's own tools"
    raise ConfigError(f"platform {kind!r} is not run from here: {remedy}")


async def move(asked: "Move") -> "Moved":
    """See `runtime.members.generations`. The modules that read journals are loaded when one has to be read."""
    from hive_mind.runtime.members.generations import move as moved

    return await moved(asked)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The real ones by default."""

    open_platform: Callable[[str, FleetFolder], Awaitable[Platform]] = open_platform
    ensure_bus: Callable[[Path], Awaitable[int]] = private_redis.ensure
    """Of the server that processes of one fleet share where their manifest names none: its port, when it runs."""
    has_bus: Callable[[Path], bool] = private_redis.is_there
    stop_bus: Callable[[Path], Awaitable[None]] = private_redis.stop
    move: MoveFacts = move
    reach_bus: Callable[[BusConfig, Path], Awaitable[None]] = reach
    purge_bus: Callable[[BusConfig, Sequence[str], Path], Awaitable[list[str]]] = purge
    now_ms: Callable[[], int] = wall_clock_ms
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    rng: random.Random = field(default_factory=lambda: random.Random())  # noqa: S311 - jitter
    # A short change is waited for; of a long one a person hears within five seconds who is at it.
    lock_wait_s: float = 1.0

    def patience(self, timeout_s: float) -> Patience:
        return Patience(timeout_s, self.monotonic, self.sleep)

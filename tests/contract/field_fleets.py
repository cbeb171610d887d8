"""Fleets that are applied, changed and looked into: what a field of a manifest makes of the objects that run.

A story applies one manifest and then another one, over real servers where it needs them, and after each of the two looks at every
field that it is about.
"""

import asyncio
import inspect
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from hive_mind.control.controller import HiveController
from hive_mind.control.converging import ConvergenceResult
from hive_mind.control.manifests.reading import Source, read_text
from hive_mind.control.planning import Plan
from hive_mind.hive.membership import Membership
from hive_mind.hive.node import HiveNode
from hive_mind.memory.cognitive import CognitiveMemory
from hive_mind.runtime.workers.agents import WorkerAgent
from hive_mind.runtime.workers.worker import Worker
from tests.servers.home_guard import HomeGuard
from tests.servers.openai_compatible import OpenAICompatibleServer, Received
from tests.servers.redis_server import RedisOptions, RedisServer

PATIENCE_S = 90.0
PASSWORDS = {"first": "correct-horse", "other": "battery-staple"}
VARIABLES = {
    "HIVE_MIND_HOOK_SECRET": "hush",
    "FIRST_KEY": "key-one",
    "OTHER_KEY": "key-other",
    "FIRST_LOGIN": PASSWORDS["first"],
    "OTHER_LOGIN": PASSWORDS["other"],
}
"""What manifests refer to; whoever plays a story sets them."""
QUICK = {"beatS": 0.1, "suspectAfterS": 3.0}


class Ground:
    """The servers of a story and the folder of its manifest; each is there when it is asked for."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder, self._stack = folder, stack
        (folder / "a.txt").write_text("The harbour opens at dawn.\n")
        (folder / "b.txt").write_text("The lighthouse keeper is called Nora.\n")

    @cached_property
    def models(self) -> dict[str, OpenAICompatibleServer]:
        """Two that speak OpenAI's protocol."""
        return {name: self._stack.enter_context(OpenAICompatibleServer()) for name in ("first", "other")}

    @cached_property
    def brokers(self) -> dict[str, RedisServer]:
        """Two that let in whoever knows the password."""
        return {name: self._stack.enter_context(RedisServer(RedisOptions(password=it))) for name, it in PASSWORDS.items()}


class Fleet:
    """One that runs."""

    def __init__(self, ground: Ground, controller: HiveController) -> None:
        self.ground, self.controller = ground, controller
        self.step = 0
        """How often it was applied before."""
        self._counted: dict[str, int] = {}

    @property
    def workers(self) -> Mapping[str, Worker]:
        """Those in this process."""
        platform: Any = self.controller._platforms["inprocess"]
        running: dict[str, Worker] = platform._running
        return running

    @property
    def worker(self) -> Worker:
        """The only one."""
        (one,) = self.workers.values()
        return one

    @property
    def membership(self) -> Membership:
        """That of the first node."""
        return next(iter(self.worker._nodes.values())).member.membership

    @property
    def topology(self) -> Any:
        """As the first node has it."""
        return self.node.topology

    @property
    def node(self) -> HiveNode:
        """The first one's rules."""
        return next(iter(self.worker._nodes.values())).member.node

    @property
    def runner(self) -> Any:
        """What runs the first node."""
        return next(iter(self.worker._nodes.values())).runner

    def agent(self, name: str = "ada") -> WorkerAgent:
        return self.worker._agents[name]

    def memory(self, name: str = "ada") -> CognitiveMemory:
        return self.agent(name)._local

    @property
    def agents(self) -> list[str]:
        """All that run."""
        return sorted(name for worker in self.workers.values() for name in worker._agents)

    async def call(self, what: str, agent: str = "ada", **fields: object) -> Any:
        return await self.controller.call(agent, what, **fields)

    async def until(self, holds: Callable[[], bool]) -> bool:
        """Whether it holds within good time."""
        for _ in range(int(PATIENCE_S / 0.05)):
            if holds():
                return True
            await asyncio.sleep(0.05)
        return holds()

    def received(self, path: str, of: Callable[[Received], bool] = lambda _: True) -> tuple[str, Received]:
        """The last request of this kind that a server got, and which one did."""
        found = [
            (name, one)
            for name, server in self.ground.models.items()
            for one in server.requests[self._counted.get(name, 0) :]
            if one.path.endswith(path) and of(one)
        ]
        assert found, f"nobody was asked for {path}"
        return found[-1]

    def forget_requests(self) -> None:
        """From now on only later ones count."""
        if "models" in vars(self.ground):
            self._counted = {name: len(server.requests) for name, server in self.ground.models.items()}


See = Callable[[Fleet], Any]


@dataclass(frozen=True)
class Sight:
    """What a field is seen as, before and after it was changed. `see` may be awaited."""

    see: See
    before: Any
    after: Any


@dataclass(frozen=True)
class Story:
    """Two manifests in turn. Each is a function of the ground, because addresses are known only when it is there."""

    name: str
    before: Callable[[Ground], dict[str, Any]]
    after: Callable[[Ground], dict[str, Any]]
    sights: Mapping[str, Sight]
    platform: str = "inprocess"


@dataclass(frozen=True)
class Told:
    """What came of a story: what was seen of each field, and how the two applies went."""

    seen: Mapping[str, tuple[Any, Any]]
    outcomes: tuple[ConvergenceResult, ...]
    plans: tuple[Plan, ...]
    sources: tuple[Source, ...]


def source_of(spec: dict[str, Any], folder: Path, name: str = "town", **metadata: Any) -> Source:
    body = {"apiVersion": "hive-mind/v1", "kind": "Hive", "metadata": {"name": name, **metadata}, "spec": spec}
    return read_text(yaml.safe_dump(body, sort_keys=False), folder, "town.yaml")


def told(story: Story, folder: Path) -> Told:
    """Play it."""
    texts = folder / "texts"
    texts.mkdir()
    with ExitStack() as stack:
        stack.callback(HomeGuard(folder / "home").release)
        return asyncio.run(_told(story, Ground(texts, stack), folder / "home"))


async def _told(story: Story, ground: Ground, home: Path) -> Told:
    specs = [{"platform": story.platform, **make(ground)} for make in (story.before, story.after)]
    sources = tuple(source_of(spec, ground.folder) for spec in specs)
    seen: dict[str, list[Any]] = {name: [] for name in story.sights}
    outcomes, plans = [], []
    async with HiveController.open(home, "town") as controller:
        fleet = Fleet(ground, controller)
        try:
            for step, source in enumerate(sources):
                fleet.step = step
                fleet.forget_requests()
                outcomes.append(await controller.apply(source, allow_data_loss=True, timeout_s=PATIENCE_S))
                plans.append(await controller.plan(source))
                for name, sight in story.sights.items():
                    seen[name].append(await _seen(sight.see, fleet))
        finally:
            await controller.delete(timeout_s=PATIENCE_S)
    return Told({name: (one, two) for name, (one, two) in seen.items()}, tuple(outcomes), tuple(plans), sources)


async def _seen(see: See, fleet: Fleet) -> Any:
    """What goes wrong in looking at one field is what is seen of it."""
    try:
        found = see(fleet)
        return await found if inspect.isawaitable(found) else found
    except Exception as error:  # noqa: BLE001 - the other fields of the story are still to be looked at
        return f"{type(error).__name__}: {error}"

"""Keys change while a fleet works and its processes are killed, over a real Redis.

Members keep answering, nothing that was acknowledged is lost, and of a revoked key nothing is taken in ten seconds later.
"""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hive_mind.control.controller import HiveController
from hive_mind.control.manifests.reading import read_manifest
from hive_mind.errors import HiveError
from hive_mind.runtime.keys import KeyFolder
from tests.servers.redis_server import RedisServer

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

FLEET = """\
apiVersion: hive-mind/v1
kind: Hive
metadata: {{name: harbour}}
spec:
  topology: flat
  identity: require
  embedding: {{kind: none}}
  agents: [{{name: ada}}, {{name: bob}}, {{name: cleo}}, {{name: dan}}]
  bus: "{url}"
"""
HONEST = ("ada", "bob", "dan")
REFUSED_WITHIN_S = 10.0


@dataclass
class Load:
    """What agents say and ask all the time, and what came of it. `away` are those that are just being stopped or killed."""

    controller: HiveController
    said: dict[str, set[str]] = field(default_factory=dict)
    away: set[str] = field(default_factory=set)
    silent: list[str] = field(default_factory=list)
    answers: int = 0
    count: int = 0
    pause_s: float = 0.15

    async def speak(self, agent: str) -> None:
        while True:
            self.count += 1
            content = f"{agent} counted {self.count} boats at berth {self.count % 7}."
            try:
                told = await self.controller.call(agent, "store", content=content, timeout_s=10)
                if told["sharing"] in ("shared", "held"):
                    self.said.setdefault(agent, set()).add(content)
            except HiveError:
                await asyncio.sleep(0.2)
            await asyncio.sleep(self.pause_s)

    async def ask(self, agent: str) -> None:
        while True:
            was_away = agent in self.away
            try:
                await self.controller.call(agent, "search", query="boats at berth", timeout_s=10)
                self.answers += 1
            except HiveError as error:
                if not was_away and agent not in self.away:
                    self.silent.append(f"{agent}: {error}")
                await asyncio.sleep(0.2)
            await asyncio.sleep(self.pause_s)


@asynccontextmanager
async def under_load(controller: HiveController, pause_s: float) -> AsyncIterator[Load]:
    load = Load(controller, pause_s=pause_s)
    tasks = [asyncio.create_task(work) for name in (*HONEST, "cleo") for work in (load.speak(name), load.ask(name))]
    try:
        yield load
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def known(controller: HiveController, agent: str) -> set[str]:
    """Everything an agent can list of the hive. A listing that its deadline cut says so, and tells nothing of what it lacks."""
    while True:
        listed: dict[str, Any] = await controller.call(agent, "facts", limit=0, timeout_s=30)
        if listed["completeness"] == 1.0:
            return {fact["content"] for fact in listed["facts"]}
        await asyncio.sleep(0.5)


async def kill(controller: HiveController, load: Load, agent: str) -> None:
    """Without a warning."""
    load.away.add(agent)
    os.kill((await controller.observe())[controller.process_of(agent)].pid, signal.SIGKILL)


async def start_again(controller: HiveController, load: Load, agent: str) -> None:
    load.away.add(agent)
    await controller.restart(agent)
    load.away.discard(agent)


async def until_all_know(controller: HiveController, wanted: set[str], timeout_s: float = 60.0) -> dict[str, set[str]]:
    """What honest agents lack in the end, by agent; nothing where they lack nothing."""
    until_s = time.monotonic() + timeout_s
    while True:
        lacking = {agent: missing for agent in HONEST if (missing := wanted - await known(controller, agent))}
        if not lacking or time.monotonic() > until_s:
            return lacking
        await asyncio.sleep(0.5)


async def storm(home: Path, manifest: Path, rounds: int, pause_s: float) -> None:
    async with HiveController.open(home, "harbour") as controller:
        assert (await controller.apply(read_manifest(manifest, home))).is_converged
        try:
            async with under_load(controller, pause_s) as load:
                for number in range(rounds):
                    await judged(home, controller, load, *(HONEST[(number + place) % 3] for place in range(3)))
            said = set[str]().union(*load.said.values())
            assert await until_all_know(controller, said, 120) == {}
            assert load.silent == []
            print(f"{rounds} rounds: {len(said)} facts acknowledged, {load.answers} answers")
        finally:
            await controller.delete()


async def judged(home: Path, controller: HiveController, load: Load, first: str, second: str, rotated: str) -> None:
    """One is given another key, another one's key is revoked, two are killed; in the end all is as it was."""
    keys = KeyFolder(home / "fleets" / "harbour" / "keys", "harbour")
    await asyncio.sleep(2)
    former = keys.certificate(rotated)
    assert former is not None
    keys.issue(rotated, former.names[1:], is_anew=True)
    await kill(controller, load, second)
    await start_again(controller, load, rotated)
    await start_again(controller, load, second)
    await asyncio.sleep(2)

    hostile = keys.certificate("cleo")
    assert hostile is not None
    keys.revoke(hostile.key_id)
    revoked_s = time.monotonic()
    await kill(controller, load, first)
    await start_again(controller, load, first)
    await asyncio.sleep(max(0.0, revoked_s + REFUSED_WITHIN_S - time.monotonic()))
    late_from = load.count
    await asyncio.sleep(4)
    seen = {agent: await known(controller, agent) for agent in HONEST}
    unproven = (await controller.observe())[controller.process_of(first)].status

    late = {text for text in load.said.get("cleo", set()) if int(text.split()[2]) > late_from}
    assert all(not any(text.startswith("cleo") for text in texts) for texts in seen.values())
    assert late, "the revoked member still writes to itself; that is what nobody takes in"
    assert unproven is not None
    assert sum(node.unproven.get("revoked", 0) for node in unproven.nodes) > 0

    wanted = set[str]().union(*(load.said[agent] for agent in HONEST))
    assert min(len(load.said[agent]) for agent in HONEST) > 10
    assert await until_all_know(controller, wanted) == {}
    assert load.silent == []

    keys.issue("cleo", hostile.names[1:])
    await start_again(controller, load, "cleo")
    print(f"{len(wanted)} facts of honest members, {len(late)} said by a revoked key and taken in by nobody")


# In nine rounds each of the three is given another key three times, and killed six times.
@pytest.mark.parametrize(("rounds", "pause_s"), [(1, 0.15), (9, 0.5)], ids=["once", "for-long"])
def test_keys_are_changed_and_revoked_under_load_and_kills_and_no_fact_is_lost(tmp_path: Path, rounds: int, pause_s: float):
    with RedisServer() as redis:
        manifest = tmp_path / "fleet.yaml"
        manifest.write_text(FLEET.format(url=redis.url))
        asyncio.run(asyncio.wait_for(storm(tmp_path / "home", manifest, rounds, pause_s), 240 * rounds))

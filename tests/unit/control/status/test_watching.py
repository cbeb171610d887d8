"""A controller that watches: what crashed comes back, ever later, and nothing ends it."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from hive_mind.control.controller import HiveController
from hive_mind.control.state import FleetFolder, FleetLocked, Restarts, fleet_lock
from hive_mind.errors import BackendUnavailable
from tests.unit.control.applying import agents, apply, founded, source
from tests.unit.control.fake_platform import World, played, surroundings

pytestmark = pytest.mark.usefixtures("no_disk")


@asynccontextmanager
async def watching(home: Path, world: World) -> AsyncIterator[list[str]]:
    """A watching controller; every round takes two seconds of the world's time."""
    said: list[str] = []
    stop = asyncio.Event()
    async with HiveController.open(home, "team", report=said.append, around=surroundings(world)) as controller:
        task = asyncio.create_task(controller.watch(stop, period_s=0.01))
        try:
            yield said
        finally:
            stop.set()
            await task


async def until(is_so: Callable[[], bool], world: World | None = None) -> None:
    """Wait for it; with a world, its time passes meanwhile."""
    async with asyncio.timeout(60):
        while not is_so():
            if world is not None:
                world.now_s += 1
            await asyncio.sleep(0.005)


@played
async def test_one_that_crashes_again_and_again_is_started_ever_later(tmp_path: Path) -> None:
    world = await founded(tmp_path)
    world.broken = {"bob"}
    world.crash("bob")
    began_s = world.now_s

    async with watching(tmp_path, world):
        await until(lambda: FleetFolder(tmp_path, "team").state().restarts.keys() == {"bob"})
        await until(lambda: FleetFolder(tmp_path, "team").state().restarts["bob"].count >= 6, world)

    # Half of 2 + 4 + 8 + 16 + 32 seconds at least.
    assert world.now_s - began_s >= 31
    assert {"ada", "cy"} == set(world.alive)


@played
async def test_a_clock_that_was_set_back_keeps_nothing_from_being_started(tmp_path: Path) -> None:
    world = await founded(tmp_path)
    folder = FleetFolder(tmp_path, "team")
    day_ms = 24 * 60 * 60 * 1000
    ahead = Restarts(2, int(world.now_s * 1000) + day_ms, int(world.now_s * 1000) + day_ms + 4000, 2)
    folder.keep(msgspec.structs.replace(folder.state(), restarts={"bob": ahead}))
    world.crash("bob")

    async with watching(tmp_path, world):
        await until(lambda: "bob" in world.alive)


@played
async def test_a_crashed_process_is_started_again_and_counted_also_by_a_watcher_that_is_started_again(tmp_path: Path) -> None:
    world = await founded(tmp_path)
    for count in (1, 2):
        world.crash("bob")
        async with watching(tmp_path, world):
            await until(lambda: "bob" in world.alive, world)
        assert FleetFolder(tmp_path, "team").state().restarts["bob"].count == count


@played
async def test_a_process_that_hangs_is_ended_and_started_again(tmp_path: Path) -> None:
    world = await founded(tmp_path)
    world.processes["bob"].is_silent = True
    pid = world.processes["bob"].pid

    async with watching(tmp_path, world):
        await until(lambda: world.processes.get("bob", world.processes["ada"]).pid not in (0, pid), world)
        await until(lambda: "bob" in world.alive, world)

    assert world.processes["bob"].pid != pid


@played
async def test_what_an_interrupted_apply_began_is_finished(tmp_path: Path) -> None:
    world = await founded(tmp_path)
    world.learn("cy", "fact")
    FleetFolder(tmp_path, "team").keep_manifest(source(tmp_path, agents("ada", "bob")).text, 1)

    async with watching(tmp_path, world):
        await until(lambda: set(world.alive) == {"ada", "bob"})

    assert world.facts("team") == {"fact"}


@played
async def test_what_does_not_help_is_tried_ever_more_seldom(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("one")
    world = World(unreadable={str(tmp_path / "a.md")})
    await apply(tmp_path, world, source(tmp_path, agents("ada", sources="[a.md]")))
    world.calls.clear()
    began_s = world.now_s

    async with watching(tmp_path, world) as said:
        await until(lambda: len(world.calls) >= 6, world)

    assert world.now_s - began_s >= 2 + 4 + 8 + 16 + 32
    assert len(said) == 7, "six tries and one line about what is wrong"


@played
async def test_a_broken_manifest_is_told_once_and_does_not_end_it(tmp_path: Path) -> None:
    world = await founded(tmp_path)
    folder = FleetFolder(tmp_path, "team")
    text = folder.manifest_text()
    folder.manifest.write_text("kind: Hive\nnonsense")

    async with watching(tmp_path, world) as said:
        await until(lambda: bool(said))
        world.crash("bob")
        await asyncio.sleep(0.1)
        assert len(said) == 1
        folder.manifest.write_text(text)
        await until(lambda: "bob" in world.alive)


@played
async def test_it_waits_while_somebody_else_changes_the_fleet(tmp_path: Path) -> None:
    world = await founded(tmp_path)
    folder = FleetFolder(tmp_path, "team")

    async with watching(tmp_path, world) as said:
        async with fleet_lock(folder.lock, "team", 10.0):
            world.crash("bob")
            await asyncio.sleep(0.1)
            assert "bob" not in world.alive
        await until(lambda: "bob" in world.alive)
    assert [line for line in said if "being changed" in line] == []


@played
async def test_a_deleted_or_drained_process_is_not_brought_back(tmp_path: Path) -> None:
    world = await founded(tmp_path)

    async with watching(tmp_path, world), HiveController.open(tmp_path, "team", around=surroundings(world)) as controller:
        await _patiently(controller.drain, "cy")
        world.crash("bob")
        await until(lambda: "bob" in world.alive)
        assert set(world.alive) == {"ada", "bob"}
        await _patiently(controller.delete)
        await asyncio.sleep(0.1)
        assert world.alive == {}


async def _patiently(call: Callable[..., object], *given: object) -> None:
    """Again while the watcher has the lock: this world's controllers do not wait for it."""
    async with asyncio.timeout(60):
        while True:
            try:
                await call(*given)  # type: ignore[misc]
            except FleetLocked:
                await asyncio.sleep(0.001)
            else:
                return


@played
async def test_who_watches_ends_with_the_home(tmp_path: Path) -> None:
    home = tmp_path / "home"
    world = await founded(home)
    async with HiveController.open(home, "team", around=surroundings(world)) as controller:
        task = asyncio.create_task(controller.watch(asyncio.Event(), period_s=0.01))
        await asyncio.sleep(0.05)
        assert not task.done()
        shutil.rmtree(home)
        with pytest.raises(BackendUnavailable, match="home: it was deleted"):
            await task

"""The process of agents in no fleet, which any number of clients start at once."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from hive_mind.control import RESIDENT
from hive_mind.control.controller import HiveController, keep_open
from hive_mind.control.state import FleetFolder, FleetLocked, fleet_lock
from hive_mind.runtime.settings import Settings
from tests.unit.control.fake_platform import World, surroundings

# Many times what a try waits for the lock.
HELD_S = 3.0


async def kept_open(home: Path, world: World, name: str = "ada", **patience: float) -> bool:
    around = replace(surroundings(world), lock_wait_s=0.01)
    async with HiveController.open(home, RESIDENT, around=around) as controller:
        return (await keep_open(controller, name, Settings(home=home, embed="none"), **patience)).is_converged


async def test_a_client_waits_for_another_one_that_starts_it_for_long(tmp_path: Path) -> None:
    folder = FleetFolder(tmp_path, RESIDENT).make()
    async with fleet_lock(folder.lock, RESIDENT, 0.0):
        waiting = asyncio.create_task(kept_open(tmp_path, World()))
        await asyncio.sleep(HELD_S)
    assert await waiting


def test_one_that_is_changed_for_ever_is_told(tmp_path: Path) -> None:
    async def story() -> None:
        folder = FleetFolder(tmp_path, RESIDENT).make()
        async with fleet_lock(folder.lock, RESIDENT, 0.0):
            await kept_open(tmp_path, World(), patience_s=HELD_S)

    with pytest.raises(FleetLocked, match="is being changed by process"):
        asyncio.run(story())


async def test_an_agent_that_can_not_be_opened_keeps_no_other_from_being_kept_open(tmp_path: Path) -> None:
    world = World(failed={"ada"})
    assert [await kept_open(tmp_path, world, name) for name in ("ada", "ben", "ada")] == [False, True, False]
    world.failed.clear()
    assert await kept_open(tmp_path, world, "ada")

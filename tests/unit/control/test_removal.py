"""Purging a fleet while somebody still leaves files in it, or when the system refuses."""

import shutil
from pathlib import Path

import pytest

from hive_mind.control import state
from hive_mind.control.controller import HiveController
from hive_mind.control.state import FleetFolder
from tests.unit.control.applying import founded
from tests.unit.control.fake_platform import World, played, surroundings


async def fleet_at(home: Path) -> Path:
    """A fleet that was applied; the folder of its agent ada."""
    await founded(home)
    agent = FleetFolder(home, "team").agent("ada")
    agent.mkdir(parents=True)
    return agent


@played
async def test_what_comes_into_a_folder_being_removed_is_removed_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agent, late, rmdir = await fleet_at(tmp_path), ["memory.sqlite-wal", "memory.sqlite-shm"], state.shutil.os.rmdir

    def leaving_files(path: str, *, dir_fd: int | None = None) -> None:
        if Path(path).name == "ada" and late:
            (agent / late.pop()).touch()
        rmdir(path, dir_fd=dir_fd)

    monkeypatch.setattr(state.shutil.os, "rmdir", leaving_files)
    async with HiveController.open(tmp_path, "team", around=surroundings(World())) as controller:
        assert (await controller.delete(purge=True)).is_converged
    assert (late, agent.exists()) == ([], False)


@played
async def test_what_the_system_does_not_remove_is_told_and_the_fleet_can_be_purged_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = await fleet_at(tmp_path)

    def refusing(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    async with HiveController.open(tmp_path, "team", around=surroundings(World())) as controller:
        with monkeypatch.context() as here:
            here.setattr(shutil, "rmtree", refusing)
            outcome = await controller.delete(purge=True)
        assert outcome.problems == (f"{agent} can't be removed: Permission denied",)
        assert (await controller.delete(purge=True)).is_converged
    assert not agent.exists()

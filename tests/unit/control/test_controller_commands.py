"""What a controller can be told besides a manifest: delete, purge, scale, undo, drain, restart, and a request to an agent."""

from pathlib import Path

import pytest

from hive_mind.control.controller import HiveController, fleets
from hive_mind.control.state import FleetFolder
from hive_mind.errors import InvalidInput, ManifestError
from tests.unit.control.applying import FLAT, agents, apply, source
from tests.unit.control.fake_platform import World, played, surroundings

pytestmark = pytest.mark.usefixtures("no_disk")


@played
async def test_delete_stops_everything_and_keeps_the_memory(tmp_path: Path) -> None:
    world, wanted = World(), source(tmp_path, FLAT)
    await apply(tmp_path, world, wanted)
    world.learn("ada", "fact")
    FleetFolder(tmp_path, "team").agent("ada").mkdir(parents=True)

    async with HiveController.open(tmp_path, "team", around=surroundings(world)) as controller:
        assert (await controller.delete()).is_converged
        assert (await controller.status()).phase == "Stopped"

    assert (world.alive, world.redis_port) == ({}, 0)
    assert not any(call.startswith("leave") for call in world.calls)
    assert (await apply(tmp_path, world, wanted)).is_converged
    assert world.facts("team") == {"fact"}


@played
async def test_a_fleet_that_is_not_there_is_not_made_by_deleting_it(tmp_path: Path) -> None:
    await apply(tmp_path, World(), source(tmp_path, FLAT))

    async with HiveController.open(tmp_path, "taem", around=surroundings(World())) as controller:
        for call in (controller.delete, controller.restart, controller.undo, lambda: controller.scale("r", 2)):
            with pytest.raises(InvalidInput):
                await call()
        with pytest.raises(InvalidInput, match=r"no fleet 'taem' .* there are: team"):
            await controller.delete()

    assert fleets(tmp_path) == ("team",)
    assert not (tmp_path / "fleets" / "taem").exists()


@played
async def test_purge_removes_what_is_the_fleets_and_nothing_else(tmp_path: Path) -> None:
    world, folder = World(), FleetFolder(tmp_path, "team")
    await apply(tmp_path, world, source(tmp_path, FLAT))
    for path in (folder.agent("ada"), folder.agent("stranger"), folder.hive("team"), folder.hive("other")):
        path.mkdir(parents=True)

    async with HiveController.open(tmp_path, "team", around=surroundings(world)) as controller:
        assert (await controller.delete(purge=True)).is_converged

    assert not folder.path.exists()
    assert not folder.agent("ada").exists()
    assert not folder.hive("team").exists()
    assert folder.agent("stranger").exists()
    assert folder.hive("other").exists()


@played
async def test_scale_writes_another_revision_and_undo_takes_it_back(tmp_path: Path) -> None:
    world, wanted = World(), source(tmp_path, "agents:\n- {name: 'r-{n}', count: 2}\n- {name: ada}")
    await apply(tmp_path, world, wanted)

    async with HiveController.open(tmp_path, "team", around=surroundings(world)) as controller:
        assert (await controller.scale("r", 4)).is_converged
        assert set(world.alive) == {"ada", "r-1", "r-2", "r-3", "r-4"}
        assert (await controller.undo()).revision == 3
        assert set(world.alive) == {"ada", "r-1", "r-2"}
        with pytest.raises(InvalidInput, match="no template 'ada'"):
            await controller.scale("ada", 2)


@played
async def test_a_drained_process_stays_away_until_the_next_apply(tmp_path: Path) -> None:
    world, wanted = World(), source(tmp_path, FLAT)
    await apply(tmp_path, world, wanted)
    world.learn("cy", "fact")

    async with HiveController.open(tmp_path, "team", around=surroundings(world)) as controller:
        assert (await controller.drain("cy")).is_converged
        assert set(world.alive) == {"ada", "bob"}
        assert world.facts("team") == {"fact"}
        # As it was ordered: nothing is wrong.
        assert (await controller.status()).phase == "Ready"
        assert "rollout restart" in (await controller.status()).last_error
        # What a plan shows is what apply does.
        assert [action.subject for action in (await controller.plan(wanted)).actions] == ["cy"]
        assert (await controller.apply(wanted)).is_converged

    assert world.members["team"] == {"ada", "bob", "cy"}


@played
async def test_a_process_that_hangs_is_started_anew_to_hand_over_when_it_is_drained(tmp_path: Path) -> None:
    world, wanted = World(), source(tmp_path, FLAT)
    await apply(tmp_path, world, wanted)
    world.learn("cy", "fact")
    world.processes["cy"].is_silent = True

    async with HiveController.open(tmp_path, "team", around=surroundings(world)) as controller:
        world.calls.clear()
        assert (await controller.drain("cy")).is_converged

    assert [call for call in world.calls if call.endswith(" cy")] == ["stop cy", "start cy", "leave cy", "stop cy"]
    assert (set(world.alive), world.facts("team")) == ({"ada", "bob"}, {"fact"})


@played
async def test_nothing_is_stopped_that_could_not_be_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    monkeypatch.setenv("TOWN_KEY", "k")
    wanted = source(tmp_path, agents("ada", "bob", env='{KEY: "${env:TOWN_KEY}"}'))
    await apply(tmp_path, world, wanted)
    before = {one.pid for one in world.alive.values()}
    monkeypatch.delenv("TOWN_KEY")

    async with HiveController.open(tmp_path, "team", around=surroundings(world)) as controller:
        for change in (controller.restart, lambda: controller.restart("ada"), lambda: controller.apply(wanted)):
            with pytest.raises(ManifestError, match="TOWN_KEY} is not set"):
                await change()

    assert {one.pid for one in world.alive.values()} == before


@played
async def test_restart_starts_a_fleet_that_was_deleted(tmp_path: Path) -> None:
    world = World()
    await apply(tmp_path, world, source(tmp_path, FLAT))

    async with HiveController.open(tmp_path, "team", around=surroundings(world)) as controller:
        await controller.delete()
        world.calls.clear()
        assert (await controller.restart("ada")).is_converged
        status = await controller.status()

    assert (status.phase, len(status.agents), len(world.alive)) == ("Ready", 3, 3)
    assert not any(call.startswith("stop") for call in world.calls)


@played
async def test_restart_starts_every_process_anew(tmp_path: Path) -> None:
    world = World()
    await apply(tmp_path, world, source(tmp_path, FLAT))
    before = {one.pid for one in world.alive.values()}

    async with HiveController.open(tmp_path, "team", around=surroundings(world)) as controller:
        assert (await controller.restart()).is_converged

    assert len(world.alive) == 3
    assert not before & {one.pid for one in world.alive.values()}


@played
async def test_a_request_finds_the_process_of_its_agent(tmp_path: Path) -> None:
    world = World()
    await apply(tmp_path, world, source(tmp_path, agents("ada", "bob", "cy") + "\nplatform: {agentsPerProcess: 2}"))

    async with HiveController.open(tmp_path, "team", around=surroundings(world)) as controller:
        assert await controller.call("cy", "ask", question="why?") == {"did": "ask", "question": "why?"}
        assert world.calls[-1] == "call team-1 cy ask"
        await controller.call("", "ask", question="why?")
        with pytest.raises(InvalidInput, match="no agent 'eve'; it has: ada, bob, cy"):
            await controller.call("eve", "ask")

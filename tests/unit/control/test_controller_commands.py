"""What a controller can be told besides a manifest: delete, purge, scale, undo, drain, restart, and a request to an agent.

A controller that is killed at any step, in every kind of change, is followed by one that gets there and loses nothing.
"""

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import pytest

from hive_mind.control import controller, remembering
from hive_mind.control.controller import HiveController, fleets
from hive_mind.control.converging import ConvergenceResult
from hive_mind.control.evicting import Remains
from hive_mind.control.manifests.reading import Source
from hive_mind.control.state import FleetFolder, FleetState, fleet_lock, purge
from hive_mind.errors import BackendRejected, InvalidInput, ManifestError
from tests.sampled import steps, thorough
from tests.unit.control.applying import FLAT, agents, apply, founded, planned, source
from tests.unit.control.fake_platform import FakePlatform, Killed, World, played, surroundings

pytestmark = pytest.mark.usefixtures("no_disk")


@played
async def test_delete_stops_everything_and_keeps_the_memory(tmp_path: Path) -> None:
    world, wanted = await founded(tmp_path), source(tmp_path, FLAT)
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
    world, folder = await founded(tmp_path), FleetFolder(tmp_path, "team")
    for path in (folder.agent("ada"), folder.agent("stranger"), folder.hive("team"), folder.hive("other")):
        path.mkdir(parents=True)

    async with HiveController.open(tmp_path, "team", around=surroundings(world)) as controller:
        assert (await controller.delete(purge=True)).is_converged

    assert not folder.path.exists()
    assert not folder.agent("ada").exists()
    assert not folder.hive("team").exists()
    assert folder.agent("stranger").exists()
    assert folder.hive("other").exists()


CHANGES: dict[str, Callable[[HiveController], Awaitable[object]]] = {
    "delete": lambda fleet: fleet.delete(),
    "purge": lambda fleet: fleet.delete(purge=True),
    "restart": lambda fleet: fleet.restart(),
    "drain": lambda fleet: fleet.drain("ada"),
    "evict": lambda fleet: fleet.evict("ada"),
    "refound": lambda fleet: fleet.refound(),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@played
async def test_a_change_that_waited_for_a_purge_finds_no_fleet_and_makes_none(tmp_path: Path, change) -> None:
    world, folder = await founded(tmp_path), FleetFolder(tmp_path, "team")
    world.journals["team", "ada"] = set()
    patient = replace(surroundings(world), lock_wait_s=5.0)
    async with HiveController.open(tmp_path, "team", around=patient) as controller:
        async with fleet_lock(folder.lock, "team", 0.0):
            waiting = asyncio.create_task(change(controller))
            await asyncio.sleep(0.5)
            assert not waiting.done()
            purge(folder)
        calls = list(world.calls)
        with pytest.raises(InvalidInput, match="there is no fleet 'team'"):
            await waiting

    assert (world.calls, folder.path.exists()) == (calls, False)


@played
async def test_scale_writes_another_revision_and_undo_takes_it_back(tmp_path: Path) -> None:
    world = await founded(tmp_path, "agents:\n- {name: 'r-{n}', count: 2}\n- {name: ada}")

    async with HiveController.open(tmp_path, "team", around=surroundings(world)) as controller:
        assert (await controller.scale("r", 4)).is_converged
        assert set(world.alive) == {"ada", "r-1", "r-2", "r-3", "r-4"}
        assert (await controller.undo()).revision == 3
        assert set(world.alive) == {"ada", "r-1", "r-2"}
        with pytest.raises(InvalidInput, match="no template 'ada'"):
            await controller.scale("ada", 2)


@played
async def test_a_drained_process_stays_away_until_the_next_apply(tmp_path: Path) -> None:
    world, wanted = await founded(tmp_path), source(tmp_path, FLAT)
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
    world = await founded(tmp_path)
    world.learn("cy", "fact")
    world.processes["cy"].is_silent = True

    async with HiveController.open(tmp_path, "team", around=surroundings(world)) as controller:
        world.calls.clear()
        assert (await controller.drain("cy")).is_converged

    assert [call for call in world.calls if call.endswith(" cy")] == ["start cy", "stop cy", "start cy", "leave cy", "stop cy"]
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
    world = await founded(tmp_path)

    async with HiveController.open(tmp_path, "team", around=surroundings(world)) as controller:
        await controller.delete()
        world.calls.clear()
        assert (await controller.restart("ada")).is_converged
        status = await controller.status()

    assert (status.phase, len(status.agents), len(world.alive)) == ("Ready", 3, 3)
    assert not any(call.startswith("stop") for call in world.calls)


@played
async def test_a_request_finds_the_process_of_its_agent(tmp_path: Path) -> None:
    world = await founded(tmp_path, f"{FLAT}\nplatform: {{agentsPerProcess: 2}}")

    async with HiveController.open(tmp_path, "team", around=surroundings(world)) as controller:
        assert await controller.call("cy", "ask", question="why?") == {"did": "ask", "question": "why?"}
        assert world.calls[-1] == "call team-1 cy ask"
        await controller.call("", "ask", question="why?")
        with pytest.raises(InvalidInput, match="no agent 'eve'; it has: ada, bob, cy"):
            await controller.call("eve", "ask")


FOUR = agents("ada", "bob", "cy", "di")
CHANGES = {
    "more agents": (FLAT, agents("ada", "bob", "cy", "di", "eve")),
    "fewer agents": (FOUR, agents("ada", "bob")),
    "other agents": (FLAT, agents("bob", "di", "eve")),
    "all others": (FLAT, agents("di", "eve")),
    "other settings": (FLAT, FLAT + "\nretrieval: {depth: 7}"),
    "settings and agents": (FOUR, FLAT + "\nretrieval: {depth: 7}"),
    "another topology": (FLAT, "topology: {kind: sharded, replicas: 2}\n" + FOUR),
    "groups": (FLAT, "topology: federated\nagents:\n- {name: ada, group: a}\n- {name: bob, group: b}\n- {name: cy, group: b}"),
    "shared processes": (FOUR, FOUR + "\nplatform: {agentsPerProcess: 2}"),
    "own processes": (FOUR + "\nplatform: {agentsPerProcess: 2}", agents("ada", "cy", "di")),
    "another bus": (FOUR, "bus: {url: 'redis://127.0.0.1:7001', credential: '${env:HOME}'}\n" + FLAT),
    "one process": (FLAT, FLAT + "\nbus: 'memory:'\nplatform: {agentsPerProcess: 9}"),
    "to single": (FLAT, "topology: single\n" + FOUR),
}

UNDONE = ("to single",)
# Each takes a part of the steps that another takes: "other agents" come and go, and "other settings" change.
PARTS = ("more agents", "fewer agents", "all others", "settings and agents")


@pytest.mark.parametrize(
    ("change", "then"),
    [
        *((thorough if change in PARTS else pytest.param)(change, "the same again") for change in CHANGES),
        *(
            pytest.param(change, "back to the first", marks=pytest.mark.slow)
            if change in UNDONE
            else thorough(change, "back to the first")
            for change in CHANGES
        ),
    ],
)
@played
async def test_a_controller_killed_at_any_step_is_followed_by_one_that_gets_there(
    change: str, then: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (source(tmp_path, spec) for spec in CHANGES[change])
    async for at, home, world in fresh(tmp_path, first):
        known = world.facts("team")
        was_killed = await killed_at(at, world, monkeypatch, lambda home=home, world=world: apply(home, world, second))
        wanted = second if then == "the same again" else first

        outcome = await apply(home, world, wanted)

        told = f"killed at step {at} of {change}: {world.calls}"
        assert outcome.problems == (), told
        assert not await planned(home, world, wanted), told
        assert world.violations == [], told
        state = FleetFolder(home, "team").state()
        assert state.hive is not None
        hive = state.hive if state.hive.topology != "single" else state.last_hive
        assert hive is not None
        assert world.facts(hive.id) >= known, told
        assert set(world.alive) == set(state.allocation), told
        if not was_killed:
            return
    pytest.fail("it never got to the end")


@pytest.mark.parametrize("then", ["founded again", "applied"])
@played
async def test_founding_a_hive_again_is_killed_at_any_step_and_ends_the_next_time(
    then: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def there(_home: Path, state: FleetState) -> Remains:
        return Remains(state.hive.id if state.hive else "")

    monkeypatch.setattr(controller, "remains", there)
    wanted = source(tmp_path, FOUR)
    async for at, home, world in fresh(tmp_path, wanted):
        known = world.facts("team")
        was_killed = await killed_at(at, world, monkeypatch, lambda home=home, world=world: refound(home, world))
        told = f"killed at step {at}: {world.calls}"
        if was_killed and at % 2 == 0 and world.alive:
            world.crash(next(iter(world.alive)))

        outcome = await (refound(home, world) if then == "founded again" else apply(home, world, wanted))

        assert (outcome.problems, world.violations) == ((), []), told
        assert not await planned(home, world, wanted), told
        state = FleetFolder(home, "team").state()
        assert state.hive is not None
        assert not state.is_refounding, told
        assert {process.config.hive.id for process in world.alive.values()} == {state.hive.id}, told
        assert set(world.alive) == set(state.allocation), told
        assert world.facts(state.hive.id) >= known, told
        if not was_killed:
            assert state.generation == (3 if then == "founded again" else 2)
            return
    pytest.fail("it never got to the end")


async def fresh(folder: Path, first: Source) -> AsyncIterator[tuple[int, Path, World]]:
    """For each number from 1 the same fleet as it was just founded, with a fact of each process."""
    home, kept, world = folder / "home", folder / "kept", World()
    await apply(home, world, first)
    for process in tuple(world.alive):
        world.learn(process, f"{process} knows")
    shutil.copytree(home, kept)
    for at in steps(500):
        yield at, home, deepcopy(world)
        shutil.rmtree(home)
        shutil.copytree(kept, home)


async def refound(home: Path, world: World) -> ConvergenceResult:
    async with HiveController.open(home, "team", around=surroundings(world)) as opened:
        return await opened.refound()


async def killed_at(at: int, world: World, monkeypatch: pytest.MonkeyPatch, call: Callable[[], Awaitable[object]]) -> bool:
    """Run it with a kill at the step of that number, counted over everything it does to the world and to its own files."""
    world.steps, world.kill_at = 0, at
    with monkeypatch.context() as patched:
        for name in ("keep", "keep_manifest"):
            patched.setattr(FleetFolder, name, stepping(getattr(FleetFolder, name), world))
        patched.setattr(remembering, "write_whole", stepping(remembering.write_whole, world))
        try:
            await call()
        except BaseExceptionGroup as error:
            if error.subgroup(Killed) is None:
                raise
        except Killed:
            pass
        finally:
            was_killed, world.kill_at = world.steps >= at, 0
    return was_killed


def stepping(call: Callable[..., None], world: World) -> Callable[..., None]:
    def doing(*given: object) -> None:
        world.step("before a write")
        call(*given)
        world.step("after a write")

    return doing


@played
async def test_a_fleet_that_can_not_be_looked_at_is_not_noted_as_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = await founded(tmp_path)

    async def foreign(*_: object, **__: object) -> None:
        raise BackendRejected("local", "it belongs to user 4711")

    monkeypatch.setattr(FakePlatform, "observe", foreign)
    async with HiveController.open(tmp_path, "team", around=surroundings(world)) as controller:
        with pytest.raises(BackendRejected):
            await controller.delete()
    assert not FleetFolder(tmp_path, "team").state().is_stopped

"""A controller that is killed at any step, in every kind of change, is followed by one that gets there and loses nothing."""

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from copy import deepcopy
from pathlib import Path

import pytest

from hive_mind.control import controller, remembering
from hive_mind.control.controller import HiveController
from hive_mind.control.converging import ConvergenceResult
from hive_mind.control.evicting import Remains
from hive_mind.control.manifests.reading import Source
from hive_mind.control.state import FleetFolder, FleetState
from tests.sampled import thorough
from tests.unit.control.applying import FLAT, agents, apply, planned, source
from tests.unit.control.fake_platform import Killed, World, played, surroundings

pytestmark = pytest.mark.usefixtures("no_disk")

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
        if was_killed and at % 3 == 0 and world.alive:
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
    for at in range(1, 500):
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

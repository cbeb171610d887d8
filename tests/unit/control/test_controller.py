"""The controller over a world of its own: what it does to get a fleet to what is wanted, in which order, and what it refuses."""

import asyncio
import errno
import os
import re
import sys
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from hive_mind.control import converging
from hive_mind.control.controller import HiveController, fleets
from hive_mind.control.converging import ConvergenceResult, DataLoss
from hive_mind.control.planning import Plan
from hive_mind.control.platforms import Running
from hive_mind.control.state import FleetChanged, FleetFolder, FleetLocked, fleet_lock
from hive_mind.errors import BackendNotInstalled, HiveError, ManifestError
from hive_mind.runtime.workers.config import WorkerConfig
from tests.unit.control.applying import FLAT, agents, apply, founded, planned, source
from tests.unit.control.fake_platform import FakePlatform, World, played, surroundings

pytestmark = pytest.mark.usefixtures("no_disk")


def kinds(outcome: ConvergenceResult) -> list[tuple[str, str]]:
    return [(action.kind, action.subject) for action in outcome.actions]


@played
async def test_a_fleet_is_started_by_the_plan_that_is_shown_and_then_nothing_is_left_to_do(tmp_path: Path) -> None:
    world, wanted, shown = World(), source(tmp_path, FLAT), list[Plan]()
    async with patient(tmp_path, world) as controller:
        outcome = await controller.apply(wanted, on_plan=shown.append)

    assert [plan.actions for plan in shown] == [outcome.actions]

    assert outcome.problems == ()
    assert kinds(outcome) == [("create", "ada"), ("create", "bob"), ("create", "cy")]
    assert set(world.alive) == {"ada", "bob", "cy"}
    assert not await planned(tmp_path, world, wanted)
    assert fleets(tmp_path) == ("team",)
    assert world.redis_port == 6400


@played
async def test_a_bus_without_its_packages_is_told_before_all_planning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("hive_mind.bus.servicebus")]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("azure", "azure.servicebus", "azure.servicebus.aio"):
        monkeypatch.setitem(sys.modules, name, None)
    world, wanted = World(), source(tmp_path, f"bus: servicebus://town.servicebus.windows.net/hive\n{FLAT}")

    for act in (planned, apply):
        with pytest.raises(BackendNotInstalled, match=r"install .*\[servicebus\]"):
            await act(tmp_path, world, wanted)
    assert not world.alive


@played
async def test_an_agent_that_goes_hands_over_before_it_stops_and_a_dead_one_is_started_for_that(tmp_path: Path) -> None:
    world = await founded(tmp_path)
    world.learn("cy", "cy was here")
    world.calls.clear()

    assert (await apply(tmp_path, world, source(tmp_path, agents("ada", "bob")))).problems == ()
    assert world.calls == ["leave cy", "left", "stop cy", "stopped"]
    assert world.facts("team") == {"cy was here"}

    world.crash("ada")
    world.learn("bob", "only bob knows")
    world.crash("bob")
    assert (await apply(tmp_path, world, source(tmp_path, agents("ada")))).problems == ()
    assert world.facts("team") == {"cy was here", "only bob knows"}
    assert set(world.alive) == {"ada"}


@played
async def test_other_settings_restart_processes_a_few_at_a_time(tmp_path: Path) -> None:
    world = await founded(tmp_path)
    world.calls.clear()

    assert (await apply(tmp_path, world, source(tmp_path, FLAT + "\nretrieval: {depth: 7}"))).problems == ()
    assert [call.split()[0] for call in world.calls if call.startswith(("stop ", "start "))] == ["stop", "start"] * 3


@played
async def test_a_killed_fleet_comes_back_at_once_not_one_after_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world, seen = await founded(tmp_path), list[int]()
    for name in ("ada", "bob", "cy"):
        world.crash(name)
    observe = FakePlatform.observe

    async def noted(self: FakePlatform) -> Mapping[str, Running]:
        seen.append(len(world.alive))
        return await observe(self)

    monkeypatch.setattr(FakePlatform, "observe", noted)

    assert (await apply(tmp_path, world, source(tmp_path, FLAT))).problems == ()
    assert set(seen) == {0, 3}


@played
async def test_a_new_setting_that_breaks_one_process_does_not_take_the_others_down(tmp_path: Path) -> None:
    world = await founded(tmp_path)
    world.broken = {"ada", "bob", "cy"}

    outcome = await apply(tmp_path, world, source(tmp_path, FLAT + "\nretrieval: {depth: 7}"))

    assert not outcome.is_converged
    assert len(world.alive) == 2
    assert any("no such model for ada" in problem for problem in outcome.problems)


@played
async def test_whom_an_apply_waits_for_long_is_said_once_with_the_reason_and_while_it_waits(tmp_path: Path) -> None:
    world, lines = await founded(tmp_path), list[str]()
    world.alive["bob"].is_silent, began_s = True, world.now_s
    async with HiveController.open(tmp_path, "team", around=surroundings(world), report=lines.append) as controller:
        outcome = await controller.apply(source(tmp_path, FLAT), timeout_s=60)

    assert not outcome.is_converged
    assert 60 <= world.now_s - began_s < 90
    assert [line for line in lines if "waiting" in line] == ["waiting for at most 57 s: bob has not answered yet: no answer"]


def _silent(world: World) -> None:
    world.alive["bob"].is_silent = True


def _without_bus(world: World) -> None:
    world.redis_port = 0


def _begun(world: World) -> None:
    world.failed.add("bob")


TROUBLES = {
    "none": (lambda _: None, None),
    "a process that hangs": (_silent, "bob has not answered yet: no answer"),
    "no bus": (_without_bus, "the fleet's own Redis server does not run: hive-mind apply starts it"),
    "an agent that failed": (_begun, "agent bob is failed"),
}


@pytest.mark.parametrize("is_changed", [False, True], ids=["", "while somebody changes it"])
@pytest.mark.parametrize("trouble", TROUBLES)
@played
async def test_a_plan_without_a_step_says_why_all_is_not_well(tmp_path: Path, trouble: str, is_changed: bool) -> None:
    world = await founded(tmp_path)
    hinder, why = TROUBLES[trouble]
    hinder(world)
    folder = FleetFolder(tmp_path, "team")
    async with fleet_lock(folder.lock, "team", 0.0) if is_changed else nullcontext():
        plan = await planned(tmp_path, world, source(tmp_path, FLAT))

    assert not plan.actions
    whys = [*([rf"process {os.getpid()} is changing this fleet now: .*"] if is_changed else []), *([why] if why else [])]
    assert len(plan.troubles) == len(whys)
    assert all(map(re.fullmatch, whys, plan.troubles))


@played
async def test_a_disk_full_for_one_process_is_told_and_the_others_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    start = FakePlatform.start

    async def full(platform: FakePlatform, config: WorkerConfig) -> None:
        if config.process == "bob":
            raise OSError(errno.ENOSPC, "No space left on device", "config/bob.json")
        await start(platform, config)

    monkeypatch.setattr(FakePlatform, "start", full)
    outcome = await apply(tmp_path, world, source(tmp_path, FLAT))

    assert sorted(world.alive) == ["ada", "cy"]
    assert any("config/bob.json: No space left on device" in problem for problem in outcome.problems)


@played
async def test_an_agent_that_can_not_start_is_named_and_the_others_run(tmp_path: Path) -> None:
    world = World(broken={"bob"})
    began_s = world.now_s

    assert (await apply(tmp_path, world, source(tmp_path, FLAT))).problems == ("bob does not run: no such model for bob",)
    assert set(world.alive) == {"ada", "cy"}
    assert world.now_s - began_s < 60


@played
async def test_another_topology_moves_facts_while_nobody_runs(tmp_path: Path) -> None:
    world = await founded(tmp_path)
    world.learn("ada", "fact")

    outcome = await apply(tmp_path, world, source(tmp_path, "topology: {kind: sharded, replicas: 2}\n" + FLAT))

    assert outcome.problems == ()
    assert kinds(outcome)[0] == ("move", "team.g2")
    assert world.facts("team.g2") == {"fact"}
    assert world.violations == []
    assert FleetFolder(tmp_path, "team").state().generation == 2


@played
async def test_only_sources_that_changed_are_learned_and_a_bad_one_is_named(tmp_path: Path) -> None:
    for name in ("a.md", "b.md", "c.md"):
        (tmp_path / name).write_text(name)
    wanted, world = source(tmp_path, agents("ada", sources="['*.md']")), World()
    await apply(tmp_path, world, wanted)
    (tmp_path / "a.md").write_text("other")
    (tmp_path / "b.md").write_text("other")
    world.unreadable = {str(tmp_path / "b.md")}
    world.calls.clear()

    assert (await apply(tmp_path, world, wanted)).problems[-1] == f"agent ada can't learn {tmp_path / 'b.md'}: is no text"
    assert world.calls == ["call ada ada learn_files"] * 3


@played
async def test_a_step_that_would_lose_facts_is_refused_starting_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = await founded(tmp_path)
    honest = converging.plan

    def losing(*given: object) -> Plan:
        found = honest(*given)  # type: ignore[arg-type]
        return Plan(tuple(msgspec.structs.replace(one, loses=one.kind == "delete") for one in found.actions))

    monkeypatch.setattr(converging, "plan", losing)
    world.calls.clear()

    with pytest.raises(DataLoss, match=r"delete cy.*--allow-data-loss"):
        await apply(tmp_path, world, source(tmp_path, agents("ada", "bob")))
    assert world.calls == []
    assert FleetFolder(tmp_path, "team").state().revision == 1

    assert (await apply(tmp_path, world, source(tmp_path, agents("ada", "bob")), allow_data_loss=True)).is_converged


@played
async def test_a_hive_goes_on_without_one_back_that_cannot_hand_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world, fewer = World(), source(tmp_path, agents("ada", "bob"))
    for wanted in (source(tmp_path, FLAT), fewer, source(tmp_path, FLAT)):
        assert (await apply(tmp_path, world, wanted)).is_converged

    def stuck(name: str) -> None:
        raise HiveError(f"{name} is stuck")

    monkeypatch.setattr(world, "leave", stuck)
    assert (await apply(tmp_path, world, fewer, allow_data_loss=True)).is_converged

    # The others would wait for cy in the former one for ever.
    assert FleetFolder(tmp_path, "team").state().generation == 2
    assert sorted(world.alive) == ["ada", "bob"]


@played
async def test_one_that_can_not_hand_over_stays_and_is_named(tmp_path: Path) -> None:
    world = await founded(tmp_path)
    honest = world.leave

    def stuck(name: str) -> None:
        raise HiveError(f"{name} is stuck")

    world.leave = stuck  # type: ignore[method-assign]
    outcome = await apply(tmp_path, world, source(tmp_path, agents("ada", "bob")))

    assert not outcome.is_converged
    assert any("cy is stuck" in problem for problem in outcome.problems)
    assert "cy" in world.alive

    world.leave = honest  # type: ignore[method-assign]
    assert (await apply(tmp_path, world, source(tmp_path, agents("ada", "bob")))).is_converged
    assert set(world.alive) == {"ada", "bob"}


@played
async def test_a_fleet_that_somebody_changes_is_left_alone(tmp_path: Path) -> None:
    world, folder = World(), FleetFolder(tmp_path, "team").make()
    async with fleet_lock(folder.lock, "team", 0.0):
        with pytest.raises(FleetLocked, match=r"being changed by process \d+"):
            await apply(tmp_path, world, source(tmp_path, FLAT))
    assert world.calls == []


@played
async def test_an_agent_of_another_fleet_in_the_same_home_is_refused(tmp_path: Path) -> None:
    world = await founded(tmp_path)
    with pytest.raises(ManifestError, match="fleet 'team' has bob already"):
        await apply(tmp_path, world, source(tmp_path, agents("bob", "eve"), "others"))


def patient(home: Path, world: World) -> AbstractAsyncContextManager[HiveController]:
    """A controller that waits for who holds the lock."""
    return HiveController.open(home, "team", around=replace(surroundings(world), lock_wait_s=5.0))


@played
async def test_who_had_to_wait_for_another_change_does_nothing_that_was_not_seen(tmp_path: Path) -> None:
    """Two apply at once: the second would undo the first, and both would say that all went well."""
    world, old = await founded(tmp_path), source(tmp_path, FLAT)
    new = source(tmp_path, agents("ada", "bob", "dora"))
    shown: list[Plan] = []

    async with patient(tmp_path, world) as first, patient(tmp_path, world) as second:
        async with fleet_lock(FleetFolder(tmp_path, "team").lock, "team", 0.0):
            waiting = asyncio.ensure_future(second.apply(old, on_plan=shown.append))
            await asyncio.sleep(0.05)
        # The second waits for its next look at the lock, and the first is quicker.
        assert (await first.apply(new)).is_converged
        with pytest.raises(FleetChanged, match=r"1 to create.* 1 to delete"):
            await waiting

    assert set(world.alive) == {"ada", "bob", "dora"}
    assert shown == []

    # Who waited and finds everything as it should be is content.
    async with patient(tmp_path, world) as third:
        async with fleet_lock(FleetFolder(tmp_path, "team").lock, "team", 0.0):
            waiting = asyncio.ensure_future(third.apply(new))
            await asyncio.sleep(0.05)
        assert (await waiting).is_converged

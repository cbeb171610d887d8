"""The controller over a world of its own: what it does, in which order, and what is left when it is killed at any step."""

import os
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

from hive_mind.control import converging, remembering
from hive_mind.control.controller import HiveController, fleets
from hive_mind.control.converging import DataLoss, Outcome
from hive_mind.control.locking import FleetLocked, fleet_lock
from hive_mind.control.plan import Plan
from hive_mind.control.reading import Source, read_text
from hive_mind.control.state import FleetFolder
from hive_mind.errors import HiveError, InvalidInput, ManifestError
from tests.unit.control.fake_platform import Killed, World, played, surroundings


@pytest.fixture(autouse=True)
def _no_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody pulls a plug here."""
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)


def source(folder: Path, spec: str, name: str = "team") -> Source:
    body = "\n".join(f"  {line}" for line in spec.strip().splitlines())
    return read_text(f"apiVersion: hive-mind/v1\nkind: Hive\nmetadata: {{name: {name}}}\nspec:\n{body}\n", folder, name)


def agents(*names: str, **more: str) -> str:
    extra = "".join(f", {key}: {value}" for key, value in more.items())
    return "agents:\n" + "\n".join(f"- {{name: {name}{extra}}}" for name in names)


FLAT = agents("ada", "bob", "cy")


async def apply(home: Path, world: World, wanted: Source, **options: bool) -> Outcome:
    async with HiveController.open(home, wanted.manifest.metadata.name, around=surroundings(world)) as controller:
        return await controller.apply(wanted, **options)


async def planned(home: Path, world: World, wanted: Source) -> Plan:
    async with HiveController.open(home, wanted.manifest.metadata.name, around=surroundings(world)) as controller:
        return await controller.plan(wanted)


def kinds(outcome: Outcome) -> list[tuple[str, str]]:
    return [(action.kind, action.subject) for action in outcome.actions]


@played
async def test_a_fleet_is_started_and_then_nothing_is_left_to_do(tmp_path: Path) -> None:
    world, wanted = World(), source(tmp_path, FLAT)

    outcome = await apply(tmp_path, world, wanted)

    assert outcome.problems == ()
    assert kinds(outcome) == [("create", "ada"), ("create", "bob"), ("create", "cy")]
    assert set(world.alive) == {"ada", "bob", "cy"}
    assert not await planned(tmp_path, world, wanted)
    assert fleets(tmp_path) == ("team",)
    assert world.redis_port == 6400


@played
async def test_applying_the_same_again_does_nothing_and_makes_no_revision(tmp_path: Path) -> None:
    world, wanted = World(), source(tmp_path, FLAT)
    await apply(tmp_path, world, wanted)
    world.calls.clear()

    outcome = await apply(tmp_path, world, wanted)

    assert (outcome.is_converged, outcome.actions, outcome.revision, world.calls) == (True, (), 1, [])


@played
async def test_an_agent_that_goes_hands_over_before_it_stops(tmp_path: Path) -> None:
    world = World()
    await apply(tmp_path, world, source(tmp_path, FLAT))
    world.learn("cy", "cy was here")
    world.calls.clear()

    outcome = await apply(tmp_path, world, source(tmp_path, agents("ada", "bob")))

    assert outcome.problems == ()
    assert world.calls == ["leave cy", "left", "stop cy", "stopped"]
    assert world.facts("team") == {"cy was here"}


@played
async def test_a_dead_process_that_goes_is_started_to_hand_over(tmp_path: Path) -> None:
    world = World()
    await apply(tmp_path, world, source(tmp_path, FLAT))
    world.crash("ada")
    world.crash("bob")
    world.learn("cy", "only cy knows")
    world.crash("cy")

    outcome = await apply(tmp_path, world, source(tmp_path, agents("ada", "bob")))

    assert outcome.problems == ()
    assert world.facts("team") == {"only cy knows"}
    assert set(world.alive) == {"ada", "bob"}


@played
async def test_one_that_left_joins_when_it_comes_back(tmp_path: Path) -> None:
    world = World()
    for spec in (FLAT, agents("ada", "bob"), FLAT):
        outcome = await apply(tmp_path, world, source(tmp_path, spec))
        assert outcome.problems == ()

    assert world.members["team"] == {"ada", "bob", "cy"}


@played
async def test_other_settings_restart_processes_a_few_at_a_time(tmp_path: Path) -> None:
    world = World()
    await apply(tmp_path, world, source(tmp_path, FLAT))
    world.calls.clear()

    outcome = await apply(tmp_path, world, source(tmp_path, FLAT + "\nretrieval: {depth: 7}"))

    assert outcome.problems == ()
    assert [call.split()[0] for call in world.calls if call.startswith(("stop ", "start "))] == ["stop", "start"] * 3


@played
async def test_a_new_setting_that_breaks_one_process_does_not_take_the_others_down(tmp_path: Path) -> None:
    world = World()
    await apply(tmp_path, world, source(tmp_path, FLAT))
    world.broken = {"ada", "bob", "cy"}

    outcome = await apply(tmp_path, world, source(tmp_path, FLAT + "\nretrieval: {depth: 7}"))

    assert not outcome.is_converged
    assert len(world.alive) == 2
    assert any("no such model for ada" in problem for problem in outcome.problems)


@played
async def test_an_agent_that_can_not_start_is_named_and_the_others_run(tmp_path: Path) -> None:
    world = World(broken={"bob"})
    began_s = world.now_s

    outcome = await apply(tmp_path, world, source(tmp_path, FLAT))

    assert outcome.problems == ("bob does not run: no such model for bob",)
    assert set(world.alive) == {"ada", "cy"}
    assert world.now_s - began_s < 60


@played
async def test_another_topology_moves_facts_while_nobody_runs(tmp_path: Path) -> None:
    world = World()
    await apply(tmp_path, world, source(tmp_path, FLAT))
    world.learn("ada", "fact")

    outcome = await apply(tmp_path, world, source(tmp_path, "topology: {kind: sharded, replicas: 2}\n" + FLAT))

    assert outcome.problems == ()
    assert kinds(outcome)[0] == ("move", "team.g2")
    assert world.facts("team.g2") == {"fact"}
    assert world.violations == []
    assert FleetFolder(tmp_path, "team").state().generation == 2


@played
async def test_to_single_and_back_keeps_what_the_hive_knew(tmp_path: Path) -> None:
    world = World()
    await apply(tmp_path, world, source(tmp_path, FLAT))
    world.learn("ada", "fact")

    for spec in ("topology: single\n" + FLAT, FLAT):
        outcome = await apply(tmp_path, world, source(tmp_path, spec))
        assert outcome.problems == ()

    state = FleetFolder(tmp_path, "team").state()
    assert state.hive is not None
    assert world.facts(state.hive.id) == {"fact"}


@played
async def test_agents_that_share_a_process_from_now_on_never_run_twice(tmp_path: Path) -> None:
    world = World()
    await apply(tmp_path, world, source(tmp_path, agents("ada", "bob", "cy", "di")))
    world.learn("di", "fact")

    for size in (2, 4, 1):
        wanted = source(tmp_path, agents("ada", "bob", "cy", "di") + f"\nplatform: {{agentsPerProcess: {size}}}")
        outcome = await apply(tmp_path, world, wanted)

        assert outcome.problems == ()
        assert world.violations == []
        assert not await planned(tmp_path, world, wanted)
        state = FleetFolder(tmp_path, "team").state()
        assert state.hive is not None
        assert world.facts(state.hive.id) == {"fact"}


@played
async def test_a_changed_source_is_learned_without_a_restart(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("one")
    wanted, world = source(tmp_path, agents("ada", sources="[a.md]")), World()
    await apply(tmp_path, world, wanted)
    world.calls.clear()
    (tmp_path / "a.md").write_text("two")

    outcome = await apply(tmp_path, world, wanted)

    assert outcome.problems == ()
    assert world.calls == ["call ada ada learn_files"]


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

    outcome = await apply(tmp_path, world, wanted)

    assert outcome.problems[-1] == f"agent ada can't learn {tmp_path / 'b.md'}: is no text"
    assert world.calls == ["call ada ada learn_files"] * 3


@played
async def test_a_step_that_would_lose_facts_is_refused_and_nothing_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World()
    await apply(tmp_path, world, source(tmp_path, FLAT))
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
async def test_one_that_can_not_hand_over_stays_and_is_named(tmp_path: Path) -> None:
    world = World()
    await apply(tmp_path, world, source(tmp_path, FLAT))
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
    world = World()
    await apply(tmp_path, world, source(tmp_path, FLAT))

    with pytest.raises(ManifestError, match="fleet 'team' has bob already"):
        await apply(tmp_path, world, source(tmp_path, agents("bob", "eve"), "others"))


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
        assert (await controller.status()).phase == "Degraded"
        assert "rollout restart" in (await controller.status()).last_error
        # What a plan shows is what apply does.
        assert [action.subject for action in (await controller.plan(wanted)).actions] == ["cy"]
        assert (await controller.apply(wanted)).is_converged

    assert world.members["team"] == {"ada", "bob", "cy"}


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


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("then", ["the same again", pytest.param("back to the first", marks=pytest.mark.slow)])
@played
async def test_a_controller_killed_at_any_step_is_followed_by_one_that_gets_there(
    change: str, then: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (source(tmp_path, spec) for spec in CHANGES[change])
    for at in range(1, 500):
        home, world = tmp_path / f"at{at}", World()
        await apply(home, world, first)
        for process in tuple(world.alive):
            world.learn(process, f"{process} knows")
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
        shutil.rmtree(home)
        if not was_killed:
            return
    pytest.fail("it never got to the end")


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

"""Whatever two manifests say, a fleet comes from one to the other, loses nothing on the way, and then has nothing left to do."""

from hypothesis import given, settings
from hypothesis import strategies as st

from hive_mind.control.manifests import HiveManifest
from tests.unit.control.manifests_drawn import manifests
from tests.unit.control.simulated_fleet import SimulatedFleet


@given(manifests(), manifests())
@settings(deadline=None)
def test_from_any_manifest_to_any_other_and_then_nothing_is_left_to_do(first: HiveManifest, second: HiveManifest) -> None:
    fleet = SimulatedFleet()
    fleet.apply(first)
    known = fleet.known()
    fleet.apply(second)

    assert not fleet.plan(second)
    assert known <= fleet.known()
    assert {agent.name for config in fleet.live() for agent in config.agents} == set(fleet.desired(second).attached)


@given(st.lists(manifests(), min_size=2, max_size=5), st.lists(st.integers(0, 8), max_size=4), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_killed_anywhere_and_told_something_else_it_still_gets_there(told, kills, chance) -> None:
    fleet = SimulatedFleet()
    for number, manifest in enumerate(told):
        known = fleet.known()
        fleet.apply(manifest, stop_after=kills[number] if number < len(kills) else None)
        assert known <= fleet.known()
        for process in [name for name, one in fleet.running.items() if one.is_alive and chance.random() < 0.2]:
            fleet.crash(process)
    known = fleet.known()
    fleet.apply(told[-1])

    assert not fleet.plan(told[-1])
    assert known <= fleet.known()


@given(manifests())
@settings(deadline=None)
def test_the_first_apply_creates_and_nothing_else(manifest: HiveManifest) -> None:
    assert {action.kind for action in SimulatedFleet().apply(manifest)} == {"create"}


@given(manifests(), manifests())
@settings(deadline=None)
def test_planning_changes_nothing_and_says_the_same_again(first: HiveManifest, second: HiveManifest) -> None:
    fleet = SimulatedFleet()
    fleet.apply(first)
    assert fleet.plan(second) == fleet.plan(second)
    assert not fleet.plan(first)

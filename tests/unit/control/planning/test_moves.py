"""When the hive of a fleet goes on, and when its facts move into another generation."""

import pytest

from hive_mind.control.planning.desired import desired, hive_id
from hive_mind.control.state import FleetState
from tests.unit.control.manifests_drawn import counted, manifest_of
from tests.unit.control.planning.desired_fleets import AGENTS, BASE, FEDERATED, agents_with, applied, moves, wanted
from tests.unit.control.simulated_fleet import SimulatedFleet


def test_the_first_apply_founds_and_who_comes_later_joins():
    fleet = SimulatedFleet()
    fleet.apply(counted(2))
    found = fleet.desired(counted(3))

    assert found.hive.founders == {"": ("reader-1", "reader-2")}
    assert {name: config.nodes[0].is_joining for name, config in found.processes.items()} == {
        "reader-1": False,
        "reader-2": False,
        "reader-3": True,
    }


def test_a_founder_that_left_has_to_join():
    fleet = SimulatedFleet()
    for count in (3, 2, 3):
        fleet.apply(counted(count))
    assert fleet.desired(counted(3)).processes["reader-3"].nodes[0].is_joining


def test_a_move_founds_a_generation_of_all_that_are_there():
    fleet = SimulatedFleet()
    fleet.apply(counted(2))
    found = fleet.desired(counted(3, topology="sharded"))

    assert (found.move, found.generation, found.hive.id) == (True, 2, "demo.g2")
    assert found.hive.founders == {"": ("reader-1", "reader-2", "reader-3")}
    assert not any(node.is_joining for config in found.processes.values() for node in config.nodes)


def test_generations_are_named_by_their_number():
    assert [hive_id("demo", number) for number in (1, 2, 10)] == ["demo", "demo.g2", "demo.g10"]


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (BASE, BASE | agents_with(group="south"), "ada moves from group north to south"),
        (BASE, BASE | {"agents": AGENTS[::2]}, "nobody is left in south"),
        (BASE, BASE | {"topology": FEDERATED | {"broadcastThreshold": 0.5}}, "from confidence 0.5 on, not 0.9"),
        ({"agents": [{"name": "ada"}]}, {"agents": [{"name": "bob"}]}, "all nodes are to be others"),
        (
            {"topology": FEDERATED, "agents": AGENTS, "platform": "inprocess"},
            {"topology": FEDERATED, "agents": AGENTS[::2], "platform": "inprocess"},
            "nobody is left in south",
        ),
        (
            {"topology": {"kind": "sharded", "shards": 3}, "agents": [{"name": n} for n in "abc"], "platform": "inprocess"},
            {"topology": {"kind": "sharded", "shards": 2}, "agents": [{"name": n} for n in "abc"], "platform": "inprocess"},
            "is to go and its process demo to stay",
        ),
    ],
)
def test_facts_move_where_a_hive_can_not_go_on(before, after, why):
    assert why in moves(before, after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (BASE, BASE | {"agents": [*AGENTS, {"name": "dan", "group": "west"}]}),
        (BASE, BASE | {"agents": AGENTS[:2]}),
        (BASE, BASE | {"promotion": {"confidenceMin": 0.9}, "gossip": {"fanout": 5}}),
        (
            {"topology": {"kind": "sharded", "shards": 2}, "agents": [{"name": n} for n in "abcd"]},
            {"topology": {"kind": "sharded", "shards": 3}, "agents": [{"name": n} for n in "abcd"]},
        ),
        ({"topology": "single", "agents": [{"name": "ada"}]}, {"topology": "single", "agents": [{"name": "bob"}]}),
    ],
)
def test_facts_stay_where_nodes_only_come_and_go(before, after):
    assert moves(before, after) == ""


def test_the_last_of_a_group_is_not_let_go_even_if_it_left_once_before():
    dan = {"name": "dan", "group": "north"}
    fleet = applied({"agents": [*AGENTS, dan]}, {}, {"agents": [*AGENTS, dan]})
    fleet = applied({"agents": [AGENTS[1], dan]}, fleet=fleet)
    assert fleet.desired(manifest_of(BASE | {"agents": AGENTS[1:2]})).moves == ("nobody is left in north",)


def test_groups_that_were_dealt_in_a_move_hold_after_it():
    agents = [{"name": name} for name in ("ada", "bob", "cyd", "dan")]
    three = {"kind": "federated", "groups": [{"name": name} for name in ("north", "south", "west")]}
    fleet = SimulatedFleet()
    fleet.apply(manifest_of({"topology": "single", "agents": agents[:2]}))
    fleet.apply(manifest_of({"topology": three, "agents": agents}))

    assert fleet.state.generation == 2


def test_who_left_one_group_may_come_back_into_another():
    dan, elsewhere = ({"name": "dan", "group": group} for group in ("north", "south"))
    fleet = applied({"agents": [*AGENTS, dan]}, {}, {"agents": [*AGENTS, elsewhere]})
    assert fleet.state.generation == 1
    assert not fleet.plan(manifest_of(BASE | {"agents": [*AGENTS, elsewhere]}))


def test_a_member_that_nobody_runs_is_not_waited_for():
    state = FleetState(hive=wanted(BASE).hive)
    running = {name: one for name, one in applied({}).running.items() if name == "ada"}
    found = desired(manifest_of(BASE | {"agents": AGENTS[:2]}), "/manifests", "/home", state, {}, running=running)
    assert found.moves == ("nobody runs cyd, so it can't leave in order",)


def test_there_and_back_again_ends_in_another_generation():
    fleet = SimulatedFleet()
    for topology in ("flat", "single", "sharded"):
        fleet.apply(counted(3, topology=topology))
    assert fleet.state.hive.id == "demo.g3"
    assert not fleet.plan(counted(3, topology="sharded"))

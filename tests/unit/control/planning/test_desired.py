"""What should run: configurations, the bus they need, and whether members prove who they are.

What changes nodes and processes is in the plan.
When the hive of a fleet goes on, and when its facts move into another generation.
"""

import pytest

from hive_mind.control.planning.allocation import Hives, why_to_move
from hive_mind.control.planning.desired import desired
from hive_mind.control.state import FleetState
from hive_mind.errors import InvalidInput
from hive_mind.runtime.workers.config import SourceConfig
from tests.unit.control.manifests_drawn import counted, manifest_of
from tests.unit.control.planning.desired_cases import CASES
from tests.unit.control.planning.desired_fleets import AGENTS, BASE, FEDERATED, agents_with, applied, moves, wanted
from tests.unit.control.simulated_fleet import SimulatedFleet


def test_references_stay_references_and_files_are_named_from_everywhere():
    spec = agents_with(prompt="${file:prompts/ada.md}", env={"KEY": "${env:KEY}", "PATH_": "${file:/etc/key}"})
    config = wanted(BASE | spec | {"llm": {"key": "${file:key}"}}).processes["ada"]
    assert config.agents[0].prompt == "${file:/manifests/prompts/ada.md}"
    assert config.env == {"KEY": "${env:KEY}", "PATH_": "${file:/etc/key}"}
    assert config.models.llm_key == "${file:/manifests/key}"
    # What only looks like one.
    assert wanted(BASE | agents_with(prompt="$${file:x}")).processes["ada"].agents[0].prompt == "$${file:x}"


@pytest.mark.parametrize("home", ["/a}b", "/a{b", "/${env:HOME}", "/{}"])
def test_a_home_that_no_reference_can_name_is_refused_at_once(home):
    manifest = manifest_of({"agents": [{"name": "ada"}, {"name": "bob"}]})
    with pytest.raises(InvalidInput, match="use a folder without one"):
        desired(manifest, "/manifests", home, FleetState(), {})


def test_several_processes_without_a_bus_need_a_server_of_their_own_unless_they_share_nothing():
    several, one = wanted({"agents": [{"name": "ada"}, {"name": "bob"}]}), wanted({"agents": [{"name": "ada"}]})
    assert several.needs_redis
    assert several.processes["ada"].bus.credential == "${file:/home/fleets/demo/redis/password}"
    assert not one.needs_redis
    assert one.processes["ada"].bus.url == "memory:"
    alone = wanted({"topology": "single", "agents": [{"name": "ada"}, {"name": "bob"}]})
    assert (alone.needs_redis, alone.hive.founders) == (False, {})
    # One that is left over stays where others can still tell it something.
    fleet = SimulatedFleet()
    fleet.apply(counted(2))
    assert fleet.desired(counted(1)).needs_redis


def test_where_facts_are_judged_the_desk_is_a_moderator_so_what_people_say_there_holds_for_all():
    judges = [{"facts": "model", "model": "scripted:one"}, {"facts": "rules"}, {"facts": "people"}]
    specs = [{"judge": one | {"desk": "ben"}, "trust": {"moderators": ["ada"]}} for one in judges]

    found = [{one.tuning.standing.moderators for one in wanted(BASE | spec).processes.values()} for spec in specs]

    assert found == [{("ada", "ben")}] * 3
    (unjudged,) = {one.tuning.standing.moderators for one in wanted(BASE | {"trust": {"moderators": ["ada"]}}).processes.values()}
    assert unjudged == ("ada",)


@pytest.mark.parametrize(
    ("spec", "desk"),
    [
        ({}, ""),
        ({"judge": {"facts": "off"}}, ""),
        ({"judge": {"facts": "rules"}}, "reader-1"),
        ({"queen": {"agent": "reader-2"}}, "reader-2"),
        ({"judge": {"facts": "people"}, "queen": {"agent": "reader-2"}}, "reader-2"),
        ({"judge": {"desk": "reader-3"}, "queen": {"agent": "reader-2"}}, "reader-3"),
    ],
)
def test_people_decide_at_the_desk_that_is_named_or_else_the_queens_or_the_first_agents(spec: dict[str, object], desk: str):
    configs = SimulatedFleet().desired(counted(3, **spec)).processes.values()
    assert {config.review.desk.agent for config in configs} == {desk}
    assert {(agent.memory_mb, agent.cpu) for config in configs for agent in config.agents} == {(0, 0.0)}


def of_bus(url, state=None, **spec):
    """What should be of a fleet with this bus, by what is remembered of it."""
    given = manifest_of({"topology": "flat", "agents": [{"name": "ada"}, {"name": "bob"}], "bus": url, **spec})
    return desired(given, "/texts", "/home", state or FleetState(), {})


FAR_AWAY = "rediss://redis.example.org:6379"


@pytest.mark.parametrize(
    ("url", "spec", "mode"),
    [
        ("redis://127.0.0.1:6379", {}, "off"),
        ("memory", {"platform": "inprocess"}, "off"),
        (FAR_AWAY, {}, "require"),
        (FAR_AWAY, {"identity": "off"}, "off"),
        (FAR_AWAY, {"topology": "single"}, "off"),
        ("redis://127.0.0.1:6379", {"identity": "warn"}, "warn"),
    ],
)
def test_members_of_a_new_fleet_prove_who_they_are_where_its_bus_can_be_reached_from_elsewhere(url, spec, mode):
    found = of_bus(url, **spec)
    assert {one.identity.mode for one in found.processes.values()} == {mode}
    assert found.hive.is_sealed == (mode == "require")


def test_an_agent_of_a_new_fleet_that_knows_its_agents_may_share_ten_thousand_facts_and_others_as_many_as_before():
    def quota(found):
        return {one.tuning.standing.quota_per_agent for one in found.processes.values()}

    proving, believing = of_bus(FAR_AWAY), of_bus(FAR_AWAY, identity="off")
    assert quota(proving) == {10_000}
    assert quota(believing) == {1_000_000}
    # A fleet that has more facts already keeps them, when it comes to require identity, too.
    assert quota(of_bus(FAR_AWAY, FleetState(hive=believing.hive), identity="require")) == {1_000_000}
    assert quota(of_bus(FAR_AWAY, FleetState(hive=proving.hive, generation=2), topology="sharded")) == {10_000}
    assert quota(of_bus(FAR_AWAY, trust={"quotaPerAgent": 77})) == {77}


def test_a_fleet_there_is_stays_as_it_is_where_nothing_is_said():
    believing, proving = of_bus(FAR_AWAY, identity="off"), of_bus(FAR_AWAY)
    assert not of_bus(FAR_AWAY, FleetState(hive=believing.hive)).hive.is_sealed
    assert of_bus("redis://127.0.0.1:6379", FleetState(hive=proving.hive)).processes["ada"].identity.mode == "require"


def test_a_plan_that_lets_everybody_be_believed_again_says_what_that_means():
    proving, believing = of_bus(FAR_AWAY), of_bus(FAR_AWAY, identity="off")
    assert why_of(believing, proving.hive) == (
        "nobody has to prove anything any more, so write access to the bus is full control of the hive",
    )
    assert why_of(proving, believing.hive) == ("every fact is to bear its author's seal",)


def why_of(found, former):
    return why_to_move(Hives(FleetState(hive=former), found.hive, found.allocation, {}))


@pytest.mark.parametrize("field", CASES)
def test_a_field_that_changes_reaches_the_processes_and_the_plan(field):
    before, after, shown = CASES[field]
    fleet = applied(before)
    old = fleet.desired(manifest_of(BASE | before)).processes
    if field == "agents.sources":
        fleet.sources = {"ada": (SourceConfig("/manifests/a.txt", "0" * 64),)}
    manifest = manifest_of(BASE | before | after)
    new, plan = fleet.desired(manifest).processes, fleet.plan(manifest)

    assert new != old
    steps = {f"{action.kind} {action.subject}" for action in plan.actions}
    paths = {change.path for action in plan.actions for change in action.changes}
    assert (shown or f"spec.{field}") in steps | paths
    fleet.apply(manifest)
    assert not fleet.plan(manifest)


def test_a_shown_change_has_the_values_of_the_manifest():
    fleet = applied({})
    spec = BASE | {"gossip": {"periodS": 2.5}, "promotion": {"confidenceMin": 0.5}}
    shown = {str(change) for action in fleet.plan(manifest_of(spec)).actions for change in action.changes}
    assert shown == {"spec.gossip.periodS: 10 → 2.5", "spec.promotion.confidenceMin: 0.3 → 0.5"}


def test_what_only_the_controller_needs_changes_no_process():
    fleet = applied({})
    manifest = manifest_of(BASE | {"platform": {"stopTimeoutS": 5}})
    assert fleet.desired(manifest).stop_timeout_s == 5
    assert not fleet.plan(manifest)


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


def test_a_move_founds_a_generation_of_all_that_are_there():
    fleet = SimulatedFleet()
    fleet.apply(counted(2))
    found = fleet.desired(counted(3, topology="sharded"))

    assert (found.move, found.generation, found.hive.id) == (True, 2, "demo.g2")
    assert found.hive.founders == {"": ("reader-1", "reader-2", "reader-3")}
    assert not any(node.is_joining for config in found.processes.values() for node in config.nodes)


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

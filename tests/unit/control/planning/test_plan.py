from dataclasses import replace

import msgspec
import pytest

from hive_mind.control.planning import Plan, removal
from hive_mind.control.planning.changes import shown
from hive_mind.runtime.workers.config import SourceConfig
from tests.unit.control.manifests_drawn import REDIS, counted, manifest_of
from tests.unit.control.simulated_fleet import SimulatedFleet, as_running, status_of

OLD, NEW = (SourceConfig("/manifests/a.txt", digit * 64) for digit in "01")


def fleet_of(*manifests):
    fleet = SimulatedFleet()
    for manifest in manifests:
        fleet.apply(manifest)
    return fleet


def steps(found):
    return [(action.kind, action.subject) for action in found.actions]


def losses(found):
    return [action for action in found.actions if action.loses]


def only(found):
    assert len(found.actions) == 1
    return found.actions[0]


def with_status(fleet, name, **changes):
    """The process says something else of itself."""
    one = fleet.running[name]
    fleet.running[name] = replace(one, status=msgspec.structs.replace(status_of(one.config), **changes))


def test_nothing_is_to_do_where_everything_is_as_it_should_be():
    found = fleet_of(counted(2)).plan(counted(2))

    assert not found
    assert found.to_json() == {
        "actions": [],
        "whole": {"agents": 2, "joining": [], "leaving": [], "topologies": ["flat", "flat"]},
        "holdings": [{"node": name, "partitions": 1, "last": 0, "copies": 1} for name in ("reader-1", "reader-2")],
        "troubles": [],
    }


SEVERAL = {"platform": {"agentsPerProcess": 2}}
NORTH = [{"name": name, "group": "north"} for name in ("ada", "bob")]


@pytest.mark.parametrize(
    ("before", "after", "memory"),
    [
        (None, counted(1), "it is a founder of the hive; what its journal holds is read again"),
        (counted(2), counted(3), "it joins the hive and gets its share of the facts from the others"),
        (None, counted(1, topology="single"), "each of its agents reads its own memory, and shares nothing"),
        (counted(2, topology="single"), counted(1, topology="single"), "reader-2 stops; 3 facts stay in their databases"),
        (counted(2, **SEVERAL), counted(1, **SEVERAL), "reader-2 ends: 3 facts stay with the hive as far as shared, none lost; "),
        (
            manifest_of({"topology": "federated", "agents": NORTH}),
            manifest_of({"topology": "federated", "agents": NORTH[:1]}),
            "bob leaves: 3 facts stay with 1 replica of north, none lost",
        ),
    ],
)
def test_who_begins_or_ends_says_where_its_facts_come_from_or_stay(before, after, memory):
    assert only(fleet_of(*([before] if before else [])).plan(after)).memory.startswith(memory)


def otherwise(**changes):
    """Of reader-2 this is seen."""

    def change(fleet):
        fleet.running["reader-2"] = replace(fleet.running["reader-2"], **changes)

    return change


RESTARTED, DELETED = [("restart", "reader-2")], [("delete", "reader-2")]


@pytest.mark.parametrize(
    ("happened", "count", "done", "loses", "told"),
    [
        (lambda fleet: fleet.crash("reader-2"), 2, RESTARTED, False, "it was killed"),
        (lambda fleet: fleet.crash("reader-2"), 1, DELETED, False, "started once more"),
        (lambda fleet: failed(fleet, 0), 2, RESTARTED, False, "it failed: the disk is full"),
        (lambda fleet: failed(fleet, 0), 1, DELETED, False, "failed: it is started once more"),
        (lambda fleet: failed(fleet, 1), 1, DELETED, True, "1 fact of it nobody else has"),
        (otherwise(status=None), 2, [], False, ""),
        (otherwise(status=None), 1, DELETED, False, ""),
        (otherwise(status=None, error="it hangs"), 1, DELETED, True, ""),
        (otherwise(config=None, status=None, error="it runs something else"), 2, [("replace", "reader-2")], False, ""),
        (otherwise(config=None, status=None), 1, DELETED, True, "nobody can tell which nodes reader-2 runs, so it can't hand ov"),
        (otherwise(config=None, status=None, pid=0), 1, DELETED, False, "nothing of it runs, and nothing is known of it"),
    ],
)
def test_what_crashed_failed_or_does_not_answer_is_brought_back_or_goes_and_is_said_to_take_facts_along(
    happened, count, done, told, *, loses
):
    fleet = fleet_of(counted(2))
    happened(fleet)
    found = fleet.plan(counted(count))
    assert (steps(found), bool(losses(found))) == (done, loses)
    assert not done or told in f"{found.actions[0].why}; {found.actions[0].memory}"


def failed(fleet, pending):
    fleet.running["reader-2"] = as_running(fleet.running["reader-2"].config, pending=pending)
    status = fleet.running["reader-2"].status
    otherwise(status=msgspec.structs.replace(status, phase="failed", error="the disk is full"))(fleet)


def test_who_is_new_and_who_is_gone_is_told_also_where_the_topology_changes():
    more = fleet_of(counted(2)).plan(counted(3, topology={"kind": "sharded", "replicas": 2})).whole
    assert (more.agents, len(more.joining), more.leaving, more.topologies) == (3, 1, (), ("flat", "sharded"))
    fewer = fleet_of(counted(3)).plan(counted(2)).whole
    assert (fewer.agents, fewer.joining, len(fewer.leaving)) == (2, (), 1)


def test_what_is_printed_can_be_read_back():
    found = fleet_of(counted(2)).plan(counted(3, promotion={"confidenceMin": 0.5}))
    assert msgspec.convert(found.to_json(), Plan) == found
    assert found.to_json()["actions"][0].keys() == {"kind", "subject", "why", "changes", "memory", "loses"}


def test_processes_come_in_the_order_a_person_expects():
    assert [name for _, name in steps(fleet_of().plan(counted(11)))][-3:] == ["reader-9", "reader-10", "reader-11"]


def test_a_change_is_an_update_field_by_field():
    action = only(fleet_of(counted(1)).plan(counted(1, promotion={"confidenceMin": 0.5, "wordsMin": 3})))

    assert (action.kind, action.loses) == ("update", False)
    assert list(map(str, action.changes)) == ["spec.promotion.confidenceMin: 0.3 → 0.5", "spec.promotion.wordsMin: 2 → 3"]
    assert "what was shared stays shared" in action.memory


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({"confidenceMin": 0.5, "wordsMin": 3}, "confidenceMin, spec.promotion.wordsMin"),
        ({"lettersShareMin": 0.4, "wordsMin": 3, "confidenceMin": 0.5}, ""),
        ({"lettersShareMin": 0.4, "wordsMin": 3, "confidenceMin": 0.5, "holdBackPersonal": False}, " and 1 more"),
    ],
)
def test_three_settings_that_change_are_named_and_of_more_how_many_they_are(settings, names):
    why = only(fleet_of(counted(1)).plan(counted(1, promotion=settings))).why
    assert why.endswith(names)
    assert why.count("spec.promotion.") == min(3, len(settings))
    assert ("more" in why) == (len(settings) > 3)


@pytest.mark.parametrize(("length", "text"), [(60, "x" * 60), (61, "x" * 59 + "…")])
def test_a_text_of_a_line_is_shown_whole(length, text):
    assert shown("x" * length) == text


def test_a_long_text_is_shown_shortened_and_told_whole():
    manifest = manifest_of({"agents": [{"name": "ada", "prompt": "Be brief. " * 50}]})
    change = only(fleet_of(manifest_of({"agents": [{"name": "ada"}]})).plan(manifest)).changes[0]
    assert len(str(change)) < 120
    assert change.new == "Be brief. " * 50


def test_a_secret_that_slipped_into_a_manifest_is_not_shown():
    found = fleet_of(counted(2, bus=REDIS)).plan(counted(2, bus="redis://:hunter2hunter2@127.0.0.1:6379"))
    assert found
    assert "hunter2" not in str(found.to_json())


def test_a_setting_that_no_field_stands_for_is_shown_by_its_own_name():
    fleet = fleet_of(counted(1))
    config = fleet.running["reader-1"].config
    fleet.running["reader-1"] = as_running(msgspec.structs.replace(config, seen=replace(config.seen, port=80)))
    assert [str(change) for change in only(fleet.plan(counted(1))).changes] == ["seen.port: 80 → 0"]


def test_what_crashed_and_is_to_be_otherwise_is_updated_before_the_others():
    fleet = fleet_of(counted(2))
    fleet.crash("reader-2")
    assert steps(fleet.plan(counted(2, gossip={"fanout": 3}))) == [("update", "reader-2"), ("update", "reader-1")]


def test_what_somebody_took_out_stays_out():
    fleet = fleet_of(counted(2))
    del fleet.running["reader-2"]
    fleet.state = msgspec.structs.replace(fleet.state, drained=("reader-2",))
    assert not fleet.plan(counted(2))


def test_who_leaves_says_what_becomes_of_its_facts():
    fleet = fleet_of(counted(4, topology={"kind": "sharded", "replicas": 3}))
    fleet.running["reader-4"] = as_running(fleet.running["reader-4"].config, facts=312, pending=2)
    action = only(fleet.plan(counted(3, topology={"kind": "sharded", "replicas": 3})))
    assert (action.kind, action.loses) == ("delete", False)
    assert action.memory == "reader-4 leaves: 312 facts stay with 3 replicas, 2 of them handed over first, none lost"


@pytest.mark.parametrize(
    ("before", "after", "loses"),
    [
        ({}, {"store": "memory"}, True),
        ({}, {"lifecycle": {"forget": True}}, True),
        ({"lifecycle": {"forget": True}}, {"lifecycle": {"forget": True, "ttlHours": 2}}, True),
        ({"lifecycle": {"forget": True}}, {"lifecycle": {"forget": True, "ttlHours": 48}}, False),
        ({"lifecycle": {"forget": True}}, {}, False),
        ({}, {"lifecycle": {"ttlHours": 2}}, False),
        ({}, {"embedding": {"kind": "sentence_transformers"}}, False),
    ],
)
def test_a_step_that_loses_facts_says_so(before, after, loses):
    found = fleet_of(counted(2, **before)).plan(counted(2, **after))
    assert found
    assert bool(losses(found)) == loses
    assert all(action.memory for action in found.actions)


def test_a_move_comes_first_and_nobody_has_to_leave():
    found = fleet_of(counted(3)).plan(counted(2, topology="sharded"))

    assert steps(found)[0] == ("move", "demo.g2")
    assert found.actions[0].why == "the topology changes from flat to sharded"
    assert found.actions[0].memory == "all facts (at least 3) move to demo.g2 with all evidence; demo is deleted then"
    assert found.actions[-1].memory == "reader-3 stops; its hive was moved: nothing is lost"
    assert not losses(found)


def test_moving_what_is_kept_in_memory_alone_loses_it():
    found = fleet_of(counted(2, store="memory")).plan(counted(2, store="memory", topology="sharded"))
    assert [action.kind for action in losses(found)] == ["move"]


def test_an_agent_leaves_one_process_before_it_comes_to_another():
    agents = [{"name": name} for name in ("ada", "bob")]
    several = {"platform": {"agentsPerProcess": 2}}
    fleet = fleet_of(manifest_of({"agents": agents, **several}))
    agents[1]["env"] = {"MODE": "quick"}
    assert steps(fleet.plan(manifest_of({"agents": agents, **several}))) == [("update", "demo-0"), ("create", "demo-1")]


def test_agents_are_passed_on_from_one_process_to_the_next_without_running_twice():
    calm, quick = {}, {"MODE": "quick"}
    sharded = {"topology": {"kind": "sharded", "shards": 2, "replicas": 1}}
    before = [{"name": name, "env": calm} for name in "abcd"]
    after = [{"name": name, "env": env} for name, env in zip("abcd", (calm, quick, quick, calm), strict=True)]
    fleet = fleet_of(manifest_of({"agents": before, **sharded}))
    # The simulated fleet looks that none does.
    fleet.apply(manifest_of({"agents": after, **sharded}))

    assert sorted(len(config.agents) for config in fleet.live()) == [2, 2]


def test_whoever_stays_is_there_before_others_leave():
    found = fleet_of(counted(3)).plan(manifest_of({"agents": [{"name": name} for name in ("reader-1", "reader-2", "zoe")]}))
    assert steps(found) == [("create", "zoe"), ("delete", "reader-3")]


def test_a_source_that_is_new_or_changed_is_learned_without_a_restart_and_one_under_way_or_gone_is_nothing_to_do():
    fleet = fleet_of(counted(1))
    fleet.sources = {"reader-1": (OLD,)}
    action = only(fleet.plan(counted(1)))
    assert (action.kind, action.subject, action.why) == ("learn", "reader-1", "sources: 1 new")
    assert str(action.changes[0]) == "spec.agents[reader-1].sources: [] → [/manifests/a.txt]"
    fleet.apply(counted(1))
    (status,) = fleet.running["reader-1"].status.agents
    with_status(fleet, "reader-1", agents=(msgspec.structs.replace(status, phase="learning", learned={}),))
    assert not fleet.plan(counted(1))
    with_status(fleet, "reader-1", agents=(status,))
    fleet.sources = {"reader-1": (NEW,)}
    assert only(fleet.plan(counted(1))).why == "sources: 1 changed"
    fleet.sources = {}
    assert not fleet.plan(counted(1))


def test_ending_a_fleet_loses_something_only_when_it_is_purged():
    running = fleet_of(counted(2)).running
    assert steps(removal(running)) == [("delete", "reader-1"), ("delete", "reader-2")]
    assert not losses(removal(running))
    assert len(losses(removal(running, is_purge=True))) == 2


def kept(count, **topology):
    manifest = manifest_of(
        {"topology": {"kind": "sharded", **topology}, "agents": [{"name": name} for name in "abcdefgh"[:count]]}
    )
    return {one.node: (one.partitions, one.last, one.copies) for one in fleet_of().plan(manifest).holdings}


def test_a_plan_says_what_each_member_keeps_and_what_its_death_costs():
    assert sorted(kept(4, replicas=3).values()) == [(0, 0, 0), (1024, 0, 2), (1024, 0, 2), (1024, 0, 2)]
    assert sorted(kept(3, replicas=1).values()) == [(341, 341, 0), (341, 341, 0), (342, 342, 0)]
    assert set(kept(6, replicas=3).values()) == {(512, 0, 2)}


def test_where_facts_are_kept_by_all_a_plan_says_that_too_and_nothing_where_none_are_shared():
    flat = fleet_of().plan(manifest_of({"topology": "flat", "agents": [{"name": name} for name in "abc"], "platform": "local"}))
    assert {(one.last, one.copies) for one in flat.holdings} <= {(0, 2), (1, 0)}
    assert fleet_of().plan(manifest_of({"topology": "single", "agents": [{"name": "a"}]})).holdings == ()

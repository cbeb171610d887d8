from collections import Counter
from itertools import product

import pytest
from hypothesis import given, settings

from hive_mind.control.manifests.expansion import env_key, expanded
from hive_mind.control.planning.allocation import Allocation, allocate
from hive_mind.errors import ManifestError
from tests.unit.control.manifests_drawn import REDIS, counted, manifest_of, manifests


def placed(manifest, before=None):
    return allocate(expanded(manifest), manifest, before.processes if before else {})


def sizes(allocation):
    return sorted(sum(map(len, nodes.values())) for nodes in allocation.processes.values())


def hosts(allocation):
    return {
        process: sorted(agent for some in nodes.values() for agent in some) for process, nodes in allocation.processes.items()
    }


def several(count, per_process, **spec):
    return counted(count, platform={"agentsPerProcess": per_process}, **spec)


GROUPS = {"kind": "federated", "groups": [{"name": "north"}, {"name": "south"}]}


@pytest.mark.parametrize(
    ("manifest", "processes"),
    [
        (counted(2), {n: {n: (n,)} for n in ("reader-1", "reader-2")}),
        (several(3, 3, bus="memory:"), {"demo": {"demo": ("reader-1", "reader-2", "reader-3")}}),
        (
            counted(3, topology=GROUPS, platform="inprocess"),
            {"demo": {"north": ("reader-1", "reader-3"), "south": ("reader-2",)}},
        ),
    ],
    ids=["one agent each", "a bus in memory", "federated in one process"],
)
def test_processes_and_nodes_are_called_like_their_agent_the_fleet_or_a_group(manifest, processes):
    assert placed(manifest).processes == processes


@pytest.mark.parametrize(("agents", "shards", "nodes"), [(12, None, 4), (3, None, 3), (12, 5, 5), (3, 5, 3)])
def test_one_process_of_a_sharded_hive_has_several_nodes(agents, shards, nodes):
    topology = {"kind": "sharded", "replicas": 2} | ({"shards": shards} if shards else {})
    allocation = placed(counted(agents, topology=topology, platform="inprocess"))

    assert list(allocation.processes) == ["demo"]
    held = [len(some) for some in allocation.processes["demo"].values()]
    assert len(held) == nodes
    assert max(held) - min(held) <= 1


NORTH_AND_SOUTH = [{"name": name, "group": {"n": "north", "s": "south"}[name[0]]} for name in ("n0", "n1", "n2", "s0", "s1")]


@pytest.mark.parametrize(
    ("manifest", "agents"),
    [
        (several(3, 10, topology="single"), {"demo": ["reader-1", "reader-2", "reader-3"]}),
        (several(3, 2, topology="single"), {"demo-0": ["reader-1", "reader-2"], "demo-1": ["reader-3"]}),
        (
            several(5, 2),
            {"demo-0": ["reader-1", "reader-2"], "demo-1": ["reader-3", "reader-4"], "demo-2": ["reader-5"]},
        ),
        # A process has agents of one group only.
        (
            manifest_of({"topology": "federated", "agents": NORTH_AND_SOUTH, "platform": {"agentsPerProcess": 2}}),
            {"north-0": ["n0", "n1"], "north-1": ["n2"], "south-0": ["s0", "s1"]},
        ),
    ],
)
def test_processes_are_filled_and_numbered_from_zero(manifest, agents):
    assert hosts(placed(manifest)) == agents


def test_a_single_process_with_different_variables_is_refused():
    agents = [{"name": "ada"}, {"name": "bob", "env": {"MODE": "quick"}}]
    with pytest.raises(ManifestError, match="the same variables"):
        placed(manifest_of({"agents": agents, "bus": "memory:"}))


def test_other_variables_get_a_shard_of_their_own():
    agents = [{"name": "ada"}, {"name": "bob"}, {"name": "cyd", "env": {"MODE": "quick"}}]
    manifest = manifest_of({"topology": {"kind": "sharded", "shards": 2}, "agents": agents})
    allocation = placed(manifest)
    assert sorted(hosts(allocation).values()) == [["ada", "bob"], ["cyd"]]
    assert placed(manifest, allocation) == allocation


@pytest.mark.parametrize("agents", range(1, 9))
def test_each_shard_more_takes_its_share_and_no_more_and_none_is_empty(agents: int):
    for before, after in product(range(1, agents + 1), repeat=2):
        former = placed(counted(agents, topology={"kind": "sharded", "shards": before}))
        latter = placed(counted(agents, topology={"kind": "sharded", "shards": after}), former)
        assert len(sizes(latter)) == after
        assert min(sizes(latter)) >= agents // after
        if after >= before:
            moved = sum(latter.hosts[agent] != former.hosts[agent] for agent in former.hosts)
            assert moved == (after - before) * (agents // after)


def test_a_shard_less_leaves_its_agents_to_the_others():
    three = placed(counted(6, topology={"kind": "sharded", "shards": 3}))
    two = placed(counted(6, topology={"kind": "sharded", "shards": 2}), three)
    assert sizes(two) == [3, 3]
    assert sum(three.hosts[agent] != two.hosts[agent] for agent in two.hosts) == 2


def test_an_agent_more_fills_room_before_a_process_is_made():
    before = placed(several(3, 2))
    after, more = placed(several(4, 2), before), placed(several(5, 2), before)
    assert {agent: after.hosts[agent] for agent in before.hosts} == before.hosts
    assert after.hosts["reader-4"] == "demo-1"
    assert more.hosts["reader-5"] == "demo-2"


def test_one_agent_less_leaves_all_others_where_they_were():
    agents = [{"name": name} for name in ("ada", "bob", "cyd", "dan")]
    before = placed(manifest_of({"agents": agents, "platform": {"agentsPerProcess": 2}}))
    after = placed(manifest_of({"agents": agents[1:], "platform": {"agentsPerProcess": 2}}), before)
    assert after.hosts == {agent: host for agent, host in before.hosts.items() if agent != "ada"}


def test_a_lower_limit_moves_only_those_too_many():
    before = placed(several(6, 3))
    after = placed(several(6, 2), before)
    assert sizes(after) == [2, 2, 2]
    assert sum(after.hosts[agent] != before.hosts[agent] for agent in before.hosts) == 2


def test_a_process_that_gives_an_agent_away_takes_none_in_the_same_step():
    agents = [{"name": name} for name in ("ada", "bob", "cyd", "dan")]
    before = Allocation({"demo-0": {"demo-0": ("ada", "bob")}, "demo-1": {"demo-1": ("cyd", "dan")}})
    swapped = [one | {"env": {"MODE": "quick"}} if one["name"] in ("bob", "dan") else one for one in agents]
    after = placed(manifest_of({"agents": swapped, "platform": {"agentsPerProcess": 2}}), before)

    passed = {(before.hosts[agent], after.hosts[agent]) for agent in before.hosts if before.hosts[agent] != after.hosts[agent]}
    assert not {giver for giver, _ in passed} & {taker for _, taker in passed}


def test_what_is_still_to_leave_is_kept_without_its_agents():
    kept = Allocation({"b": {"b": ("bob",)}}).beside({"a": {"a": ("ada",)}, "b": {"b": ()}})
    assert kept == {"a": {"a": ()}, "b": {"b": ("bob",)}}


@given(manifests(), manifests())
@settings(deadline=None)
def test_who_runs_where_is_allowed_and_stays(first, second):
    after = placed(second, placed(first))
    agents = {agent.name: agent for agent in expanded(second)}

    assert Counter(after.hosts.keys()) == Counter(agents.keys())
    assert placed(second, after) == after
    for names in hosts(after).values():
        assert len({env_key(agents[name]) for name in names}) == 1
        if len(after.processes) > 1:
            assert len({agents[name].group for name in names}) == 1
    if second.spec.topology.kind != "sharded" and second.spec.platform.kind != "inprocess" and second.spec.bus.url != "memory:":
        assert max(sizes(after)) <= second.spec.platform.agents_per_process


@given(manifests(("flat", "federated", "sharded")))
@settings(deadline=None)
def test_one_agent_more_touches_at_most_one_process(manifest):
    spec = manifest.spec.model_dump(by_alias=True)
    if manifest.spec.topology.shards or manifest.spec.platform.kind == "inprocess" or manifest.spec.bus.url == "memory:":
        return
    groups = {agent.name: agent.group for agent in expanded(manifest)}
    before = allocate(expanded(manifest), manifest)
    more = manifest_of({**spec, "bus": REDIS, "agents": [{"name": "zoe"}, *spec["agents"]]})
    after = allocate(expanded(more, groups), more, before.processes)

    unlike = {process for process in after.processes if after.processes[process] != before.processes.get(process)}
    assert unlike == {after.hosts["zoe"]}
    assert before.processes.keys() <= after.processes.keys()

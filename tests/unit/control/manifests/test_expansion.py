from collections import Counter

from hive_mind.control.manifests import Agent
from hive_mind.control.manifests.expansion import env_key, expanded, names_of
from tests.unit.control.manifests_drawn import counted, manifest_of

FEDERATED = {"kind": "federated", "groups": [{"name": "north"}, {"name": "south"}]}


def groups(manifest, before=None):
    return {agent.name: agent.group for agent in expanded(manifest, before or {})}


def test_a_template_is_counted_out_from_one():
    assert [agent.name for agent in expanded(counted(3))] == ["reader-1", "reader-2", "reader-3"]


def test_a_count_without_a_pattern_still_gives_different_names():
    assert names_of(Agent(name="reader", count=2)) == ("reader-1", "reader-2")


def test_what_an_agent_does_not_say_is_that_of_the_fleet():
    agents = [{"name": "ada", "prompt": "Be brief."}, {"name": "bob", "model": "openai:big"}]
    ada, bob = expanded(manifest_of({"agents": agents, "llm": {"model": "openai:small"}}))
    assert (ada.model, bob.model) == ("openai:small", "openai:big")
    assert (ada.prompt, bob.prompt) == ("Be brief.", "")


def test_agents_without_a_group_go_to_the_smallest():
    agents = [{"name": "ada", "group": "north"}, {"name": "bob"}, {"name": "cyd"}]
    assert groups(manifest_of({"topology": FEDERATED, "agents": agents})) == {"ada": "north", "bob": "south", "cyd": "north"}


def test_an_agent_more_before_the_others_changes_nobodys_group():
    before = groups(manifest_of({"topology": FEDERATED, "agents": [{"name": name} for name in ("bob", "cyd")]}))
    after = groups(manifest_of({"topology": FEDERATED, "agents": [{"name": n} for n in ("ada", "bob", "cyd")]}), before)
    assert {name: after[name] for name in before} == before


def test_a_group_that_is_new_gets_somebody():
    two = groups(counted(4, topology=FEDERATED))
    three = {"kind": "federated", "groups": [*FEDERATED["groups"], {"name": "west"}]}
    after = groups(counted(4, topology=three), two)
    assert Counter(after.values()).keys() == {"north", "south", "west"}
    assert sum(after[name] != two[name] for name in two) == 1


def test_who_was_in_a_group_that_is_gone_is_dealt_anew():
    before = {"reader-1": "west", "reader-2": "north"}
    assert groups(counted(2, topology=FEDERATED), before) == {"reader-1": "south", "reader-2": "north"}


def test_groups_mean_nothing_where_the_hive_has_none():
    assert groups(manifest_of({"agents": [{"name": "ada", "group": "north"}]})) == {"ada": ""}


def test_agents_of_other_variables_are_told_apart():
    ada, bob, cyd = expanded(
        manifest_of({"agents": [{"name": n, "env": e} for n, e in (("ada", {}), ("bob", {"A": "1"}), ("cyd", {}))]})
    )
    assert env_key(ada) == env_key(cyd) != env_key(bob)

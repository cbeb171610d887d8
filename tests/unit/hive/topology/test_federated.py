import pytest

from hive_mind.errors import InvalidInput
from hive_mind.hive.topology import ReplicaSet
from hive_mind.hive.topology.federated import Federated

ID = "0" * 32
GROUPS = {"b": ["b1", "b2", "b3"], "a": ["a2", "a1"]}


def test_a_fact_is_at_home_in_its_authors_group_and_a_sure_one_is_copied_to_everyone_the_root_too():
    hive = Federated(GROUPS, root="top")
    assert hive.home(ID, "a1") == "group:a"
    assert hive.write_set(ID, "a1", 0.89) == {"a1", "a2"}
    assert hive.copies(ID, "a1", 0.89) == ()
    assert hive.copies(ID, "a1", 0.9) == Federated(GROUPS, broadcast_threshold=0.5).copies(ID, "a1", 0.5) == ("everyone",)
    assert hive.write_set(ID, "a1", 0.9) == {"a1", "a2", "b1", "b2", "b3", "top"}
    assert "everyone" not in [partition for part in hive.read_set("a1") for partition in part.partitions]


def test_each_group_can_have_a_threshold_of_its_own():
    hive = Federated(GROUPS, group_thresholds={"b": 0.2})
    assert hive.copies(ID, "b1", 0.2) == ("everyone",)
    assert hive.write_set(ID, "b1", 0.2) == set(hive.nodes)
    assert (hive.copies(ID, "b1", 0.19), hive.copies(ID, "a1", 0.89), hive.copies(ID, "a1", 0.9)) == ((), (), ("everyone",))
    assert hive.write_set(ID, "b1", 0.19) == {"b1", "b2", "b3"}


def test_a_threshold_stays_with_its_group_and_goes_with_it():
    hive = Federated(GROUPS, root="top", group_thresholds={"b": 0.2, "root": 1.0})
    grown = hive.with_nodes(["a1", "b1", "c1", "top"], {"c1": "c"})
    assert grown.group_thresholds == {"b": 0.2, "root": 1.0}
    assert grown.with_nodes(["a1", "b1", "c1"]).group_thresholds == {"b": 0.2}


def test_a_threshold_is_a_confidence_of_a_group_that_is_there():
    with pytest.raises(InvalidInput, match="thresholds name groups that do not exist: c"):
        Federated(GROUPS, group_thresholds={"c": 0.5})
    for least in (1.1, -0.1, float("nan")):
        with pytest.raises(InvalidInput, match=r"threshold of a must be in \[0, 1\]"):
            Federated(GROUPS, group_thresholds={"a": least, "b": 0.5})


def test_a_node_holds_what_everyone_and_its_group_keep():
    hive = Federated(GROUPS)
    assert hive.held_by("a1") == ("everyone", "group:a")
    assert hive.holders("group:b") == ("b1", "b2", "b3")
    assert hive.holders("everyone") == hive.nodes == ("a1", "a2", "b1", "b2", "b3")
    assert hive.peers("a1") == ("a2", "b1", "b2", "b3")


def test_who_is_no_node_keeps_nothing_but_its_facts_have_a_home():
    hive = Federated(GROUPS)
    assert hive.held_by("x") == hive.peers("x") == hive.holders("group:x") == ()
    assert (hive.group_of("x"), hive.home(ID, "x")) == ("a", "group:a")


def test_one_of_each_group_is_asked_the_own_group_first():
    assert Federated(GROUPS).read_set("b2") == (
        ReplicaSet("b", ("b2", "b1", "b3"), ("group:b",)),
        ReplicaSet("a", ("a2", "a1"), ("group:a",)),
    )


def test_groups_whose_domains_match_are_asked_first_and_none_is_left_out():
    hive = Federated({"a": ["a1"], "b": ["b1"], "c": ["c1"]}, {"c": ["Network security"], "b": ["baking"]})
    assert [part.name for part in hive.read_set("a1", ("networks", "today"))] == ["c", "a", "b"]
    assert hive.favoured(("networks", "today")) == {"c"}
    assert [part.name for part in hive.read_set("a1", ("cooking",))] == ["a", "b", "c"]


def test_domains_match_by_words_whatever_their_case_and_ending():
    hive = Federated(GROUPS, {"a": ["Pumps and valves"], "b": ["IT"]})
    assert hive.favoured(["pump"]) == {"a"}
    assert hive.favoured(["it"]) == {"b"}
    assert hive.favoured(["it", "VALVE"]) == {"a", "b"}
    assert hive.favoured(["and"]) == hive.favoured([]) == frozenset()


def test_a_root_outside_the_groups_has_one_of_its_own():
    hive = Federated(GROUPS, root="top")
    assert (hive.group_of("top"), hive.home(ID, "top")) == ("root", "group:root")
    assert [part.name for part in hive.read_set("a1")] == ["a", "b", "root"]
    assert Federated(GROUPS, root="a1").group_of("a1") == "a"
    assert Federated({}, root="top").nodes == ("top",)


def test_joiners_come_into_the_smallest_group_but_never_to_the_root():
    hive = Federated(GROUPS, {"b": ["x"]}, root="top").with_nodes(["a1", "a2", "b1", "top", "new1", "new2"])
    assert hive.groups == {"a": ("a1", "a2", "new2"), "b": ("b1", "new1"), "root": ("top",)}
    assert (hive.epoch, hive.domains) == (2, {"b": ("x",)})


def test_an_empty_group_is_not_asked_and_is_the_first_that_joiners_fill():
    emptied = Federated(GROUPS, {"a": ["x"]}).with_nodes(["b1", "b2", "b3"])
    assert [part.name for part in emptied.read_set("b1", ("x",))] == ["b"]
    assert emptied.group_of("stranger") == "b"
    assert emptied.with_nodes(["b1", "b2", "b3", "c"]).group_of("c") == "a"


def test_a_root_that_leaves_takes_its_own_group_along():
    hive = Federated(GROUPS, {"root": ["everything"]}, root="top")
    left = hive.with_nodes(set(hive.nodes) - {"top"})
    assert (set(left.groups), left.root, left.domains) == ({"a", "b"}, None, {})
    alone = Federated({}, root="top").with_nodes(["x"])
    assert (alone.groups, alone.root) == ({"root": ("x",)}, None)


def test_later_changes_of_what_it_was_made_from_change_nothing():
    groups = {"a": ["a1"]}
    hive = Federated(groups)

    groups["a"].append("a2")

    assert hive.nodes == ("a1",)
    assert hive == Federated({"a": ("a1",)})
    assert hash(hive) == hash(Federated({"a": ("a1",)}))


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: Federated({"a": ["x", "y"], "b": ["y"]}), "in several: y"),
        (lambda: Federated({"a": []}), "at least one node"),
        (lambda: Federated({"a": ["x"]}, {"c": ["d"]}), "do not exist: c"),
        (lambda: Federated(GROUPS).with_nodes([]), "at least one node"),
    ],
)
def test_what_cannot_be_is_refused(make, reason):
    with pytest.raises(InvalidInput, match=reason):
        make()

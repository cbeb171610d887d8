"""Who may be put out of a hive without a person's insistence, and what would be lost with whom."""

import pytest

from hive_mind.control.evicting import EvictionRefused, evictor, hive_members, lost_with, refuse_harm, still_to_hear
from hive_mind.errors import InvalidInput
from hive_mind.runtime.workers import MemberSeen, MembersSeen

HOLDERS = {"p0": ("n0", "n1"), "p1": ("n1", "n2"), "p2": ("n2",)}


def seen(name: str, state: str = "alive", silent_ms: int | None = 200, **fields) -> MemberSeen:
    return MemberSeen(name, state, fields.pop("is_member", True), silent_ms, fields.pop("epoch", 7))


def view(node: str = "n0", *members: MemberSeen, epoch: int = 7, **fields) -> MembersSeen:
    return MembersSeen(node, epoch, fields.pop("is_in", True), members, fields.pop("holders", HOLDERS), **fields)


def dead(*names: str) -> list[MembersSeen]:
    """As n0 and n1 see it: these were heard a minute ago."""
    members = [seen(name, *(("suspected", 60_000) if name in names else ())) for name in ("n0", "n1", "n2")]
    return [view(node, *members) for node in ("n0", "n1") if node not in names]


def test_who_alone_has_a_partition_is_not_put_out_without_insistence_and_that_is_named():
    views = dead("n2")
    assert lost_with("n2", views) == ["p2"]
    with pytest.raises(EvictionRefused, match=r"no reachable node holds p2.*--force"):
        refuse_harm("n2", views, "pumps", is_forced=False)
    assert refuse_harm("n2", views, "pumps", is_forced=True) == ["p2"]


def test_who_is_dead_and_has_nothing_alone_is_put_out():
    assert refuse_harm("n1", [view("n0", seen("n0"), seen("n1", "suspected", 60_000), seen("n2"))], "", is_forced=False) == []


def test_a_holder_that_is_dead_too_or_still_copies_has_nothing():
    both = dead("n1", "n2")
    copying = [view("n0", seen("n0"), seen("n1", "suspected", 60_000), seen("n2"), lacking=("p0",))]
    assert lost_with("n1", both) == ["p1"]
    assert lost_with("n1", copying) == ["p0"]


@pytest.mark.parametrize("state", ["alive", "leaving"])
def test_who_can_be_heard_is_told_what_to_do_first(state):
    views = [view("n0", seen("n0"), seen("n1", state), seen("n2"))]
    with pytest.raises(EvictionRefused, match="hive-mind keys revoke pumps"):
        refuse_harm("n1", views, "pumps", is_forced=False)
    assert refuse_harm("n1", views, "pumps", is_forced=True) == []


def test_one_node_that_hears_a_member_is_enough_to_call_it_alive():
    views = [
        view("n0", seen("n0"), seen("n1", "suspected", 60_000), seen("n2")),
        view("n2", seen("n0"), seen("n1", "alive", 900), seen("n2")),
    ]
    assert {one.name: (one.state, one.last_heard_s) for one in hive_members(views)}["n1"] == ("alive", 0.9)


def test_what_a_member_says_of_itself_makes_it_no_more_alive():
    """One whose key is revoked runs on, and hears itself."""
    alone = view("n1", seen("n0"), seen("n1", silent_ms=0), seen("n2"))
    assert {one.name: one.state for one in hive_members([*dead("n1"), alone])}["n1"] == "suspected"
    assert {one.name: one.state for one in hive_members([alone])}["n1"] == "alive"


def test_the_newest_topology_says_who_is_a_member():
    former = view("n0", seen("n0"), seen("n1"), seen("n2"), epoch=6)
    newer = view(
        "n1", seen("n0"), seen("n1"), seen("n2", "stranger", 90_000, is_member=False), holders={"p0": ("n0", "n1")}, epoch=7
    )

    assert {one.name: one.is_member for one in hive_members([former, newer])} == {"n0": True, "n1": True, "n2": False}
    with pytest.raises(InvalidInput, match="n2 is not a member of this hive; its members are n0, n1"):
        refuse_harm("n2", [former, newer], "", is_forced=True)
    assert evictor("n2", [former, newer]) == "n1"
    assert still_to_hear("n2", [former, newer]) == ("n0",)


def test_with_nobody_who_answers_nothing_can_be_done():
    with pytest.raises(EvictionRefused, match="hive-mind status"):
        refuse_harm("n1", [], "", is_forced=True)
    with pytest.raises(EvictionRefused, match="nobody can put n0 out"):
        evictor("n0", [view("n0", seen("n0"))])
    assert hive_members([]) == []

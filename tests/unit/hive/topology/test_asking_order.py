"""Askers begin at different members, and those of every other round turn to the other neighbour."""

from hive_mind.hive.topology import AskingOrder

MEMBERS = ("a", "b", "c")


def test_askers_begin_one_after_the_other_and_every_other_round_goes_the_other_way() -> None:
    order = AskingOrder([f"n{number}" for number in range(6)])
    assert ["".join(order.of(MEMBERS, f"n{number}")) for number in range(6)] == ["abc", "bca", "cab", "acb", "bac", "cba"]


def test_a_member_asks_itself_first() -> None:
    assert AskingOrder(MEMBERS).of(MEMBERS, "b") == ("b", "c", "a")

"""What changes did, joined in their order, and never changed by joining them."""

from collections import Counter
from dataclasses import fields, replace

import pytest

from hive_mind.hive.effects import Delete, Put, Taken, by_partition, merged

ONE, OTHER, THIRD = Put("head", b"1", b"x"), Delete("head", b"1"), Put("head", b"2", b"y")


def test_records_keep_the_order_of_changes_within_a_partition_and_of_partitions():
    taken = by_partition([("b", Taken([ONE])), ("a", Taken([THIRD])), ("b", Taken([OTHER]))])

    assert list(taken) == ["b", "a"]
    assert [*taken["b"].records, *taken["a"].records] == [ONE, OTHER, THIRD]


def test_reasons_are_counted_together_and_facts_named_once():
    whole = Taken(facts={"f"}, refused=Counter(late=1))
    whole.add(Taken(facts={"f", "g"}, refused=Counter(late=2, long=1)))

    assert (whole.facts, whole.refused) == ({"f", "g"}, {"late": 3, "long": 1})


@pytest.mark.parametrize("name", [one.name for one in fields(Taken) if one.name not in ("facts", "refused")])
def test_nothing_of_a_change_is_lost(name):
    first, second = (replace(Taken(), **{name: [part]}) for part in ("first", "second"))
    first.add(second)

    assert getattr(first, name) == ["first", "second"]


def test_what_is_merged_stays_as_it_was_and_of_nothing_comes_nothing():
    here, there = {"a": Taken([ONE])}, {"a": Taken([OTHER])}

    assert merged(here, {}, there) == {"a": Taken([ONE, OTHER])}
    assert (here, there) == ({"a": Taken([ONE])}, {"a": Taken([OTHER])})
    assert merged() == {}

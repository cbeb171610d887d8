"""Partitions of names, and places in them, without a broker."""

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.bus.eventhubs.partitions import Position, Watermark, partition_of


@pytest.mark.parametrize(("name", "partition"), [("agent-0", 0), ("agent-7", 3), ("shard-12", 0), ("a1-b10", 2), ("3", 3)])
def test_a_name_that_ends_in_a_number_is_dealt_out_by_it(name: str, partition: int) -> None:
    assert partition_of(name, 4) == partition


def test_names_without_a_number_have_a_partition_that_never_changes() -> None:
    # Members of other versions must compute the same, so these are part of the format.
    assert [partition_of(name, 32) for name in ("bob", "Ines", "日本", "v2-beta")] == [0, 5, 12, 3]


def test_names_without_a_number_are_spread() -> None:
    letters = "abcdefghijklmnop"
    counts = Counter(partition_of(a + b, 4) for a in letters for b in letters)
    assert min(counts.values()) > 40


def test_what_is_done_out_of_order_is_not_repeated_and_what_is_open_is() -> None:
    mark = Watermark(Position(5))
    for number in range(5, 10):
        assert mark.begin(number)
    for number in (9, 7, 5):
        mark.finish(number)
    assert mark.position() == Position(10, (6, 8))

    again = Watermark(mark.position())
    assert again.next == 6
    assert [number for number in range(6, 12) if again.begin(number)] == [6, 8, 10, 11]


def test_what_means_nothing_to_a_name_does_not_hold_it_up() -> None:
    mark = Watermark(Position(0))
    mark.skip(0)
    mark.begin(1)
    mark.skip(2)
    mark.finish(1)

    assert mark.position() == Position(3)


def test_what_was_open_and_is_kept_no_longer_is_given_up() -> None:
    mark = Watermark(Position(10, (2, 4)))
    assert mark.begin(4)
    assert mark.position() == Position(10, (4,))
    assert mark.next == 10


def test_what_was_open_and_interests_nobody_now_is_done() -> None:
    mark = Watermark(Position(10, (2, 4)))
    mark.skip(2)
    assert mark.position() == Position(10, (4,))


@given(st.lists(st.sampled_from("read skip finish restart".split()), max_size=60), st.integers(0, 10_000))
def test_whatever_happens_each_number_is_dealt_with_until_it_is_done_and_never_after(steps: list[str], seed: int) -> None:
    rng = random.Random(seed)
    mark, read, done, held = Watermark(Position(0)), 0, set[int](), set[int]()
    for step in steps:
        if step in {"read", "skip"}:
            number = max(mark.next, read)
            read = number + 1
            if step == "skip" and number not in held:
                mark.skip(number)
                done.add(number)
            elif mark.begin(number):
                assert number not in done
                held.add(number)
        elif step == "finish" and held:
            number = rng.choice(sorted(held))
            held.discard(number)
            mark.finish(number)
            done.add(number)
        elif step == "restart":
            mark = Watermark(mark.position())
            read, held = mark.next, set()
        position = mark.position()
        assert done == set(range(position.next)) - set(position.open)

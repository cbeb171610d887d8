"""Which dots only one side has."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.crdt import context
from hive_mind.crdt.context import Context, differing, pack, unpack
from hive_mind.model.evidence import dot

A, B = b"actor--a", b"actor--b"

SIDES = st.lists(st.integers(1, 30).map(lambda counter: dot(b"8 bytes!", counter)), max_size=30, unique=True)


def test_dots_in_a_row_are_one_number_and_those_beyond_a_gap_wait_until_it_is_closed():
    context = Context()
    context.add_all([dot(A, 1), dot(A, 3), dot(A, 4), dot(B, 2)])
    assert (dict(context.up_to), context.beyond) == ({A: 1}, {dot(A, 3), dot(A, 4), dot(B, 2)})
    assert not context.covers(dot(A, 2))
    assert context.add(dot(A, 2))
    assert (dict(context.up_to), context.beyond) == ({A: 4}, {dot(B, 2)})


def test_adding_what_is_covered_is_no_news():
    context = Context({A: 3}, [dot(A, 5)])
    assert not context.add(dot(A, 2))
    assert not context.add_all([dot(A, 1), dot(A, 5)])
    assert not context.join(Context({A: 2}, [dot(A, 5)]))


def test_joining_swallows_dots_that_are_no_longer_beyond():
    context = Context({}, [dot(A, 3), dot(A, 5)])
    assert context.join(Context({A: 4}))
    assert (dict(context.up_to), context.beyond) == ({A: 5}, frozenset())


def test_the_next_counter_follows_what_has_no_gap():
    assert Context({A: 2}, [dot(A, 9)]).next_counter(A) == 3
    assert Context().next_counter(A) == 1


def test_nobody_is_believed_to_have_seen_more_than_was_written():
    claimed = Context({A: 1_000, B: 2}, [dot(A, 2_000), dot(B, 4), dot(B, 5)])
    assert claimed.within({A: 3, B: 4}) == Context({A: 3, B: 2}, [dot(B, 4)])


def test_a_copy_goes_its_own_way():
    context = Context({A: 1}, [dot(B, 2)])
    context.copy().add_all([dot(A, 2), dot(B, 1)])
    assert context == Context({A: 1}, [dot(B, 2)])


@pytest.mark.parametrize(
    "data",
    [
        {"up_to": {"00": 1}, "beyond": []},
        {"up_to": {A.hex(): 1 << 40}, "beyond": []},
        {"up_to": {}, "beyond": [A.hex()]},
        {"up_to": {}, "beyond": [dot(A, 0).hex()]},
        {"up_to": {"no hex": 1}, "beyond": []},
    ],
)
def test_what_is_no_dot_is_not_read(data):
    with pytest.raises(ValueError, match=r"invalid dot|hexadecimal"):
        Context.from_dict(data)


@given(SIDES, SIDES)
def test_each_side_is_told_what_only_it_has_in_the_order_in_which_it_came(here, there):
    only_here, only_there = differing(dict.fromkeys(here), dict.fromkeys(there))
    assert only_here == [one for one in here if one not in there]
    assert only_there == [one for one in there if one not in here]


def test_fresh_dots_of_one_actor_cost_a_few_bytes_altogether():
    assert len(pack([dot(A, 1_000_000 + n) for n in range(1_000)])) <= 16


def test_a_single_dot_costs_little_more_than_its_actor():
    assert len(pack([dot(A, 100_001)])) <= 12


@pytest.mark.parametrize("bits", [7, 14, 21])
def test_counters_are_read_as_they_were_written_where_they_take_a_byte_more(bits):
    # A run and a dot alone: a bit of the first number says which.
    least = 1 << bits - 1
    for counter in range(least - 2, least + 3):
        for dots in (dot(A, counter),), (dot(A, counter), dot(A, counter + 1)):
            assert unpack(pack(dots)) == dots


def test_the_greatest_counter_fits():
    last = dot(A, (1 << 40) - 1)
    assert unpack(pack([last])) == (last,)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (A, "cut off"),
        (A[:5], "cut off"),
        (A + b"\x00", "without dots"),
        (A + b"\x01", "cut off"),
        (A + b"\x01\x01", "cut off"),
        (A + b"\x02\x00\x00", "adjacent runs must be merged"),
        (A + b"\x01\x80\x00", "non-minimal varint"),
        (A + b"\x01" + b"\xff" * 9, "too large"),
        (A + b"\x01\xfe\xff\xff\xff\xff\x7f", "beyond 40 bits"),
        (B + b"\x01\x00" + A + b"\x01\x00", "out of order"),
        (A + b"\x01\x00" + A + b"\x01\x02", "out of order"),
        (A + b"\x01\x00\x07", "out of order, or cut off"),
    ],
)
def test_what_packing_can_not_have_given_is_refused(data, why):
    with pytest.raises(ValueError, match=why):
        unpack(data)


def test_a_few_bytes_can_not_ask_for_endless_dots():
    bomb = A + b"\x01\x01" + b"\xff\xff\xff\xff\x0f"
    with pytest.raises(ValueError, match="more than"):
        unpack(bomb)
    with pytest.raises(ValueError, match="more than 9"):
        unpack(pack([dot(A, n) for n in range(1, 11)]), dots_max=9)


def test_more_than_one_message_may_hold_is_not_packed(monkeypatch):
    monkeypatch.setattr(context, "DOTS_MAX", 3)
    with pytest.raises(ValueError, match="too many"):
        pack(dot(A, n) for n in range(1, 5))

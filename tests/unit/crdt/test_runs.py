import pytest

from hive_mind.crdt import context
from hive_mind.crdt.context import pack, unpack
from hive_mind.model.evidence import dot

A, B = b"actor--a", b"actor--b"


def test_fresh_dots_of_one_actor_cost_a_few_bytes_altogether():
    assert len(pack([dot(A, 1_000_000 + n) for n in range(1_000)])) <= 16


def test_a_single_dot_costs_little_more_than_its_actor():
    assert len(pack([dot(A, 100_001)])) <= 12


def test_order_and_repetitions_do_not_matter():
    assert pack([dot(B, 1), dot(A, 2), dot(A, 1), dot(B, 1)]) == pack([dot(A, 1), dot(A, 2), dot(B, 1)])


def test_nothing_is_no_bytes():
    assert (pack([]), unpack(b"")) == (b"", ())


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

"""Values to bytes and back, and bytes that are no values."""

import tracemalloc
from contextlib import suppress
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.devbroker.amqp import Array, Described, Symbol, UInt, ULong, encode
from hive_mind.devbroker.amqp.decoding import DEPTH_MAX, DecodeError, decode, decode_only, skip
from tests.unit.devbroker.values import VALUES, damaged, is_same


@given(VALUES)
def test_a_value_is_the_same_after_it_was_encoded_and_decoded(value):
    assert is_same(decode_only(encode(value)), value)


@given(VALUES, st.binary(max_size=9))
def test_skipping_a_value_ends_where_decoding_it_ends(value, rest):
    data = encode(value) + rest
    assert skip(data, 0) == decode(data)[1] == len(data) - len(rest)


@given(VALUES, st.randoms(use_true_random=False))
def test_damaged_bytes_are_a_value_that_can_be_encoded_again_or_no_value(value, random):
    data = damaged(encode(value), random)
    try:
        found, end = decode(data)
    except DecodeError:
        return

    assert skip(data, 0) == end <= len(data)
    assert encode(decode_only(encode(found))) == encode(found)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_value_or_no_value(data):
    for read in (decode, lambda data: skip(data, 0)):
        try:
            read(data)
        except DecodeError:
            continue


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00",
        b"\x01",
        b"\xa0\x05ab",
        b"\xb0\xff\xff\xff\xffab",
        b"\xa1\x02\xff\xfe",
        b"\xa3\x01\xe4",
        b"\x56\x02",
        b"\xc0\x03\x01\x40\x40",
        b"\xc0\x02\x02\x40\x40",
        b"\xe0\x04\x01\x50\x07\x07",
        b"\xe0\x03\x02\x50\x07\x07",
        b"\xc1\x02\x01\x40",
        b"\xc1\x03\x02\x45\x40",
        b"\xc0\x01\x05",
        b"\x73\xff\xff\xff\xff",
        b"\x98" + bytes(15),
    ],
    ids=lambda data: data.hex() or "nothing",
)
def test_what_is_no_value_is_refused(data):
    with pytest.raises(DecodeError):
        decode_only(data)


def test_bytes_behind_a_value_are_refused_where_there_should_be_none():
    with pytest.raises(DecodeError, match="1 bytes behind"):
        decode_only(encode(5) + b"\x40")


@pytest.mark.parametrize("constructor", [0x40, 0x41, 0x42, 0x43, 0x44, 0x45], ids=hex)
def test_an_array_of_nothing_can_not_claim_billions_of_elements(constructor):
    claim = b"\xf0" + (5).to_bytes(4) + (0xFFFFFFFF).to_bytes(4) + bytes((constructor,))
    with pytest.raises(DecodeError, match="more elements"):
        decode(claim)


@pytest.mark.parametrize(
    "layer",
    [b"\x00\x40", b"\x00", b"\xc0\xff\x01", b"\xd0\x00\x00\xff\xff\x00\x00\x00\x01", b"\xe0\xff\x01"],
    ids=lambda layer: layer.hex(),
)
def test_nesting_ends_before_python_does(layer):
    data = layer * 100_000 + b"\x40"
    with pytest.raises(DecodeError):
        decode(data)
    with suppress(DecodeError):
        skip(data, 0)


def test_as_much_nesting_as_is_allowed_is_understood():
    value = []
    for _ in range(DEPTH_MAX - 1):
        value = [value]

    assert decode_only(encode(value)) == value
    with pytest.raises(DecodeError, match="nested deeper"):
        decode(encode([[value]]))


def memory_taken_by(data: bytes) -> int:
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    with suppress(DecodeError):
        decode(data)
    return tracemalloc.get_traced_memory()[1] - before


def test_hostile_bytes_take_memory_in_proportion_to_their_length():
    seed = 20261121
    random = Random(seed)
    pieces = (
        *(b"\xf0", b"\xe0", b"\xd0", b"\xc0", b"\xd1", b"\x00", b"\x40", b"\x45", b"\xff\xff\xff\xff"),
        *(b"\x00\x00\x00\x08", b"\x09"),
    )
    tracemalloc.start()
    try:
        for _ in range(3000):
            data = b"".join(random.choices(pieces, k=200))
            # The least of three: whatever else lives in this process may take memory meanwhile.
            grown = min(memory_taken_by(data) for _ in range(3))
            assert grown < 200 * len(data) + 20_000, f"seed {seed}: {len(data)} bytes took {grown}"
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("value", [object(), {1, 2}, 1j, Array([object()])], ids=lambda value: type(value).__name__)
def test_what_amqp_has_no_type_for_is_not_encoded(value):
    with pytest.raises((TypeError, KeyError)):
        encode(value)


def test_values_have_the_bytes_of_the_specification():
    assert encode(None) == b"\x40"
    assert encode(True) == b"\x41"
    assert encode(UInt(0)) == b"\x43"
    assert encode(UInt(7)) == b"\x52\x07"
    assert encode(ULong(256)) == b"\x80" + (256).to_bytes(8)
    assert encode(Symbol("amqp")) == b"\xa3\x04amqp"
    assert encode("é") == b"\xa1\x02\xc3\xa9"
    assert encode([]) == b"\x45"
    assert encode({"a": None}) == b"\xc1\x05\x02\xa1\x01a\x40"
    assert encode(Described(ULong(0x24), [])) == b"\x00\x53\x24\x45"
    assert encode(Array([Symbol("a"), Symbol("b")])) == bytes.fromhex("f0 0000000f 00000002 b3 00000001 61 00000001 62")
    assert encode(Array()) == b"\xe0\x02\x00\x40"

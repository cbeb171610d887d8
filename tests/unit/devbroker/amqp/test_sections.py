"""Messages, cut into sections and put together again.

Values to bytes and back, and bytes that are no values.
"""

import tracemalloc
from contextlib import suppress
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.devbroker.amqp import Array, Described, Symbol, UInt, ULong, encode
from hive_mind.devbroker.amqp.decoding import DEPTH_MAX, DecodeError, decode, decode_only, skip
from hive_mind.devbroker.amqp.entity import (
    BATCH_FORMAT,
    CORRELATION_ID,
    Message,
    annotations_section,
    messages_of,
    split,
    value_message,
)
from tests.unit.devbroker.values import MESSAGES, VALUES, damaged, is_same, section

SEQUENCE = encode(Symbol("x-opt-sequence-number"))


@given(MESSAGES)
def test_a_message_that_is_cut_has_all_its_bytes(message):
    assert split(message.encoded()) == message


@given(MESSAGES)
def test_a_broker_adds_annotations_and_changes_nothing_else(message):
    theirs = dict(message.annotation_map)
    there = split(message.encoded(annotations=[(SEQUENCE, encode(7))]))
    assert there.annotation_map == {**theirs, "x-opt-sequence-number": 7}
    assert (there.properties, there.application, there.body) == (message.properties, message.application, message.body)


def test_an_annotation_of_the_broker_replaces_the_senders_own():
    message = Message(annotations=section(0x72, {Symbol("x-opt-sequence-number"): 99, Symbol("mine"): "kept"}))
    there = split(message.encoded(annotations=[(SEQUENCE, encode(7))]))
    assert there.annotation_map == {"mine": "kept", "x-opt-sequence-number": 7}


@given(MESSAGES, st.randoms(use_true_random=False))
def test_damaged_messages_are_refused_or_harm_nobody_who_reads_them(message, random):
    payload = damaged(message.encoded(), random)
    try:
        found = split(payload)
        messages_of(found, BATCH_FORMAT)
    except DecodeError:
        return

    _ = found.header_fields, found.message_id, found.annotation_map, found.application_map, found.value()
    assert split(found.encoded(annotations=[(SEQUENCE, encode(1))])).annotation_map["x-opt-sequence-number"] == 1


@pytest.mark.parametrize(
    "payload",
    [
        b"\x40",
        b"\x00",
        b"\x00\x53",
        b"\x00\x53\x69\x40",
        b"\x00\xa3\x05other\x40",
        section(0x73, {}),
        section(0x74, []),
        section(0x73, [None] * 14),
        section(0x75, "text"),
        section(0x74, {}) + section(0x74, {}),
        section(0x75, b"x") + section(0x73, []),
        section(0x75, b"x")[:-1],
    ],
    ids=lambda payload: payload.hex()[:20],
)
def test_what_is_no_message_is_refused(payload):
    with pytest.raises(DecodeError):
        split(payload)


@pytest.mark.parametrize("descriptor", [b"\x80" + (0x74).to_bytes(8), encode(Symbol("amqp:application-properties:map"))])
def test_sections_may_be_described_in_any_form(descriptor):
    message = split(b"\x00" + descriptor + encode({"a": 1}) + section(0x75, b"x"))
    assert message.application_map == {"a": 1}
    assert message.application == section(0x74, {"a": 1})


def test_a_message_without_properties_has_none_of_them():
    message = split(section(0x75, b""))
    assert (message.property_fields, message.header_fields) == ([None] * 13, [None] * 5)
    assert (message.message_id, message.application_map, message.value()) == (None, {}, b"")


def test_an_answer_carries_whose_request_it_is_for():
    message = split(value_message({"a": 1}, properties={CORRELATION_ID: "r1"}, application={"status-code": 200}))

    assert (message.property_fields[CORRELATION_ID], message.application_map, message.value()) == (
        "r1",
        {"status-code": 200},
        {"a": 1},
    )


def test_parts_of_a_message_are_replaced_and_others_are_not_its_own():
    message = split(section(0x74, {"a": 1}) + section(0x75, b"x")).with_application({"b": 2})
    assert split(message.encoded()).application_map == {"b": 2}
    # Annotations of a delivery do not belong to the message.
    payload = annotations_section(0x71, {Symbol("x"): 1}) + section(0x75, b"x")
    assert split(payload) == Message(body=section(0x75, b"x"))
    # A body may be a value that is described itself.
    inner = Described(ULong(5), "x")
    assert split(section(0x77, inner)).value() == inner


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
        for _ in range(1000):
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

"""Messages, cut into sections and put together again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.devbroker.amqp import Described, Symbol, ULong, encode
from hive_mind.devbroker.amqp.decoding import DecodeError
from hive_mind.devbroker.amqp.entity import (
    BATCH_FORMAT,
    CORRELATION_ID,
    Message,
    annotations_section,
    split,
    unbatch,
    value_message,
)
from tests.unit.devbroker.values import MESSAGES, damaged, section

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


@given(st.lists(MESSAGES, max_size=5))
def test_a_batch_holds_its_messages_in_order(messages):
    assert unbatch(b"".join(section(0x75, message.encoded()) for message in messages), BATCH_FORMAT) == messages


@given(MESSAGES, st.randoms(use_true_random=False))
def test_damaged_messages_are_refused_or_harm_nobody_who_reads_them(message, random):
    payload = damaged(message.encoded(), random)
    try:
        found = split(payload)
        unbatch(payload, BATCH_FORMAT)
    except DecodeError:
        return

    _ = found.header_fields, found.message_id, found.annotation_map, found.application_map, found.value()
    again = split(found.encoded(annotations=[(SEQUENCE, encode(1))]))
    assert again.annotation_map["x-opt-sequence-number"] == 1


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


def test_other_application_properties_replace_the_old_ones():
    message = split(section(0x74, {"a": 1}) + section(0x75, b"x")).with_application({"b": 2})
    assert split(message.encoded()).application_map == {"b": 2}


def test_annotations_of_a_delivery_do_not_belong_to_the_message():
    payload = annotations_section(0x71, {Symbol("x"): 1}) + section(0x75, b"x")
    assert split(payload) == Message(body=section(0x75, b"x"))


def test_a_body_may_be_a_value_that_is_described_itself():
    inner = Described(ULong(5), "x")
    assert split(section(0x77, inner)).value() == inner

"""What a queue reads of a message."""

from math import inf
from uuid import UUID

import pytest

from hive_mind.devbroker.amqp import AmqpError, Timestamp, UInt, described, encode
from hive_mind.devbroker.amqp.entity import ANNOTATIONS, HEADER, MESSAGE_ID, SUBJECT, annotations_section, split, value_message
from hive_mind.devbroker.servicebus import ID_LENGTH_MAX, letter_of

NOW = 1_000.0
ABSOLUTE_EXPIRY = 8


def read(*, ttl_ms=None, properties=None, notes=None):
    header = described(HEADER, [encode(None), encode(None), encode(ttl_ms)]) if ttl_ms is not None else b""
    annotations = annotations_section(ANNOTATIONS, notes) if notes else b""
    return letter_of(split(header + annotations + value_message("x", properties=properties, application={})), NOW)


@pytest.mark.parametrize(
    ("ttl_ms", "expiry_s", "ttl_s"),
    [
        (None, None, inf),
        (UInt(1500), None, 1.5),
        (UInt(0), None, inf),
        (None, NOW + 20, 20),
        (None, NOW - 20, 0),
        (None, 0, inf),
        (UInt(1500), NOW + 20, 1.5),
        ("soon", None, inf),
    ],
)
def test_the_time_to_live_is_what_was_given_in_either_place(ttl_ms, expiry_s, ttl_s):
    expiry = {} if expiry_s is None else {ABSOLUTE_EXPIRY: Timestamp(int(expiry_s * 1000))}
    assert read(ttl_ms=ttl_ms, properties=expiry).ttl_s == ttl_s


@pytest.mark.parametrize("id", [None, "m-1", "x" * ID_LENGTH_MAX, b"raw", 7, UUID(int=1)])
def test_a_message_id_is_anything_that_can_be_compared(id):
    assert read(properties={MESSAGE_ID: id}).id == id


def test_a_message_without_an_id_gets_one_and_keeps_the_rest():
    first, second = (read(properties={SUBJECT: "lamps"}).content for _ in range(2))
    assert first.property_fields[SUBJECT] == "lamps"
    assert len(first.message_id) == len(second.message_id) == 32
    assert first.message_id != second.message_id


@pytest.mark.parametrize("properties", [{MESSAGE_ID: "x" * (ID_LENGTH_MAX + 1)}, {MESSAGE_ID: ["a", "list"]}])
def test_ids_of_the_wrong_kind_are_refused(properties):
    with pytest.raises(AmqpError, match="argument-error"):
        read(properties=properties)


def test_the_size_is_that_of_what_is_kept():
    encoded = value_message("x" * 500, application={"n": 1})
    assert letter_of(split(encoded), NOW).size == len(encoded)

"""Envelopes as bytes: what is sent arrives, and whatever else arrives is a `WireError`, and nothing else happens."""

from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hive_mind.bus import EVERYONE, Envelope, correlation_of, type_of
from hive_mind.bus.codec import ENVELOPE_BYTES_MAX, VERSION, as_cloud_event, decode, encode
from hive_mind.errors import WireError
from hive_mind.model.messages import FactsReply, ListRequest, Receipt
from tests.laws.test_wire import ANY, damaged, plain

NAME = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12).filter(lambda name: name != "*")
TARGET = st.just(EVERYONE) | st.lists(NAME, min_size=1, max_size=4, unique=True).map(tuple)


def enveloped(id, hive, sender, target, message, correlation_id, trace, sent_ms):
    return Envelope(id, hive, sender, target, type_of(message), message, correlation_id, trace, sent_ms)


ENVELOPE = st.builds(
    enveloped, NAME, NAME, NAME, TARGET, ANY, NAME | st.just(""), NAME | st.just(""), st.integers(0, (1 << 53) - 1)
)
SMALL = Envelope("id", "hive", "ann", ("bob",), "receipt", Receipt("parcel"))


@given(ENVELOPE)
def test_an_envelope_arrives_as_it_was_sent(envelope):
    assert plain(decode(encode(envelope))) == plain(envelope)


def taken_or_refused(data: bytes) -> Envelope | None:
    try:
        return decode(data)
    except WireError:
        return None


@given(ENVELOPE, st.integers(0, 2**32))
def test_what_was_damaged_on_its_way_is_an_envelope_or_a_wire_error(envelope, seed):
    whole, chance = encode(envelope), Random(seed)
    for _ in range(50):
        arrived = taken_or_refused(damaged(whole, chance))
        if arrived is not None:
            assert type(arrived) is Envelope
            assert arrived.type == type_of(arrived.message)
            assert plain(decode(encode(arrived))) == plain(arrived)


@settings(max_examples=30, deadline=None)
@given(ENVELOPE)
def test_no_beginning_of_an_envelope_is_one(envelope):
    whole = encode(envelope)
    for end in range(len(whole)):
        with pytest.raises(WireError):
            decode(whole[:end])


@given(st.binary(max_size=200))
def test_any_bytes_at_all_are_an_envelope_or_a_wire_error(data):
    taken_or_refused(data)
    taken_or_refused(bytes([VERSION]) + data)


def test_an_unknown_version_is_named():
    with pytest.raises(WireError, match="version 2 of envelopes is not known here, only 1: upgrade this member"):
        decode(b"\x02" + encode(SMALL)[1:])


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        ("id", "", "names"),
        ("hive", "", "names"),
        ("sender", "", "names"),
        ("sender", "x" * 257, "names"),
        ("correlation_id", "x" * 257, "names"),
        ("target", (), "targets"),
        ("target", ("bob", "bob"), "targets"),
        ("target", tuple(map(str, range(10_001))), "targets"),
        ("target", ("bob", ""), "names"),
        ("sender", "*", "must be the only target"),
        ("target", ("bob", "*"), "must be the only target"),
        ("sent_ms", -1, "invalid send time"),
        ("sent_ms", 1 << 53, "invalid send time"),
        ("type", "replicate", "'replicate', the message in it is a 'receipt'"),
    ],
)
def test_what_no_member_would_send_is_refused_with_the_reason(field, value, why):
    with pytest.raises(WireError, match=why):
        decode(encode(msgspec.structs.replace(SMALL, **{field: value})))


def test_what_is_too_large_is_refused_unread():
    with pytest.raises(WireError, match="bytes"):
        decode(bytes([VERSION]) + b"\x00" * ENVELOPE_BYTES_MAX)


def test_an_envelope_can_be_shown_as_a_cloud_event():
    shown = as_cloud_event(msgspec.structs.replace(SMALL, sent_ms=1_700_000_000_123, correlation_id="q"))

    assert shown["specversion"] == "1.0"
    assert shown["id"] == "id"
    assert shown["source"] == "hive://hive/ann"
    assert shown["type"] == "hive.receipt.message.v1"
    assert shown["time"] == "2023-11-14T22:13:20.123000+00:00"
    assert (shown["target"], shown["correlationid"]) == ("bob", "q")
    assert "traceparent" not in shown
    assert msgspec.json.decode(msgspec.json.encode(shown)) == shown


def test_the_answer_to_a_question_of_an_endless_name_is_still_an_envelope():
    reply = FactsReply("q" * 1000, ())
    answered = msgspec.structs.replace(SMALL, type=type_of(reply), message=reply, correlation_id=correlation_of(reply))
    assert decode(encode(answered)).message == reply


@pytest.mark.parametrize(
    "message",
    [Receipt("half \udcff"), ListRequest("q", "all", 1, "half \ud800", 5, 100), ListRequest("q", "all", 1, "", 1 << 70, 100)],
    ids=["half a character", "half a pair", "endless"],
)
def test_what_can_not_be_written_is_refused_as_what_can_not_be_read(message):
    with pytest.raises(WireError, match="can't be encoded"):
        encode(Envelope("id", "hive", "ann", ("bob",), type_of(message), message))

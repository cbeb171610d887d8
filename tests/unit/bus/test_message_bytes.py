import msgspec
import pytest

from hive_mind.bus import codec
from hive_mind.bus.codec import MESSAGE_BYTES_MAX
from hive_mind.bus.codec import MESSAGE_VERSION as VERSION
from hive_mind.bus.codec import decode_message as decode
from hive_mind.bus.codec import encode_message as encode
from hive_mind.errors import WireError
from hive_mind.model.gathered import ANALYSIS, Anchors, Probe
from hive_mind.model.messages import Announce, PoolRequest, Receipt, RegistryEntry, Replicate

RECEIPT = encode(Receipt("a parcel"))


def test_the_first_byte_is_the_version_and_a_message_of_another_one_says_what_to_do():
    assert RECEIPT[0] == VERSION == 1
    with pytest.raises(WireError, match="version 2 of messages is not known here, only 1: upgrade this member"):
        decode(bytes([2]) + RECEIPT[1:])


def test_a_message_has_at_least_a_byte_and_not_too_many_and_the_largest_is_read():
    for data in (b"", bytes(MESSAGE_BYTES_MAX + 1)):
        with pytest.raises(WireError, match="messages have between 1 and"):
            decode(data)
    assert len(decode(encode(Receipt("x" * (MESSAGE_BYTES_MAX - 100)))).batch) == MESSAGE_BYTES_MAX - 100


@pytest.mark.parametrize(
    "body",
    [
        b"",
        msgspec.msgpack.encode([]),
        msgspec.msgpack.encode({"type": "unheard of"}),
        msgspec.msgpack.encode({"type": "receipt"}),
        msgspec.msgpack.encode({"type": "receipt", "parcel": 5}),
        msgspec.msgpack.encode({"type": "receipt", "parcel": "x"}) + b"and more",
        msgspec.msgpack.encode({"type": "replicate", "parcel": "x", "changes": [["all", [[5]]]]}),
        msgspec.msgpack.encode(
            {"type": f"pool?{ANALYSIS}", "query": "q", "replica_set": "s", "epoch": 1, "left_ms": 1, "probe": {"vector": b"123"}}
        ),
        b"\x82\xa4type\xa7receipt\xa6parcel\xa2\xff\xfe",
        b"\x91" * 5_000,
        b"\x82\xa4type\xa9replicate\xa7changes" + b"\x91" * 100_000,
        b"\xdd\xff\xff\xff\xff",
        b"\xc6\xff\xff\xff\xff",
    ],
    ids=lambda body: repr(body[:24]),
)
def test_whatever_is_no_message_is_a_wire_error(body):
    with pytest.raises(WireError, match="malformed message"):
        decode(bytes([VERSION]) + body)


def test_a_question_by_another_analysis_of_texts_is_not_known_and_so_not_answered():
    question = encode(PoolRequest("q", "all", 2, Probe(("a",), Anchors()), 1_000))
    with pytest.raises(WireError, match="malformed message"):
        decode(question.replace(f"pool?{ANALYSIS}".encode(), f"pool?{ANALYSIS + 1}".encode()))


def test_a_field_of_a_later_version_is_passed_over():
    body = msgspec.msgpack.encode({"type": "receipt", "parcel": "x", "colour": "red"})
    assert decode(bytes([VERSION]) + body) == Receipt("x")


def test_what_can_not_travel_is_not_sent():
    with pytest.raises(NotImplementedError, match="set can't be encoded"):
        codec._to_bytes({1})


def test_equal_messages_are_equal_bytes():
    one = Announce((RegistryEntry("agent/ines", "{}", (5, 0, b""), "ines"),))
    assert encode(one) == encode(decode(encode(one)))
    assert decode(encode(Replicate("p", ()))) == Replicate("p", ())

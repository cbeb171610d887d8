"""A connection from its first byte to its last: the handshake, the order of frames, heartbeats, and an end with a reason."""

import asyncio

import pytest

from hive_mind.devbroker.amqp import Symbol, UInt, described, encode, frame
from hive_mind.devbroker.amqp import performatives as amqp
from hive_mind.devbroker.amqp.connection import AMQP_HEADER, SASL_HEADER
from tests.unit.devbroker.peers import Peer, limits, with_peer

FRAMING = "amqp:connection:framing-error"


def sasl_init(mechanism, response=None):
    return frame(0, described(amqp.SASL_INIT, [encode(Symbol(mechanism)), encode(response)]), kind=1)


def reason(peer) -> str:
    """Why the broker closed the connection."""
    closes = peer.heard(amqp.CLOSE)
    assert len(closes) == 1
    assert peer.wire.end == "eof"
    return closes[0].error(0)


@pytest.mark.parametrize("mechanism", ["MSSBCBS", "ANONYMOUS", "EXTERNAL"])
@with_peer(is_open=False)
async def test_who_brings_a_token_later_is_let_in(peer, mechanism):
    peer.send(SASL_HEADER)
    header, mechanisms = peer.heard()
    peer.send(sasl_init(mechanism))

    assert header.fields == [SASL_HEADER]
    assert mechanism in mechanisms.fields[0]
    assert peer.heard()[0].fields[0] == 0
    peer.open()
    assert peer.heard(amqp.OPEN)


@pytest.mark.parametrize(
    ("mechanism", "response", "outcome"),
    [
        ("PLAIN", b"\0RootManageSharedAccessKey\0SAS_KEY_VALUE", 0),
        ("PLAIN", b"\0RootManageSharedAccessKey\0wrong", 1),
        ("PLAIN", b"\0other\0SAS_KEY_VALUE", 1),
        ("PLAIN", b"\0\xff\0\xff", 1),
        ("PLAIN", b"nonsense", 1),
        ("PLAIN", None, 1),
        ("SCRAM-SHA-256", None, 1),
    ],
)
@with_peer(is_open=False, needs_token=True)
async def test_a_plain_login_is_the_name_of_a_key_and_the_key(peer, mechanism, response, outcome):
    peer.send(SASL_HEADER + sasl_init(mechanism, response))
    assert peer.heard(amqp.SASL_OUTCOME)[0].fields[0] == outcome
    assert peer.connection.is_closed == bool(outcome)
    assert peer.wire.end == ("eof" if outcome else "")


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"AMQP\x00\x00\x09\x01",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        frame(0, described(amqp.OPEN, [encode("x")])),
        sasl_init("ANONYMOUS"),
        SASL_HEADER + SASL_HEADER,
        SASL_HEADER + AMQP_HEADER,
        SASL_HEADER + sasl_init("ANONYMOUS") + sasl_init("ANONYMOUS"),
    ],
    ids=["http", "old amqp", "tls", "no header", "sasl without header", "sasl twice", "sasl left out", "init twice"],
)
@with_peer(is_open=False)
async def test_what_is_no_handshake_is_answered_with_what_is_spoken_here(peer, data):
    peer.send(data)
    assert peer.heard(-1)[-1].fields == [SASL_HEADER]
    assert peer.wire.end == "eof"


@with_peer(is_open=False)
async def test_a_frame_before_open_closes_the_connection_in_good_order(peer):
    peer.send(AMQP_HEADER)
    peer.begin()
    assert [heard.code for heard in peer.heard()] == [-1, amqp.OPEN, amqp.CLOSE]


@pytest.mark.parametrize(
    ("data", "condition"),
    [
        (b"\xff\xff\xff\xff\x02\x00\x00\x00", FRAMING),
        (b"\x00\x01\x00\x01\x02\x00\x00\x00", FRAMING),
        (b"\x00\x00\x00\x07\x02\x00\x00\x00", FRAMING),
        (b"\x00\x00\x00\x08\x01\x00\x00\x00", FRAMING),
        (b"\x00\x00\x00\x08\x03\x00\x00\x00", FRAMING),
        (b"\x00\x00\x00\x08\x02\x07\x00\x00", FRAMING),
        (AMQP_HEADER, FRAMING),
        (frame(0, b"\x01"), "amqp:decode-error"),
        (frame(0, b"\x40"), "amqp:decode-error"),
        (frame(0, b"\x00\x53\x10\x40"), "amqp:decode-error"),
        (frame(0, described(0x99, [])), "amqp:decode-error"),
        (frame(0, described(amqp.OPEN, [encode("again")])), "amqp:not-allowed"),
        (frame(7, described(amqp.FLOW, [])), "amqp:not-allowed"),
        (frame(0, described(amqp.BEGIN, [])), "amqp:not-allowed"),
        (frame(9999, described(amqp.BEGIN, [])), "amqp:not-allowed"),
        (frame(1, described(amqp.BEGIN, [encode("x")])), "amqp:invalid-field"),
        (frame(0, described(amqp.TRANSFER, [encode(UInt(5))])), "amqp:session:unattached-handle"),
        (frame(0, described(amqp.DETACH, [encode(UInt(5))])), "amqp:session:unattached-handle"),
        (frame(0, described(amqp.ATTACH, [encode(UInt(5))])), "amqp:invalid-field"),
        (sasl_init("ANONYMOUS"), "amqp:not-allowed"),
        # A close is answered with a close.
        (frame(0, described(amqp.CLOSE, [])), ""),
    ],
)
@with_peer()
async def test_what_is_out_of_order_closes_the_connection_and_says_why(peer, data, condition):
    peer.send(data)
    assert reason(peer) == condition
    assert peer.broker.stats[f"closed {condition}"] == bool(condition)


@with_peer()
async def test_after_a_close_nothing_is_listened_to(peer):
    peer.send(b"\xff" * 8)
    peer.heard()
    peer.begin(channel=3)
    peer.send(b"\xff" * 100_000)
    assert peer.heard() == []


@with_peer(limits=limits())
async def test_one_bad_peer_does_not_touch_another(peer):
    other = Peer(peer.broker)
    other.open()
    other.begin()
    other.heard()

    peer.send(b"\xff" * 8)
    other.attach_sender(0, "hub")

    assert other.heard(amqp.ATTACH)
    assert peer.broker.connections == 2


@with_peer()
async def test_an_ended_session_is_answered_and_its_late_frames_are_not_minded(peer):
    peer.attach_sender(0, "hub")
    peer.say(amqp.END)
    peer.say(amqp.DETACH, UInt(0), True)

    assert [heard.code for heard in peer.heard()][-1] == amqp.END
    peer.begin()
    peer.attach_sender(0, "hub")
    assert peer.heard(amqp.ATTACH)[0].fields[6] is not None


@with_peer(is_open=False)
async def test_without_sasl_a_header_is_answered_with_a_header_and_frames_may_come_one_byte_at_a_time(peer):
    for byte in AMQP_HEADER + frame(0, described(amqp.OPEN, [encode("x")])):
        peer.send(bytes((byte,)))
    header, opened = peer.heard()
    assert (header.code, header.fields) == (-1, [AMQP_HEADER])
    assert (opened.code, opened.fields[0]) == (amqp.OPEN, "hive-mind-broker")


@with_peer(is_open=False, limits=limits(handshake_s=0.05))
async def test_who_does_not_shake_hands_is_dropped(peer):
    await peer.until(lambda: peer.wire.end)
    assert peer.broker.stats["slow handshakes"] == 1


@with_peer(is_open=False, limits=limits(idle_timeout_s=0.3))
async def test_a_silent_peer_is_told_that_it_was_silent_too_long(peer):
    peer.open()
    assert peer.heard(amqp.OPEN)[0].fields[4] == 300
    await peer.until(lambda: peer.wire.end)
    assert reason(peer) == "amqp:connection:forced"


@with_peer(is_open=False)
async def test_a_peer_that_asks_for_heartbeats_gets_them(peer):
    peer.open(idle_ms=200)
    peer.heard()
    await peer.until(lambda: peer.wire.written)
    assert [heard.code for heard in peer.heard()] == [0]


@with_peer(limits=limits(connections_max=1))
async def test_one_connection_too_many_is_dropped(peer):
    assert (Peer(peer.broker).wire.end, peer.wire.end) == ("aborted", "")


@with_peer(is_open=False)
async def test_a_max_frame_size_below_what_amqp_allows_is_refused(peer):
    peer.open(max_frame=100)
    assert reason(peer) == "amqp:invalid-field"


@with_peer()
async def test_who_does_not_read_is_not_read_from(peer):
    peer.connection.pause_writing()
    assert not peer.wire.is_reading
    peer.connection.resume_writing()
    assert peer.wire.is_reading


@with_peer()
async def test_a_broker_that_stops_says_so(peer):
    await_end = asyncio.ensure_future(peer.broker.stop())
    await peer.turn()

    assert peer.heard(amqp.CLOSE)[0].error(0) == "amqp:connection:forced"
    assert peer.wire.end == "closed"
    peer.connection.connection_lost(None)
    await await_end

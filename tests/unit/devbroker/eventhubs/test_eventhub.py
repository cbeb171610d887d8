"""Event Hubs: positions, keys, epochs, and what is told about them, beyond what `test_eventhub_sdk` shows."""

import pytest

from hive_mind.devbroker.amqp import Array, Described, Symbol, UInt, ULong, encode
from hive_mind.devbroker.amqp import performatives as amqp
from hive_mind.devbroker.amqp.entity import BATCH_FORMAT, split
from tests.unit.devbroker.peers import selector, with_peer
from tests.unit.devbroker.values import section

READER = "hub/ConsumerGroups/$Default/Partitions/{}"
EPOCH = Symbol("com.microsoft:epoch")


def received(peer):
    """Messages since last asked, whole."""
    return [split(heard.payload) for heard in peer.heard(amqp.TRANSFER)]


def texts(messages):
    return [message.value().decode() for message in messages]


def refusal(peer):
    return peer.heard(amqp.DETACH)[0].error(2)


async def after(peer, *messages, partition=0):
    """Events in a partition, and nothing else heard of them."""
    peer.attach_sender(200, f"hub/Partitions/{partition}")
    for text in messages:
        peer.message(200, text)
    await peer.turn()
    peer.heard()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("amqp.annotation.x-opt-offset > '-1'", "abc"),
        ("amqp.annotation.x-opt-offset > '@latest'", ""),
        ("amqp.annotation.x-opt-sequence-number > '0'", "bc"),
        ("amqp.annotation.x-opt-sequence-number >= '1'", "bc"),
        ("amqp.annotation.x-opt-sequence-number > '99'", ""),
        ("amqp.annotation.x-opt-sequence-number > '-1'", "abc"),
        ("amqp.annotation.x-opt-enqueued-time > '1000000'", "bc"),
        ("amqp.annotation.x-opt-enqueued-time >= '1000000'", "abc"),
        ("amqp.annotation.x-opt-enqueued-time > '1000500'", "c"),
    ],
)
@with_peer()
async def test_a_receiver_begins_where_it_asks(peer, text, expected):
    for now, text_sent in ((1000.0, "a"), (1000.5, "b"), (1001.0, "c")):
        peer.broker.now = lambda now=now: now
        await after(peer, text_sent)
        peer.say(amqp.DETACH, UInt(200), True)
    peer.heard()
    peer.attach_receiver(0, READER.format(0), filters=selector(text))

    assert "".join(texts(received(peer))) == expected


@pytest.mark.parametrize(
    "text",
    [
        "x > 5",
        "amqp.annotation.x-opt-offset > " + " " * 50_000 + "''",
        "amqp.annotation.x-opt-offset > '99999999'",
        "amqp.annotation.x-opt-offset > 'abc'",
        "amqp.annotation.x-opt-other > '1'",
    ],
)
@with_peer()
async def test_a_position_that_is_none_is_refused(peer, text):
    peer.attach_receiver(0, READER.format(0), filters=selector(text), credit=0)
    assert refusal(peer) in ("amqp:invalid-field", "com.microsoft:argument-error")


@pytest.mark.parametrize(
    "address",
    [
        *("hub/Partitions/4", "hub/Partitions/x", "hub/Partitions/-1", "hub/Partitions/٣"),
        *("other/Partitions/0", "hub/Partitions/99999999999"),
    ],
)
@with_peer()
async def test_a_partition_that_is_not_there_is_refused(peer, address):
    peer.attach_sender(0, address)
    assert refusal(peer) in ("com.microsoft:argument-out-of-range", "amqp:not-found")


@pytest.mark.parametrize("address", ["hub", "hub/Partitions/0", "hub/ConsumerGroups/nobody/Partitions/0"])
@with_peer()
async def test_a_receiver_needs_a_group_that_exists_and_a_partition(peer, address):
    peer.attach_receiver(0, address, credit=0)
    assert refusal(peer) in ("amqp:not-allowed", "amqp:not-found")


@with_peer()
async def test_a_batch_goes_to_one_partition_and_events_without_one_take_turns(peer):
    peer.attach_sender(0, "hub")
    peer.transfer(0, b"".join(section(0x75, section(0x75, text)) for text in (b"a", b"b")), fmt=BATCH_FORMAT)
    for _ in range(3):
        peer.message(0, "x")

    assert sorted([partition.end for partition in peer.broker.entities.find("hub").partitions]) == [1, 1, 1, 2]


@with_peer()
async def test_events_of_one_key_share_a_partition_and_show_their_key(peer):
    key = section(0x72, {Symbol("x-opt-partition-key"): "ferry"})
    peer.attach_sender(0, "hub")
    for _ in range(3):
        peer.transfer(0, key + section(0x75, section(0x75, b"in a batch")), fmt=BATCH_FORMAT)
    peer.transfer(0, key + section(0x75, b"alone"))
    place = next(partition.number for partition in peer.broker.entities.find("hub").partitions if partition.end)
    peer.attach_receiver(1, READER.format(place))

    assert [event.annotation_map["x-opt-partition-key"] for event in received(peer)] == ["ferry"] * 4


@with_peer()
async def test_a_key_on_a_link_of_one_partition_is_refused(peer):
    await after(peer)
    peer.transfer(200, section(0x72, {Symbol("x-opt-partition-key"): "ferry"}) + section(0x75, b"x"))
    assert peer.heard(amqp.DISPOSITION)[0].fields[4].value[0].value[0] == "amqp:not-allowed"


@with_peer()
async def test_a_higher_epoch_takes_the_partition_and_a_lower_one_does_not(peer):
    peer.attach_receiver(0, READER.format(0), credit=0)
    peer.attach_receiver(1, READER.format(0), properties={EPOCH: 5}, credit=0)
    assert [(each.fields[0], each.error(2)) for each in peer.heard(amqp.DETACH)] == [(0, "amqp:link:stolen")]

    peer.attach_receiver(2, READER.format(0), properties={EPOCH: 4}, credit=0)
    peer.attach_receiver(3, READER.format(0), credit=0)
    assert [each.fields[0] for each in peer.heard(amqp.DETACH)] == [2, 3]

    peer.attach_receiver(4, READER.format(0), properties={EPOCH: 5}, credit=0)
    assert [each.fields[0] for each in peer.heard(amqp.DETACH)] == [1]

    peer.attach_receiver(5, READER.format(0), properties={EPOCH: "five"}, credit=0)
    assert refusal(peer) == "amqp:invalid-field"


@with_peer()
async def test_who_asks_for_it_is_told_how_far_the_partition_is(peer):
    await after(peer, "a", "b")
    peer.attach_receiver(0, READER.format(0), capabilities=Array([Symbol("com.microsoft:enable-receiver-runtime-metric")]))

    payload = peer.heard(amqp.TRANSFER)[0].payload
    assert payload.startswith(b"\x00\x53\x71")
    assert encode(Symbol("last_enqueued_sequence_number")) + encode(1) in payload
    assert texts([split(payload)]) == ["a"]


def ask(peer, **asked):
    peer.attach_sender(100, "$management")
    peer.attach_receiver(101, "$management", reply_to="me")
    peer.heard()
    peer.request(100, {"operation": "READ", **asked})
    answer = split(peer.heard(amqp.TRANSFER)[0].payload)
    return answer.application_map["status-code"], answer.value()


@with_peer()
async def test_a_partition_says_where_it_begins_and_ends_and_whether_it_is_empty(peer):
    await after(peer, "a", "b")
    status, body = ask(peer, type="com.microsoft:partition", name="hub", partition="0")
    assert (status, body["begin_sequence_number"], body["last_enqueued_sequence_number"]) == (200, 0, 1)
    assert not body["is_partition_empty"]
    peer.say(amqp.DETACH, UInt(100), True)
    peer.say(amqp.DETACH, UInt(101), True)
    _, body = ask(peer, type="com.microsoft:partition", name="hub", partition="3")
    assert (body["last_enqueued_sequence_number"], body["last_enqueued_offset"], body["is_partition_empty"]) == (-1, "-1", True)


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({"type": "com.microsoft:eventhub", "name": "nobody"}, 404),
        ({"type": "com.microsoft:partition", "name": "hub", "partition": "9"}, 400),
        ({"type": "com.microsoft:partition", "name": "hub"}, 400),
        ({"type": "other", "name": "hub"}, 400),
        ({}, 404),
        ({"type": 5, "name": 6}, 404),
    ],
)
@with_peer()
async def test_what_can_not_be_told_is_answered_with_a_status(peer, asked, status):
    assert ask(peer, **asked)[0] == status


@with_peer()
async def test_a_filter_may_come_without_its_descriptor(peer):
    await after(peer, "a", "b")
    name = Symbol("apache.org:selector-filter:string")
    peer.attach_receiver(0, READER.format(0), filters={name: "amqp.annotation.x-opt-sequence-number > '0'"})
    peer.attach_receiver(1, READER.format(0), filters={name: Described(ULong(1), 7)}, credit=0)
    assert texts(received(peer)) == ["b"]


@pytest.mark.parametrize("kind", [ULong(0x468C00000004), Symbol("apache.org:selector-filter:string")])
@with_peer()
async def test_a_filter_may_have_any_name_when_its_descriptor_says_what_it_is(peer, kind):
    await after(peer, "a", "b")
    filters = {Symbol("jms-selector"): Described(kind, "amqp.annotation.x-opt-sequence-number > '0'")}
    peer.attach_receiver(0, READER.format(0), filters=filters)
    assert texts(received(peer)) == ["b"]

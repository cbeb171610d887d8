"""Faults that were ordered: each strikes where it should, as often as it should, and does what it says."""

import pytest

from hive_mind.devbroker.amqp import performatives as amqp
from hive_mind.devbroker.amqp.entity import split
from hive_mind.devbroker.amqp.switchboard import Fault, Faults, parse_fault
from hive_mind.errors import InvalidInput
from tests.unit.devbroker.peers import with_peer

HUB = "hub/Partitions/0"


def test_a_fault_lets_some_pass_strikes_some_times_where_it_was_ordered_and_is_over_or_taken_back():
    faults = Faults()
    faults.add(Fault("send", "hub/*", times=2, skip=1))
    assert [faults.take("send", "Hub/Partitions/1") is not None for _ in range(5)] == [False, True, True, False, False]
    faults.add(Fault("send", "hub"))
    assert faults.take("attach", "hub") is None
    assert faults.take("send", "hub/Partitions/1") is None
    assert faults.take("send", "HUB") is not None
    faults.add(Fault("send"))
    faults.clear()
    assert faults.take("send", "hub") is None


@pytest.mark.parametrize(("kind", "action"), [("receive", "error"), ("send", "explode")])
def test_a_fault_that_does_not_exist_is_refused(kind, action):
    with pytest.raises(InvalidInput, match="known: "):
        Faults().add(Fault(kind, action=action))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("send:hub/*:server-busy:times=3", Fault("send", "hub/*", "error", "com.microsoft:server-busy", times=3)),
        ("attach:*:not-found", Fault("attach", "*", "error", "amqp:not-found")),
        ("send::drop-connection:skip=2", Fault("send", "*", "drop-connection", skip=2)),
        ("mgmt:a:delay:delay=0.5:times=9", Fault("mgmt", "a", "delay", times=9, delay_s=0.5)),
    ],
)
def test_a_fault_is_read_from_a_line(text, fault):
    assert parse_fault(text) == fault


@pytest.mark.parametrize(
    "text",
    [
        *("", "send", "send:hub", "send:hub:explode", "eat:hub:detach", "send:hub:detach:times=0"),
        *("send:hub:detach:times=x", "send:hub:detach:often=1", "send:hub:delay:delay=nan"),
    ],
)
def test_a_line_that_is_no_fault_is_refused_with_the_form_of_one(text):
    with pytest.raises(InvalidInput, match=r"^fault .*(KIND:ADDRESS:WHAT|must be numbers)"):
        parse_fault(text)


def ends(peer):
    return [partition.end for partition in peer.broker.entities.find("hub").partitions]


@with_peer()
async def test_an_error_rejects_one_message(peer):
    peer.broker.faults.add(Fault("send", "hub/*", condition="com.microsoft:server-busy"))
    peer.attach_sender(0, HUB)
    peer.message(0, "refused")
    peer.message(0, "taken")

    refused, taken = peer.heard(amqp.DISPOSITION)
    assert refused.fields[4].value[0].value[0] == "com.microsoft:server-busy"
    assert taken.fields[4].descriptor == amqp.ACCEPTED
    assert ends(peer)[0] == 1
    assert peer.broker.stats["faults send error"] == 1


@pytest.mark.parametrize(
    ("action", "codes", "end", "kept"),
    [
        ("detach", [amqp.DETACH], "", 0),
        ("ignore", [], "", 0),
        ("drop-connection", [], "aborted", 0),
        ("accept-then-drop", [], "aborted", 1),
    ],
)
@with_peer()
async def test_a_fault_may_leave_a_message_without_an_answer(peer, action, codes, end, kept):
    peer.broker.faults.add(Fault("send", action=action))
    peer.attach_sender(0, HUB)
    peer.heard()
    peer.message(0, "in doubt")
    await peer.turn()

    assert ([heard.code for heard in peer.heard()], peer.wire.end, ends(peer)[0]) == (codes, end, kept)


@with_peer()
async def test_a_delayed_answer_comes_late_but_comes(peer):
    peer.broker.faults.add(Fault("send", action="delay", delay_s=0.05))
    peer.attach_sender(0, HUB)
    peer.heard()
    peer.message(0, "slow")
    peer.message(0, "behind it")
    await peer.turn()
    assert (peer.heard(), peer.wire.is_reading, ends(peer)[0]) == ([], False, 1)

    await peer.until(lambda: ends(peer)[0] == 2)
    assert len(peer.heard(amqp.DISPOSITION)) == 2
    assert peer.wire.is_reading


@pytest.mark.parametrize(
    ("action", "codes", "end"),
    [
        ("error", [amqp.ATTACH, amqp.DETACH], ""),
        ("detach", [amqp.ATTACH, amqp.FLOW, amqp.DETACH], ""),
        ("ignore", [], ""),
        ("drop-connection", [], "aborted"),
        ("accept-then-drop", [], "aborted"),
    ],
)
@with_peer()
async def test_a_fault_may_strike_when_a_link_is_attached(peer, action, codes, end):
    peer.broker.faults.add(Fault("attach", "hub*", action))
    peer.attach_sender(0, HUB)
    assert ([heard.code for heard in peer.heard()], peer.wire.end) == (codes, end)


@with_peer()
async def test_a_delayed_attach_is_answered_late(peer):
    peer.broker.faults.add(Fault("attach", action="delay", delay_s=0.05))
    peer.attach_sender(0, HUB)
    assert peer.heard() == []
    await peer.until(lambda: peer.wire.written)
    assert peer.heard(amqp.ATTACH)


@pytest.mark.parametrize(
    ("kind", "place", "asked"),
    [
        ("cbs", "hub", {"operation": "put-token", "name": "sb://host/hub"}),
        ("mgmt", "hub/$management", {"operation": "READ", "type": "com.microsoft:eventhub", "name": "hub"}),
    ],
)
@with_peer()
async def test_a_request_that_is_to_fail_gets_an_answer_that_says_so(peer, kind, place, asked):
    address = {"cbs": "$cbs", "mgmt": "$management"}[kind]
    peer.broker.faults.add(Fault(kind, place))
    peer.attach_sender(0, address)
    peer.attach_receiver(1, address, reply_to="me")
    peer.request(0, asked)

    said = split(peer.heard(amqp.TRANSFER)[0].payload).application_map
    assert (said["status-code"], said["errorCondition"]) == (503, "com.microsoft:server-busy")

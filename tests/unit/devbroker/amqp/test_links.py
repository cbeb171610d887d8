"""Sessions and links: handles, credit, windows, deliveries of many frames, and outcomes."""

import pytest

from hive_mind.devbroker.amqp import AmqpError, Described, UByte, UInt, ULong
from hive_mind.devbroker.amqp import performatives as amqp
from tests.unit.devbroker.peers import limits, with_peer
from tests.unit.devbroker.values import section


class Till:
    """An entity that gives out what it has, wants every delivery settled, and notes what it is told."""

    def __init__(self, *goods):
        self.goods, self.taken, self.settled, self.links = list(goods), [], [], []
        self.refuses = ""

    def on_attach(self, link):
        self.links.append(link)

    def on_detach(self, link):
        self.links.remove(link)

    def on_message(self, _link, payload, fmt):
        self.taken.append((payload, fmt))

    def pump(self, link):
        while self.goods and link.can_send:
            text = self.goods.pop(0)
            link.send(section(0x75, text.encode()), b"tag", held=None if link.is_presettled else text)

    def settle(self, _link, held, outcome):
        if held == self.refuses:
            raise AmqpError("com.microsoft:message-lock-lost", "too late")
        self.settled.append((held, outcome.kind))

    def manage(self, _request):
        raise AssertionError


def with_till(peer, *goods) -> Till:
    till = Till(*goods)
    peer.broker.route = lambda _link: till
    return till


@with_peer()
async def test_a_message_that_is_taken_is_accepted_and_one_that_is_settled_is_not_answered(peer):
    till = with_till(peer)
    peer.attach_sender(3, "till")
    flow = peer.heard(amqp.FLOW)[0]
    number = peer.message(3, "hello", fmt=7)

    said = peer.heard(amqp.DISPOSITION)[0]
    assert flow.fields[6] == 300
    assert till.taken == [(section(0x75, b"hello"), 7)]
    assert said.fields[:4] == [True, number, number, True]
    assert said.fields[4].descriptor == amqp.ACCEPTED
    peer.message(3, "hello", is_settled=True)
    assert peer.heard(amqp.DISPOSITION) == []


@with_peer()
async def test_a_message_that_is_taken_back_halfway_was_never_there(peer):
    till = with_till(peer)
    peer.attach_sender(0, "till")
    peer.transfer(0, b"half", has_more=True)
    peer.say(amqp.TRANSFER, UInt(0), None, None, None, None, False, None, None, None, True)
    peer.message(0, "whole")

    assert [payload for payload, _ in till.taken] == [section(0x75, b"whole")]


@with_peer(limits=limits(message_bytes_max=1000))
async def test_a_message_above_the_limit_is_refused_and_takes_no_memory(peer):
    till = with_till(peer)
    peer.attach_sender(0, "till")
    number = peer.transfer(0, b"x" * 60_000, has_more=True)
    for _ in range(50):
        peer.transfer(0, b"x" * 60_000, has_more=True, number=number)
    assert peer.connection._partial_bytes <= 1000
    peer.transfer(0, b"x", number=number)

    refused = peer.heard(amqp.DISPOSITION)[0].fields[4]
    assert (refused.descriptor, refused.value[0].value[0]) == (amqp.REJECTED, "amqp:link:message-size-exceeded")
    assert till.taken == []
    peer.message(0, "small", number=number + 1)
    assert len(till.taken) == 1


@with_peer(limits=limits(partial_bytes_max=100_000))
async def test_deliveries_that_never_end_close_the_connection_when_they_are_too_much(peer):
    with_till(peer)
    for handle in range(3):
        peer.attach_sender(handle, "till")
        peer.transfer(handle, b"x" * 50_000, has_more=True, number=handle)
    assert peer.heard(amqp.CLOSE)[0].error(0) == "amqp:resource-limit-exceeded"


@with_peer()
async def test_a_delivery_without_credit_ends_the_link(peer):
    till = with_till(peer)
    peer.attach_sender(0, "till")
    till.links[0].credit = 0
    peer.message(0, "too many")

    assert peer.heard(amqp.DETACH)[0].error(2) == "amqp:link:transfer-limit-exceeded"
    assert (till.taken, till.links) == ([], [])


@with_peer()
async def test_credit_is_renewed_before_it_runs_out(peer):
    with_till(peer)
    peer.attach_sender(0, "till")
    peer.heard()
    for _ in range(201):
        peer.message(0, "x")

    assert [flow.fields[6] for flow in peer.heard(amqp.FLOW)] == [300]


@with_peer()
async def test_a_message_of_the_wrong_form_is_rejected_and_the_link_lives(peer):
    peer.attach_sender(0, "hub")
    peer.transfer(0, b"\x01\x02\x03")
    peer.message(0, "fine")

    first, second = peer.heard(amqp.DISPOSITION)
    assert first.fields[4].value[0].value[0] == "amqp:decode-error"
    assert second.fields[4].descriptor == amqp.ACCEPTED
    assert peer.broker.stats["rejected amqp:decode-error"] == 1


@with_peer()
async def test_no_more_is_sent_than_there_is_credit_for(peer):
    with_till(peer, "a", "b", "c", "d")
    peer.attach_receiver(0, "till", credit=2)
    assert len(peer.heard(amqp.TRANSFER)) == 2

    # The client wrote this before the second message came.
    peer.flow(0, 2, count=1)
    assert len(peer.heard(amqp.TRANSFER)) == 1
    peer.flow(0, 0, count=0)
    assert peer.heard(amqp.TRANSFER) == []


@with_peer()
async def test_a_drained_link_gives_its_credit_back(peer):
    with_till(peer, "a")
    peer.attach_receiver(0, "till", credit=0)
    peer.heard()
    peer.flow(0, 10, drain=True)

    flow = peer.heard(amqp.FLOW)[0]
    assert (flow.fields[5], flow.fields[6], flow.fields[8]) == (10, 0, True)


@with_peer(is_open=False)
async def test_a_large_message_is_cut_to_the_peers_frames_and_waits_for_its_window(peer):
    with_till(peer, "x" * 3000)
    peer.open(max_frame=1000)
    peer.begin(window=2)
    peer.attach_receiver(0, "till", credit=0)
    peer.heard()
    peer.flow(0, 5, window=2)
    first = peer.heard(amqp.TRANSFER)
    peer.flow(0, 5, count=1, next_id=2, window=10)
    rest = peer.heard(amqp.TRANSFER)

    assert len(first) == 2
    assert [heard.fields[5] for heard in first + rest] == [True, True, True, False]
    assert b"".join(heard.payload for heard in first + rest) == section(0x75, b"x" * 3000)
    assert {heard.fields[1] for heard in first + rest} == {0}


@with_peer(limits=limits(output_bytes_max=500))
async def test_sending_stops_while_the_socket_is_full_and_goes_on_after(peer):
    till = with_till(peer, *("x" * 100 for _ in range(20)))
    peer.attach_receiver(0, "till", credit=0)
    peer.connection.pause_writing()
    peer.flow(0, 20)
    assert len(till.goods) == 20
    peer.connection.resume_writing()
    await peer.until(lambda: not till.goods)


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        (Described(ULong(0x24), []), "accepted"),
        (Described(ULong(0x25), []), "rejected"),
        (Described(ULong(0x26), []), "released"),
        (Described(ULong(0x27), [True, False]), "modified"),
    ],
)
@with_peer()
async def test_an_outcome_reaches_the_entity_and_is_confirmed(peer, state, kind):
    till = with_till(peer, "goods")
    peer.attach_receiver(0, "till")
    peer.say(amqp.DISPOSITION, True, UInt(0), None, False, state)
    assert till.settled == [("goods", kind)]
    assert peer.heard(amqp.DISPOSITION)[0].fields[4].descriptor == state.descriptor


@with_peer()
async def test_one_disposition_may_settle_many(peer):
    till = with_till(peer, "a", "b", "c")
    peer.attach_receiver(0, "till")
    peer.say(amqp.DISPOSITION, True, UInt(0), UInt(0xFFFFFFF0), True, Described(ULong(0x24), []))
    assert [held for held, _ in till.settled] == ["a", "b", "c"]
    assert peer.heard(amqp.DISPOSITION) == []


@with_peer()
async def test_an_outcome_that_comes_too_late_is_rejected(peer):
    with_till(peer, "a").refuses = "a"
    peer.attach_receiver(0, "till")
    for _ in range(2):
        peer.say(amqp.DISPOSITION, True, UInt(0), None, False, Described(ULong(0x24), []))

    answers = peer.heard(amqp.DISPOSITION)
    assert [each.fields[4].value[0].value[0] for each in answers] == ["com.microsoft:message-lock-lost"] * 2


@with_peer()
async def test_a_state_that_is_no_outcome_yet_changes_nothing(peer):
    till = with_till(peer, "a")
    peer.attach_receiver(0, "till")
    peer.say(amqp.DISPOSITION, True, UInt(0), None, False, Described(ULong(0x23), [UInt(0), ULong(0)]))
    assert (till.settled, till.links[0].unsettled) == ([], {0: "a"})


@with_peer()
async def test_presettled_links_are_sent_settled_messages(peer):
    till = with_till(peer, "a", "b")
    peer.attach_receiver(0, "till", settles=UByte(1), credit=1)
    peer.attach_receiver(1, "till", settles=UByte(0), credit=1)
    assert [heard.fields[4] for heard in peer.heard(amqp.TRANSFER)] == [True, False]
    assert [link.unsettled for link in till.links] == [{}, {1: "b"}]


@pytest.mark.parametrize(("handles", "why"), [((0, 0), "amqp:session:handle-in-use"), ((256,), "amqp:connection:framing-error")])
@with_peer()
async def test_a_handle_is_taken_once_and_not_above_the_limit(peer, handles, why):
    for handle in handles:
        peer.attach_sender(handle, "hub")
    assert peer.heard(amqp.CLOSE)[0].error(0) == why


@with_peer(limits=limits(links_max=3))
async def test_links_of_one_connection_are_bounded(peer):
    peer.begin(channel=1)
    for handle in range(3):
        peer.attach_sender(handle, "hub")
    assert peer.heard(amqp.CLOSE) == []

    peer.attach_sender(3, "hub")
    assert peer.heard(amqp.CLOSE)[0].error(0) == "amqp:resource-limit-exceeded"


@with_peer(is_open=False, limits=limits(partial_bytes_max=50_000))
async def test_what_waits_for_windows_is_bounded_over_all_sessions(peer):
    peer.open()
    till = with_till(peer, *("x" * 100_000 for _ in range(4)))
    for channel in range(4):
        peer.begin(channel=channel, window=1)
        peer.attach_receiver(0, "till", credit=0, channel=channel)
        peer.flow(0, 1, window=1, channel=channel)

    assert len(till.goods) == 2
    peer.flow(0, 0, window=100, next_id=1, count=1, channel=0)
    peer.flow(0, 1, window=100, next_id=0, channel=3)
    assert len(till.goods) == 1
    peer.say(amqp.END, channel=1)
    assert peer.connection.waiting_bytes == 0


@with_peer()
async def test_a_refused_link_has_no_end_says_why_and_frames_for_it_are_not_minded(peer):
    peer.attach_sender(0, "nobody")
    peer.attach_receiver(1, "nobody", credit=5)
    heard = peer.heard()
    sender, receiver = [one for one in heard if one.code == amqp.ATTACH]
    assert (sender.fields[6], receiver.fields[5]) == (None, None)
    assert [one.error(2) for one in heard if one.code == amqp.DETACH] == ["amqp:not-found"] * 2
    peer.say(amqp.DETACH, UInt(1), True)
    peer.attach_sender(1, "hub")
    assert not peer.connection.is_closed


@with_peer()
async def test_the_entity_is_told_once_when_a_link_ends(peer):
    till = with_till(peer)
    peer.attach_sender(0, "till")
    peer.attach_sender(1, "till")
    peer.say(amqp.DETACH, UInt(0), True)
    assert len(till.links) == 1

    peer.say(amqp.END)
    assert till.links == []


@pytest.mark.parametrize("terminus", [Described(ULong(0x30), []), "hub", Described(ULong(0x29), {}), 7])
@with_peer()
async def test_a_target_that_is_none_closes_the_connection(peer, terminus):
    peer.say(amqp.ATTACH, "link", UInt(0), False, None, None, None, terminus)
    assert peer.heard(amqp.CLOSE)[0].error(0) in ("amqp:invalid-field", "amqp:not-implemented")

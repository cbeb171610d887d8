"""Microsoft's own client over the broker: queues."""

import asyncio
import datetime as dt
import gc
import uuid

import pytest

pytest.importorskip("azure.servicebus")

from azure.servicebus import AutoLockRenewer, ServiceBusMessage, ServiceBusReceiveMode
from azure.servicebus.aio import ServiceBusClient
from azure.servicebus.exceptions import (
    MessageLockLostError,
    MessageNotFoundError,
    MessageSizeExceededError,
    MessagingEntityNotFoundError,
    ServiceBusError,
    ServiceBusQuotaExceededError,
)

from tests.unit.devbroker.servicebus.sdk import is_empty, one, receive, texts_of

# A client needs half a second to open and another to close each receiver.
pytestmark = pytest.mark.slow

# Of a connection that was cut the client leaves the socket to the garbage collector.
forgets_sockets = pytest.mark.filterwarnings("ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning")


def test_abandoned_again_and_again_a_message_ends_as_a_dead_letter(client, queue_of):
    name = queue_of(MaxDeliveryCount=3)
    client.send(name, "a")

    receiver = client.receiver(name)
    for attempt in range(3):
        got = one(receiver)
        assert got.delivery_count == attempt
        receiver.abandon_message(got)
    assert is_empty(receiver)

    receiver = client.dead_letters(name)
    dead = one(receiver)
    assert (str(dead), dead.dead_letter_reason, dead.delivery_count) == ("a", "MaxDeliveryCountExceeded", 3)
    assert dead.dead_letter_source == name
    receiver.complete_message(dead)
    assert is_empty(receiver)


def test_a_dead_letter_says_why_and_keeps_its_properties(client, queue_of):
    name = queue_of()
    client.send(name, "a", application_properties={"target": "x"})

    receiver = client.receiver(name)
    receiver.dead_letter_message(one(receiver), reason="broken", error_description="no JSON")

    receiver = client.dead_letters(name)
    dead = one(receiver)
    assert (dead.dead_letter_reason, dead.dead_letter_error_description) == ("broken", "no JSON")
    assert dead.application_properties[b"target"] == b"x"
    receiver.complete_message(dead)


def test_a_lock_that_ends_is_lost_and_the_message_comes_again(client, queue_of):
    name = queue_of(LockDuration=2.0)
    client.send(name, "a")

    receiver = client.receiver(name)
    first, again = one(receiver), one(receiver)
    with pytest.raises(MessageLockLostError):
        receiver.complete_message(first)
    assert again.delivery_count == 1
    receiver.complete_message(again)


def test_a_renewed_lock_is_kept(client, queue_of):
    name = queue_of(LockDuration=3.0)
    client.send(name, "a")

    receiver = client.receiver(name)
    got = one(receiver)
    before = got.locked_until_utc
    assert receiver.renew_message_lock(got) > before
    with AutoLockRenewer() as renewer:
        renewer.register(receiver, got, max_lock_renewal_duration=60)
        while dt.datetime.now(dt.UTC) < before + dt.timedelta(seconds=0.5):
            assert is_empty(receiver)
    receiver.complete_message(got)

    assert got.delivery_count == 0


def test_receive_and_delete_needs_no_settling(client, queue_of):
    name = queue_of(LockDuration=0.5)
    client.send(name, "a", "b")

    receiver = client.receiver(name, receive_mode=ServiceBusReceiveMode.RECEIVE_AND_DELETE)
    assert texts_of(receive(receiver, 2)) == ["a", "b"]

    receiver = client.receiver(name)
    assert is_empty(receiver)


def test_a_scheduled_message_comes_at_its_time_unless_it_is_cancelled(client, queue_of):
    name = queue_of()
    sender, receiver = client.sender(name), client.receiver(name)
    assert receiver.peek_messages(5) == []
    soon = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=5)
    kept, cancelled = sender.schedule_messages([ServiceBusMessage("kept"), ServiceBusMessage("cancelled")], soon)

    sender.cancel_scheduled_messages(cancelled)
    with pytest.raises(MessageNotFoundError):
        sender.cancel_scheduled_messages([kept, cancelled])

    assert [(str(each), each.state.name) for each in receiver.peek_messages(5)] == [("kept", "SCHEDULED")]
    got = one(receiver)
    assert str(got) == "kept"
    assert dt.datetime.now(dt.UTC) >= soon
    receiver.complete_message(got)
    assert is_empty(receiver)


def test_a_deferred_message_is_received_by_its_number(client, queue_of):
    name = queue_of()
    client.send(name, "a", "b")

    receiver = client.receiver(name)
    first = one(receiver)
    receiver.defer_message(first)
    receiver.complete_message(one(receiver))
    assert is_empty(receiver)
    [deferred] = receiver.receive_deferred_messages([first.sequence_number])
    assert (str(deferred), deferred.state.name) == ("a", "DEFERRED")
    receiver.complete_message(deferred)
    with pytest.raises(MessageNotFoundError):
        receiver.receive_deferred_messages([first.sequence_number])


def test_deferred_messages_can_be_settled_in_every_way(client, queue_of):
    name = queue_of(MaxDeliveryCount=10)
    client.send(name, "a", "b", "c")

    receiver = client.receiver(name)
    numbers = []
    for got in receive(receiver, 3):
        receiver.defer_message(got)
        numbers.append(got.sequence_number)
    a, b, c = receiver.receive_deferred_messages(numbers)
    receiver.abandon_message(a)
    receiver.defer_message(b)
    receiver.dead_letter_message(c, reason="why")
    assert texts_of(receiver.receive_deferred_messages(numbers[:2])) == ["a", "b"]

    receiver = client.dead_letters(name)
    assert one(receiver).dead_letter_reason == "why"


def test_peeking_takes_nothing_and_goes_on_where_it_was(client, queue_of):
    name = queue_of()
    client.send(name, *"abc")

    receiver = client.receiver(name)
    assert texts_of(receiver.peek_messages(2)) == ["a", "b"]
    assert texts_of(receiver.peek_messages(2)) == ["c"]
    assert texts_of(receiver.peek_messages(2, sequence_number=2)) == ["b", "c"]
    assert receiver.peek_messages(2, sequence_number=4) == []
    assert texts_of(receive(receiver, 3)) == ["a", "b", "c"]


def test_what_is_not_dealt_with_in_time_expires(client, queue_of):
    dropped, kept = queue_of(), queue_of(DeadLetteringOnMessageExpiration=True)
    for name in (dropped, kept):
        client.send(name, "a", time_to_live=dt.timedelta(seconds=1))

    receiver = client.dead_letters(kept)
    dead = one(receiver)
    assert (str(dead), dead.dead_letter_reason) == ("a", "TTLExpiredException")

    assert is_empty(client.receiver(dropped))
    assert is_empty(client.dead_letters(dropped))


def test_a_batch_comes_as_single_messages_in_order(client, queue_of):
    name = queue_of()
    sender = client.sender(name)
    batch = sender.create_message_batch()
    for number in range(100):
        batch.add_message(ServiceBusMessage(f"m{number}", application_properties={"n": number}))
    sender.send_messages(batch)

    receiver = client.receiver(name, prefetch_count=100)
    got = receive(receiver, 100)
    assert texts_of(got) == [f"m{number}" for number in range(100)]
    for message in got:
        receiver.complete_message(message)


@forgets_sockets
def test_what_is_sent_twice_within_the_window_comes_once(client, queue_of, broker):
    name = queue_of(RequiresDuplicateDetection=True, DuplicateDetectionHistoryTimeWindow="PT1M")
    sender = client.sender(name)
    # The broker takes the message and cuts the connection before it says so: the client sends again.
    broker.inject("send", name, "accept-then-drop")
    sender.send_messages(ServiceBusMessage("a", message_id="1"))
    sender.send_messages([ServiceBusMessage("a", message_id="1"), ServiceBusMessage("b", message_id="2")])

    receiver = client.receiver(name)
    assert texts_of(receive(receiver, 2)) == ["a", "b"]
    assert is_empty(receiver)
    gc.collect()


def test_a_full_queue_tells_the_sender_until_there_is_room(client, queue_of):
    name = queue_of(MaxMessageCount=2)
    client.send(name, "a", "b")

    with pytest.raises(ServiceBusQuotaExceededError, match="quota-exceeded"):
        client.send(name, "c")
    receiver = client.receiver(name)
    receiver.complete_message(one(receiver))
    client.send(name, "c")


def test_refusals(client, queue_of, broker):
    plain, with_sessions, topic = queue_of(), queue_of(RequiresSession=True), f"t-{uuid.uuid4().hex[:8]}"
    broker.add_topic(topic)
    broker.add_subscription(topic, "s")

    with pytest.raises(MessagingEntityNotFoundError):
        client.send("nowhere", "a")
    with pytest.raises(MessageSizeExceededError):
        client.send(plain, "x" * 1_200_000)
    with pytest.raises(ServiceBusError, match="needs a session id"):
        client.send(with_sessions, "a")
    with pytest.raises(ServiceBusError, match="requires sessions"):
        one(client.receiver(with_sessions))
    with pytest.raises(ServiceBusError, match="has no sessions"):
        one(client.receiver(plain, session_id="s"))
    with pytest.raises(ServiceBusError, match="keeps nothing"):
        one(client.receiver(topic))
    with pytest.raises(ServiceBusError, match="send to that"):
        client.send(f"{topic}/Subscriptions/s", "a")


def test_two_receivers_share_a_queue_and_none_gets_what_the_other_has(client, queue_of):
    name = queue_of()
    client.send(name, *(f"m{number}" for number in range(40)))

    receivers = [client.receiver(name, prefetch_count=5), client.receiver(name, prefetch_count=5)]

    found = []
    while len(found) < 40:
        for receiver in receivers:
            for message in receiver.receive_messages(5, max_wait_time=1):
                receiver.complete_message(message)
                found.append(str(message))

    assert sorted(found) == sorted(f"m{number}" for number in range(40))


@forgets_sockets
def test_messages_outlive_the_connections_of_their_clients(client, queue_of, broker):
    name = queue_of()
    sender = client.sender(name)
    sender.send_messages(ServiceBusMessage("a"))
    broker.drop_connections()
    sender.send_messages(ServiceBusMessage("b"))

    receiver = client.receiver(name)
    assert texts_of(receive(receiver, 2)) == ["a", "b"]
    gc.collect()


def test_the_asynchronous_client(broker, queue_of):
    name = queue_of()

    async def round_trip() -> list[str]:
        async with ServiceBusClient.from_connection_string(broker.connection_string()) as client:
            async with client.get_queue_sender(name) as sender:
                await sender.send_messages([ServiceBusMessage(str(number)) for number in range(10)])
            found: list[str] = []
            async with client.get_queue_receiver(name, prefetch_count=10) as receiver:
                while len(found) < 10:
                    for message in await receiver.receive_messages(10, max_wait_time=5):
                        found.append(str(message))
                        await receiver.complete_message(message)
            return found

    assert asyncio.run(round_trip()) == [str(number) for number in range(10)]

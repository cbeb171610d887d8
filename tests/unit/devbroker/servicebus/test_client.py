"""Microsoft's own client over the broker: what its users do with queues.

`tests/contract` has what the bus needs: topics, locks, attempts, and queues that are full.
It is unmodified but for how often it looks whether a link is open.
"""

import datetime as dt
import uuid

import pytest

pytest.importorskip("azure.servicebus")

from azure.servicebus import ServiceBusMessage, ServiceBusReceiveMode
from azure.servicebus.exceptions import (
    MessageSizeExceededError,
    MessagingEntityNotFoundError,
    ServiceBusError,
)

from tests.unit.devbroker.servicebus.sdk import is_empty, one, receive, texts_of


def test_what_was_sent_comes_with_all_its_properties_and_is_gone_when_completed(client, queue_of):
    name = queue_of()
    message = ServiceBusMessage(
        "grüße",
        message_id="m-1",
        subject="hive.fact",
        correlation_id="c-1",
        to="agent-1",
        reply_to="agent-0",
        content_type="text/plain",
        session_id="s",
        application_properties={"target": "agent-1", "n": 5, "half": 0.5, "ok": True},
    )
    client.sender(name).send_messages(message)

    receiver = client.receiver(name)
    got = one(receiver)
    assert (str(got), got.message_id, got.subject, got.correlation_id) == ("grüße", "m-1", "hive.fact", "c-1")
    assert (got.to, got.reply_to, got.content_type, got.session_id) == ("agent-1", "agent-0", "text/plain", "s")
    assert got.application_properties == {b"target": b"agent-1", b"n": 5, b"half": 0.5, b"ok": True}
    assert (got.sequence_number, got.enqueued_sequence_number, got.delivery_count) == (1, 1, 0)
    assert got.enqueued_time_utc <= dt.datetime.now(dt.UTC) < got.locked_until_utc
    receiver.complete_message(got)
    assert is_empty(receiver)


def test_dead_letters_of_a_subscription(client, broker):
    topic = f"t-{uuid.uuid4().hex[:8]}"
    broker.add_topic(topic)
    broker.add_subscription(topic, "s", MaxDeliveryCount=1)
    client.topic_sender(topic).send_messages(ServiceBusMessage("a"))

    receiver = client.subscription(topic, "s")
    receiver.abandon_message(one(receiver))

    receiver = client.subscription(topic, "s", sub_queue="deadletter")
    assert one(receiver).dead_letter_source == f"{topic}/Subscriptions/s"


@pytest.mark.slow
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


@pytest.mark.slow
def test_peeking_takes_nothing_and_goes_on_where_it_was_and_receiving_may_delete(client, queue_of):
    name = queue_of()
    client.send(name, *"abc")

    receiver = client.receiver(name)
    assert texts_of(receiver.peek_messages(2)) == ["a", "b"]
    assert texts_of(receiver.peek_messages(2)) == ["c"]
    assert texts_of(receiver.peek_messages(2, sequence_number=2)) == ["b", "c"]
    assert receiver.peek_messages(2, sequence_number=4) == []
    receiver = client.receiver(name, receive_mode=ServiceBusReceiveMode.RECEIVE_AND_DELETE)
    assert texts_of(receive(receiver, 3)) == ["a", "b", "c"]
    assert client.receiver(name).peek_messages(1) == []


@pytest.mark.slow
def test_refusals(client, queue_of, broker):
    name, topic = queue_of(), f"t-{uuid.uuid4().hex[:8]}"
    broker.add_topic(topic)
    broker.add_subscription(topic, "s")

    with pytest.raises(MessagingEntityNotFoundError):
        client.send("nowhere", "a")
    with pytest.raises(MessageSizeExceededError):
        client.send(name, "x" * 1_200_000)
    with pytest.raises(ServiceBusError, match="has no sessions"):
        one(client.receiver(name, session_id="s"))
    later = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=9)
    with pytest.raises(ServiceBusError, match="schedules no messages"):
        client.sender(name).send_messages(ServiceBusMessage("a", scheduled_enqueue_time_utc=later))
    with pytest.raises(ServiceBusError, match="does not know the operation 'schedule-message'"):
        client.sender(name).schedule_messages(ServiceBusMessage("a"), later)
    with pytest.raises(ServiceBusError, match="keeps nothing"):
        one(client.receiver(topic))
    with pytest.raises(ServiceBusError, match="send to that"):
        client.send(f"{topic}/Subscriptions/s", "a")

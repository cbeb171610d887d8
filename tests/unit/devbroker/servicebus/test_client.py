"""Microsoft's own client over the broker: the least, for every run. The rest takes longer.

It is unmodified but for how often it looks whether a link is open.
"""

import datetime as dt
import uuid

import pytest

pytest.importorskip("azure.servicebus")

from azure.servicebus import ServiceBusMessage

from tests.unit.devbroker.servicebus.sdk import is_empty, one


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
    sender = client.sender(name)
    sender.send_messages(message)

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
    sender = client.topic_sender(topic)
    sender.send_messages(ServiceBusMessage("a"))

    receiver = client.subscription(topic, "s")
    receiver.abandon_message(one(receiver))

    receiver = client.subscription(topic, "s", sub_queue="deadletter")
    assert one(receiver).dead_letter_source == f"{topic}/Subscriptions/s"

"""Microsoft's own client over the broker: what its users do with queues and topics. `tests/contract` has what the bus needs.

It is unmodified but for how often it looks whether a link is open.
"""

import datetime as dt
import uuid

import pytest

pytest.importorskip("azure.servicebus")

from azure.servicebus import AutoLockRenewer, ServiceBusMessage, ServiceBusReceiveMode
from azure.servicebus.exceptions import (
    MessageLockLostError,
    MessageSizeExceededError,
    MessagingEntityNotFoundError,
    ServiceBusError,
    ServiceBusQuotaExceededError,
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
def test_a_lock_that_ends_is_lost_and_the_message_comes_again(client, queue_of):
    name = queue_of(LockDuration=2.0)
    client.send(name, "a")

    receiver = client.receiver(name)
    first, again = one(receiver), one(receiver)
    with pytest.raises(MessageLockLostError):
        receiver.complete_message(first)
    assert again.delivery_count == 1
    receiver.complete_message(again)


@pytest.mark.slow
def test_a_renewed_lock_is_kept(client, queue_of):
    # Longer than a busy machine keeps the renewer's thread waiting.
    name = queue_of(LockDuration=8.0)
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


@pytest.mark.slow
def test_receive_and_delete_needs_no_settling(client, queue_of):
    name = queue_of(LockDuration=0.5)
    client.send(name, "a", "b")

    receiver = client.receiver(name, receive_mode=ServiceBusReceiveMode.RECEIVE_AND_DELETE)
    assert texts_of(receive(receiver, 2)) == ["a", "b"]

    receiver = client.receiver(name)
    assert is_empty(receiver)


@pytest.mark.slow
def test_peeking_takes_nothing_and_goes_on_where_it_was(client, queue_of):
    name = queue_of()
    client.send(name, *"abc")

    receiver = client.receiver(name)
    assert texts_of(receiver.peek_messages(2)) == ["a", "b"]
    assert texts_of(receiver.peek_messages(2)) == ["c"]
    assert texts_of(receiver.peek_messages(2, sequence_number=2)) == ["b", "c"]
    assert receiver.peek_messages(2, sequence_number=4) == []
    assert texts_of(receive(receiver, 3)) == ["a", "b", "c"]


@pytest.mark.slow
def test_what_is_not_dealt_with_in_time_expires(client, queue_of):
    dropped, kept = queue_of(), queue_of(DeadLetteringOnMessageExpiration=True)
    for name in (dropped, kept):
        client.send(name, "a", time_to_live=dt.timedelta(seconds=1))

    dead = one(client.dead_letters(kept))
    assert (str(dead), dead.dead_letter_reason) == ("a", "TTLExpiredException")

    assert is_empty(client.receiver(dropped))
    assert is_empty(client.dead_letters(dropped))


@pytest.mark.slow
def test_a_full_queue_tells_the_sender_until_there_is_room(client, queue_of):
    name = queue_of(MaxMessageCount=2)
    client.send(name, "a", "b")

    with pytest.raises(ServiceBusQuotaExceededError, match="quota-exceeded"):
        client.send(name, "c")
    receiver = client.receiver(name)
    receiver.complete_message(one(receiver))
    client.send(name, "c")


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


@pytest.mark.slow
def test_a_topic_copies_to_every_subscription_with_a_rule_that_matches(client, broker):
    topic = f"t-{uuid.uuid4().hex[:8]}"
    rules = {
        "all": [],
        "correlation": [_correlation(Label="urgent", Properties={"target": "agent-1"})],
        "either": [_correlation(Properties={"n": 6}), _correlation(CorrelationId="c-1")],
        "none": [_correlation(Label="nothing")],
    }
    broker.add_topic(topic)
    for name, rules_of_one in rules.items():
        broker.add_subscription(topic, name, rules_of_one)
    sender = client.topic_sender(topic)
    sender.send_messages(
        [
            ServiceBusMessage("to all", application_properties={"n": 6}),
            ServiceBusMessage("to 1", application_properties={"target": "agent-1"}),
            ServiceBusMessage("to 1, urgent", subject="urgent", application_properties={"target": "agent-1"}),
            ServiceBusMessage("to 2", correlation_id="c-1", application_properties={"target": "agent-2", "n": 5}),
        ]
    )

    expected = {
        "all": ["to all", "to 1", "to 1, urgent", "to 2"],
        "correlation": ["to 1, urgent"],
        "either": ["to all", "to 2"],
        "none": [],
    }
    for name, texts in expected.items():
        receiver = client.subscription(topic, name)
        assert texts_of(receive(receiver, len(texts))) == texts, name
        assert is_empty(receiver)
    receiver = client.subscription(topic, "either")
    last = receiver.peek_messages(5)[-1]
    assert (last.sequence_number, last.enqueued_sequence_number) == (2, 4)


def _correlation(**wanted):
    return {"Name": str(wanted), "Properties": {"FilterType": "Correlation", "CorrelationFilter": wanted}}

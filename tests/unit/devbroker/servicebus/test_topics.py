"""Microsoft's own client over the broker: topics, subscriptions and their rules."""

import datetime as dt
import uuid

import pytest

pytest.importorskip("azure.servicebus")

from azure.servicebus import ServiceBusMessage

from tests.unit.devbroker.servicebus.sdk import is_empty, receive, texts_of

# A client needs half a second to open and another to close each receiver.
pytestmark = pytest.mark.slow


def test_a_topic_copies_to_every_subscription_with_a_rule_that_matches(client, broker):
    topic = f"t-{uuid.uuid4().hex[:8]}"
    rules = {
        "all": [],
        "sql": [_sql("target IS NULL OR target = 'agent-1'")],
        "correlation": [_correlation(Label="urgent", Properties={"target": "agent-1"})],
        "either": [_sql("n > 5"), _correlation(CorrelationId="c-1")],
        "none": [_sql("1=0")],
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
        "sql": ["to all", "to 1", "to 1, urgent"],
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


def test_what_a_topic_is_given_for_later_is_matched_and_sent_then(client, broker):
    topic = f"t-{uuid.uuid4().hex[:8]}"
    broker.add_topic(topic, RequiresDuplicateDetection=True)
    broker.add_subscription(topic, "s")
    sender = client.topic_sender(topic)
    sender.send_messages([ServiceBusMessage("once", message_id="1"), ServiceBusMessage("once", message_id="1")])
    soon = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=2)
    _, cancelled = sender.schedule_messages([ServiceBusMessage("kept"), ServiceBusMessage("cancelled")], soon)
    sender.cancel_scheduled_messages(cancelled)

    receiver = client.subscription(topic, "s")
    assert texts_of(receive(receiver, 2)) == ["once", "kept"]
    assert is_empty(receiver)


def _sql(expression):
    return {"Name": expression, "Properties": {"FilterType": "Sql", "SqlFilter": {"SqlExpression": expression}}}


def _correlation(**wanted):
    return {"Name": str(wanted), "Properties": {"FilterType": "Correlation", "CorrelationFilter": wanted}}

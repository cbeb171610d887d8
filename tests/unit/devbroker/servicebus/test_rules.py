"""Rules of subscriptions, and what a topic does with them."""

import pytest

from hive_mind.devbroker.amqp import AmqpError
from hive_mind.devbroker.amqp.entity import CORRELATION_ID, SUBJECT, split, value_message
from hive_mind.devbroker.servicebus import RULES_MAX, QueueSettings, letter_of, properties_of, rules_of
from hive_mind.devbroker.servicebus.namespace import Topic
from hive_mind.devbroker.servicebus.queue import Queue
from hive_mind.errors import InvalidInput
from tests.unit.devbroker.letters import TurnedHost, letter, text_of

NOW = 1_000.0
MESSAGE = properties_of(
    split(value_message("x", properties={SUBJECT: "urgent", CORRELATION_ID: "c-1"}, application={b"target": "agent-1", "n": 1}))
)


def configured(name="r", **properties):
    return {"Name": name, "Properties": properties}


def to_target(name, target):
    return configured(name, CorrelationFilter={"Properties": {"target": target}})


@pytest.mark.parametrize(
    ("properties", "is_match"),
    [
        ({"FilterType": "Correlation", "CorrelationFilter": {"Label": "urgent", "CorrelationId": "c-1"}}, True),
        ({"CorrelationFilter": {"Subject": "urgent", "Properties": {"target": "agent-1"}}}, True),
        ({"CorrelationFilter": {"Subject": "urgent", "Properties": {"target": "agent-2"}}}, False),
        ({"CorrelationFilter": {"MessageId": "m"}}, False),
        ({"CorrelationFilter": {"Properties": {"n": 1}}}, True),
        ({"CorrelationFilter": {"Properties": {"n": True}}}, False),
        ({"CorrelationFilter": {"Properties": {"gone": None}}}, True),
    ],
)
def test_a_configured_rule_matches(properties, is_match):
    assert rules_of([configured(**properties)])(MESSAGE) is is_match


@pytest.mark.parametrize(
    ("rule", "complaint"),
    [
        ({"Name": "r"}, "has a Name and Properties"),
        ({"Properties": {}}, "has a Name and Properties"),
        (configured(FilterType="True"), "FilterType is Correlation here, not 'True'"),
        (configured(FilterType="Sql"), "FilterType is Correlation here, not 'Sql'"),
        (configured(SqlFilter={"SqlExpression": "target = 'agent-1'"}), "not 'Sql': name the values wanted"),
        (configured(CorrelationFilter="a = 1"), "CorrelationFilter is an object"),
        (configured(FilterType="Correlation"), "names at least one property"),
        (configured(CorrelationFilter={"Colour": "red"}), "'Colour' of a correlation filter"),
        (configured(CorrelationFilter={"Label": 1}), "'Label' of a correlation filter"),
        (configured(CorrelationFilter={"Properties": "n"}), "'Properties' of a correlation filter"),
        (configured(Action={"SqlExpression": "SET a = 1"}), "actions are not supported"),
    ],
)
def test_a_wrong_rule_is_refused(rule, complaint):
    with pytest.raises(InvalidInput, match=complaint):
        rules_of([rule])


def test_without_rules_everything_matches_and_with_several_one_is_enough():
    assert rules_of([])(MESSAGE)
    assert rules_of([to_target("no", "agent-2"), to_target("yes", "agent-1")])(MESSAGE)


def test_names_are_unique_and_their_number_is_limited():
    rules = [to_target(str(number), "nobody") for number in range(RULES_MAX)]
    assert not rules_of(rules)(MESSAGE)
    with pytest.raises(InvalidInput, match="a rule '0' already"):
        rules_of([*rules[:2], to_target("0", "agent-1")])
    with pytest.raises(InvalidInput, match=f"at most {RULES_MAX}"):
        rules_of([*rules, to_target("one more", "agent-1")])


def topic_of(*subscriptions, **settings):
    topic, queues = Topic(TurnedHost(), QueueSettings(**settings)), []
    for target, own in subscriptions:
        queues.append(Queue("t/s", QueueSettings(**own)))
        topic.subscribe(queues[-1], rules_of([to_target("r", target)] if target else []))
    return topic, queues


def taken(queue, now=NOW):
    found = []
    while (kept := queue.take(now, for_good=True)) is not None:
        found.append(text_of(kept))
    return found


def to(text, target):
    return letter_of(split(value_message(text, application={"target": target})), NOW)


def test_when_one_subscription_is_full_nobody_gets_any_of_a_batch():
    topic, (large, small) = topic_of(("", {}), ("", {"messages_max": 1}), duplicate_window_s=60)

    with pytest.raises(AmqpError, match="quota-exceeded"):
        topic.send([letter("a", id="1"), letter("b", id="2")], NOW)

    assert taken(large) == taken(small) == []
    topic.send([letter("a", id="1")], NOW)
    assert taken(large) == ["a"]


def test_a_full_subscription_holds_up_only_what_it_wants():
    topic, (large, small) = topic_of(("", {}), ("small", {"messages_max": 1}))
    topic.send([to("a", "small")], NOW)
    topic.send([to("b", "large")], NOW)
    assert taken(large) == ["a", "b"]
    assert taken(small) == ["a"]


def test_expired_messages_make_room_when_somebody_sends():
    topic, (queue,) = topic_of(("", {"messages_max": 1}))
    topic.send([letter("a", ttl_s=10)], NOW)
    topic.send([letter("b")], NOW + 10)
    assert taken(queue, NOW + 10) == ["b"]


def test_a_topic_knows_duplicates_and_limits_times_to_live():
    topic, (queue,) = topic_of(("", {"ttl_s": 99}), duplicate_window_s=60, ttl_s=10)
    topic.send([letter("a", id="1"), letter("b", id="1"), letter("c", ttl_s=5)], NOW)
    assert [kept.expires_at - NOW for kept in queue.peek(1, NOW)] == [10, 5]

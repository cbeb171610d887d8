"""Requests to a queue, a subscription or a topic, as clients send them; and how entities are found."""

from uuid import uuid4

import pytest

from hive_mind.devbroker.amqp.decoding import decode_only
from hive_mind.devbroker.amqp.encoding import encode
from hive_mind.devbroker.amqp.error import AmqpError
from hive_mind.devbroker.amqp.sections import ANNOTATIONS, annotations_section, split
from hive_mind.devbroker.amqp.types import Array, Described, Symbol, Timestamp, UInt
from hive_mind.devbroker.servicebus.management import PEEK_MAX
from hive_mind.devbroker.servicebus.namespace import Namespace
from hive_mind.errors import InvalidInput
from tests.unit.devbroker.letters import TurnedHost, letter
from tests.unit.devbroker.links import ACCEPTED, PlayedLink, message, request


@pytest.fixture
def host():
    return TurnedHost()


@pytest.fixture
def namespace(host):
    return Namespace(host)


@pytest.fixture
def queue(namespace, host):
    """With three messages."""
    entity = namespace.add_queue("q")
    entity.queue.send([letter(text) for text in "abc"], host.now())
    return entity


def asked(entity, operation, **body):
    """The body of the reply, after a trip over the wire."""
    reply = entity.manage(request(operation, **body))
    assert reply.status == 200, reply
    return decode_only(encode(reply.body))


def texts_in(body):
    return [split(each["message"]).value() for each in body["messages"]]


def refused(condition):
    return pytest.raises(AmqpError, match=condition)


def test_messages_are_peeked_at_page_by_page(queue, host):
    queue.queue.send([letter(f"m{number}") for number in range(PEEK_MAX)], host.now())

    assert texts_in(asked(queue, "peek-message", from_sequence_number=2, message_count=UInt(2))) == ["b", "c"]
    assert len(texts_in(asked(queue, "peek-message", message_count=10_000))) == PEEK_MAX
    for nothing in ({"from_sequence_number": 9_999}, {"message_count": 0}, {"message_count": -1}, {"session_id": "s"}):
        assert queue.manage(request("peek-message", **nothing)).status == 204


def test_what_is_peeked_at_fits_into_one_answer(queue, host):
    queue.queue.send([letter("x" * 600_000), letter("y" * 600_000)], host.now())

    found = texts_in(asked(queue, "peek-message", from_sequence_number=4, message_count=9))

    assert [text[0] for text in found] == ["x"]


def test_locks_are_renewed_by_token(queue, host):
    link = PlayedLink(credit=1).attach(queue)
    host.run(30)

    [until] = asked(queue, "renew-lock", lock_tokens=Array(link.unsettled.values()))["expirations"]

    assert until == int((host.now() + 60) * 1000)
    with refused("message-lock-lost"):
        queue.manage(request("renew-lock", lock_tokens=Array([uuid4()])))


def test_a_renewed_lock_still_ends(queue, host):
    link = PlayedLink(credit=4).attach(queue)
    host.run(30)
    asked(queue, "renew-lock", lock_tokens=Array([link.unsettled[0]]))

    host.run(31)
    assert link.texts == ["a", "b", "c", "b"]
    link.give(2)
    host.run(30)

    assert link.texts[4:] == ["c", "a"]


@pytest.mark.parametrize(
    ("status", "counts"),
    [
        ("completed", {"ready": 0, "deferred": 0, "dead": 0}),
        ("abandoned", {"ready": 1, "deferred": 0, "dead": 0}),
        ("defered", {"ready": 0, "deferred": 1, "dead": 0}),
        ("suspended", {"ready": 0, "deferred": 0, "dead": 1}),
    ],
)
def test_messages_are_settled_by_token(queue, status, counts):
    link = PlayedLink(credit=3).attach(queue)
    token = link.unsettled[1]

    asked(queue, "update-disposition", disposition_status=status, lock_tokens=Array([token]), deadletter_reason="why")

    now = queue.queue.counts()
    assert {"ready": now["ready"], "deferred": now["deferred"], "dead": queue.dead_letters.queue.counts()["ready"]} == counts
    assert list(link.unsettled) == [0, 2]
    with refused("message-lock-lost"):
        queue.settle(link, token, ACCEPTED)


def test_settling_many_settles_all_or_none(queue):
    link = PlayedLink(credit=3).attach(queue)

    with refused("message-lock-lost"):
        queue.manage(
            request("update-disposition", disposition_status="completed", lock_tokens=Array([link.unsettled[0], uuid4()]))
        )
    with refused("can't be 'eaten'"):
        queue.manage(request("update-disposition", disposition_status="eaten", lock_tokens=Array([link.unsettled[0]])))

    assert queue.queue.counts()["locked"] == 3


def test_deferred_messages_come_locked_or_for_good(queue):
    link = PlayedLink(credit=2).attach(queue)
    tokens = Array(link.unsettled.values())
    asked(queue, "update-disposition", disposition_status="defered", lock_tokens=tokens)

    [entry] = asked(queue, "receive-by-sequence-number", sequence_numbers=Array([1]), receiver_settle_mode=UInt(1))["messages"]
    assert split(entry["message"]).annotation_map["x-opt-message-state"] == 1
    asked(queue, "update-disposition", disposition_status="completed", lock_tokens=Array([entry["lock-token"]]))
    assert texts_in(asked(queue, "receive-by-sequence-number", sequence_numbers=[2], receiver_settle_mode=UInt(0))) == ["b"]

    assert queue.queue.quota.messages == 1


def test_a_message_is_scheduled_and_cancelled_by_its_number(namespace, host):
    later = Timestamp(int((host.now() + 60) * 1000))
    note = annotations_section(ANNOTATIONS, {Symbol("x-opt-scheduled-enqueue-time"): later})
    for entity in (namespace.add_queue("empty"), namespace.add_topic("t")):
        numbers = asked(entity, "schedule-message", messages=[{"message": note + message("x")}])["sequence-numbers"]
        asked(entity, "cancel-scheduled-message", sequence_numbers=numbers)

        with refused("message-not-found"):
            entity.manage(request("cancel-scheduled-message", sequence_numbers=numbers))


def test_sessions_have_a_state_a_lock_and_a_list(namespace, host):
    entity = namespace.add_queue("s", {"RequiresSession": True})
    entity.queue.send([letter("a", session="s1"), letter("b", session="s2")], host.now())
    with refused("session-lock-lost"):
        entity.manage(request("set-session-state", session_id="s1", session_state=b"x"))
    entity.queue.accept("s1", host.now())

    asked(entity, "set-session-state", session_id="s1", session_state=b"half")
    assert asked(entity, "get-session-state", session_id="s1") == {"session-state": b"half"}
    assert asked(entity, "renew-session-lock", session_id="s1") == {"expiration": int((host.now() + 60) * 1000)}
    assert asked(entity, "get-message-sessions", skip=0, top=1) == {"skip": 1, "sessions-ids": ["s1"]}
    assert asked(entity, "get-message-sessions", skip=1, top=5) == {"skip": 2, "sessions-ids": ["s2"]}
    assert asked(entity, "get-message-sessions", skip=0, top=5, last_updated_time=0)["sessions-ids"] == ["s1"]
    assert entity.manage(request("get-message-sessions", skip=2, top=5)).status == 204
    asked(entity, "set-session-state", session_id="s1", session_state=None)
    assert asked(entity, "get-session-state", session_id="s1") == {"session-state": None}
    host.time += 60
    with refused("session-lock-lost"):
        entity.manage(request("renew-session-lock", session_id="s1"))


def test_rules_are_added_removed_and_listed(namespace):
    topic = namespace.add_topic("t")
    subscription = namespace.add_subscription("t", "s")
    asked(subscription, "add-rule", rule_name="sql", rule_description={"sql-filter": {"expression": "target = 'me'"}})
    asked(
        subscription,
        "add-rule",
        rule_name="by hand",
        rule_description={"correlation-filter": {"label": "urgent", "properties": {"n": 1}}, "sql-rule-action": None},
    )
    asked(subscription, "remove-rule", rule_name="$Default")
    with refused("amqp:not-found"):
        subscription.manage(request("remove-rule", rule_name="$Default"))

    for target in ("me", "you"):
        topic.on_message(PlayedLink(receives=False), message(target, target=target), 0)

    assert PlayedLink(credit=9).attach(subscription).texts == ["me"]
    rules = asked(subscription, "enumerate-rules", skip=0, top=100)["rules"]
    described = [rule["rule-description"].value for rule in rules]
    assert [name for _, _, name in described] == ["sql", "by hand"]
    assert described[0][0] == Described(0x1370000006, ["target = 'me'"])
    assert described[1][0] == Described(0x1370000009, [None, None, None, None, "urgent", None, None, None, {"n": 1}])
    assert len(asked(subscription, "enumerate-rules", skip=1, top=1)["rules"]) == 1
    assert subscription.manage(request("enumerate-rules", skip=2, top=1)).status == 204


def test_a_new_subscription_lists_the_rule_that_lets_everything_through(namespace):
    namespace.add_topic("t")

    [rule] = asked(namespace.add_subscription("t", "s"), "enumerate-rules", skip=0, top=10)["rules"]

    assert rule["rule-description"].value[0] == Described(0x1370000007, [])
    assert rule["rule-description"].value[2] == "$Default"


@pytest.mark.parametrize(
    "description",
    [
        {},
        {"sql-filter": {"expression": "a ="}},
        {"sql-filter": {}},
        {"correlation-filter": {}},
        {"sql-filter": {"expression": "1=1"}, "sql-rule-action": {"expression": "SET a = 1"}},
    ],
)
def test_wrong_rules_are_refused(namespace, description):
    namespace.add_topic("t")
    subscription = namespace.add_subscription("t", "s")

    with refused("argument-error"):
        subscription.manage(request("add-rule", rule_name="r", rule_description=description))


@pytest.mark.parametrize(
    ("operation", "body"),
    [
        ("renew-lock", {}),
        ("renew-lock", {"lock_tokens": ["no token"]}),
        ("renew-lock", {"lock_tokens": 1}),
        ("peek-message", {"message_count": "many"}),
        ("peek-message", {"message_count": True}),
        ("peek-message", {"session_id": 1}),
        ("receive-by-sequence-number", {"sequence_numbers": ["x"]}),
        ("schedule-message", {"messages": [1]}),
        ("schedule-message", {"messages": [{"message": "text"}]}),
        ("update-disposition", {"lock_tokens": []}),
        ("renew-session-lock", {"session_id": None}),
        ("set-session-state", {}),
        ("add-rule", {"rule_name": "r"}),
    ],
)
def test_wrong_parameters_are_refused(namespace, operation, body):
    namespace.add_topic("t")

    with refused("argument-error"):
        namespace.add_subscription("t", "s", {"RequiresSession": False}).manage(request(operation, **body))


def test_operations_nobody_knows_are_answered_so(namespace, queue):
    topic = namespace.add_topic("t")

    for entity in (queue, queue.dead_letters, topic):
        assert entity.manage(request("fly")).status == 501
        assert entity.manage(request("add-rule", rule_name="r")).status == 501
    assert topic.manage(request("peek-message")).status == 501


def test_entities_are_found_in_any_case(namespace):
    queue, topic = namespace.add_queue("Orders"), namespace.add_topic("Events")
    subscription = namespace.add_subscription("events", "Agent-1")

    assert namespace.find("ORDERS") is queue
    assert namespace.find("orders/$deadletterqueue") is queue.dead_letters
    assert namespace.find("events") is topic
    assert namespace.find("Events/Subscriptions/agent-1") is subscription
    assert namespace.find("Events/Subscriptions/agent-1/$DeadLetterQueue") is subscription.dead_letters
    assert namespace.find("events/$DeadLetterQueue") is namespace.find("nowhere") is None


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda names: names.add_queue("taken"), "already"),
        (lambda names: names.add_topic("TAKEN"), "already"),
        (lambda names: names.add_subscription("events", "THERE"), "'events/Subscriptions/THERE' already"),
        (lambda names: names.add_subscription("nowhere", "s"), "no topic 'nowhere'"),
        (lambda names: names.add_queue("q", {"Colour": "red"}), "unknown property 'Colour'"),
        (lambda names: names.add_queue("q", {"LockDuration": "a minute"}), "LockDuration is a duration"),
        (lambda names: names.add_queue("q", {"LockDuration": True}), "LockDuration is a duration"),
        (lambda names: names.add_queue("q", {"LockDuration": "P"}), "LockDuration is a duration"),
        (lambda names: names.add_queue("q", {"LockDuration": "PT0S"}), "lock_s of a queue must be more than 0"),
        (lambda names: names.add_queue("q", {"MaxDeliveryCount": "10"}), "MaxDeliveryCount is a whole number"),
        (lambda names: names.add_queue("q", {"MaxDeliveryCount": 0}), "must be more than 0"),
        (lambda names: names.add_queue("q", {"RequiresSession": "yes"}), "RequiresSession is true or false"),
        (lambda names: names.add_queue("q", {"ForwardTo": "elsewhere"}), "ForwardTo is not supported"),
    ],
)
def test_what_can_not_be_set_up_is_refused(namespace, make, complaint):
    namespace.add_queue("taken")
    namespace.add_topic("events")
    namespace.add_subscription("events", "there")

    with pytest.raises(InvalidInput, match=complaint):
        make(namespace)

    assert namespace.find("q") is None


def test_properties_have_the_names_of_the_emulator(namespace):
    queue = namespace.add_queue(
        "q",
        {
            "DeadLetteringOnMessageExpiration": True,
            "DefaultMessageTimeToLive": "PT1H",
            "DuplicateDetectionHistoryTimeWindow": "PT20S",
            "ForwardDeadLetteredMessagesTo": "",
            "ForwardTo": "",
            "LockDuration": "P0DT0H1M0.5S",
            "MaxDeliveryCount": 3,
            "RequiresDuplicateDetection": False,
            "RequiresSession": False,
            "MaxSizeInMegabytes": 1,
        },
    )

    settings = queue.queue.settings
    assert (settings.lock_s, settings.ttl_s, settings.deliveries_max) == (60.5, 3600, 3)
    assert (settings.duplicate_window_s, settings.bytes_max, settings.buries_expired) == (0, 1 << 20, True)


def test_a_subscription_is_not_sent_to(namespace):
    namespace.add_topic("t")
    subscription = namespace.add_subscription("t", "s", {"MaxDeliveryCount": 1})

    with refused("send to that"):
        PlayedLink(receives=False).attach(subscription)


def test_a_topic_sends_what_is_due_by_itself(namespace, host):
    topic = namespace.add_topic("t")
    link = PlayedLink(credit=1).attach(namespace.add_subscription("t", "s"))
    topic.topic.send([letter("late", at=host.now() + 10)], host.now())

    host.run(11)

    assert link.texts == ["late"]
    with refused("receive from one of its subscriptions"):
        PlayedLink().attach(topic)

"""Requests to a queue, a subscription or a topic, as clients send them; and how entities are found."""

from uuid import uuid4

import pytest

from hive_mind.devbroker.amqp import AmqpError, Array, UInt, encode
from hive_mind.devbroker.amqp.decoding import decode_only
from hive_mind.devbroker.amqp.entity import split
from hive_mind.devbroker.servicebus.namespace import PEEK_MAX, Namespace
from hive_mind.errors import InvalidInput
from tests.unit.devbroker.letters import TurnedHost, letter
from tests.unit.devbroker.links import ACCEPTED, PlayedLink, request


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
    for nothing in ({"from_sequence_number": 9_999}, {"message_count": 0}, {"message_count": -1}):
        assert queue.manage(request("peek-message", **nothing)).status == 204


def test_what_is_peeked_at_fits_into_one_answer(queue, host):
    queue.queue.send([letter("x" * 600_000), letter("y" * 600_000)], host.now())
    found = texts_in(asked(queue, "peek-message", from_sequence_number=4, message_count=9))
    assert [text[0] for text in found] == ["x"]


def test_locks_are_renewed_by_token_and_still_end(queue, host):
    link = PlayedLink(credit=4).attach(queue)
    host.run(30)

    [until] = asked(queue, "renew-lock", lock_tokens=Array([link.unsettled[0]]))["expirations"]

    assert until == int((host.now() + 60) * 1000)
    with refused("message-lock-lost"):
        queue.manage(request("renew-lock", lock_tokens=Array([uuid4()])))
    host.run(31)
    assert link.texts == ["a", "b", "c", "b"]
    link.give(2)
    host.run(30)

    assert link.texts[4:] == ["c", "a"]


@pytest.mark.parametrize(
    ("status", "counts"),
    [("completed", {"ready": 0, "dead": 0}), ("abandoned", {"ready": 1, "dead": 0}), ("suspended", {"ready": 0, "dead": 1})],
)
def test_messages_are_settled_by_token(queue, status, counts):
    link = PlayedLink(credit=3).attach(queue)
    token = link.unsettled[1]

    asked(queue, "update-disposition", disposition_status=status, lock_tokens=Array([token]), deadletter_reason="why")

    assert {"ready": queue.queue.counts()["ready"], "dead": queue.dead_letters.queue.counts()["ready"]} == counts
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


@pytest.mark.parametrize(
    ("operation", "body"),
    [
        ("renew-lock", {}),
        ("renew-lock", {"lock_tokens": ["no token"]}),
        ("renew-lock", {"lock_tokens": 1}),
        ("peek-message", {"message_count": "many"}),
        ("peek-message", {"message_count": True}),
        ("update-disposition", {"lock_tokens": []}),
    ],
)
def test_wrong_parameters_are_refused(queue, operation, body):
    with refused("argument-error"):
        queue.manage(request(operation, **body))


def test_operations_nobody_knows_are_answered_so(namespace, queue):
    topic = namespace.add_topic("t")
    for entity in (queue, queue.dead_letters, topic):
        assert entity.manage(request("schedule-message")).status == 501
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
        (lambda names: names.add_queue("q", {"Colour": "red"}), "unknown field `Colour`"),
        (lambda names: names.add_queue("q", {"LockDuration": "a minute"}), "LockDuration`"),
        (lambda names: names.add_queue("q", {"LockDuration": True}), "LockDuration`"),
        (lambda names: names.add_queue("q", {"LockDuration": "P"}), "LockDuration`"),
        (lambda names: names.add_queue("q", {"LockDuration": "PT0S"}), "lock_s of a queue must be more than 0"),
        (lambda names: names.add_queue("q", {"MaxDeliveryCount": "10"}), "Expected `int`"),
        (lambda names: names.add_queue("q", {"MaxDeliveryCount": 0}), "must be more than 0"),
        (
            lambda names: names.add_queue("q", {"RequiresDuplicateDetection": "yes"}),
            "Expected `bool`",
        ),
        (lambda names: names.add_queue("q", {"RequiresSession": True}), "RequiresSession is not supported"),
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

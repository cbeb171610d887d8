"""A queue as clients reach it, over played links and a clock the test turns."""

import pytest

from hive_mind.devbroker.amqp.encoding import encode
from hive_mind.devbroker.amqp.error import AmqpError
from hive_mind.devbroker.amqp.sections import BATCH_FORMAT, DATA, MESSAGE_ID, value_message
from hive_mind.devbroker.entity import DeliveryOutcome
from hive_mind.devbroker.servicebus.queue import Queue
from hive_mind.devbroker.servicebus.queue_entity import QueueEntity
from hive_mind.devbroker.servicebus.settings import QueueSettings
from tests.unit.devbroker.letters import TurnedHost, letter
from tests.unit.devbroker.links import ABANDONED, ACCEPTED, PUT_ASIDE, RELEASED, PlayedLink, message


def entity_of(*texts, host=None, **settings):
    entity = QueueEntity(host or TurnedHost(), Queue("q", QueueSettings(lock_s=60, **settings)))
    for text in texts:
        entity.on_message(PlayedLink(receives=False), message(text), 0)
    return entity


def test_a_receiver_gets_as_many_as_it_has_credit_for_and_more_when_it_gives_more():
    link = PlayedLink(credit=2).attach(entity_of("a", "b", "c"))
    assert link.texts == ["a", "b"]
    link.give(5)
    assert link.texts == ["a", "b", "c"]


def test_who_has_credit_gets_a_message_as_soon_as_it_is_there():
    entity = entity_of()
    link = PlayedLink(credit=1).attach(entity)
    entity.on_message(PlayedLink(receives=False), message("a"), 0)
    entity._host.run()
    assert link.texts == ["a"]


def test_receivers_take_turns():
    entity = entity_of()
    links = [PlayedLink(credit=9).attach(entity) for _ in range(3)]
    entity.queue.send([letter(f"{number}") for number in range(6)], entity._host.now())
    entity._host.run()
    assert [len(link.sent) for link in links] == [2, 2, 2]


@pytest.mark.parametrize(("outcome", "attempts"), [(ABANDONED, 1), (RELEASED, 0)])
def test_what_is_given_back_comes_again(outcome, attempts):
    entity = entity_of("a")
    link = PlayedLink(credit=2).attach(entity)

    link.settle(outcome)
    entity._host.run()

    assert link.texts == ["a", "a"]
    assert link.sent[1][0].header_fields[4] == attempts


def test_what_was_completed_or_is_a_dead_letter_does_not_come_again():
    entity = entity_of("a", "b")
    link = PlayedLink(credit=9).attach(entity)

    link.settle()
    link.settle(DeliveryOutcome("rejected", info={b"DeadLetterReason": b"why"}))
    entity._host.run(3600)

    assert link.texts == ["a", "b"]
    dead = PlayedLink(credit=1).attach(entity.dead_letters)
    assert dead.sent[0][0].application_map == {"DeadLetterReason": "why"}
    assert dead.sent[0][0].annotation_map["x-opt-deadletter-source"] == "q"
    assert "x-opt-deadletter-source" not in link.sent[0][0].annotation_map


def test_a_delivery_whose_lock_ended_can_not_be_settled_and_is_not_remembered():
    entity = entity_of("a")
    link = PlayedLink(credit=2).attach(entity)
    token = link.unsettled[0]

    entity._host.run(61)

    assert link.texts == ["a", "a"]
    assert list(link.unsettled) == [1]
    with pytest.raises(AmqpError, match="message-lock-lost"):
        entity.settle(link, token, ACCEPTED)
    link.settle(delivery=1)


def test_locks_outlive_the_link():
    entity = entity_of("a")
    PlayedLink(credit=1).attach(entity).close()

    other = PlayedLink(credit=1).attach(entity)
    entity._host.run(59)
    assert other.texts == []

    entity._host.run(2)
    assert other.texts == ["a"]


def test_dead_letters_wake_who_waits_for_them():
    entity = entity_of("a", deliveries_max=1)
    dead = PlayedLink(credit=1).attach(entity.dead_letters)
    PlayedLink(credit=1).attach(entity).settle(ABANDONED)
    entity._host.run()
    assert dead.texts == ["a"]


def test_a_batch_is_taken_apart():
    entity = entity_of()
    batch = b"".join(bytes((0, 0x53, DATA)) + encode(message(text)) for text in "ab")
    entity.on_message(PlayedLink(receives=False), batch, BATCH_FORMAT)
    assert PlayedLink(credit=9).attach(entity).texts == ["a", "b"]
    assert entity._host.figures["messages_in"] == 2


def test_what_this_broker_does_not_have_is_refused():
    entity = entity_of("a")
    with pytest.raises(AmqpError, match="has no sessions"):
        PlayedLink(filters={"com.microsoft:session-filter": None}).attach(entity)
    with pytest.raises(AmqpError, match="nobody sends to dead letters"):
        PlayedLink(receives=False).attach(entity.dead_letters)
    with pytest.raises(AmqpError, match="can't put a message aside"):
        PlayedLink(credit=1).attach(entity).settle(PUT_ASIDE)


def test_a_stuck_receiver_holds_up_nobody():
    entity = entity_of()
    stuck, willing = PlayedLink(credit=0).attach(entity), PlayedLink(credit=9).attach(entity)
    entity.queue.send([letter("a"), letter("b")], entity._host.now())
    entity._host.run()
    assert (stuck.sent, len(willing.sent)) == ([], 2)


def test_what_the_sender_wrote_is_not_touched():
    entity = entity_of()
    encoded = value_message("grüße", properties={MESSAGE_ID: "m-1"}, application={"n": 1, "target": "x"})
    entity.on_message(PlayedLink(receives=False), encoded, 0)
    [(got, _, _)] = PlayedLink(credit=1).attach(entity).sent
    assert got.properties + got.application + got.body == encoded

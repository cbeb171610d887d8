"""What a queue does with messages beyond what `test_queue_machine` tries in any order.

A queue as clients reach it, over played links and a clock the test turns.
"""

import pytest

from hive_mind.devbroker.amqp import AmqpError
from hive_mind.devbroker.servicebus import QueueSettings
from hive_mind.devbroker.servicebus.namespace import QueueEntity
from hive_mind.devbroker.servicebus.queue import Duplicates, Queue
from tests.unit.devbroker.letters import TurnedHost, letter, text_of
from tests.unit.devbroker.links import ABANDONED, ACCEPTED, PUT_ASIDE, PlayedLink, message

NOW = 1_000.0


def queue_of(*texts, **settings):
    queue = Queue("orders", QueueSettings(lock_s=60, **settings))
    queue.send([letter(text) for text in texts], NOW)
    return queue


def taken(queue, now=NOW, **how):
    found = []
    while (kept := queue.take(now, **how)) is not None:
        found.append(text_of(kept))
    return found


def refused(condition):
    return pytest.raises(AmqpError, match=condition)


def test_an_ended_lock_is_not_renewed_and_with_it_none_of_a_request():
    queue = queue_of("a", "b")
    late, fresh = queue.take(NOW), queue.take(NOW + 30)
    with refused("message-lock-lost"):
        queue.renew([fresh.token, late.token], NOW + 60)
    assert fresh.locked_until == NOW + 90


def test_dead_letters_neither_die_nor_expire():
    queue = queue_of("a", ttl_s=10, deliveries_max=1)
    queue.bury(queue.take(NOW).token, NOW, "", "")

    for _ in range(20):
        queue.dead_letters.abandon(queue.dead_letters.take(NOW + 100).token, NOW + 100)
    token = queue.dead_letters.take(NOW + 100).token

    with refused("can't die again"):
        queue.dead_letters.bury(token, NOW + 100, "", "")
    queue.dead_letters.complete(token, NOW + 100)
    assert queue.quota.messages == 0


def test_a_message_expires_after_the_shorter_of_both_times_and_is_gone_unless_the_queue_keeps_it_as_a_dead_letter():
    queue, burying = queue_of(ttl_s=20), queue_of(buries_expired=True, ttl_s=10)
    burying.send([letter("a")], NOW)
    burying.advance(NOW + 10)
    queue.send([letter("own", ttl_s=10), letter("default"), letter("long", ttl_s=99)], NOW)

    assert queue.next_due() == NOW + 10
    assert taken(queue, NOW + 10) == ["default", "long"]
    assert taken(queue, NOW + 80) == []
    assert queue.quota.messages == 0
    assert queue.dead_letters.take(NOW + 100) is None
    assert burying.dead_letters.take(NOW + 10).letter.content.application_map["DeadLetterReason"] == "TTLExpiredException"


def test_what_was_seen_within_the_window_is_taken_once():
    queue = queue_of(duplicate_window_s=10)
    assert len(queue.send([letter("a", id="1"), letter("b", id="1"), letter("c"), letter("d")], NOW)) == 3
    assert queue.send([letter("again", id="1")], NOW + 9) == []
    assert len(queue.send([letter("new", id="1")], NOW + 10)) == 1
    assert taken(queue, NOW + 10) == ["a", "c", "d", "new"]


def test_a_duplicate_is_welcome_in_a_full_queue_and_a_refused_message_is_no_duplicate():
    queue = queue_of(duplicate_window_s=10, messages_max=1)
    queue.send([letter("a", id="1")], NOW)

    assert queue.send([letter("a", id="1")], NOW) == []
    with refused("resource-limit-exceeded"):
        queue.send([letter("b", id="2")], NOW)
    queue.take(NOW, for_good=True)

    assert len(queue.send([letter("b", id="2")], NOW)) == 1


def test_only_so_many_ids_are_remembered():
    duplicates = Duplicates(10, ids_max=2)
    duplicates.note([letter(id="1"), letter(id="2"), letter(id="3")], NOW)
    assert [each.id for each in duplicates.without([letter(id=id) for id in "123"], NOW)] == ["1"]


@pytest.mark.parametrize("limit", [{"messages_max": 3}, {"bytes_max": 3}])
def test_a_full_queue_refuses_a_whole_batch_until_there_is_room(limit):
    queue = queue_of("a", "b", **limit)

    with refused(r"amqp:resource-limit-exceeded: com\.microsoft:quota-exceeded"):
        queue.send([letter("c"), letter("d")], NOW)
    queue.complete(queue.take(NOW).token, NOW)
    queue.send([letter("c"), letter("d")], NOW)

    assert taken(queue) == ["b", "c", "d"]


def test_who_waits_is_told_when_a_message_becomes_free():
    told = []
    queue = queue_of()
    queue.changed, queue.dead_letters.changed = (lambda: told.append("queue")), (lambda: told.append("dead"))

    queue.send([letter("a")], NOW)
    queue.take(NOW)
    queue.advance(NOW + 60)
    queue.bury(queue.take(NOW + 60).token, NOW + 60, "", "")

    assert told == ["queue", "queue", "dead"]


def entity_of(*texts, host=None, **settings):
    entity = QueueEntity(host or TurnedHost(), Queue("q", QueueSettings(lock_s=60, **settings)))
    for text in texts:
        entity.on_message(PlayedLink(receives=False), message(text), 0)
    return entity


def test_receivers_take_turns():
    entity = entity_of()
    links = [PlayedLink(credit=9).attach(entity) for _ in range(3)]
    entity.queue.send([letter(f"{number}") for number in range(6)], entity._host.now())
    entity._host.run()
    assert [len(link.sent) for link in links] == [2, 2, 2]


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

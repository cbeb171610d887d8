"""What a queue does with messages, by examples over a clock that is handed in."""

from uuid import uuid4

import pytest

from hive_mind.devbroker.amqp.error import AmqpError
from hive_mind.devbroker.servicebus.admission import Duplicates
from hive_mind.devbroker.servicebus.message import State
from hive_mind.devbroker.servicebus.queue import Queue
from hive_mind.devbroker.servicebus.settings import QueueSettings
from tests.unit.devbroker.letters import letter, text_of

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


def test_messages_come_in_the_order_they_were_sent():
    assert taken(queue_of("a", "b", "c")) == ["a", "b", "c"]


def test_a_message_that_was_completed_is_gone():
    queue = queue_of("a")

    queue.complete(queue.take(NOW).token, NOW)

    assert taken(queue, NOW + 1_000) == []
    assert queue.quota.messages == queue.quota.bytes == 0


def test_a_message_that_was_taken_is_given_to_nobody_else_until_its_lock_ends():
    queue = queue_of("a")
    first = queue.take(NOW)
    token = first.token

    assert queue.take(NOW + 59.9) is None
    again = queue.take(NOW + 60)

    assert text_of(again) == "a"
    assert again.attempts == 1
    with refused("message-lock-lost"):
        queue.complete(token, NOW + 60)


def test_a_renewed_lock_lasts_from_then_on():
    queue = queue_of("a", "b")
    renewed, other = queue.take(NOW), queue.take(NOW)

    assert queue.renew([renewed.token], NOW + 30) == [NOW + 90]

    assert queue.next_due() == NOW + 60
    assert taken(queue, NOW + 60) == ["b"]
    assert taken(queue, NOW + 89) == []
    queue.complete(renewed.token, NOW + 89)
    assert other.attempts == 1


def test_an_ended_lock_is_not_renewed_and_with_it_none_of_a_request():
    queue = queue_of("a", "b")
    late, fresh = queue.take(NOW), queue.take(NOW + 30)

    with refused("message-lock-lost"):
        queue.renew([fresh.token, late.token], NOW + 60)

    assert fresh.locked_until == NOW + 90


def test_an_abandoned_message_comes_again_before_later_ones():
    queue = queue_of("a", "b")

    queue.abandon(queue.take(NOW).token, NOW)

    again = queue.take(NOW)
    assert (text_of(again), again.attempts) == ("a", 1)


def test_releasing_is_no_attempt():
    queue = queue_of("a", deliveries_max=1)

    queue.abandon(queue.take(NOW).token, NOW, is_failed=False)

    assert queue.take(NOW).attempts == 0


def test_after_the_last_attempt_a_message_is_a_dead_letter_with_the_reason():
    queue = queue_of("a", deliveries_max=2)
    queue.abandon(queue.take(NOW).token, NOW)
    queue.take(NOW)

    queue.advance(NOW + 60)

    dead = queue.dead_letters.take(NOW + 60)
    assert text_of(dead) == "a"
    assert dead.attempts == 2
    assert dead.died_in == "orders"
    assert dead.letter.content.application_map["DeadLetterReason"] == "MaxDeliveryCountExceeded"


def test_a_receiver_can_make_a_dead_letter_and_say_why():
    queue = queue_of("a", "b")
    first = queue.take(NOW)

    queue.bury(queue.take(NOW).token, NOW, "broken", "no JSON")

    dead = queue.dead_letters.take(NOW)
    assert dead.letter.content.application_map == {"DeadLetterReason": "broken", "DeadLetterErrorDescription": "no JSON"}
    assert (dead.sequence, dead.origin) == (1, 2)
    queue.complete(first.token, NOW)


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


def test_receive_and_delete_leaves_nothing():
    queue = queue_of("a", "b")

    assert text_of(queue.take(NOW, for_good=True)) == "a"

    assert queue.counts() == {"ready": 1, "locked": 0, "deferred": 0, "scheduled": 0}
    assert queue.quota.messages == 1


def test_a_message_expires_after_the_shorter_of_both_times():
    queue = queue_of(ttl_s=20)
    queue.send([letter("own", ttl_s=10), letter("default"), letter("long", ttl_s=99)], NOW)

    assert queue.next_due() == NOW + 10
    assert taken(queue, NOW + 10) == ["default", "long"]
    assert taken(queue, NOW + 80) == []
    assert queue.quota.messages == 0
    assert queue.dead_letters.take(NOW + 100) is None


def test_expired_messages_become_dead_letters_where_the_queue_says_so():
    queue = queue_of(buries_expired=True)
    queue.send([letter("a", ttl_s=10)], NOW)

    queue.advance(NOW + 10)

    dead = queue.dead_letters.take(NOW + 10)
    assert dead.letter.content.application_map["DeadLetterReason"] == "TTLExpiredException"


def test_a_message_in_somebodys_hands_does_not_expire_before_it_is_put_back():
    queue = queue_of(ttl_s=10)
    queue.send([letter("a"), letter("b")], NOW)
    first, second = queue.take(NOW), queue.take(NOW)

    queue.complete(first.token, NOW + 20)
    queue.abandon(second.token, NOW + 20)

    assert taken(queue, NOW + 20) == []
    assert queue.quota.messages == 0


def test_a_deferred_message_comes_only_to_who_asks_for_its_number():
    queue = queue_of("a", "b")
    number = queue.take(NOW).sequence
    queue.defer(next(iter(queue.locks)).token, NOW)

    assert taken(queue) == ["b"]
    [kept] = queue.take_deferred([number], NOW)
    assert (text_of(kept), kept.state, kept.attempts) == ("a", State.DEFERRED, 1)
    with refused("message-not-found"):
        queue.take_deferred([number], NOW)
    queue.complete(kept.token, NOW)
    with refused("message-not-found"):
        queue.take_deferred([number], NOW)


def test_a_deferred_message_whose_lock_ends_is_deferred_still():
    queue = queue_of("a", ttl_s=10)
    kept = queue.take(NOW)
    queue.defer(kept.token, NOW)
    queue.take_deferred([1], NOW + 50)

    assert taken(queue, NOW + 200) == []

    assert text_of(*queue.take_deferred([1], NOW + 200, for_good=True)) == "a"
    assert queue.quota.messages == 0


def test_deferred_messages_are_fetched_all_or_none():
    queue = queue_of("a", "b")
    queue.defer(queue.take(NOW).token, NOW)

    with refused("message 2"):
        queue.take_deferred([1, 2], NOW)

    assert len(queue.take_deferred([1, 1], NOW)) == 1


def test_a_scheduled_message_comes_at_its_time_as_if_it_were_sent_then():
    queue = queue_of()
    [number] = queue.send([letter("later", at=NOW + 10, ttl_s=5)], NOW)
    queue.send([letter("now")], NOW)

    assert queue.next_due() == NOW + 10
    assert taken(queue, NOW + 9.9) == ["now"]
    kept = queue.take(NOW + 10)

    assert text_of(kept) == "later"
    assert kept.sequence > number
    assert (kept.enqueued_at, kept.expires_at) == (NOW + 10, NOW + 15)


def test_scheduled_messages_are_cancelled_all_or_none():
    queue = queue_of()
    numbers = queue.send([letter("a", at=NOW + 10), letter("b", at=NOW + 10)], NOW)

    with refused("message-not-found"):
        queue.cancel([*numbers, 99], NOW)
    assert queue.counts()["scheduled"] == 2
    queue.cancel([*numbers, *numbers], NOW)

    assert taken(queue, NOW + 20) == []
    assert queue.quota.messages == 0


def test_what_is_peeked_at_stays_whatever_its_state():
    queue = queue_of("ready", "locked", "deferred")
    ready, _, deferred = queue.take(NOW), queue.take(NOW), queue.take(NOW)
    queue.abandon(ready.token, NOW)
    queue.defer(deferred.token, NOW)
    queue.send([letter("scheduled", at=NOW + 10)], NOW)

    assert [text_of(kept) for kept in queue.peek(1, None, NOW)] == ["ready", "locked", "deferred", "scheduled"]
    assert [kept.sequence for kept in queue.peek(3, None, NOW)] == [3, 4]
    assert queue.counts() == {"ready": 1, "locked": 1, "deferred": 1, "scheduled": 1}


def test_what_was_seen_within_the_window_is_taken_once():
    queue = queue_of(duplicate_window_s=10)

    assert len(queue.send([letter("a", id="1"), letter("b", id="1"), letter("c"), letter("d")], NOW)) == 3
    assert queue.send([letter("again", id="1")], NOW + 9) == []
    assert len(queue.send([letter("new", id="1")], NOW + 10)) == 1

    assert taken(queue, NOW + 10) == ["a", "c", "d", "new"]


def test_without_a_window_nothing_is_a_duplicate():
    assert len(queue_of().send([letter("a", id="1"), letter("b", id="1")], NOW)) == 2


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


def test_what_expired_takes_no_room():
    queue = queue_of(messages_max=1, ttl_s=10)
    queue.send([letter("a")], NOW)

    queue.send([letter("b")], NOW + 10)

    assert taken(queue, NOW + 10) == ["b"]


def test_dead_and_scheduled_messages_take_room_too():
    queue = queue_of("a", messages_max=2)
    queue.bury(queue.take(NOW).token, NOW, "", "")
    queue.send([letter("later", at=NOW + 10)], NOW)

    with refused("resource-limit-exceeded"):
        queue.send([letter("b")], NOW)
    queue.dead_letters.take(NOW, for_good=True)

    queue.send([letter("b")], NOW)


def test_a_token_that_locks_nothing_is_refused_by_all():
    queue = queue_of("a")
    for settle in (queue.complete, queue.abandon, queue.defer, lambda token, now: queue.bury(token, now, "", "")):
        with refused("message-lock-lost"):
            settle(uuid4(), NOW)


def test_who_waits_is_told_when_a_message_becomes_free():
    told = []
    queue = queue_of()
    queue.changed, queue.dead_letters.changed = (lambda: told.append("queue")), (lambda: told.append("dead"))

    queue.send([letter("a")], NOW)
    queue.take(NOW)
    queue.advance(NOW + 60)
    queue.bury(queue.take(NOW + 60).token, NOW + 60, "", "")

    assert told == ["queue", "queue", "dead"]

"""Sessions of a queue: one receiver at a time, in order, with a state."""

import pytest

from hive_mind.devbroker.amqp.error import AmqpError
from hive_mind.devbroker.servicebus.locks import STATE_BYTES_MAX, STATES_MAX, Sessions
from hive_mind.devbroker.servicebus.queue import Queue
from hive_mind.devbroker.servicebus.settings import QueueSettings
from tests.unit.devbroker.letters import letter, text_of

NOW = 1_000.0


def queue_of(*texts_and_sessions, **settings):
    queue = Queue("orders", QueueSettings(lock_s=60, requires_session=True, **settings))
    queue.send([letter(text, session=session) for text, session in texts_and_sessions], NOW)
    return queue


def refused(condition):
    return pytest.raises(AmqpError, match=condition)


def test_who_holds_a_session_gets_its_messages_only_and_in_order():
    queue = queue_of(("a1", "a"), ("b1", "b"), ("a2", "a"))

    lease = queue.accept("a", NOW)

    assert [text_of(queue.take(NOW, lease)) for _ in range(3)] == ["a1", "a2", ""]
    with refused("session-cannot-be-locked"):
        queue.accept("a", NOW)
    assert text_of(queue.take(NOW, queue.accept("b", NOW))) == "b1"


def test_a_message_without_a_session_is_refused_and_with_it_its_batch():
    queue = queue_of()

    with refused("needs a session id"):
        queue.send([letter("a", session="a"), letter("b")], NOW)

    assert queue.quota.messages == 0


def test_free_sessions_are_those_with_ready_messages_that_nobody_holds():
    queue = queue_of(("a1", "a"), ("b1", "b"))
    assert queue.free_session(NOW) == "a"

    lease = queue.accept("a", NOW)
    assert queue.free_session(NOW) == "b"
    queue.take(NOW, queue.accept("b", NOW))
    assert queue.free_session(NOW) is None

    queue.release(lease, NOW)
    assert queue.free_session(NOW) == "a"


def test_a_session_without_messages_is_not_free_but_can_be_named():
    queue = queue_of(("a1", "a"))
    lease = queue.accept("a", NOW)
    queue.complete(queue.take(NOW, lease).token, NOW)

    queue.release(lease, NOW)

    assert queue.free_session(NOW) is None
    assert queue.accept("a", NOW).session == "a"


def test_a_session_that_is_let_go_gives_back_what_was_not_settled_uncounted():
    queue = queue_of(("a1", "a"), ("a2", "a"), ("a3", "a"), deliveries_max=1)
    lease = queue.accept("a", NOW)
    first, _ = queue.take(NOW, lease), queue.take(NOW, lease)
    queue.complete(first.token, NOW)

    queue.release(lease, NOW)

    again = queue.accept("a", NOW)
    kept = queue.take(NOW, again)
    assert (text_of(kept), kept.attempts) == ("a2", 0)


def test_when_the_lease_ends_so_do_all_locks_and_that_counts():
    queue = queue_of(("a1", "a"))
    lease = queue.accept("a", NOW)
    kept = queue.take(NOW, lease)
    token = kept.token
    assert queue.locked_until(kept) == NOW + 60

    queue.advance(NOW + 60)

    assert not queue.sessions.holds(lease)
    with refused("message-lock-lost"):
        queue.complete(token, NOW + 60)
    with refused("session-lock-lost"):
        queue.take(NOW + 60, lease)
    assert queue.take(NOW + 60, queue.accept("a", NOW + 60)).attempts == 1


def test_who_lets_go_too_late_had_lost_it_before():
    queue = queue_of(("a1", "a"))
    lease = queue.accept("a", NOW)
    queue.take(NOW, lease)

    queue.release(lease, NOW + 60)

    assert queue.take(NOW + 60, queue.accept("a", NOW + 60)).attempts == 1


def test_a_lost_lease_lets_go_of_nothing():
    queue = queue_of(("a1", "a"))
    lost = queue.accept("a", NOW)
    other = queue.accept("a", NOW + 60)
    queue.take(NOW + 60, other)

    queue.release(lost, NOW + 61)

    assert queue.sessions.holds(other)
    assert queue.counts()["locked"] == 1


def test_renewing_the_lease_keeps_the_messages_locked():
    queue = queue_of(("a1", "a"))
    kept = queue.take(NOW, queue.accept("a", NOW))

    assert queue.sessions.renew("a", NOW + 50) == NOW + 110
    assert queue.next_due() == NOW + 110

    queue.complete(kept.token, NOW + 109)
    with refused("renew the lock of the session"):
        queue.renew([kept.token], NOW + 109)


def test_deferred_messages_need_their_session():
    queue = queue_of(("a1", "a"))
    lease = queue.accept("a", NOW)
    queue.defer(queue.take(NOW, lease).token, NOW)
    queue.release(lease, NOW)

    with refused("session-lock-lost"):
        queue.take_deferred([1], NOW)

    queue.accept("a", NOW)
    assert len(queue.take_deferred([1], NOW)) == 1


def test_dead_letters_of_sessions_are_received_without_a_session():
    queue = queue_of(("a1", "a"))
    queue.bury(queue.take(NOW, queue.accept("a", NOW)).token, NOW, "why", "")

    assert text_of(queue.dead_letters.take(NOW)) == "a1"


def test_the_state_of_a_session_outlives_its_leases_and_is_forgotten_with_none():
    sessions = Sessions(60)
    sessions.set_state("a", b"half done", NOW)

    assert (sessions.state("a"), sessions.state("b")) == (b"half done", None)
    assert list(sessions.stored_since(NOW - 1)) == ["a"]
    assert list(sessions.stored_since(NOW)) == []

    sessions.set_state("a", None, NOW)
    sessions.set_state("a", None, NOW)
    assert sessions.state("a") is None


def test_states_are_limited_in_size_and_number():
    sessions = Sessions(60)
    with refused("at most"):
        sessions.set_state("a", bytes(STATE_BYTES_MAX + 1), NOW)
    sessions.set_state("s0", bytes(STATE_BYTES_MAX), NOW)
    for number in range(STATES_MAX):
        sessions.set_state(f"s{number}", b"", NOW)

    with refused("resource-limit-exceeded"):
        sessions.set_state("one more", b"", NOW)
    sessions.set_state("s0", b"new", NOW)


def test_active_sessions_have_messages_or_a_state():
    queue = queue_of(("a1", "a"), ("b1", "b"), ("a2", "a"))
    queue.sessions.set_state("c", b"x", NOW)
    queue.accept("d", NOW)

    assert list(queue.active_sessions()) == ["a", "b", "c"]

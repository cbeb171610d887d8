"""Microsoft's own client over the broker: sessions."""

import datetime as dt

import pytest

pytest.importorskip("azure.servicebus")

from azure.servicebus import NEXT_AVAILABLE_SESSION, AutoLockRenewer, ServiceBusMessage
from azure.servicebus.exceptions import OperationTimeoutError, SessionCannotBeLockedError, SessionLockLostError

from tests.unit.devbroker.servicebus.sdk import PATIENCE_S, is_empty, one, receive, texts_of

# A client needs half a second to open and another to close each receiver.
pytestmark = pytest.mark.slow


def test_a_session_belongs_to_one_receiver_and_comes_in_order(client, queue_of):
    name = queue_of(RequiresSession=True)
    client.sender(name).send_messages(
        [ServiceBusMessage(text, session_id=session) for session, text in (("s1", "a1"), ("s2", "b1"), ("s1", "a2"))]
    )

    holder, other = client.receiver(name, session_id="s1"), client.receiver(name, session_id=NEXT_AVAILABLE_SESSION)

    assert texts_of(receive(holder, 2)) == ["a1", "a2"]
    assert str(one(other)) == "b1"
    assert other.session.session_id == "s2"
    with pytest.raises(SessionCannotBeLockedError):
        one(client.receiver(name, session_id="s1"))


def test_a_session_that_is_let_go_is_free_at_once_with_its_state_and_its_messages(client, queue_of):
    name = queue_of(RequiresSession=True)
    client.send(name, "a", session_id="s")

    with client.receiver(name, session_id="s") as first:
        one(first)
        first.session.set_state("half done")
        assert first.session.get_state() == b"half done"

    second = client.receiver(name, session_id=NEXT_AVAILABLE_SESSION)
    got = one(second)
    assert (str(got), got.delivery_count, second.session.get_state()) == ("a", 0, b"half done")
    second.complete_message(got)


def test_a_renewed_session_is_kept(client, queue_of):
    name = queue_of(RequiresSession=True, LockDuration=3.0)
    client.send(name, "a", session_id="s")

    receiver = client.receiver(name, session_id="s")
    got = one(receiver)
    before = receiver.session.locked_until_utc
    assert receiver.session.renew_lock() > before
    with AutoLockRenewer() as renewer:
        renewer.register(receiver, receiver.session, max_lock_renewal_duration=60)
        while dt.datetime.now(dt.UTC) < before + dt.timedelta(seconds=0.5):
            assert is_empty(receiver)
    receiver.complete_message(got)


def test_who_waits_for_a_session_gets_the_first_that_becomes_free(client, queue_of):
    name = queue_of(RequiresSession=True)

    with pytest.raises(OperationTimeoutError):
        one(client.receiver(name, session_id=NEXT_AVAILABLE_SESSION, max_wait_time=0.3))

    soon = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=1.5)
    client.sender(name).schedule_messages(ServiceBusMessage("a", session_id="s"), soon)
    waiting = client.receiver(name, session_id=NEXT_AVAILABLE_SESSION)
    assert texts_of(waiting.receive_messages(1, max_wait_time=PATIENCE_S)) == ["a"]


def test_a_session_is_lost_when_its_lock_ends(client, queue_of):
    name = queue_of(RequiresSession=True, LockDuration=2.0)
    client.send(name, "a", session_id="s")

    loser = client.receiver(name, session_id="s")
    got = one(loser)
    again = one(client.receiver(name, session_id=NEXT_AVAILABLE_SESSION))

    assert again.delivery_count == 1
    with pytest.raises(SessionLockLostError):
        loser.complete_message(got)


def test_sessions_can_be_listed(client, queue_of):
    name = queue_of(RequiresSession=True)
    client.send(name, "a", session_id="s1")
    client.send(name, "b", session_id="s2")

    assert list(client.list_queue_sessions(name)) == ["s1", "s2"]

"""A queue as clients reach it, over played links and a clock the test turns."""

import datetime as dt
from uuid import UUID

import pytest

from hive_mind.devbroker.amqp.encoding import encode
from hive_mind.devbroker.amqp.error import AmqpError
from hive_mind.devbroker.amqp.sections import BATCH_FORMAT, DATA, MESSAGE_ID, value_message
from hive_mind.devbroker.entity import Outcome
from hive_mind.devbroker.servicebus.queue import Queue
from hive_mind.devbroker.servicebus.queue_entity import QueueEntity
from hive_mind.devbroker.servicebus.session_links import SESSION_FILTER
from hive_mind.devbroker.servicebus.settings import QueueSettings
from tests.unit.devbroker.letters import TurnedHost, letter
from tests.unit.devbroker.links import ABANDONED, ACCEPTED, DEFERRED, RELEASED, PlayedLink, message


def entity_of(*texts, host=None, **settings):
    entity = QueueEntity(host or TurnedHost(), Queue("q", QueueSettings(lock_s=60, **settings)))
    for text in texts:
        entity.on_message(PlayedLink(receives=False), message(text), 0)
    return entity


def put_in_session(entity, session, *texts):
    host = entity._host
    entity.queue.send([letter(text, session=session) for text in texts], host.now())
    host.run()


def session_link(session=None, credit=5, **properties):
    return PlayedLink(filters={SESSION_FILTER: session}, credit=credit, properties=properties)


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


def test_each_delivery_carries_its_lock_and_its_numbers():
    entity = entity_of("a")
    link = PlayedLink(credit=1).attach(entity)

    [(sent, tag, _)] = link.sent
    notes = sent.annotation_map

    assert UUID(bytes_le=tag) == link.unsettled[0]
    assert (notes["x-opt-sequence-number"], notes["x-opt-enqueue-sequence-number"]) == (1, 1)
    assert notes["x-opt-locked-until"] == int((entity._host.now() + 60) * 1000)
    assert sent.header_fields[4] == 0


def test_where_sessions_are_not_required_a_session_id_is_just_a_property():
    entity = entity_of()
    put_in_session(entity, "s", "a")

    link = PlayedLink(credit=1).attach(entity)

    assert link.sent[0][0].annotation_map["x-opt-locked-until"] == int((entity._host.now() + 60) * 1000)
    link.settle()


@pytest.mark.parametrize(("outcome", "attempts"), [(ABANDONED, 1), (RELEASED, 0)])
def test_what_is_given_back_comes_again(outcome, attempts):
    entity = entity_of("a")
    link = PlayedLink(credit=2).attach(entity)

    link.settle(outcome)
    entity._host.run()

    assert link.texts == ["a", "a"]
    assert link.sent[1][0].header_fields[4] == attempts


def test_what_was_completed_or_put_aside_does_not_come_again():
    entity = entity_of("a", "b", "c")
    link = PlayedLink(credit=9).attach(entity)

    link.settle()
    link.settle(DEFERRED)
    link.settle(Outcome("rejected", info={b"DeadLetterReason": b"why"}))
    entity._host.run(3600)

    assert link.texts == ["a", "b", "c"]
    assert entity.queue.counts() == {"ready": 0, "locked": 0, "deferred": 1, "scheduled": 0}
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


def test_receive_and_delete_sends_settled_and_keeps_nothing():
    entity = entity_of("a")

    link = PlayedLink(credit=1, is_presettled=True).attach(entity)

    assert (link.texts, link.unsettled, entity.queue.quota.messages) == (["a"], {}, 0)


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


def test_a_scheduled_message_wakes_a_receiver_at_its_time():
    entity = entity_of()
    link = PlayedLink(credit=1).attach(entity)
    entity.queue.send(
        [letter("late", at=entity._host.now() + 30), letter("early", at=entity._host.now() + 10)], entity._host.now()
    )

    entity._host.run(9)
    assert link.sent == []
    entity._host.run(2)

    assert len(link.sent) == 1


def test_sessions_are_dealt_to_who_names_them_and_to_who_takes_any():
    entity = entity_of(requires_session=True)
    put_in_session(entity, "s1", "a1", "a2")
    put_in_session(entity, "s2", "b1")

    named, any_one = session_link("s2").attach(entity), session_link().attach(entity)

    assert (len(named.sent), len(any_one.sent)) == (1, 2)
    assert any_one.answer_filters == {SESSION_FILTER: "s1"}
    ticks = any_one.answer_properties["com.microsoft:locked-until-utc"]
    until = dt.datetime(1, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=ticks // 10)
    assert until.timestamp() == entity._host.now() + 60
    with pytest.raises(AmqpError, match="session-cannot-be-locked"):
        session_link("s1").attach(entity)


def test_who_waits_for_any_session_is_answered_when_one_is_there_first_come_first_served():
    entity = entity_of(requires_session=True)
    first, second = session_link().attach(entity), session_link().attach(entity)
    assert first.is_waiting
    assert second.is_waiting

    put_in_session(entity, "s", "a")
    assert (first.is_waiting, second.is_waiting) == (False, True)
    first.close()
    entity._host.run()

    assert not second.is_waiting
    assert [len(link.sent) for link in (first, second)] == [1, 1]
    assert second.sent[0][0].header_fields[4] == 0


def test_who_waits_in_vain_is_refused_in_the_time_it_said():
    entity = entity_of(requires_session=True)
    link = session_link(**{"com.microsoft:timeout": 2000}).attach(entity)

    entity._host.run(1.9)
    assert link.is_waiting
    entity._host.run(0.2)

    assert link.error.condition == "com.microsoft:timeout"
    put_in_session(entity, "s", "a")
    assert link.sent == []


def test_who_went_away_while_waiting_gets_no_session():
    entity = entity_of(requires_session=True)
    session_link().attach(entity).close()

    put_in_session(entity, "s", "a")

    assert entity.queue.free_session(entity._host.now()) == "s"


def test_a_session_whose_lock_ended_is_taken_from_its_link():
    entity = entity_of(requires_session=True)
    put_in_session(entity, "s", "a")
    loser, next_one = (
        session_link("s", credit=1).attach(entity),
        session_link(**{"com.microsoft:timeout": 100_000}).attach(entity),
    )

    entity._host.run(61)

    assert loser.error.condition == "com.microsoft:session-lock-lost"
    assert not next_one.is_waiting
    assert next_one.sent[0][0].header_fields[4] == 1


def test_links_that_do_not_fit_are_refused():
    plain, with_sessions = entity_of(), entity_of(requires_session=True)
    for link, entity, complaint in [
        (PlayedLink(), with_sessions, "requires sessions"),
        (session_link("s"), plain, "has no sessions"),
        (PlayedLink(receives=False), plain.dead_letters, "nobody sends to dead letters"),
    ]:
        with pytest.raises(AmqpError, match=complaint):
            link.attach(entity)
    session_link(None).attach(plain.dead_letters)


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

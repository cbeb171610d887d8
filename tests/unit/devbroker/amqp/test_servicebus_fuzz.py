"""Whatever a client sends or asks, in whatever types: it is done or refused, never anything else."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hive_mind.devbroker.amqp import AmqpError, Symbol, described, encode
from hive_mind.devbroker.amqp.decoding import DecodeError
from hive_mind.devbroker.amqp.entity import (
    ANNOTATIONS,
    BATCH_FORMAT,
    HEADER,
    PROPERTIES,
    DeliveryOutcome,
    annotations_section,
    split,
    value_message,
)
from hive_mind.devbroker.servicebus.namespace import OPERATIONS, Namespace
from tests.unit.devbroker.letters import TurnedHost
from tests.unit.devbroker.links import PlayedLink, message
from tests.unit.devbroker.values import VALUES

pytestmark = pytest.mark.slow

PARAMETERS = st.sampled_from(
    "lock-tokens message-count from-sequence-number disposition-status deadletter-reason deadletter-description".split()
)
BODIES = st.recursive(
    VALUES,
    lambda inner: st.dictionaries(
        PARAMETERS, inner | st.lists(st.dictionaries(PARAMETERS, inner, max_size=2), max_size=2), max_size=4
    ),
    max_leaves=6,
)


def world():
    names = Namespace(TurnedHost())
    names.add_topic("t")
    return [names.add_queue("q"), names.find("t"), names.add_subscription("t", "all"), names.find("q/$DeadLetterQueue")]


@given(operation=st.sampled_from([*OPERATIONS, "", "fly"]) | VALUES, body=BODIES)
def test_any_request_is_answered_or_refused(operation, body):
    request = split(value_message(body, application={"operation": operation}))
    for entity in world():
        try:
            reply = entity.manage(request)
        except (AmqpError, DecodeError):
            continue
        encode(reply.body)


@given(
    header=st.lists(VALUES, max_size=5),
    notes=st.dictionaries(st.sampled_from(["x-opt-scheduled-enqueue-time", "x-opt-lock-token"]).map(Symbol), VALUES),
    properties=st.lists(VALUES, max_size=13),
    application=st.dictionaries(st.text(max_size=3) | st.binary(max_size=3), VALUES, max_size=3),
)
def test_any_message_is_taken_or_refused_and_what_was_taken_can_be_received(header, notes, properties, application):
    payload = described(HEADER, map(encode, header)) + annotations_section(ANNOTATIONS, notes)
    payload += described(PROPERTIES, map(encode, properties)) + value_message("x", application=application)
    queue, topic, subscription, dead = world()
    receivers = [PlayedLink(credit=3).attach(queue), PlayedLink(credit=3).attach(subscription)]

    for entity in (queue, topic):
        for fmt in (0, BATCH_FORMAT):
            try:
                entity.on_message(PlayedLink(receives=False), payload, fmt)
            except (AmqpError, DecodeError):
                continue
    queue._host.run(1)

    for link in receivers:
        while link.unsettled:
            link.settle(DeliveryOutcome("rejected", info={"DeadLetterReason": "why"}))
    PlayedLink(credit=3, is_presettled=True).attach(dead)


@settings(deadline=None)
@given(
    kind=st.sampled_from(["accepted", "rejected", "released", "modified"]),
    info=st.dictionaries(st.text(max_size=3) | st.just("DeadLetterReason") | st.binary(max_size=3), VALUES, max_size=3),
)
def test_any_outcome_is_an_end_of_the_delivery(kind, info):
    queue = world()[0]
    queue.on_message(PlayedLink(receives=False), message("x"), 0)
    PlayedLink(credit=1).attach(queue).settle(DeliveryOutcome(kind, info=info))
    assert queue.queue.counts()["locked"] == 0

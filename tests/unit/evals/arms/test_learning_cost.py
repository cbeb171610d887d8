"""What learning is said to take was measured, and what a message weighs does not depend on when it was sent."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from hive_mind.bus import EVERYONE, Envelope, type_of
from hive_mind.bus.codec import encode_message
from hive_mind.evals.arms.costs import Scales, memory_in_use, weight_of
from hive_mind.evals.arms.measured_worker import MemberTraffic
from hive_mind.evals.experiments import Arm
from hive_mind.model.evidence import HiveFact, Provenance, Stamp, Statement
from hive_mind.model.gathered import Anchors, Probe
from hive_mind.model.messages import (
    ClockSample,
    FactsReply,
    FactsRequest,
    Heartbeat,
    Message,
    PoolRequest,
    Receipt,
    Replicate,
    SyncOffer,
    SyncState,
    SyncStep,
)
from tests.unit.evals.arms.notes import drawn, told


def test_all_of_it_is_measured_where_facts_travel():
    learned = told(Arm("sharded", 6), drawn(), asked=slice(0)).learned

    assert learned.facts == 60
    assert learned.cpu_s is not None
    assert learned.wall_s is not None
    assert learned.replica_lag_s is not None
    assert 0 < learned.replica_lag_s < learned.wall_s


BY_THE_CLOCK: list[Message] = [
    SyncOffer(b"s", b"i", (), b"", ClockSample(1, 2)),
    SyncState(b"s", b"i", b"j", ClockSample(1, 2)),
    SyncStep(b"s", b"i", b"j", "p0001"),
    Heartbeat(b"i", 1, 1),
]
OF_FACTS: list[Message] = [Replicate("parcel", ()), Receipt("parcel")]


def test_what_is_said_because_it_was_time_belongs_to_no_fact():
    scales, question = Scales(4), FactsRequest("0" * 16, ("1" * 32,), 2_000)
    scales.is_on = True

    def see(*messages: Message, to: tuple[str, ...] = ("a", "b")) -> None:
        for message in messages:
            scales.see(Envelope("id", "hive", "me", to, type_of(message), message))

    see(*BY_THE_CLOCK, *OF_FACTS)
    assert scales.weighed(only_questions=False) == (4, 2 * sum(map(weight_of, OF_FACTS)))
    see(*BY_THE_CLOCK, *OF_FACTS, question)
    assert scales.weighed(only_questions=True) == (2, 2 * weight_of(question))
    see(OF_FACTS[0], to=EVERYONE)
    assert scales.weighed(only_questions=False)[0] == 3


def test_a_process_of_members_leaves_out_the_same():
    traffic, question = MemberTraffic(), FactsRequest("0" * 16, ("1" * 32,), 2_000)

    sent = (*BY_THE_CLOCK, *OF_FACTS, question)
    traffic.count([Envelope("id", "hive", "me", ("a", "b"), type_of(message), message) for message in sent])

    assert traffic.learning == (4, 2 * sum(map(weight_of, OF_FACTS)))
    assert traffic.asking() == (1, weight_of(question))


def test_learning_costs_the_same_each_time_and_in_each_place():
    scope = drawn(120)
    here = Arm("sharded", 6, replicas=2)

    once, again = (told(here, scope, asked=slice(0)).learned for _ in range(2))
    elsewhere = told(replace(here, place="simulator"), scope, asked=slice(0)).learned

    assert (once.messages, once.bytes) == (again.messages, again.bytes)
    assert once.messages == elsewhere.messages


def test_one_memory_has_no_replica_that_could_lag_and_no_messages_to_count():
    learned = told(Arm("single"), drawn(), asked=slice(0)).learned

    assert (learned.messages, learned.bytes, learned.replica_lag_s) == (None, None, None)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells the proportional set size")
def test_memory_in_use_grows_by_what_is_used():
    before = memory_in_use()
    held = np.ones(8_000_000)
    after = memory_in_use()

    assert before is not None
    assert after is not None
    assert after - before == pytest.approx(held.nbytes, rel=0.1)


def test_a_question_weighs_the_same_whichever_it_is_and_however_much_time_is_left():
    pump, door = Probe(("pump",), Anchors()), Probe(("pump", "door"), Anchors())
    first, late = PoolRequest("a1", "set0", 1, pump, 60_000), PoolRequest("a" * 40, "set0", 1, pump, 3)

    assert weight_of(first) == weight_of(late)
    assert weight_of(first) != weight_of(PoolRequest("a1", "set0", 1, door, 60_000))


def test_a_reply_weighs_the_same_whenever_its_facts_were_shared():
    def reply(counter: int) -> FactsReply:
        evidence = Provenance("agent-0", "notes", 0.8, Stamp(1_790_000_000_000, counter, b"12345678"))
        return FactsReply("q", (HiveFact("0" * 32, Statement("The pump is red."), (evidence,), 0.8, 0, 1.0),))

    assert len(encode_message(reply(0))) != len(encode_message(reply(70_000)))
    assert weight_of(reply(0)) == weight_of(reply(70_000))


def test_what_it_weighs_is_what_it_is_on_the_wire():
    request = FactsRequest("0" * 16, ("1" * 32,), 2_000)

    assert weight_of(request) == len(encode_message(request))

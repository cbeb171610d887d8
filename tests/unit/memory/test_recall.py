"""What an awake memory holds in RAM stays as large as what it knows, however often that changes."""

from dataclasses import replace

import numpy as np
import pytest

from hive_mind.memory.recall import Recall
from hive_mind.model.fact import Fact, Sharing
from hive_mind.model.gathered import NOWHERE
from hive_mind.model.ids import fact_id
from hive_mind.model.query import Query
from hive_mind.ranking.form import KnownTerms
from hive_mind.ranking.vector import ExactVectors

VECTORS = {"on": np.array([1, 0], np.float32), "off": np.array([0, 1], np.float32)}


def fact(content: str, **fields) -> Fact:
    return Fact(fact_id(content), content, "", 0.8, ("log",), 1, **fields)


ON, OFF, DOOR = fact("The pump is on."), fact("The pump is off."), fact("The door is red.")


def toggled(recall: Recall, times: int) -> None:
    for number in range(times):
        now, before = (ON, OFF) if number % 2 else (OFF, ON)
        recall.keep(now)
        recall.keep(replace(before, superseded_by=now.id))


@pytest.mark.parametrize("times", [1_000, 2_001])
def test_what_holds_in_turn_takes_no_more_room_the_longer_it_does(times):
    recall = Recall(lambda: ExactVectors(2))
    recall.keep(DOOR, VECTORS["on"])
    recall.keep(ON, VECTORS["on"])
    recall.keep(OFF, VECTORS["off"])

    toggled(recall, times)

    assert len(recall.current._ids) + len(recall.past._ids) < 700
    now, before = (OFF, ON) if times % 2 else (ON, OFF)
    assert [hit.fact.id for hit in recall.search(Query("pump"), None)] == [now.id]
    with_past = recall.search(Query("pump", with_superseded=True), None)
    assert {hit.fact.id for hit in with_past} == {now.id, before.id}
    assert recall.past.vector(before.id) is not None
    assert recall.current.vector(DOOR.id) is not None
    assert list(recall.without_vector()) == []


def test_what_was_taken_back_stays_out_when_the_rest_is_made_anew():
    recall = Recall(lambda: None)
    for number in range(400):
        one = fact(f"Thing {number} is here.")
        recall.keep(one)
        recall.keep(replace(one, sharing=Sharing.RETRACTED))
    recall.keep(DOOR)

    assert len(recall.current._ids) < 300
    assert [hit.fact.id for hit in recall.search(Query("thing door"), None)] == [DOOR.id]


@pytest.mark.parametrize("is_loaded", [False, True])
def test_places_are_known_of_what_was_said_in_a_conversation_kept_or_loaded(is_loaded):
    recall, turn = Recall(lambda: None), fact("Ana: I sold it.", speaker="Ana", said_at="2023-05-08")
    assert recall.places([DOOR.id]) == b""
    if is_loaded:
        list(recall.load([DOOR, turn], {}, KnownTerms()))
    else:
        recall.keep(DOOR)
        assert recall.places([DOOR.id]) == b""
        recall.keep(turn)

    assert len(recall.places([DOOR.id, turn.id])) == 2 * len(NOWHERE)
    assert recall.places([DOOR.id]) == b""


def test_five_further_sources_are_complete_confirmation():
    recall = Recall(lambda: None)
    sources = [replace(fact(f"Told by {count}."), sources=tuple(map(str, range(count)))) for count in (1, 3, 6, 9)]
    for one in sources:
        recall.keep(one)

    support = recall.support([one.id for one in sources])

    assert support.confirmations.tolist() == [0.0, 0.4, 1.0, 1.0]
    assert support.confidence.tolist() == [0.8] * 4

"""What stands behind facts is looked up by where they lie."""

import numpy as np

from hive_mind.hive.index.compacting_index import Columns
from hive_mind.model.probe import NOWHERE

TRUST = {("ada",): 0.5, ("ada", "bob"): 0.75, ("bob",): 0.25}


def nowhere(_: int) -> bytes:
    return NOWHERE


def test_candidates_get_what_was_put_at_their_positions_in_their_order():
    columns = Columns()
    columns.put(0, 0.0, 0.5, ("ada",))
    columns.put(1, 0.25, 1.0, ("ada", "bob"))
    columns.put(2, 0.5, 0.125, ("ada",))

    found = columns.at(np.array([2, 1]), TRUST.__getitem__, nowhere)

    assert found.confirmations.tolist() == [0.5, 0.25]
    assert found.confidence.tolist() == [0.125, 1.0]
    assert found.trust.tolist() == [0.5, 0.75]
    assert {column.dtype for column in (found.confirmations, found.confidence, found.trust)} == {np.dtype(np.float32)}


def test_what_is_put_again_replaces_what_was_there_and_moves_nobody():
    columns = Columns()
    for position in (0, 1):
        columns.put(position, 0.0, 0.5, ("ada",))
    columns.at(np.array([0]), TRUST.__getitem__, nowhere)

    columns.put(0, 0.5, 0.75, ("bob",))

    found = columns.at(np.array([0, 1]), TRUST.__getitem__, nowhere)
    assert (found.confirmations.tolist(), found.confidence.tolist()) == ([0.5, 0.0], [0.75, 0.5])
    assert found.trust.tolist() == [0.25, 0.5]


def test_trust_is_asked_once_until_it_may_have_changed():
    columns, asked = Columns(), []
    columns.put(0, 0.0, 0.5, ("ada",))

    def trust_of(voices: tuple[str, ...]) -> float:
        asked.append(voices)
        return len(asked) / 4

    first = [columns.at(np.array([0]), trust_of, nowhere).trust.tolist() for _ in range(2)]
    columns.forget_trust()

    assert [*first, columns.at(np.array([0]), trust_of, nowhere).trust.tolist()] == [[0.25], [0.25], [0.5]]


def test_nothing_found_needs_nothing_put():
    found = Columns().at(np.array([], dtype=np.int64), TRUST.__getitem__, nowhere)
    assert len(found.confirmations) == len(found.trust) == len(found.confidence) == 0


def test_where_a_candidate_was_said_is_asked_once_until_it_is_put_again():
    columns, asked = Columns(), []
    for position in (0, 1, 2):
        columns.put(position, 0.0, 0.5, ("ada",))

    def place_of(number: int) -> bytes:
        asked.append(number)
        return bytes([number + 1]) * len(NOWHERE)

    first = columns.at(np.array([2, 1]), TRUST.__getitem__, place_of).places
    again = columns.at(np.array([1, 2]), TRUST.__getitem__, place_of).places
    columns.put(1, 0.0, 0.5, ("ada",))
    put = columns.at(np.array([1]), TRUST.__getitem__, place_of).places

    ones, twos = (bytes([number]) * len(NOWHERE) for number in (1, 2))
    assert [first, again, put] == [ones + twos, twos + ones, ones]
    assert asked == [0, 1, 0]


def test_candidates_without_a_place_travel_without_places():
    columns = Columns()
    columns.put(0, 0.0, 0.5, ("ada",))
    assert columns.at(np.array([0]), TRUST.__getitem__, nowhere).places == b""

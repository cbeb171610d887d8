"""What stands behind facts is looked up by where they lie."""

import numpy as np

from hive_mind.hive.index.columns import Columns

TRUST = {("ada",): 0.5, ("ada", "bob"): 0.75, ("bob",): 0.25}


def test_candidates_get_what_was_put_at_their_positions_in_their_order():
    columns = Columns()
    columns.put(0, 0.0, 0.5, ("ada",))
    columns.put(1, 0.25, 1.0, ("ada", "bob"))
    columns.put(2, 0.5, 0.125, ("ada",))

    found = columns.at(np.array([2, 1]), TRUST.__getitem__)

    assert found.confirmations.tolist() == [0.5, 0.25]
    assert found.confidence.tolist() == [0.125, 1.0]
    assert found.trust.tolist() == [0.5, 0.75]
    assert {column.dtype for column in (found.confirmations, found.confidence, found.trust)} == {np.dtype(np.float32)}


def test_what_is_put_again_replaces_what_was_there_and_moves_nobody():
    columns = Columns()
    for position in (0, 1):
        columns.put(position, 0.0, 0.5, ("ada",))
    columns.at(np.array([0]), TRUST.__getitem__)

    columns.put(0, 0.5, 0.75, ("bob",))

    found = columns.at(np.array([0, 1]), TRUST.__getitem__)
    assert (found.confirmations.tolist(), found.confidence.tolist()) == ([0.5, 0.0], [0.75, 0.5])
    assert found.trust.tolist() == [0.25, 0.5]


def test_trust_is_asked_once_until_it_may_have_changed():
    columns, asked = Columns(), []
    columns.put(0, 0.0, 0.5, ("ada",))

    def trust_of(voices: tuple[str, ...]) -> float:
        asked.append(voices)
        return len(asked) / 4

    first = [columns.at(np.array([0]), trust_of).trust.tolist() for _ in range(2)]
    columns.forget_trust()

    assert [*first, columns.at(np.array([0]), trust_of).trust.tolist()] == [[0.25], [0.25], [0.5]]


def test_nothing_found_needs_nothing_put():
    found = Columns().at(np.array([], dtype=np.int64), TRUST.__getitem__)

    assert len(found.confirmations) == len(found.trust) == len(found.confidence) == 0

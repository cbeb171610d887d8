"""A part of a replica stays as large as what is in it, and finds the same while it is made anew.

What stands behind facts is looked up by where they lie.
"""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from hive_mind.hive.compacting_index import Columns, CompactingIndex, Indexed, IndexedEvidence
from hive_mind.model.gathered import NOWHERE, Anchors, Probe
from hive_mind.model.ids import fact_id
from hive_mind.ranking.index import FactIndex
from hive_mind.ranking.tokens import tokenize
from hive_mind.ranking.vector import ExactVectors
from tests.hives import Hive, flat

WORDS = ("pump", "valve", "door", "red", "green", "open", "closed", "seal")

TRUST = {("ada",): 0.5, ("ada", "bob"): 0.75, ("bob",): 0.25}


def indexed(chance: Random) -> Indexed:
    vector = np.array([chance.gauss(0, 1) for _ in range(4)], np.float32)
    words = dict.fromkeys(tokenize(" ".join(chance.choices(WORDS, k=4))), 1.0)
    evidence = IndexedEvidence(chance.random(), chance.random(), (chance.choice("abc"), "d"))
    return Indexed(words, vector / np.linalg.norm(vector), evidence)


def part_of(facts: dict[str, Indexed]) -> CompactingIndex:
    return CompactingIndex(lambda: FactIndex(ExactVectors(4)), facts.__getitem__)


def places(part: CompactingIndex) -> int:
    return len(part.index._ids)


def found(part: CompactingIndex) -> dict[str, tuple[float, ...]]:
    """Every score and all evidence of what is found, by id."""
    query = Probe(("pump", "red"), Anchors((("door",),)), np.array([1, 0, 0, 0], np.float32), 20)
    pool, positions = part.index.found(query)
    behind = part.columns.at(positions, lambda agents: float(len(agents)) + agents[0].encode()[0], lambda _: NOWHERE)
    columns = (pool.keyword, pool.semantic, pool.exact, behind.confirmations, behind.trust, behind.confidence)
    return {id: tuple(float(column[row]) for column in columns) for row, id in enumerate(pool.ids)}


@pytest.mark.parametrize("seed", range(2))
def test_facts_that_come_go_and_change_are_found_as_in_a_part_made_of_them_at_once(seed):
    chance, facts = Random(seed), dict[str, Indexed]()
    part, most = part_of(facts), 0
    for number in range(3_000):
        if len(facts) > 60:
            gone = chance.choice(list(facts))
            part.remove(gone, facts.pop(gone).terms)
        id = fact_id(str(chance.randrange(500)))
        if id in facts:
            facts[id] = replace(facts[id], evidence=indexed(chance).evidence)
            part.note(id, facts[id].evidence)
        else:
            facts[id] = indexed(chance)
            part.add(id, facts[id])
        if number % 7 == 0:
            part.renew_some(2)
        most = max(most, places(part))
        if number % 250 == 0:
            fresh = part_of(facts)
            for one, its in facts.items():
                fresh.add(one, its)
            assert found(part) == found(fresh)
    assert most < 600


def test_whoever_has_time_brings_it_to_an_end():
    facts = {fact_id(str(number)): indexed(Random(number)) for number in range(600)}
    part = part_of(facts)
    for id, one in facts.items():
        part.add(id, one)
    for id in list(facts)[:430]:
        part.remove(id, facts.pop(id).terms)

    while part.renew_some(10):
        pass

    assert len(facts) == 170
    assert places(part) < 180


def test_a_hive_that_takes_back_as_much_as_it_is_told_stays_as_small_as_it_is():
    hive = Hive(flat("n0"))
    for number in range(400):
        content = f"Thing {number} is here."
        hive.say("n0", content, concept=f"thing {number}")
        hive.found("n0", content)
        hive.take_back("n0", fact_id(content))
        assert hive.found("n0", content) == []
    replica = hive.nodes["n0"].replica

    assert places(replica._home) < 300
    assert not replica._concepts._ids


def nowhere(_: int) -> bytes:
    return NOWHERE


def test_candidates_get_what_was_put_at_their_positions_in_their_order():
    columns = Columns()
    nothing = columns.at(np.array([], dtype=np.int64), TRUST.__getitem__, nowhere)
    assert len(nothing.confirmations) == len(nothing.trust) == len(nothing.confidence) == 0
    columns.put(0, IndexedEvidence(0.0, 0.5, ("ada",)))
    columns.put(1, IndexedEvidence(0.25, 1.0, ("ada", "bob")))
    columns.put(2, IndexedEvidence(0.5, 0.125, ("ada",)))

    found = columns.at(np.array([2, 1]), TRUST.__getitem__, nowhere)

    assert found.confirmations.tolist() == [0.5, 0.25]
    assert found.confidence.tolist() == [0.125, 1.0]
    assert found.trust.tolist() == [0.5, 0.75]
    assert {column.dtype for column in (found.confirmations, found.confidence, found.trust)} == {np.dtype(np.float32)}


def test_what_is_put_again_replaces_what_was_there_and_moves_nobody():
    columns = Columns()
    for position in (0, 1):
        columns.put(position, IndexedEvidence(0.0, 0.5, ("ada",)))
    columns.at(np.array([0]), TRUST.__getitem__, nowhere)

    columns.put(0, IndexedEvidence(0.5, 0.75, ("bob",)))

    found = columns.at(np.array([0, 1]), TRUST.__getitem__, nowhere)
    assert (found.confirmations.tolist(), found.confidence.tolist()) == ([0.5, 0.0], [0.75, 0.5])
    assert found.trust.tolist() == [0.25, 0.5]


def test_trust_is_asked_once_until_it_may_have_changed():
    columns, asked = Columns(), []
    columns.put(0, IndexedEvidence(0.0, 0.5, ("ada",)))

    def trust_of(voices: tuple[str, ...]) -> float:
        asked.append(voices)
        return len(asked) / 4

    first = [columns.at(np.array([0]), trust_of, nowhere).trust.tolist() for _ in range(2)]
    columns.forget_trust()

    assert [*first, columns.at(np.array([0]), trust_of, nowhere).trust.tolist()] == [[0.25], [0.25], [0.5]]


def test_where_a_candidate_was_said_is_asked_once_until_it_is_put_again():
    columns, asked = Columns(), []
    for position in (0, 1, 2):
        columns.put(position, IndexedEvidence(0.0, 0.5, ("ada",), has_place=True))

    def place_of(number: int) -> bytes:
        asked.append(number)
        return bytes([number + 1]) * len(NOWHERE)

    first = columns.at(np.array([2, 1]), TRUST.__getitem__, place_of).places
    again = columns.at(np.array([1, 2]), TRUST.__getitem__, place_of).places
    columns.put(1, IndexedEvidence(0.0, 0.5, ("ada",), has_place=True))
    put = columns.at(np.array([1]), TRUST.__getitem__, place_of).places

    ones, twos = (bytes([number]) * len(NOWHERE) for number in (1, 2))
    assert [first, again, put] == [ones + twos, twos + ones, ones]
    assert asked == [0, 1, 0]


def test_candidates_without_a_place_travel_without_places():
    columns = Columns()
    columns.put(0, IndexedEvidence(0.0, 0.5, ("ada",)))
    assert columns.at(np.array([0]), TRUST.__getitem__, nowhere).places == b""
    columns.put(1, IndexedEvidence(0.0, 0.5, ("ada",), has_place=True))
    assert columns.at(np.array([0]), TRUST.__getitem__, nowhere).places == b""

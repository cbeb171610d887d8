"""Facts as they follow from live assertions: what counts, where it counts, what is found, and in which state."""

from dataclasses import replace

import numpy as np
import pytest

from hive_mind.hive.policy.admission import DEPTH_MAX, answerable, is_comparable
from hive_mind.hive.replica import Replica, Shares
from hive_mind.hive.replication.partition_replica import PartitionReplica
from hive_mind.model.evidence import Sealed, Stamp, Statement, actor_id
from hive_mind.model.fact import place_label
from hive_mind.model.gathered import Anchors, Probe
from hive_mind.model.ids import fact_id
from hive_mind.model.query import TermStatistics
from hive_mind.ranking.vector import ExactVectors
from tests.hives import FIRST_MS, MODERATOR, PUMP, PUMP_ID, Court, assertion, probe

COURT = Court()
IN_A, IN_B = place_label(["A"]), place_label(["B"])
EAST = np.array([1, 0, 0, 0], np.float32)


class Verdicts:
    """A `Judge` that says what a test wants. Changing anything needs another version, as with the real one."""

    def __init__(self) -> None:
        self.version = 0
        self.hidden: set[str] = set()
        self.quarantined: set[str] = set()
        self.trusted: dict[str, float] = {}
        self.vouchers: dict[str, str] = {}
        self.half_life = 0
        self.forgets = False

    def is_visible(self, given: Sealed) -> bool:
        return given.assertion.agent not in self.hidden

    def is_quarantined(self, id: str) -> bool:
        return id in self.quarantined

    def trust(self, agent: str) -> float:
        return self.trusted.get(agent, 1.0)

    def voucher(self, agent: str) -> str:
        return self.vouchers.get(agent, agent)

    def faded(self, confidence: float, stamp: Stamp) -> float:
        del stamp
        return confidence / 2 if self.forgets else confidence

    def may_expire(self) -> bool:
        return self.forgets


class Desk:
    """A replica over a home and a partition of copies, told of every change."""

    def __init__(self, **options) -> None:
        self.judge = Verdicts()
        self.shares = {
            name: PartitionReplica(name, actor_id("n0", b"boot one"), "n0", b"boot one") for name in ("home", "copies")
        }
        self.known = Shares(self.shares, frozenset({"home"}), frozenset({"copies"}))
        self.replica = Replica(options.get("new_arm", lambda: None), options.get("model", ""), self.known)

    def say(self, *assertions, into: str = "home") -> None:
        taken = self.shares[into].assert_all(assertions or (assertion(),), COURT)
        self.replica.changed(into, taken.facts)

    def take_back(self, id: str = PUMP_ID, agent: str = "ines", of: str = "home") -> None:
        dots = [given.dot for given in self.shares[of].assertions(id) if given.assertion.agent == agent]
        taken = self.shares[of].remove(id, dots, MODERATOR, "retracted", Stamp(FIRST_MS + 9), COURT)
        self.replica.changed(of, taken.facts)

    def found(self, query: str = PUMP, least: float = 0.0) -> set[str]:
        return set(self.replica.pool(probe(query), least, self.judge)[0].ids)

    def found_near_by(self, query: str = PUMP) -> tuple[str, ...]:
        return self.replica.pool_of_all(probe(query), 0.0, self.judge)[0].ids

    def counted(self, query: str) -> TermStatistics:
        _, _, words = self.replica.pool(probe(query), 0.0, self.judge)
        return words.statistics

    def fact(self, id: str = PUMP_ID):
        return self.replica.fact(id, self.judge)

    def changed(self, **verdicts) -> None:
        vars(self.judge).update(verdicts, version=self.judge.version + 1)


def test_a_fact_is_the_statement_first_made_with_everybody_behind_it():
    desk = Desk()
    desk.say(
        assertion(
            agent="bo", ms=FIRST_MS + 5, confidence=0.9, statement=Statement(PUMP, "pump", speaker="bo", labels=("x", IN_B))
        )
    )
    desk.say(assertion(ms=FIRST_MS, confidence=0.4, statement=Statement(PUMP, "pump", speaker="ines", labels=("y", IN_A))))
    desk.changed(trusted={"bo": 0.5, "ines": 1.5})

    fact = desk.fact()

    assert fact.statement.labels == ("y", IN_A, IN_B)
    assert (fact.statement.speaker, fact.confidence, fact.trust, fact.confirmations, fact.status) == (
        "ines",
        0.9,
        1.5,
        1,
        "confirmed",
    )
    assert [(row.agent, row.confidence, row.stamp.ms) for row in fact.provenance] == [
        ("ines", 0.4, FIRST_MS),
        ("bo", 0.9, FIRST_MS + 5),
    ]


def test_votes_are_counted_where_anything_is_known_of_one_who_says_it():
    desk = Desk()
    desk.say(assertion(agent="ines"), assertion(agent="bo"))
    assert desk.fact().votes is None

    desk.changed(trusted={"bo": 1.5})
    trusted = desk.fact().votes
    desk.changed(trusted={}, vouchers={"ines": "voucher/x", "bo": "voucher/x"})
    of_one_voucher = desk.fact().votes

    assert trusted is not None
    assert of_one_voucher is not None
    assert of_one_voucher < trusted


def test_what_nobody_vouches_for_any_more_is_no_fact():
    desk = Desk()
    desk.say()
    assert desk.found() == {PUMP_ID}

    desk.take_back()

    assert desk.fact() is None
    assert desk.found() == desk.found("") == set()
    assert list(desk.replica.listed("", 10, desk.judge)) == []
    assert desk.counted("pump").documents == 0


def test_a_copy_counts_at_its_home_only():
    desk = Desk()
    desk.say(into="copies")
    assert desk.found() == set()
    assert desk.found_near_by() == (PUMP_ID,)
    assert desk.counted("pump").documents == 0

    desk.say(into="home")
    assert desk.found() == {PUMP_ID}
    assert desk.found_near_by() == (PUMP_ID,)
    assert desk.fact().confirmations == 0

    desk.take_back(of="home")
    assert desk.found() == set()
    assert desk.found_near_by() == (PUMP_ID,)


def test_least_confidence_counts_as_it_is_now():
    desk = Desk()
    desk.say(assertion(confidence=0.8))
    assert desk.found(least=0.8) == {PUMP_ID}
    assert desk.found(least=0.81) == set()

    desk.changed(forgets=True)

    assert desk.found(least=0.41) == set()
    assert desk.found(least=0.4) == {PUMP_ID}
    assert desk.replica.pool(probe(), 0.0, desk.judge)[1].confidence.tolist() == [pytest.approx(0.4)]
    assert desk.fact().confidence == 0.4
    # What was said stays what was said.
    assert [row.confidence for row in desk.fact().provenance] == [0.8]


def test_as_of_a_time_what_was_said_later_takes_no_place_in_the_pool():
    desk = Desk()
    desk.say(assertion(), *(assertion(f"The pump is red, look {number}.", ms=FIRST_MS + 10 + number) for number in range(5)))

    asked = replace(probe(depth=1), as_of_ms=FIRST_MS + 9)

    assert desk.replica.pool(asked, 0.0, desk.judge)[0].ids == (PUMP_ID,)
    assert desk.replica.pool_of_all(replace(asked, as_of_ms=FIRST_MS - 1), 0.0, desk.judge)[0].ids == ()


def test_lists_are_newest_first_by_concept_and_as_long_as_asked():
    desk = Desk()
    for number in range(5):
        desk.say(assertion(f"Pump {number}.", ms=FIRST_MS + number))
    desk.say(assertion("The door.", ms=FIRST_MS + 9, statement=Statement("The door.", "door", entities=("pump",))))

    listed = [fact.content for _, fact in desk.replica.listed("", 3, desk.judge)]
    assert listed == ["The door.", "Pump 4.", "Pump 3."]
    assert len(list(desk.replica.listed("pump", 100, desk.judge))) == 6
    assert [fact.content for _, fact in desk.replica.listed("DOOR", 100, desk.judge)] == ["The door."]


def test_contradictions_are_marked_both_ways_and_only_while_both_are_there():
    desk = Desk()
    desk.say(assertion("The pump holds 5 bar."), assertion("The pump holds 7 bar.", agent="bo"))
    five, seven = fact_id("The pump holds 5 bar."), fact_id("The pump holds 7 bar.")

    assert {desk.fact(five).status, desk.fact(seven).status} == {"disputed"}
    assert desk.found("pump") == {five, seven}

    desk.take_back(seven, "bo")
    assert desk.fact(five).status == "held"


def test_indexing_little_by_little_ends_where_a_search_would():
    desk, other = Desk(), Desk()
    texts = [f"Pump {number} is red." for number in range(10)]
    for one in (desk, other):
        one.say(*map(assertion, texts))

    assert desk.replica.is_behind
    turns = 1
    while desk.replica.index_some(3, desk.judge):
        turns += 1

    assert turns == 4
    assert not desk.replica.is_behind
    assert desk.found("red") == other.found("red")


def test_other_partitions_count_from_now_on():
    desk = Desk()
    desk.say()
    desk.say(assertion("A copy of the pump."), into="copies")

    desk.replica.rearrange(Shares(desk.shares, frozenset({"copies"}), frozenset()))

    assert desk.found("pump") == {fact_id("A copy of the pump.")}
    assert desk.fact(PUMP_ID) is None


def test_vectors_of_the_hives_own_model_are_compared_and_no_others_also_where_one_came_later():
    desk = Desk(new_arm=lambda: ExactVectors(4), model="m")
    vector = EAST.astype("<f2").tobytes()
    for name, model in (("north pump", "m"), ("south pump", "other")):
        desk.say(assertion(name, statement=Statement(name, model=model, vector=vector)))
    desk.say(assertion())

    def cosines() -> dict[str, float]:
        pool, _, _ = desk.replica.pool(Probe(("pump",), Anchors(), EAST), 0.0, desk.judge)
        return dict(zip(pool.ids, pool.semantic.tolist(), strict=True))

    assert cosines()[fact_id("north pump")] == 1.0
    assert np.isnan([cosines()[id] for id in (fact_id("south pump"), PUMP_ID)]).all()
    desk.say(assertion(ms=FIRST_MS + 1, statement=Statement(PUMP, "pump", model="m", vector=vector)))
    assert cosines()[PUMP_ID] == 1.0


@pytest.mark.parametrize(
    ("vector", "is_one"),
    [
        (EAST, True),
        (np.zeros(4, np.float32), True),
        (EAST.astype("<f2").astype(np.float32), True),
        (EAST * 1.1, False),
        (EAST * np.nan, False),
        (np.full(4, np.inf, np.float32), False),
        (np.full(4, 3e38, np.float32), False),
        (np.ones(3, np.float32), False),
        (np.ones((2, 2), np.float32) / 2, False),
    ],
)
def test_a_vector_to_compare_is_a_unit_vector_of_the_hives_length(vector, is_one):
    assert is_comparable(vector, 4) == is_one


def test_a_peers_question_is_answered_without_what_can_not_be_asked():
    asked = Probe(("x",), Anchors(((), ("y",)), True), EAST * np.nan, -3, TermStatistics(-1, 0.0), TermStatistics(1, np.nan))

    sane = answerable(asked, 4)

    assert (sane.terms, sane.anchors, sane.vector, sane.depth, sane.statistics, sane.beside) == (
        ("x",),
        Anchors((("y",),), True),
        None,
        1,
        None,
        None,
    )
    assert answerable(Probe((), Anchors(), EAST, 1 << 60, TermStatistics(3, 9.0, {"x": 2}, 27.0)), 4).depth == DEPTH_MAX
    fine = Probe(("x",), Anchors((("y",),)), EAST, 30, TermStatistics(3, 9.0, {"x": 2}, 27.0))
    assert answerable(fine, 4) == fine

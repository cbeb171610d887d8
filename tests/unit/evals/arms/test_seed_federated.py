"""Document 004's federated hive, by hand and beside ours."""

import pytest

from hive_mind.evals.experiments import Arm, Fault
from hive_mind.ranking.pipeline import RRF_K
from tests.unit.evals.arms.notes import drawn, scope_of, told

PAIR = Arm("seed-federated", 2, groups=2)


def test_what_all_groups_returned_is_ranked_by_keywords_and_by_confidence():
    # Alternately to two groups. By confidence d1, d3, d0; by keywords each group says how well its own match.
    sure = [{"confidence": value} for value in ("0.5", "0.9", "0.1", "0.7")]
    scope = scope_of(["pump leaks", "the old pump in the hall", "green door", "the pump leaks now"], ["pump leaks"], meta=sure)

    (outcome,) = told(PAIR, scope, limit=5).outcomes

    by_keyword = sorted(outcome.hits, key=lambda hit: -hit.components.keyword)
    by_confidence = sorted(outcome.hits, key=lambda hit: -hit.fact.confidence)
    places = {id(hit): [1 + ranking.index(hit) for ranking in (by_keyword, by_confidence)] for hit in outcome.hits}
    assert [hit.fact.confidence for hit in by_confidence] == pytest.approx([0.9, 0.7, 0.5])
    for hit in outcome.hits:
        assert hit.score == pytest.approx(sum((RRF_K + 1) / (RRF_K + place) for place in places[id(hit)]) / 2)
    assert list(outcome.hits) == sorted(outcome.hits, key=lambda hit: -hit.score)


def test_where_all_are_equally_sure_the_second_list_is_one_by_id():
    (outcome,) = told(PAIR, scope_of(["pump", "pump door", "pump hall ferry"], ["pump"]), limit=3).outcomes

    by_keyword = sorted(outcome.hits, key=lambda hit: (-hit.components.keyword, hit.fact.id))
    by_id = sorted(outcome.hits, key=lambda hit: hit.fact.id)
    expected = {hit.fact.id: 1 / (61 + by_keyword.index(hit)) + 1 / (61 + by_id.index(hit)) for hit in outcome.hits}
    assert [hit.score for hit in outcome.hits] == pytest.approx([61 / 2 * expected[hit.fact.id] for hit in outcome.hits])


def test_each_group_hands_over_three_for_one():
    scope = scope_of([f"pump {'valve ' * number}" for number in range(12)], ["pump"])

    found = told(Arm("seed-federated", 2, groups=2), scope, limit=1)

    # The best by either list is among the three best by keywords of its group: the shortest.
    assert int(found.found[0][0].removeprefix("d")) < 6


def test_it_costs_a_request_and_a_reply_for_each_other_group():
    outcomes = told(Arm("seed-federated", 8, groups=4), drawn()).outcomes

    assert {one.cost.messages for one in outcomes} == {6}
    assert {one.cost.fan_out for one in outcomes} == {3}
    assert all(one.cost.bytes > 6 * 20 for one in outcomes)


def test_a_group_that_is_down_is_asked_in_vain():
    outcomes = told(Arm("seed-federated", 8, groups=4), drawn(), fault=Fault(down=1)).outcomes

    assert {one.cost.messages for one in outcomes} == {3 + 2}
    assert {one.cost.completeness for one in outcomes} == {0.75}


def test_it_finds_less_than_one_ranking_over_everything():
    scope = drawn(100, 30)
    questions = [document.text for document in scope.documents[:30]]
    whole = scope_of([document.text for document in scope.documents], [" ".join(text.split()[:4]) for text in questions])

    ours, theirs = (told(Arm(kind, 10, groups=5), whole) for kind in ("federated", "seed-federated"))

    def share(found: list[list[str]]) -> float:
        return sum(f"d{number}" in names for number, names in enumerate(found)) / len(found)

    assert share(ours.found) > share(theirs.found) + 0.05

"""How much of a goal is reached: a weighted sum of what was seen, in which nothing counts that nobody looked at."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.goals.goal import Broken, Constraint, Goal, SuccessCriterion, satisfaction

OUTPUTS = {"report": "All pumps run [1]", "count": 3, "pumps": ["D4", "D5"]}


def graded(**fields: Any) -> float:
    """The score of one criterion."""
    return satisfaction(Goal(id="g", success_criteria=[SuccessCriterion(id="c", **fields)]), OUTPUTS).score


@pytest.mark.parametrize(
    ("fields", "score"),
    [
        ({"metric": "output_contains", "target": "pumps"}, 1),
        ({"metric": "output_contains", "target": "D4"}, 1),
        ({"metric": "output_contains", "target": "D4", "output": "report"}, 0),
        ({"metric": "output_contains", "target": "x", "output": "missing"}, 0),
        ({"metric": "output_equals", "target": 3, "output": "count"}, 1),
        ({"metric": "output_equals", "target": "3", "output": "count"}, 0),
        ({"metric": "output_equals", "target": ["D4", "D5"], "output": "pumps"}, 1),
        ({"metric": "output_equals", "target": "x", "output": "missing"}, 0),
        ({"metric": "condition", "target": "len(output.pumps) == output.count - 1"}, 1),
        ({"metric": "condition", "target": "result['count'] > 3"}, 0),
        ({"metric": "llm_judge"}, 0),
        ({"metric": "custom"}, 0),
    ],
)
def test_each_metric_sees_what_it_is_for(fields: dict[str, Any], score: float) -> None:
    assert graded(**fields) == score


def test_what_nobody_checked_is_not_met_and_not_lost() -> None:
    goal = Goal(id="g", success_criteria=[SuccessCriterion(id="a", weight=3), SuccessCriterion(id="b")])
    found = satisfaction(goal, {}, {"b": 1.0})
    assert (found.score, found.possible) == (0.25, 1.0)
    assert (found.met, found.unmet, found.unchecked) == (("b",), (), ("a",))


@pytest.mark.parametrize("grade", [None, 0.0, 0.49, 0.5, 1.0])
def test_a_constraint_without_a_check_is_kept_only_if_a_judge_says_so(grade: float | None) -> None:
    goal = Goal(id="g", success_criteria=[SuccessCriterion(id="c")], constraints=[Constraint(id="no_sql")])
    found = satisfaction(goal, {}, {"c": 1.0, "no_sql": grade})
    assert found.unchecked == (("no_sql",) if grade is None else ())
    assert found.violated == (("no_sql",) if grade is not None and grade < 0.5 else ())
    assert found.score == 1.0


def test_a_check_that_fails_says_nothing_and_is_named() -> None:
    def fails(_: Mapping[str, Any]) -> float:
        raise OSError("no such file")

    goal = Goal(
        id="g",
        success_criteria=[
            SuccessCriterion(id="broken", metric="condition", target="result['none'] > 1"),
            SuccessCriterion(id="tested", metric="custom", target="suite"),
            SuccessCriterion(id="generous", metric="custom"),
        ],
        constraints=[Constraint(id="safe", check="1 / 0 == 1")],
    )

    found = satisfaction(goal, {}, {}, {"suite": fails, "generous": lambda _: 7.0})

    assert (found.score, found.possible, found.met, found.unmet, found.unchecked) == (0, 0, (), (), ())
    assert [one.id for one in found.broken] == ["broken", "tested", "generous", "safe"]
    assert found.broken[1] == Broken("tested", "its check 'suite' failed: no such file")
    assert "its grade 7 is not from 0 to 1" in found.broken[2].why


def test_a_grade_that_is_just_enough_is_met_and_nothing_else() -> None:
    goal = Goal(id="g", success_criteria=[SuccessCriterion(id="a"), SuccessCriterion(id="b")], accept_at=0.5)

    found = satisfaction(goal, {}, {"a": 0.5, "b": 0.49})

    assert (found.met, found.unmet, found.unchecked) == (("a",), ("b",), ())


GRADES = st.dictionaries(st.sampled_from("abcd"), st.none() | st.floats(0, 1))
WEIGHTS = st.dictionaries(st.sampled_from("abcd"), st.floats(0.01, 100), min_size=1)


@given(WEIGHTS, GRADES)
def test_the_score_is_bounded_and_a_better_grade_never_lowers_it(
    weights: dict[str, float], grades: dict[str, float | None]
) -> None:
    goal = Goal(id="g", success_criteria=[SuccessCriterion(id=id, weight=weight) for id, weight in weights.items()])
    found = satisfaction(goal, {}, grades)
    better = satisfaction(goal, {}, {**grades, next(iter(weights)): 1.0})

    assert -1e-9 <= found.score <= found.possible + 1e-9 <= 1 + 1e-6
    assert found.score <= better.score + 1e-9
    assert {*found.met, *found.unmet, *found.unchecked} == set(weights)

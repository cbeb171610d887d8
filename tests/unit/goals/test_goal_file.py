"""A file with a goal is a goal, or every mistake in it is told with its line."""

import pytest
import yaml

from hive_mind.errors import GoalError
from hive_mind.goals.goal import Constraint, Goal, GoalFile, SuccessCriterion, first_goal, goal_of, satisfaction
from tests.documents import printed

BEGIN = "apiVersion: hive-mind/v1\nkind: Goal\nspec:\n"


def problems(spec: str) -> dict[int, str]:
    """What is wrong, by line; the text begins in line 4."""
    with pytest.raises(GoalError) as caught:
        goal_of(BEGIN + spec, "goal.yaml")
    return {one.line: f"{one.path}: {one.message}" for one in caught.value.problems}


def test_a_file_says_what_the_same_goal_says_in_python() -> None:
    spec = """\
  id: report
  kind: reporting
  successCriteria:
    - id: cited
      weight: 2
      metric: output_contains
      target: "[1]"
      output: summary
    - {id: short, metric: condition, target: len(output.summary) < 2000, hidden: true}
  constraints:
    - {id: polite, constraintType: soft}
  context: {audience: {age: 12}}
  outputs: [summary]
  acceptAt: 1
"""
    cited = SuccessCriterion(id="cited", weight=2, metric="output_contains", target="[1]", output="summary")
    short = SuccessCriterion(id="short", metric="condition", target="len(output.summary) < 2000", hidden=True)
    same = Goal(
        id="report",
        kind="reporting",
        success_criteria=[cited, short],
        constraints=[Constraint(id="polite", constraint_type="soft")],
        context={"audience": {"age": 12}},
        outputs=["summary"],
        accept_at=1,
    )

    assert goal_of(BEGIN + spec) == same


def test_the_printed_goal_can_be_written_as_a_file() -> None:
    (example,) = printed("001", "Goal(")
    goal = eval(example, {"Goal": Goal, "SuccessCriterion": SuccessCriterion, "Constraint": Constraint})  # noqa: S307 - ours
    body = GoalFile(apiVersion="hive-mind/v1", kind="Goal", spec=goal).model_dump(by_alias=True, mode="json")
    assert goal_of(yaml.safe_dump(body)) == goal


def test_each_mistake_is_told_at_its_own_line_and_all_at_once() -> None:
    spec = """\
  id: report
  succesCriteria: []
  successCriteria:
    - id: a
      metric: condition
      weight: 0
      target: len(output.summary <
    - id: b
      metric: output_contains
    - id: a
      metric: condition
      target: output.summary.pop()
  constraints:
    - id: x
      constraintType: firm
    - id: b
      check: "1 +"
  acceptAt: 90
"""
    assert problems(spec) == {
        5: "spec.succesCriteria: is not known; did you mean successCriteria?",
        9: "spec.successCriteria[0].weight: has to be more than 0",
        10: "spec.successCriteria[0].target: the condition can't be used: it is not an expression: "
        "'(' was never closed at character 4",
        11: "spec.successCriteria[1]: output_contains needs the text to look for as its target",
        13: "spec.successCriteria[2].id: is also the id of spec.successCriteria[0]; choose another",
        15: "spec.successCriteria[2].target: the condition can't be used: pop() can't be called; methods are "
        "count, endswith, find, get, index, items, keys, lower, split, startswith, strip, upper, values",
        18: 'spec.constraints[0].constraintType: has to be hard or soft, not the text "firm"',
        19: "spec.constraints[1].id: is also the id of spec.successCriteria[1]; choose another",
        20: "spec.constraints[1].check: the condition can't be used: it is not an expression: invalid syntax",
        21: "spec.acceptAt: has to be at most 1",
    }


def test_ids_that_stand_twice_are_told_in_a_file_that_is_right_otherwise() -> None:
    assert problems("  id: g\n  constraints:\n    - id: a\n    - id: g\n") == {
        7: "spec.constraints[1].id: is also the id of spec; choose another"
    }


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "goal: it is empty; begin with `hive-mind file init goal`"),
        ("- a", "goal: has to be a mapping (key: value)"),
        (BEGIN.replace("Goal", "Hive") + "  id: g\n", 'kind: has to be Goal, not the text "Hive"; did you mean Goal?'),
        ("kind: Goal\nspec: {id: g}\n", "apiVersion: is missing; add it"),
        (BEGIN + "  id: !!python/object:os.system x\n", "spec.id: tags such as"),
    ],
)
def test_what_is_no_goal_is_told(text: str, told: str) -> None:
    with pytest.raises(GoalError) as caught:
        goal_of(text)
    assert told.partition("; did")[0] in str(caught.value)


def test_the_first_goal_is_right_as_it_is_and_each_of_its_checks_sees_what_it_says() -> None:
    goal = goal_of(first_goal("my-goal", "goal.yaml"))
    good = satisfaction(goal, {"summary": "Valves [1]", "logs": ["done"]}, {"useful": 1.0, "polite": 1.0})
    bad = satisfaction(goal, {"summary": "x" * 3000, "logs": ["password 1"]}, {"useful": 0.0})
    assert (good.score, good.unchecked, good.violated, good.broken) == (1.0, (), (), ())
    assert (bad.score, bad.unchecked, bad.violated) == (0.0, ("polite",), ("no-passwords",))

"""Goals are made as they are printed, and what makes no sense in one is refused with what to do."""

import re

import pytest
from pydantic import ValidationError

from hive_mind.goals.goal import Constraint, Goal, SuccessCriterion, satisfaction
from tests.documents import printed

WORDS = {"Goal": Goal, "SuccessCriterion": SuccessCriterion, "Constraint": Constraint}


def test_the_printed_example_is_a_goal_as_it_stands() -> None:
    (example,) = printed("001", "Goal(")
    goal = eval(example, WORDS)  # noqa: S307 - the document's own example

    assert [one.id for one in goal.success_criteria] == ["functional", "secure", "tested"]
    assert [one.weight for one in goal.success_criteria] == [0.4, 0.3, 0.3]
    found = satisfaction(goal, {"code": "bcrypt.hash(x)", "logs": ["started"]}, {"functional": 1.0}, {"tested": lambda _: 0.5})
    assert found.score == pytest.approx(0.4 + 0.3 + 0.15)
    assert (found.met, found.unmet, found.unchecked) == (("functional", "secure"), ("tested",), ("no_sql_injection",))
    assert satisfaction(goal, {"logs": "the password is x"}).violated == ("no_plaintext_passwords",)


def test_a_goal_without_criteria_is_judged_as_a_whole() -> None:
    goal = Goal(id="tidy", description="The shed is tidy.")
    assert [(one.id, one.metric, one.description) for one in goal.criteria] == [("tidy", "llm_judge", "The shed is tidy.")]
    assert satisfaction(goal, {}, {"tidy": 0.8}).score == 0.8


@pytest.mark.parametrize(
    ("part", "fields", "why"),
    [
        (SuccessCriterion, {"id": "c", "weight": 0}, "greater than 0"),
        (SuccessCriterion, {"id": "c", "metric": "magic"}, "llm_judge"),
        (
            SuccessCriterion,
            {"id": "c", "metric": "condition", "target": "1 +"},
            "condition can't be used: it is not an expression",
        ),
        (SuccessCriterion, {"id": "c", "metric": "condition"}, "condition can't be used: a condition is a text"),
        *(
            (SuccessCriterion, {"id": "c", "metric": "output_contains", "target": target}, "needs the text to look for")
            for target in (None, "", 5)
        ),
        (SuccessCriterion, {"id": "c", "metric": "output_equals"}, "needs a value"),
        (SuccessCriterion, {"id": "c", "metric": "custom", "target": 5}, "name of a check"),
        (SuccessCriterion, {"id": ""}, "at least 1 character"),
        (Constraint, {"id": "c", "check": "__import__('os')"}, "__import__() can't be called"),
        (Constraint, {"id": "c", "constraint_type": "firm"}, "hard"),
        (Goal, {"id": "g", "success_criteria": [{"id": "c"}, {"id": "c"}]}, "the id 'c' occurs twice"),
        (Goal, {"id": "g", "constraints": [{"id": "c"}, {"id": "c"}]}, "the id 'c' occurs twice"),
        (Goal, {"id": "g", "success_criteria": [{"id": "c"}], "constraints": [{"id": "c"}]}, "the id 'c' occurs twice"),
        (Goal, {"id": "g", "constraints": [{"id": "g"}]}, "the id 'g' occurs twice"),
        (Goal, {"id": "g", "criteria": []}, "not permitted"),
        (Goal, {"id": "g", "accept_at": float("nan")}, "finite"),
    ],
)
def test_what_makes_no_sense_is_refused(part: type, fields: dict[str, object], why: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(why)):
        part(**fields)

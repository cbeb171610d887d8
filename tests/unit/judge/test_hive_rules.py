"""Rules of a hive: what the registry keeps, what can't be read, and who counts before whom."""

import json
import re
from typing import Any

import pytest

from hive_mind.errors import InvalidInput
from hive_mind.hive.policy.rights import problem_with_value
from hive_mind.judge.judgment import JudgmentAction
from hive_mind.judge.rules import EvaluationRule, key_of, known, moved, rule_of, taken_back, together, value_of

GIVEN = EvaluationRule(id="pumps", condition="'pump' in result.text", action="retry", description="pumps are ours")
BEYOND = {"id": "new", "condition": "invented_tomorrow(result.text)", "action": "retry"}


def entries(*rules: EvaluationRule | dict[str, Any]) -> dict[str, Any]:
    told = [json.loads(value_of(rule)) if isinstance(rule, EvaluationRule) else rule for rule in rules]
    return {key_of(rule["id"]): rule for rule in told}


def test_a_rule_comes_out_of_the_registry_as_it_went_in() -> None:
    rule = GIVEN.model_copy(update={"mode": "shadow", "rollout": 0.1, "on": "fact", "metadata": {"source": "learned"}})
    assert known(entries(rule)) == {"pumps": rule}
    assert problem_with_value(key_of("pumps"), value_of(rule)) == ""


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"id": "x", "action": "retry"}, "condition: Field required"),
        ({"id": "x", "condition": "open('f')", "action": "retry"}, "condition: Value error, the condition can't be used"),
        ({"id": "x", "condition": "True", "action": "accept", "metadata": {"source": "learned"}}, "a learned rule accepts only"),
        ("True", "it: Input should be a valid dictionary"),
    ],
)
def test_what_is_no_rule_is_refused_with_the_reason(given: Any, told: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(told)):
        rule_of(given)


def test_rules_of_the_hive_stand_beside_those_of_the_manifest_which_count_first() -> None:
    other = GIVEN.model_copy(update={"id": "doors", "priority": 200})
    same = GIVEN.model_copy(update={"action": JudgmentAction.ACCEPT})
    found = together([GIVEN], entries(other, same))
    assert found.rules.rules == (other, GIVEN)
    assert (found.unreadable, found.is_known) == ("", True)


def test_a_rule_that_can_not_be_read_here_is_told_and_the_others_are_asked() -> None:
    found = together([], entries(GIVEN, BEYOND) | {"rule/mine": {"id": "thine", "condition": "True", "action": "retry"}})
    assert found.rules.rules == (GIVEN,)
    assert found.unreadable.startswith("rule/new of the hive can't be read here: condition: ")
    assert found.unreadable.endswith("rule/mine of the hive calls itself 'thine'")


def test_a_rule_that_is_taken_back_says_why_until_somebody_approves_it_again() -> None:
    back = taken_back(moved(GIVEN, "active", 0.5, "ruth"), "people agreed in 1 of 3 cases")
    assert (back.mode, back.metadata) == ("shadow", {"approved_by": "ruth", "taken_back": "people agreed in 1 of 3 cases"})
    again = moved(back, "active", 0.1, "sam")
    assert (again.mode, again.rollout, again.metadata) == ("active", 0.1, {"approved_by": "sam"})

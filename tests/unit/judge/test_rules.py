"""The first rule that matches decides, the most important first; none is passed over in silence.

Cases are chosen alike everywhere, and a rule goes on only while people agree with it.
"""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from hive_mind.errors import InvalidInput
from hive_mind.hive.policy.admission import problem_with_value
from hive_mind.judge.judgment import FACT, Example, JudgmentAction
from hive_mind.judge.rules import (
    EXAMPLES_MAX,
    EvaluationRule,
    Match,
    RuleSet,
    Trial,
    chosen,
    key_of,
    known,
    moved,
    rule_of,
    taken_back,
    together,
    tried,
    value_of,
)
from tests.documents import printed

ACCEPT, RETRY, REPLAN, ESCALATE = JudgmentAction

CASES = [f"case {number}" for number in range(4_000)]


def rule(id: str, condition: str = "True", action: JudgmentAction = ESCALATE, **more: object) -> EvaluationRule:
    return EvaluationRule(id=id, condition=condition, action=action, **more)


def named(match: Match | None) -> str:
    assert match is not None
    return match.rule.id


def test_the_printed_rule_is_one_as_it_stands_and_right_in_all_three_cases():
    (example,) = printed("001", "EvaluationRule(")
    printed_rule = eval(example, {"EvaluationRule": EvaluationRule, "JudgmentAction": JudgmentAction})  # noqa: S307 - the document's own

    rules = RuleSet([printed_rule])
    assert named(rules.first({"result": {"code": "x = eval(y)"}})) == "security_violation"
    assert rules.first({"result": {"code": "print(1)"}}) is None
    assert rules.first({"result": {}}) is None


def test_rules_are_asked_by_priority_and_then_by_id():
    rules = RuleSet([rule("b", priority=100), rule("low", priority=1), rule("a"), rule("high", priority=200)])
    assert [one.id for one in rules.rules] == ["high", "a", "b", "low"]
    assert named(rules.first({})) == "high"


def test_a_rule_that_fails_on_the_data_is_the_first_to_say_something():
    rules = RuleSet([rule("no", "False", priority=3), rule("loud", "result['n'] > 'a'", priority=2), rule("yes", priority=1)])
    match = rules.first({"result": {"n": 1}})

    assert named(match) == "loud"
    assert match is not None
    assert match.broken
    assert RuleSet([rule("yes", priority=900), rule("loud", "nothing")]).first({}) == Match(rule("yes", priority=900))


def test_a_shadow_rule_decides_nothing_and_is_told_of():
    shadow = rule("shadow", mode="shadow", priority=900)
    rules = RuleSet([shadow, rule("quiet", "False", mode="shadow"), rule("gone", mode="retired", priority=999), rule("active")])
    assert named(rules.first({})) == "active"
    assert rules.shadows({}) == [Match(shadow)]


def test_a_rule_about_facts_says_nothing_about_outputs():
    rules = RuleSet([rule("facts", on="fact", priority=3), rule("outputs", on="output", priority=2), rule("any", priority=1)])
    assert named(rules.first({}, "output")) == "outputs"
    assert named(rules.first({}, "fact")) == "facts"


def test_a_rule_that_is_rolled_out_in_part_decides_that_part_and_is_a_shadow_for_the_rest():
    rules = RuleSet([rule("new", rollout=0.5)])
    cases = [str(number) for number in range(400)]
    decided = [case for case in cases if rules.first({}, case_digest=case)]
    assert 150 < len(decided) < 250
    assert [case for case in cases if rules.shadows({}, case_digest=case)] == [case for case in cases if case not in decided]


def test_a_rule_that_does_not_compile_is_refused_where_it_is_made():
    with pytest.raises(ValidationError, match=r"condition can't be used: system\(\) can't be called"):
        rule("bad", "__import__('os').system('x')")


def test_two_rules_of_one_id_are_no_set():
    with pytest.raises(InvalidInput, match="rule 'a' occurs twice"):
        RuleSet([rule("a"), rule("a", priority=5)])


def test_a_learned_rule_accepts_only_where_a_person_allowed_it():
    with pytest.raises(ValidationError, match="a learned rule accepts only where a person allowed it"):
        rule("learned", action=JudgmentAction.ACCEPT, metadata={"source": "learned"})
    assert rule("learned", action=JudgmentAction.ACCEPT, metadata={"source": "learned", "may_accept": True})


@pytest.mark.parametrize(
    ("more", "has_shadows"), [({}, False), ({"mode": "retired"}, False), ({"mode": "shadow"}, True), ({"rollout": 0.5}, True)]
)
def test_a_set_knows_whether_some_rule_may_be_asked_without_deciding(more: dict[str, object], has_shadows: bool) -> None:
    rule = EvaluationRule.model_validate({"id": "a", "condition": "True", "action": "retry", **more})
    assert RuleSet([rule]).has_shadows is has_shadows


@pytest.mark.parametrize("share", [0.05, 0.1, 0.5])
def test_as_many_are_chosen_as_the_share_says(share):
    taken = sum(chosen(case, share, "rule") for case in CASES)

    # Three standard deviations.
    assert abs(taken - share * len(CASES)) < 3 * (len(CASES) * share * (1 - share)) ** 0.5


@given(st.text(), st.text(), st.floats(0, 1), st.floats(0, 1))
def test_a_larger_share_holds_the_cases_of_a_smaller_one(case, key, one, other):
    assert not chosen(case, min(one, other), key) or chosen(case, max(one, other), key)
    assert chosen(case, 1.0, key)
    assert not chosen(case, 0.0, key)


def test_another_key_chooses_other_cases():
    assert sum(chosen(case, 0.1, "a") and chosen(case, 0.1, "b") for case in CASES) < 100


def record(agreed: int, decided: int) -> Trial:
    rule = EvaluationRule(id="r", condition="True", action=JudgmentAction.RETRY)
    return Trial(rule, rightly=agreed, wrongly=decided - agreed)


def test_a_rule_goes_on_step_by_step_once_people_agreed_often_enough():
    assert record(19, 19).next_share(0.1, 0.95) == 0.1
    assert [record(20, 20).next_share(share, 0.95) for share in (0.0, 0.1, 0.5, 1.0)] == [0.1, 0.5, 1.0, 1.0]
    assert record(18, 20).next_share(0.1, 0.95) == 0.1


def test_a_rule_that_people_contradict_is_taken_back():
    assert record(0, 0).is_refuted(0.95) is False
    assert record(19, 20).is_refuted(0.95) is False
    assert record(14, 20).is_refuted(0.95)
    assert record(14, 20).next_share(1.0, 0.95) == 0.0


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
    found = together([GIVEN], entries(other, GIVEN.model_copy(update={"action": JudgmentAction.ACCEPT})))
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


def case(text: str, person: JudgmentAction | None = None) -> Example:
    return Example(result={"text": text}, kind=FACT, case=text, person=person)


def test_a_rule_is_put_to_every_case_and_counts_what_it_would_be_the_first_to_decide() -> None:
    rules = [
        rule("pumps", "'pump' in result.text"),
        rule("red", "'red' in result.text", priority=200),
        rule("all", "True", priority=1),
    ]

    red, pumps, all_ = tried(rules, [case("a red pump"), case("a pump"), case("a red door"), case("a door")])

    assert [(one.rule.id, one.matched, one.first) for one in (red, pumps, all_)] == [
        ("red", 2, 2),
        ("pumps", 2, 1),
        ("all", 4, 1),
    ]
    assert pumps.examples == ["a red pump", "a pump"]


def test_a_rule_on_trial_keeps_no_other_from_deciding() -> None:
    shadow, active = tried(
        [rule("shadow", "True", mode="shadow", priority=200), rule("active", "True")], [case("one"), case("two")]
    )
    assert (shadow.first, active.first) == (2, 2)


def test_what_people_decided_is_held_against_what_it_says() -> None:
    (held,) = tried([rule("held", "True", ESCALATE)], [case("a", ESCALATE), case("b", RETRY), case("c", ACCEPT), case("d")])
    (passed,) = tried([rule("passed", "True", ACCEPT)], [case("a", ACCEPT), case("b", ESCALATE)])
    assert (held.rightly, held.wrongly) == (2, 1)
    assert (passed.rightly, passed.wrongly) == (1, 1)


def test_what_it_can_not_be_put_to_is_counted_and_told() -> None:
    (broken,) = tried([rule("broken", "result['size'] > 1")], [case("a"), case("b")])
    assert (broken.matched, broken.broken) == (0, 2)
    assert "there is no 'size' in it" in broken.why


def test_a_few_examples_are_enough() -> None:
    (found,) = tried([rule("all", "True")], [case(str(number)) for number in range(100)])
    assert len(found.examples) == EXAMPLES_MAX

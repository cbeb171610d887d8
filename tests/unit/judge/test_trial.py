from hive_mind.judge.judgment import FACT, Example, JudgmentAction
from hive_mind.judge.rules import EXAMPLES_MAX, EvaluationRule, tried

ACCEPT, ESCALATE, RETRY = JudgmentAction.ACCEPT, JudgmentAction.ESCALATE, JudgmentAction.RETRY


def rule(id: str, condition: str, action: JudgmentAction = RETRY, **more: object) -> EvaluationRule:
    return EvaluationRule.model_validate({"id": id, "condition": condition, "action": action, **more})


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

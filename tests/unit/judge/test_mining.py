"""Rules are proposed where people always decided alike, and what was judged never becomes code."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.goals.condition import Condition
from hive_mind.goals.goal import Goal
from hive_mind.judge.judgment import JudgmentAction, Precedent
from hive_mind.judge.mining import RuleProposal, mine
from hive_mind.judge.pipeline import Case
from hive_mind.judge.rules import EvaluationRule, RuleSet
from tests.documents import printed

ACCEPT, RETRY, REPLAN, ESCALATE = JudgmentAction
WORDS = ("open", "read", "write", "parse", "load", "send", "fetch", "show", "format", "join", "split", "sort", "filter", "reduce")
SEED = 20261123


def lines(chance: random.Random) -> list[str]:
    return [f"{chance.choice(WORDS)}(x)" for _ in range(6)]


def precedents(dangerous: int = 10, harmless: int = 90) -> list[Precedent]:
    """Code of which people rejected all that calls eval."""
    chance = random.Random(SEED)
    bad = [
        Precedent(person=ESCALATE, kind="security", result={"code": "\n".join([*lines(chance), f"eval(x{n})"])}, case=f"bad {n}")
        for n in range(dangerous)
    ]
    good = [
        Precedent(person=ACCEPT if n % 5 else RETRY, kind="security", result={"code": "\n".join(lines(chance))}, case=f"good {n}")
        for n in range(harmless)
    ]
    return [*bad, *good]


@pytest.mark.parametrize("harmless", [0, 90])
def test_the_worked_example_of_the_document_comes_out(harmless):
    (example,) = printed("001", "RuleProposal(")
    names = {"RuleProposal": RuleProposal, "EvaluationRule": EvaluationRule, "JudgmentAction": JudgmentAction}
    expected = eval(example, names)  # noqa: S307 - the document's own

    (found,) = [one for one in mine(precedents(harmless=harmless)) if "eval" in one.trigger_pattern]

    assert (found.trigger_pattern, found.human_action) == (expected.trigger_pattern, expected.human_action)
    assert (found.confidence, found.coverage) == (expected.confidence, expected.coverage) == (1.0, 10)
    rule, wanted = found.proposed_rule, expected.proposed_rule
    assert rule.metadata | {"approved_by": "user@example.com"} == wanted.metadata
    assert (rule.id, rule.priority) == (wanted.id, wanted.priority) == ("learned_no_eval", 150)
    assert rule.description == wanted.description
    assert (rule.condition, rule.action) == (wanted.condition, wanted.action)


def test_nothing_else_is_proposed_than_what_people_follow_and_as_a_shadow_until_somebody_approves_it():
    assert [(one.proposed_rule.id, one.proposed_rule.mode) for one in mine(precedents())] == [("learned_no_eval", "shadow")]


def test_one_contradictory_decision_removes_it():
    some = precedents(dangerous=11)
    contradicted = [*some, Precedent(person=ACCEPT, result={"code": "eval('1')"})]
    assert mine(some)
    assert mine(contradicted) == []
    assert [one.confidence for one in mine(contradicted, consistency=0.9)] == [11 / 12]


def test_fewer_decisions_than_asked_for_are_no_rule():
    assert mine(precedents(dangerous=9)) == []


def test_examples_are_what_it_matches_and_near_misses_what_only_looks_alike():
    near = Precedent(person=ACCEPT, result={"code": "# never use Eval"}, case="a comment")
    (found,) = mine([*precedents(), near])
    assert found.examples == tuple(f"bad {number}" for number in range(5))
    assert found.near_misses == ("a comment",)


def test_error_types_and_kinds_of_goals_make_rules_too():
    others = [Precedent(person=ACCEPT, kind="style", result={"error": "", "n": n}) for n in range(60)]
    failed = [Precedent(person=RETRY, kind=f"k{n}", result={"error": f"line {n}: TimeoutError: slow"}) for n in range(12)]
    legal = [Precedent(person=REPLAN, kind="legal", result={"n": n}) for n in range(12)]

    found = {one.trigger_pattern: one for one in mine([*others, *failed, *legal])}

    assert set(found) == {"'TimeoutError' in result.get('error', '')", "goal.kind == 'legal'"}
    rules = RuleSet(one.proposed_rule.model_copy(update={"mode": "active"}) for one in found.values())
    assert rules.first(Case({"error": "TimeoutError"}, Goal(id="g", kind="legal")).names) is not None
    assert rules.first(Case({"error": "none"}, Goal(id="g", kind="style")).names) is None
    assert rules.first(Case({"error": "none"}, Goal(id="g", kind="legal")).names) is not None


def test_what_would_be_decided_so_anyway_is_no_pattern():
    always = [Precedent(person=RETRY, result={"code": f"call{n % 4}(x)"}) for n in range(80)]
    assert mine([*always, Precedent(person=ACCEPT, result={"code": "call9(x)"})]) == []


def test_nothing_that_accepts_is_proposed_unless_somebody_asks_for_it():
    good = [Precedent(person=ACCEPT, result={"code": f"safe({n})"}) for n in range(12)]
    bad = [Precedent(person=RETRY, result={"code": f"x{n}"}) for n in range(40)]
    assert mine([*good, *bad]) == []


HOSTILE = (
    "eval('); __import__('os').system('x",
    "x' or True or '",
    '" + str(result) + "',
    "'''\n__import__('os')\n'''",
    "a\\'b(",
    "\ud800(",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_text(text):
    bad = [Precedent(person=ESCALATE, kind=text, result={text: text, "error": text}) for _ in range(12)]
    good = [Precedent(person=ACCEPT, result={"code": f"fine{n}(x)"}) for n in range(40)]

    for one in mine([*bad, *good]):
        rules = RuleSet([one.proposed_rule.model_copy(update={"mode": "active"})])
        assert all(rules.first(Case(case.result, Goal(id="g", kind=case.kind)).names) for case in bad)
        assert not any(rules.first(Case(case.result, Goal(id="g", kind=case.kind)).names) for case in good)


@given(st.text(max_size=40), st.text(max_size=40), st.text(max_size=20))
def test_whatever_was_judged_each_proposal_compiles_and_matches_its_examples(key, text, kind):
    bad = [Precedent(person=RETRY, kind=kind, result={key: text, "code": f"{text}({text})"}) for _ in range(10)]
    for one in mine(bad):
        condition = Condition(one.trigger_pattern)
        assert all(condition.holds(result=case.result, output=case.result, goal={"kind": case.kind}) for case in bad)
        assert one.proposed_rule.id.isascii()

"""What can be counted of judgements at any time."""

from hive_mind.judge.calibration import JudgeTally, tally_of
from hive_mind.judge.judgment import Judged, Judgment, JudgmentAction

ACCEPT, RETRY, REPLAN, ESCALATE = JudgmentAction


def test_the_three_measures_are_those_of_what_was_judged():
    judged = [
        Judgment(action=ACCEPT, reasoning="", cause="agreement", confidence=0.97),
        Judgment(action=ACCEPT, reasoning="", cause="agreement", confidence=1.0),
        Judgment(action=ESCALATE, reasoning="", cause="threshold", confidence=0.29),
        Judgment(action=ESCALATE, reasoning="", cause="rule", rule="no_eval"),
        Judgment(action=RETRY, reasoning="", cause="rule", rule="short"),
        Judgment(action=ACCEPT, reasoning="", cause="unattended"),
        Judgment(action=ACCEPT, reasoning="", cause="person"),
    ]

    found = tally_of(Judged(judgment=judgment, case="") for judgment in judged)

    assert (found.judged, found.escalated, found.by_rule, found.unattended) == (6, 2, 2, 1)
    assert (found.escalation_rate, found.rule_match_rate) == (2 / 6, 2 / 6)
    assert found.by_confidence == {0.2: 1, 0.9: 2}


def test_of_nothing_there_is_no_rate():
    assert JudgeTally().escalation_rate is None
    assert JudgeTally().rule_match_rate is None

"""What a signal and a judgement may say."""

import math

import msgspec
import pytest

from hive_mind.errors import InvalidInput
from hive_mind.judge.judgment import Judgment, JudgmentAction, Signal


def test_a_judgement_is_made_as_the_document_prints_it():
    judgment = Judgment(action=JudgmentAction.ESCALATE, reasoning="Confidence too low for autonomous decision")
    assert (judgment.action, judgment.confidence, judgment.signals) == (JudgmentAction.ESCALATE, None, ())


@pytest.mark.parametrize("confidence", [-0.01, 1.01, math.nan, math.inf])
def test_a_confidence_that_is_none_is_refused_and_named(confidence):
    with pytest.raises(InvalidInput, match=r"confidence of signal 'model' is .*: give a number from 0 to 1"):
        Signal(name="model", origin="model", action=JudgmentAction.ACCEPT, confidence=confidence)
    with pytest.raises(InvalidInput, match="threshold of a judgement"):
        Judgment(action=JudgmentAction.ACCEPT, reasoning="", threshold=confidence)
    with pytest.raises(InvalidInput, match="confidence of a judgement"):
        Judgment(action=JudgmentAction.ACCEPT, reasoning="", confidence=confidence)


@pytest.mark.parametrize("state", ["missing", "broken"])
def test_what_is_missing_or_broken_says_nothing(state):
    assert Signal(name="model", origin="model", state=state, reasoning="throttled").action is None
    with pytest.raises(InvalidInput, match=f"signal 'model' is {state}"):
        Signal(name="model", origin="model", state=state, action=JudgmentAction.ACCEPT)
    with pytest.raises(InvalidInput, match=f"signal 'model' is {state}"):
        Signal(name="model", origin="model", state=state, confidence=0.9)


def test_a_judgement_is_read_as_it_was_written_and_a_forged_confidence_is_no_judgement():
    signal = Signal(name="model", origin="model", action=JudgmentAction.ACCEPT, confidence=0.75, reasoning="as asked")
    judgment = Judgment(action=JudgmentAction.ACCEPT, reasoning="as asked", confidence=0.75, signals=(signal,), threshold=0.7)
    body = msgspec.json.encode(judgment)

    assert msgspec.json.decode(body, type=Judgment) == judgment
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(body.replace(b"0.75", b"7.5"), type=Judgment)

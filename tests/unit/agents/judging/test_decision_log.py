"""Judgements in a ledger: kept with all that they rest on, counted at any time, whatever else lies there."""

import asyncio
import json
import logging
from pathlib import Path

import pytest

from hive_mind import backends
from hive_mind.agents.judging.decision_log import JUDGEMENTS, LedgerLog
from hive_mind.agents.judging.hybrid_judge import HybridJudge
from hive_mind.errors import InvalidInput
from hive_mind.goals.goal import Goal, SuccessCriterion
from hive_mind.judge.calibration import tally_of
from hive_mind.judge.judgment import Judged, Judgment, JudgmentAction
from hive_mind.judge.rules import EvaluationRule, RuleSet
from hive_mind.ledger import Ledger
from hive_mind.llm.scripted import ScriptedModel
from hive_mind.model.entry import Entry
from tests.loops import InLoop, opened

ACCEPT, RETRY, REPLAN, ESCALATE = JudgmentAction
GOAL = Goal(id="g", kind="writing", success_criteria=[SuccessCriterion(id="clear", description="It is easy to read.")])
RULES = RuleSet([EvaluationRule(id="no_eval", condition="'eval(' in result.text", action=ESCALATE)])


@pytest.fixture(params=backends.known("ledger"))
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> InLoop:
    return InLoop(lambda: opened("ledger", request.param, tmp_path / "ledger.sqlite"))


def reply(confidence: float) -> str:
    return json.dumps({"action": "accept", "confidence": confidence, "reasoning": "clear", "scores": {"clear": 1}})


def judged(name: str, **fields: object) -> Judged:
    return Judged(judgment=Judgment(action=ACCEPT, reasoning="", id=name), case="c", **fields)  # type: ignore[arg-type]


async def test_the_measures_of_a_judge_can_be_read_from_its_log_at_any_time(ledger: Ledger):
    log = LedgerLog(ledger)
    judge = HybridJudge(RULES, ScriptedModel([reply(0.9), reply(0.4)], "openai:no-such-model"), log=log)
    found = [await judge.evaluate(GOAL, {"text": text}) for text in ("The shed is red.", "Sheds.", "eval(1)")]
    await ledger.append("item/1", 0, [Entry("opened", b"{}", 1)])

    kept = await log.judged()
    tally = tally_of(kept)

    assert [one.judgment for one in kept] == found
    assert [one.result["text"] for one in kept] == ["The shed is red.", "Sheds.", "eval(1)"]
    assert (tally.escalation_rate, tally.rule_match_rate) == (2 / 3, 1 / 3)
    assert tally.by_confidence == {0.4: 1, 0.9: 1}
    assert (tally.asked, tally.unpriced, tally.usd) == (2, 2, 0.0)
    assert tally.tokens == sum(one.input_tokens + one.output_tokens for one in kept) > 0


async def test_what_is_judged_again_is_kept_again(ledger: Ledger):
    log = LedgerLog(ledger)
    await asyncio.gather(*(log.keep(judged("a", kind=str(n))) for n in range(5)))

    assert sorted(one.kind for one in await log.judged()) == ["0", "1", "2", "3", "4"]


async def test_a_result_of_any_size_is_logged_and_half_a_character_is_refused(ledger: Ledger):
    log = LedgerLog(ledger)
    await log.keep(judged("large", result={"text": "x" * 2_000_000}))

    (kept,) = await log.judged()
    assert kept.result["bytes"] > 2_000_000
    assert kept.case == "c"
    with pytest.raises(InvalidInput, match="unpaired surrogate"):
        await log.keep(judged("half", result={"text": "\ud800"}))


async def test_what_can_not_be_read_hides_nothing_else(caplog, ledger: Ledger):
    log = LedgerLog(ledger)
    await ledger.append(f"{JUDGEMENTS}x", 0, [Entry("judged", b"{", 1)])
    await log.keep(judged("a"))

    with caplog.at_level(logging.ERROR):
        assert [one.judgment.id for one in await log.judged()] == ["a"]
    assert "a judgement is left out: entry 0 of judged/x" in caplog.text

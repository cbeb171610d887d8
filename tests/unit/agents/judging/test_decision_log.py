"""Judgements in a ledger: kept with all that they rest on, counted at any time, whatever else lies there."""

import asyncio
import json
import logging
from pathlib import Path

import msgspec
import pytest

from hive_mind import backends
from hive_mind.agents.judging.decision_log import AUDIT, JUDGEMENTS, LedgerLog, action_of, is_decided, record_of, shown
from hive_mind.agents.judging.hybrid_judge import HybridJudge
from hive_mind.errors import InvalidInput
from hive_mind.goals.goal import Goal, SuccessCriterion
from hive_mind.judge.calibration import tally_of
from hive_mind.judge.items import BY_EXPIRY, OPENED, Decision, Item, ItemKind, ItemView, stream_of
from hive_mind.judge.judgment import FACT, Judged, Judgment, JudgmentAction
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


def view(kind: ItemKind, shows: tuple[str, ...] = (), by: str = "olga", **decision: object) -> ItemView:
    context = (("fact", "The pump leaks."), ("before", "Hall seven."), ("report", "All is well."), ("why", "a rule"))
    item = Item(id="i", kind=kind, agent="ann", subject="f1", title="asked", opened_ms=1, context=context, shows=shows)
    return ItemView(item, Decision(item="i", by=by, **({"action": ACCEPT} | decision)))  # type: ignore[arg-type]


VERDICTS = [
    (view(FACT), ACCEPT),
    (view(FACT, action=ESCALATE), RETRY),
    # Approved, and among the facts that are wrong.
    (view(FACT, wrong=("f1",)), RETRY),
    (view(FACT, by=BY_EXPIRY), None),
    (ItemView(view(FACT).item), None),
    (view("judgment", ("report",), action=REPLAN), REPLAN),
    (view("judgment"), None),
    (view("question", ("report",)), ACCEPT),
    # An answer is no verdict on what stood beside the question.
    (view("question", ("report",), edit="ten"), None),
]


@pytest.mark.parametrize(("view", "action"), VERDICTS)
def test_what_people_say_of_facts_and_outputs_is_a_verdict(view: ItemView, action: JudgmentAction | None) -> None:
    assert is_decided(view) == (action is not None)
    assert action is None or action_of(view) is action


def test_a_rule_is_put_to_what_a_person_was_shown() -> None:
    assert shown(view("judgment", ("report", "none"))) == {"report": "All is well.", "none": ""}
    assert shown(view(FACT)) == {"text": "The pump leaks.", "concept": "", "before": "Hall seven."}


async def test_a_record_counts_the_judgements_that_people_look_over(ledger: Ledger) -> None:
    for number, kind in enumerate((AUDIT, FACT, AUDIT)):
        item = Item(id=f"i{number}", kind=kind, agent="ann", subject=f"f{number}", title="t", opened_ms=1)
        assert await ledger.append(stream_of(item.id), 0, [Entry(OPENED, msgspec.json.encode(item), 1)])

    assert (await record_of(ledger)).audits == 2

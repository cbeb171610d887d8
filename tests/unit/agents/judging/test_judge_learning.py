"""How sure a judge of facts has to be: moved by people's decisions, audits weighted by their share, kept, and undone at will."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from hive_mind.agents.desk import LedgerDesk
from hive_mind.agents.judging.decision_log import LedgerLog, Thresholds, learned, reset, thresholds_in
from hive_mind.agents.judging.fact_judge import FactJudge, audit_item, fact_item
from hive_mind.agents.judging.model_judge import ModelJudge
from hive_mind.judge.calibration import Comparison, accepted
from hive_mind.judge.items import Decision
from hive_mind.judge.judgment import JudgeSettings, JudgmentAction
from hive_mind.ledger import Ledger
from hive_mind.llm.base import Prompt
from hive_mind.llm.scripted import ScriptedModel
from hive_mind.model.entry import Entry
from hive_mind.model.fact import Fact
from hive_mind.model.ids import fact_id
from tests.sampled import usually
from tests.unit.agents.town import reply, shown, verdict

ACCEPT, RETRY, REPLAN, ESCALATE = JudgmentAction
GIVEN = 0.7


def compared(count: int, right: int, confidence: float, weight: float = 1.0) -> list[Comparison]:
    return [Comparison(confidence, n < right, "fact", weight) for n in range(count)]


def of_facts(found: Thresholds) -> float | None:
    return found.by_kind["fact"].value


async def test_with_few_decisions_the_setting_holds_and_then_it_falls_a_little_at_a_time_and_only_after_new_ones(ledger: Ledger):
    assert (await learned(ledger, GIVEN, compared(20, 20, 0.9), 1)).by_kind == {}
    assert await ledger.read("judge/threshold") == []
    found = [of_facts(await learned(ledger, GIVEN, compared(n, n, 0.5), n)) for n in (60, 61, 79, 80, 100)]
    assert found == [0.65, 0.65, 0.65, 0.6, 0.55]
    assert of_facts(await thresholds_in(ledger)) == 0.55


async def test_it_rises_and_shuts_at_once_and_opens_again_by_little(ledger: Ledger):
    wrong = compared(30, 15, 0.75)
    right = compared(100, 100, 0.9)
    assert of_facts(await learned(ledger, GIVEN, [*wrong, *right], 1)) == 0.9
    assert of_facts(await learned(ledger, GIVEN, [*wrong, *compared(100, 60, 0.9)], 2)) is None
    assert of_facts(await learned(ledger, GIVEN, [*wrong, *compared(500, 500, 0.9)], 3)) == 0.95


async def test_goals_of_each_kind_have_a_threshold_of_their_own(ledger: Ledger):
    code = [replace(one, kind="code") for one in compared(100, 50, 0.9)]
    found = await learned(ledger, GIVEN, [*compared(60, 60, 0.5), *code], 1)
    assert {kind: move.value for kind, move in found.by_kind.items()} == {"code": None, "fact": 0.65}
    assert await thresholds_in(ledger) == found


async def test_a_reset_lets_the_setting_hold_and_former_decisions_count_no_more(ledger: Ledger):
    await learned(ledger, GIVEN, compared(100, 50, 0.9), 1)
    assert of_facts(await thresholds_in(ledger)) is None
    await reset(ledger, 7)
    found = await thresholds_in(ledger)
    assert (found.by_kind, found.since_ms) == ({}, 7)


async def test_an_audit_stands_for_many_a_question_for_one_and_to_reject_is_to_keep_home(ledger: Ledger):
    judge, facts = await asked(ledger, 3, share=0.25)
    desk, log = LedgerDesk(ledger), LedgerLog(ledger)
    judged = await log.judged()
    audited = next(one for one in judged if one.audit)
    items = [audit_item("ann", audited), fact_item("ann", facts[0], judged[0].judgment, is_by_model=True)]
    found = []
    for item, action in zip(items, (ESCALATE, ACCEPT), strict=True):
        await desk.ask(item)
        await desk.decide(Decision(item=item.id, action=action, by="olga"))
        view = await desk.view(item.id)
        assert view
        found.append(await log.precedent(view))

    assert [(one.person, one.weight) for one in found if one] == [(RETRY, 4.0), (ACCEPT, 1.0)]
    assert [(one.is_right, one.weight) for one in accepted(one for one in found if one)] == [(False, 4.0), (True, 1.0)]
    assert judge.audits


async def asked(ledger: Ledger, count: int, share: float) -> tuple[FactJudge, Sequence[Fact]]:
    judge = judging(ledger, lambda _: 0.9, share)
    await judge.load()
    facts = [fact(number) for number in range(40)]
    for start in range(0, 40, 20):
        await judge.judge(facts[start : start + 20])
    assert count <= len(judge.audits) <= 20, "a quarter of forty, by chance"
    return judge, facts


def fact(number: int) -> Fact:
    text = f"Boat {number} is painted green."
    return Fact(fact_id(text), text, "boats", 0.9, ("notes",), 1)


def judging(ledger: Ledger, sure: Callable[[str], float], audit_share: float) -> FactJudge:
    """A judge whose model would share everything, and is as sure as `sure` says."""

    def answer(prompt: Prompt) -> str:
        return reply(*(verdict(one["number"], confidence=sure(one["text"])) for one in shown(prompt)))

    settings = JudgeSettings(threshold=GIVEN, has_model=True)
    return FactJudge("ann", ModelJudge(ScriptedModel(answer)), LedgerLog(ledger, audit_share=audit_share), settings)


TRUTH = {
    # How sure the model says it is, and how often it is right then.
    "overconfident": lambda rng: (rng.uniform(0.75, 0.99), 0.6),
    "calibrated": lambda rng: ((sure := rng.uniform(0.5, 0.999)), sure),
    "flat": lambda _: (0.9, 0.8),
    "very good": lambda rng: (rng.uniform(0.6, 0.9), 0.995),
}


async def lived(ledger: Ledger, kind: str, share: float, seed: int, facts: int) -> tuple[FactJudge, list[bool]]:
    """A judge at work, and people who answer all they are asked; of what it let pass in the last third, what was right."""
    rng, told, desk = random.Random(seed), dict[str, tuple[float, bool]](), LedgerDesk(ledger)
    # Which facts are audited depends on this key, and is to be the same in every run.
    await ledger.append("judge/key", 0, [Entry("key", b"key", 0)])
    judge = judging(ledger, lambda text: told[text][0], share)
    await judge.load()
    passed: list[bool] = []
    for start in range(0, facts, 20):
        batch = [fact(number) for number in range(start, start + 20)]
        for one in batch:
            sure, right = TRUTH[kind](rng)
            told[one.content] = sure, rng.random() < right
        for one, judged in zip(batch, await judge.judge(batch), strict=True):
            is_right = told[one.content][1]
            is_passed = judged.judgment.action is ACCEPT
            passed += [is_right] if is_passed and start >= facts * 2 // 3 else []
            if is_passed and not judged.audit:
                continue
            item = audit_item("ann", judged) if is_passed else fact_item("ann", one, judged.judgment, is_by_model=True)
            await desk.ask(item)
            await desk.decide(Decision(item=item.id, action=ACCEPT if is_right else ESCALATE, by="olga"))
    await judge.judge([])
    return judge, passed


@pytest.mark.parametrize("kind", usually(TRUTH, "overconfident", "very good"))
async def test_what_passes_alone_is_right_as_often_as_it_should_or_nothing_passes(kind: str, ledger: Ledger) -> None:
    # Who is right as often as it says is found out last.
    seed, facts = 20_261, 2_400 if kind == "calibrated" else 800
    judge, passed = await lived(ledger, kind, share=0.2, seed=seed, facts=facts)
    value = judge.settings.threshold_of("fact")
    accuracy = sum(passed) / len(passed) if passed else None
    print(f"{kind}: threshold {value}, {len(passed)} of {facts // 3} pass alone, {accuracy} right, seed {seed}")

    if kind in ("overconfident", "flat"):
        assert value is None
        assert passed == []
    else:
        assert accuracy is not None
        assert accuracy >= 0.93
    if kind == "very good":
        assert value is not None
        assert value < GIVEN


async def test_without_audits_a_judge_that_is_too_sure_of_itself_is_never_found_out(ledger: Ledger):
    judge, passed = await lived(ledger, "overconfident", share=0.0, seed=7, facts=600)
    assert judge.settings.threshold_of("fact") == GIVEN
    assert sum(passed) / len(passed) < 0.7

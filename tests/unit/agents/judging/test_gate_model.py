"""A model at the gate: what it accepts is shared, what it is unsure of a person decides, and what it did not judge stays."""

import asyncio
from pathlib import Path

import pytest

from hive_mind.agents.judging.model_judge import Pace
from hive_mind.judge.items import Decision
from hive_mind.judge.judgment import JudgmentAction
from hive_mind.judge.rules import RulesAtWork, RuleSet
from hive_mind.llm.scripted import ScriptedModel
from tests.unit.agents.town import by_text, is_taken, rule, shown, town
from tests.waiting import until

ACCEPT, RETRY, REPLAN, ESCALATE = JudgmentAction


async def test_a_model_accepts_what_is_shared_keeps_what_stays_and_asks_what_people_decide(tmp_path: Path) -> None:
    model = ScriptedModel(by_text({"cheese": "keep", "price": "ask"}))
    async with town(tmp_path, "sharded", model=model) as one:
        good = await one.store("The gate is painted blue.")
        assert good.held_back == "awaiting judgement"
        bad, asked = await one.store("Pump nine is made of cheese."), await one.store("The price of a pump is 23 pounds.")

        await one.until(good, is_taken)
        await one.until(bad, lambda fact: fact.held_back == "plausible")
        await one.until(asked, lambda fact: fact.held_back.startswith("asked a person"))
        assert [await one.is_seen_by_ben(fact) for fact in (good, bad, asked)] == [True, False, False]
        (view,) = await one.desk.open()
        assert [(signal.name, signal.confidence) for signal in view.item.signals] == [("model", 0.9)]

        await one.decide(asked, ACCEPT)
        await one.until(asked, is_taken)
        assert await one.is_seen_by_ben(asked)


def test_beyond_so_many_calls_a_minute_facts_are_held_and_judged_by_themselves_when_it_is_over(tmp_path: Path) -> None:
    async def work() -> None:
        is_over, now_s = asyncio.Event(), 0.0

        async def wait(seconds: float) -> None:
            nonlocal now_s
            assert seconds > 50
            await is_over.wait()
            now_s += seconds

        model = ScriptedModel(by_text({}))
        async with town(tmp_path, "flat", model=model, pace=Pace(1, lambda: now_s, wait)) as one:
            await one.until(await one.store("The gate is painted blue."), is_taken)
            others = [await one.store(f"Boat number {number} is painted green.") for number in range(30)]
            assert {(await one.now(fact)).held_back for fact in others} == {"awaiting judgement"}
            assert len(model.prompts) == 1

            is_over.set()
            for fact in others:
                await one.until(fact, is_taken)
            assert [len(shown(prompt)) for prompt in model.prompts] == [1, 20, 10]

    asyncio.run(work())


async def test_a_model_is_not_asked_about_what_a_rule_decides_and_its_no_outlives_no_rule(tmp_path: Path) -> None:
    model = ScriptedModel(by_text({}))
    async with town(tmp_path, "flat", [rule(RETRY)], model=model) as one:
        fact = await one.store("Pump seven is leaking oil today.")
        assert fact.held_back == "rule no_pumps (pumps are ours)"
        assert model.prompts == []

        one.rules = RulesAtWork(RuleSet())
        await one.ann.reconsider()
        await one.until(fact, is_taken)
        assert len(model.prompts) == 1

        one.rules = RulesAtWork(RuleSet([rule(RETRY)]))
        await one.ann.reconsider()
        assert (await one.now(fact)).held_back == "rule no_pumps (pumps are ours)"
        assert not await one.is_seen_by_ben(fact)


async def test_what_was_shared_before_there_was_a_model_stays_so_until_it_is_judged(tmp_path: Path) -> None:
    async with town(tmp_path, "flat") as one:
        kept, bad = await one.store("The gate is painted blue."), await one.store("Pump nine is made of cheese.")
        assert await one.is_seen_by_ben(kept)

    async with town(tmp_path, "flat", model=ScriptedModel(by_text({"cheese": "keep"}))) as one:
        await one.ann.reconsider()
        assert (await one.now(kept)).held_back == ""
        await one.until(bad, lambda fact: fact.held_back == "plausible")
        assert [await one.is_seen_by_ben(fact) for fact in (kept, bad)] == [True, False]


async def test_a_fact_that_an_audit_finds_wrong_is_taken_back_and_the_audit_held_up_nothing(tmp_path: Path):
    async with town(tmp_path, "sharded", model=ScriptedModel(by_text({})), audit_share=1.0) as one:
        good, bad = await one.store("The gate is painted blue."), await one.store("Pump nine is made of cheese.")
        for fact in (good, bad):
            await one.until(fact, is_taken)
            await one.until_asked(fact)
        assert [await one.is_seen_by_ben(fact) for fact in (good, bad)] == [True, True]
        assert {view.item.kind for view in await one.desk.open()} == {"audit"}

        await one.decide(good, ACCEPT)
        await one.decide(bad, ESCALATE, "cheese melts")
        await one.until(bad, lambda fact: fact.held_back == "olga said no: cheese melts")
        assert [await one.is_seen_by_ben(fact) for fact in (good, bad)] == [True, False]

    async with town(tmp_path, "sharded", model=ScriptedModel([]), audit_share=1.0) as one:
        await one.ann.reconsider()
        await one.until(bad, lambda fact: fact.held_back == "olga said no: cheese melts")
        assert await one.is_seen_by_ben(good)
        assert await one.desk.open() == []


async def test_an_audit_that_found_no_room_is_laid_down_when_there_is_some_also_after_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hive_mind.agents.desk.OPEN_MAX", 1)
    monkeypatch.setattr("hive_mind.agents.judging.gate_reviewer._AGAIN_S", 0.01)

    async with town(tmp_path, "flat", model=ScriptedModel(by_text({})), audit_share=1.0) as one:
        facts = [await one.store(f"Boat number {number} is painted green.") for number in range(3)]
        for fact in facts:
            await one.until(fact, is_taken)

    async with town(tmp_path, "flat", model=ScriptedModel([]), audit_share=1.0) as one:
        seen = set()
        while len(seen) < len(facts):
            (view,) = await until(one.desk.open)
            seen.add(view.item.subject)
            assert await one.desk.decide(Decision(item=view.item.id, action=ACCEPT, by="olga"))
        assert seen == {fact.id for fact in facts}

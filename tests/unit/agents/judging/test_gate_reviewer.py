"""What a judge holds back is its agent's alone, until a rule or a person lets it go; and is taken back from all by a later no."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from hive_mind.agents.desk import LedgerDesk
from hive_mind.agents.judging.decision_log import LedgerLog
from hive_mind.agents.judging.fact_judge import FactJudge
from hive_mind.agents.judging.gate_reviewer import GateReviewer
from hive_mind.errors import BackendError
from hive_mind.judge.items import Decision, Item
from hive_mind.judge.judgment import JudgmentAction
from hive_mind.judge.rules import EvaluationRule, RulesAtWork, RuleSet
from hive_mind.ledger import Ledger
from hive_mind.memory.gate.promotion import ALLOWED, Ruling
from hive_mind.model.content import Candidate
from hive_mind.model.fact import Fact, Sharing
from tests.loops import opened
from tests.unit.agents.town import PATIENCE_S, is_taken, rule, town
from tests.waiting import until

ACCEPT, RETRY, ESCALATE = JudgmentAction.ACCEPT, JudgmentAction.RETRY, JudgmentAction.ESCALATE


@asynccontextmanager
async def resting(home: Path) -> AsyncIterator[LedgerDesk]:
    """The desk of a town in which nobody runs."""
    async with opened("ledger", "sqlite", home / "ledger.sqlite", is_shared=True) as ledger:
        yield LedgerDesk(ledger)


def reviewer_at(desk: LedgerDesk, look: Callable[[Sequence[str]], Awaitable[None]]) -> GateReviewer:
    rules = RulesAtWork(RuleSet([rule(ESCALATE)]))
    return GateReviewer("ann", desk, look, lambda: rules, FactJudge("ann", None, LedgerLog(desk.ledger)))


@asynccontextmanager
async def at_work(reviewer: GateReviewer) -> AsyncIterator[None]:
    working = asyncio.create_task(reviewer.run())
    yield
    working.cancel()
    await asyncio.wait([working])


async def test_a_person_is_asked_once_and_what_they_say_takes_effect_here_and_everywhere(tmp_path: Path) -> None:
    async with town(tmp_path, "sharded", [rule(ESCALATE)]) as one:
        good, bad = await one.store("Pump seven is leaking oil today."), await one.store("Pump nine is made of cheese.")
        asked = await one.until(good, lambda fact: fact.held_back.startswith("asked a person"))
        await one.until(bad, lambda fact: fact.held_back.startswith("asked a person"))
        (line,) = [view for view in await one.desk.open() if view.item.subject == good.id]
        assert line.item.id[:8] in asked.held_back
        assert line.item.title == good.content
        assert dict(line.item.context)["why"] == "rule no_pumps (pumps are ours)"
        assert not await one.is_seen_by_ben(good)

        await one.decide(good, ACCEPT)
        await one.decide(bad, ESCALATE, "cheese melts")
        await one.until(good, is_taken)
        await one.until(bad, lambda fact: fact.held_back == "olga said no: cheese melts")
        assert await one.is_seen_by_ben(good)
        assert not await one.is_seen_by_ben(bad)
        assert await one.desk.open() == []


async def test_what_people_decided_holds_after_a_restart_and_what_waits_is_asked_once(tmp_path: Path) -> None:
    async with town(tmp_path, "sharded", asks_people=True) as one:
        kept, waiting = await one.store("Pump seven is leaking oil today."), await one.store("The gate is painted blue.")
        await one.until(kept, lambda fact: fact.held_back.startswith("asked a person"))
        await one.until(waiting, lambda fact: fact.held_back.startswith("asked a person"))
    # Decided while nobody runs.
    async with resting(tmp_path) as desk:
        (view,) = [view for view in await desk.open() if view.item.subject == kept.id]
        assert await desk.decide(Decision(item=view.item.id, action=ACCEPT, by="olga"))

    async with town(tmp_path, "sharded", asks_people=True) as one:
        await one.ann.search_facts("anything")
        await one.until(kept, is_taken)
        assert await one.is_seen_by_ben(kept)
        assert [view.item.subject for view in await one.desk.open()] == [waiting.id]
        assert not await one.is_seen_by_ben(waiting)


async def test_a_rule_that_breaks_asks_a_person_and_one_that_accepts_asks_nobody(tmp_path: Path) -> None:
    accepting = EvaluationRule(id="gates", condition="'gate' in result.text", action=ACCEPT, priority=200)
    async with town(tmp_path, "flat", [rule(RETRY, "result['none'] > 1"), accepting], asks_people=True) as one:
        broken, accepted = await one.store("Pump seven is leaking oil today."), await one.store("The gate is painted blue.")

        await one.until(broken, lambda fact: fact.held_back.startswith("asked a person"))
        (view,) = await one.desk.open()
        # What no rule decided would be kept as a question to people.
        await until(partial(is_kept, one.desk, accepted, "rule", ACCEPT))
        assert "rule no_pumps can't be applied to this" in dict(view.item.context)["why"]
        assert await one.is_seen_by_ben(accepted)


async def is_kept(desk: LedgerDesk, fact: Fact, cause: str, action: JudgmentAction) -> bool:
    kept = [judged.judgment for judged in await LedgerLog(desk.ledger).judged() if judged.goal == fact.id]
    return [(judgment.cause, judgment.action) for judgment in kept] == [(cause, action)]


async def test_a_desk_that_fails_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hive_mind.agents.judging.gate_reviewer._AGAIN_S", 0.01)
    failures = [BackendError("ledger", "the disk is full")] * 2
    ask = LedgerDesk.ask

    async def ailing(self: LedgerDesk, item: Item) -> bool:
        if failures:
            raise failures.pop()
        return await ask(self, item)

    monkeypatch.setattr(LedgerDesk, "ask", ailing)
    async with town(tmp_path, "flat", asks_people=True) as one:
        fact = await one.store("The gate is painted blue.")
        await one.until_asked(fact)
        await until(partial(is_kept, one.desk, fact, "missing", ESCALATE))


async def test_what_a_rule_stops_does_not_travel_as_the_text_before_another_fact(tmp_path: Path) -> None:
    async with town(tmp_path, "flat", [rule(RETRY)]) as one:
        told = Candidate("It is repaired on Monday.", "plans", 0.8, before="The pump is leaking oil today.")
        (fact,) = await one.ann.store_facts([told], "handbook")

        assert fact.held_back == "the text before it: rule no_pumps (pumps are ours)"
        assert not await one.is_seen_by_ben(fact)


@pytest.mark.parametrize("is_a_fact", [True, False])
async def test_a_text_that_stands_before_others_is_asked_about_once_and_decided_for_all(tmp_path: Path, is_a_fact: bool) -> None:
    async with town(tmp_path, "flat", [rule(ESCALATE)]) as one:
        before = "The pump is leaking oil today."
        if is_a_fact:
            await one.store(before)
        said = [Candidate(text, "plans", 0.8, before=before) for text in ("It is repaired on Monday.", "Nobody is to blame.")]
        facts = [fact for text in said for fact in await one.ann.store_facts([text], "handbook")]

        for fact in facts:
            await one.until(fact, lambda now: now.held_back.startswith("the text before it: asked a person"))
        (view,) = await one.desk.open()
        assert view.item.title == before
        assert await one.desk.decide(Decision(item=view.item.id, action=ACCEPT, by="olga"))

        for fact in facts:
            await one.until(fact, lambda now: now.sharing is Sharing.SHARED)
            assert await one.is_seen_by_ben(fact)


async def test_what_the_first_gate_holds_back_nobody_is_asked_about(tmp_path: Path) -> None:
    async with town(tmp_path, "flat", asks_people=True) as one:
        secret = await one.store("The password of the pump is hunter0Xy!")
        other = await one.store("The gate is painted blue.")

        await one.until(other, lambda fact: fact.held_back.startswith("asked a person"))
        assert "holds" in (await one.now(secret)).held_back
        assert [view.item.subject for view in await one.desk.open()] == [other.id]


async def test_more_than_a_desk_takes_waits_until_there_is_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hive_mind.agents.desk.OPEN_MAX", 2)
    monkeypatch.setattr("hive_mind.agents.judging.gate_reviewer._AGAIN_S", 0.01)

    async with town(tmp_path, "flat", asks_people=True) as one:
        facts = [await one.store(f"Pump {name} is leaking oil today.") for name in ("one", "two", "three")]
        decided = 0
        async with asyncio.timeout(PATIENCE_S):
            while decided < len(facts):
                views = await one.desk.open()
                assert len(views) <= 2
                for view in views:
                    decided += await one.desk.decide(Decision(item=view.item.id, action=ACCEPT, by="olga"))
                await asyncio.sleep(0.002)
        for fact in facts:
            await one.until(fact, is_taken)


async def decided_before(home: Path, *actions: JudgmentAction) -> Fact:
    """A fact that waits, decided so, and opened again in between; then everybody ends."""
    async with town(home, "flat", [rule(ESCALATE)]) as one:
        fact = await one.store("Pump seven is leaking oil today.")
        await one.until(fact, lambda now: now.held_back.startswith("asked a person"))
        (view,) = await one.desk.open()
        for number, action in enumerate(actions):
            if number:
                assert await one.desk.reopen(view.item.id, "olga")
            assert await one.desk.decide(Decision(item=view.item.id, action=action, by="olga"))
    return fact


async def rulings_after_a_restart(home: Path, fact: Fact) -> list[Ruling | None]:
    """What is said of a fact when it is looked at again, and then."""
    found: list[Ruling | None] = []

    async def look(fact_ids: Sequence[str]) -> None:
        found.extend(reviewer.ruling(fact) for fact_id in fact_ids if fact_id == fact.id)

    async with resting(home) as desk:
        reviewer = reviewer_at(desk, look)
        async with at_work(reviewer):
            await until(lambda: found)
    return [*found, reviewer.ruling(fact)]


@pytest.mark.parametrize("is_open_again", [False, True])
async def test_after_a_restart_an_approval_that_was_taken_back_lets_nothing_out_even_for_a_moment(
    tmp_path: Path, is_open_again: bool
) -> None:
    fact = await decided_before(tmp_path, ACCEPT, ESCALATE)
    if is_open_again:
        async with resting(tmp_path) as desk:
            (named,) = await desk.ids()
            assert await desk.reopen(named, "olga")

    assert set(await rulings_after_a_restart(tmp_path, fact)) == {Ruling("olga said no")}


async def test_what_was_approved_is_known_before_everything_is_looked_at_again(tmp_path: Path) -> None:
    fact = await decided_before(tmp_path, ACCEPT)

    async def never(fact_ids: Sequence[str]) -> None:
        raise AssertionError(fact_ids)

    async with resting(tmp_path) as desk:
        reviewer = reviewer_at(desk, never)
        assert reviewer.ruling(fact) is None
        await reviewer.recall()
        assert reviewer.ruling(fact) == ALLOWED


async def test_whoever_is_cut_short_while_asking_asks_about_all_that_is_left_when_it_runs_again(ledger: Ledger) -> None:
    is_asking = asyncio.Event()

    class Slow(LedgerDesk):
        async def ask(self, item: Item) -> bool:
            del item
            is_asking.set()
            return await asyncio.Event().wait()

    async def nothing(fact_ids: Sequence[str]) -> None:
        del fact_ids

    facts = [Fact(name * 32, f"Pump {name} is leaking oil.", "pump", 0.9, ("log",), 0) for name in "abc"]
    reviewer = reviewer_at(Slow(ledger), nothing)
    reviewer.want(facts)
    async with at_work(reviewer):
        await asyncio.wait_for(is_asking.wait(), PATIENCE_S)

    desk = reviewer._desk = LedgerDesk(ledger)

    async def are_asked() -> bool:
        return {view.item.subject for view in await desk.open()} == {fact.id for fact in facts}

    async with at_work(reviewer):
        await until(are_asked)

"""A desk over a ledger: asked once, decided once, followed over restarts, bounded."""

import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from hive_mind import backends
from hive_mind.agents.desk import Decided, LedgerDesk
from hive_mind.agents.notices import Notices
from hive_mind.errors import BackendTimeout, InvalidInput
from hive_mind.judge.items import OPEN_MAX, Decision, Item
from hive_mind.judge.judgment import JudgmentAction
from hive_mind.ledger import Ledger
from hive_mind.model.entry import Entry
from hive_mind.model.ids import item_id
from tests.loops import InLoop, opened

ACCEPT, REJECT = JudgmentAction.ACCEPT, JudgmentAction.ESCALATE


@pytest.fixture(params=backends.known("ledger"))
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> InLoop:
    return InLoop(lambda: opened("ledger", request.param, tmp_path / "ledger.sqlite"))


def item(name: str = "a", **fields: Any) -> Item:
    values = {"id": item_id("fact", name, ""), "kind": "fact", "agent": "ines", "subject": name, "title": f"Is {name} true?"}
    return Item(**{**values, "opened_ms": 1_000, **fields})


def said(by: str, action: JudgmentAction = ACCEPT, name: str = "a", **fields: Any) -> Decision:
    return Decision(item=item(name).id, action=action, by=by, **fields)


async def first(count: int, desk: LedgerDesk, since_pos: int = 0) -> list[Decided]:
    found: list[Decided] = []
    async with aclosing(desk.decisions(since_pos)) as following:
        while len(found) < count:
            found.append(await asyncio.wait_for(anext(following), 60))
    return found


async def test_what_is_asked_twice_by_whomever_is_one_item_which_is_not_asked_again_once_it_is_decided(ledger: Ledger) -> None:
    here, there = LedgerDesk(ledger), LedgerDesk(ledger)
    assert await asyncio.gather(here.ask(item()), here.ask(item()), there.ask(item())) == [True] * 3
    assert [view.item for view in await here.open()] == [item()]
    assert len(await ledger.read(f"item/{item().id}")) == 1

    assert [await here.decide(said(by)) for by in ("ines", "bo", "ines", "bo")] == [True, False, True, False]
    assert await here.ask(item(title="the same case, told otherwise"))
    assert await here.open() == []
    assert len(await ledger.read(f"item/{item().id}")) == 3


async def test_a_receiver_of_notices_that_is_silent_is_waited_for_once_a_round_and_keeps_no_other_notice_back_for_ever() -> None:
    async with opened("ledger", "memory") as ledger:
        tried: list[str] = []

        async def deliver(_: str, notice: dict[str, Any]) -> None:
            tried.append(notice["title"])
            if notice["title"] == "a":
                raise BackendTimeout("command", "it did not end within 20 s")

        for number, name in enumerate("abc"):
            await LedgerDesk(ledger).ask(item(name, kind="question", title=name, opened_ms=1_000 + number))
        notices = Notices(ledger, deliver)
        rounds = [(await notices.send_due(), "".join(tried)) for _ in range(2)]

    assert rounds == [(3, "a"), (1, "abca")]


async def test_a_reopened_item_waits_again_and_is_decided_again(ledger: Ledger) -> None:
    desk, other = LedgerDesk(ledger), LedgerDesk(ledger)
    await desk.ask(item())
    assert not await desk.reopen(item().id, "bo")
    await desk.decide(said("ines"))
    assert await other.open() == []

    assert await desk.reopen(item().id, "bo", "I doubt it")

    assert [view.item.id for view in await desk.open()] == [view.item.id for view in await other.open()] == [item().id]
    assert await desk.decide(said("ines"))
    assert [one.decision for one in await first(2, desk)] == [said("ines"), said("ines")]


async def test_decisions_go_on_behind_the_position_that_was_seen_last(ledger: Ledger) -> None:
    desk = LedgerDesk(ledger)
    for n in range(6):
        await desk.ask(item(str(n)))
        await ledger.append(f"run/{n}", 0, [Entry("step", b"", 0)])
    following = asyncio.create_task(first(6, desk))
    for n in range(6):
        await desk.decide(said("ines", name=str(n)))

    seen = await following
    assert [one.decision.item for one in seen] == [item(str(n)).id for n in range(6)]
    assert await first(4, LedgerDesk(ledger), seen[1].pos) == seen[2:]


async def test_what_waits_is_listed_the_oldest_first_by_kind_and_agent(ledger: Ledger) -> None:
    desk = LedgerDesk(ledger)
    await desk.ask(item("late", opened_ms=9))
    await desk.ask(item("early", opened_ms=3, agent="bo"))
    await desk.ask(item("audit", opened_ms=5, kind="audit"))

    async def listed(**which: str) -> list[str]:
        return [view.item.subject for view in await desk.open(**which)]

    assert await listed() == ["early", "audit", "late"]
    assert await listed(kind="fact") == ["early", "late"]
    assert await listed(agent="ines") == ["audit", "late"]
    assert await listed(kind="audit", agent="bo") == []


async def test_an_agent_has_no_more_than_a_hundred_open_items_and_asks_again_when_there_is_room(ledger: Ledger) -> None:
    desk = LedgerDesk(ledger)
    asked = await asyncio.gather(*(desk.ask(item(str(n))) for n in range(OPEN_MAX + 20)))

    assert asked.count(True) == len(await desk.open()) == OPEN_MAX
    assert await desk.ask(item(str(asked.index(True)))), "what is there is not refused"
    assert await desk.ask(item("another agent's", agent="bo"))
    refused = str(asked.index(False))
    await desk.decide(said("ines", name=str(asked.index(True))))
    assert await desk.ask(item(refused))


async def test_what_nobody_decided_in_time_is_decided_once_and_never_accepted(ledger: Ledger) -> None:
    now = [1_000]
    desk = LedgerDesk(ledger, clock_ms=lambda: now[0])
    await desk.ask(item("wait", expires_ms=0))
    await desk.ask(item("reject", expires_ms=2_000, on_expiry="reject"))
    await desk.ask(item("retry", expires_ms=3_000, on_expiry="retry"))
    assert await desk.expire() == []

    now[0] = 5_000
    outcomes = [*await desk.expire(), *await LedgerDesk(ledger, clock_ms=lambda: 9_000).expire()]

    assert sorted((one.action, one.item) for one in outcomes) == [
        (JudgmentAction.ESCALATE, item("reject").id),
        (JudgmentAction.RETRY, item("retry").id),
    ]
    assert [view.item.subject for view in await desk.open()] == ["wait"]


async def test_an_item_that_does_not_exist_is_told_with_what_to_do(ledger: Ledger) -> None:
    desk = LedgerDesk(ledger)
    for call in (desk.decide(said("ines")), desk.reopen(item().id, "ines")):
        with pytest.raises(InvalidInput, match=r"there is no item .* on this desk"):
            await call
    assert await desk.view(item().id) is None


async def test_an_unreadable_item_is_told_and_does_not_hide_the_others(caplog: pytest.LogCaptureFixture, ledger: Ledger) -> None:
    await ledger.append("item/newer", 0, [Entry("opened", b'{"form": 9}', 0)])
    desk = LedgerDesk(ledger)
    await desk.ask(item())
    await ledger.append("item/newer2", 0, [Entry("opened", b"[]", 0)])

    assert [view.item for view in await desk.open()] == [item()]
    assert "entry 0 of item/newer " in caplog.text
    assert "entry 0 of item/newer2 " in caplog.text


async def test_what_was_decided_until_now_is_read_without_waiting_and_ids_are_those_that_changed_last_first(
    ledger: Ledger,
) -> None:
    desk = LedgerDesk(ledger)
    assert await desk.decided() == []
    for name in "abc":
        assert await desk.ask(item(name))
    for name in "cb":
        assert await desk.decide(said("bo", name=name))

    one, other = await desk.decided()
    assert (one.decision, other.decision) == (said("bo", name="c"), said("bo", name="b"))
    assert await desk.decided(one.pos) == [other]
    assert await desk.decided(other.pos) == []
    assert await desk.ids() == [item(name).id for name in "bca"]

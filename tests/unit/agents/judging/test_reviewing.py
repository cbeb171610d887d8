"""A worker that starts again rules by what people have decided before it tells its hive anything."""

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hive_mind.agents.desk import LedgerDesk
from hive_mind.agents.judging.desk_pages import DeskPages
from hive_mind.agents.judging.reviewing import Reviewing
from hive_mind.errors import BackendError
from hive_mind.hive.policy.registry import Registry
from hive_mind.judge.items import Decision, Item
from hive_mind.judge.judgment import DeskConfig, JudgmentAction, ReviewConfig
from hive_mind.memory.gate.promotion import ALLOWED, Review, Ruling
from hive_mind.model.fact import Fact
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import open_ledger
from tests.waiting import until

FACT = Fact("f" * 32, "Pump seven is leaking oil today.", "pumps", 0.9, ("log",), 0)


class Memory:
    """Notes how a fact is ruled on the moment that somebody judges, and whenever everything is looked at again."""

    def __init__(self) -> None:
        self.rulings: list[Ruling | None] = []
        self.has_looked = asyncio.Event()

    def reviewed_by(self, review: Review) -> None:
        self.review = review
        self.rulings.append(review.ruling(FACT))

    async def reconsider(self, fact_ids: Sequence[str] | None = None) -> None:
        self.rulings.append(self.review.ruling(FACT))
        if fact_ids is None:
            self.has_looked.set()


async def approve(home: Path) -> None:
    ledger = await open_ledger(Settings(home=home), "ann", is_shared=True)
    desk = LedgerDesk(ledger)
    assert await desk.ask(Item(id="i", kind="fact", agent="ann", subject=FACT.id, title=FACT.content, opened_ms=1))
    assert await desk.decide(Decision(item="i", action=JudgmentAction.ACCEPT, by="olga"))
    await ledger.close()


def reviewing_in(home: Path, memory: Memory) -> Reviewing:
    node = SimpleNamespace(is_ready=True, node=SimpleNamespace(registry=Registry()))
    member = SimpleNamespace(desk_pages=DeskPages("n", lambda _: (), bool), runner=SimpleNamespace(tell=None), member=node)
    ledger = partial(open_ledger, Settings(home=home), "ann", is_shared=True)
    config = ReviewConfig(facts="people", rules=(), desk=DeskConfig("ann", "n"))
    return Reviewing(config, "ann", cast(Any, memory), cast(Any, member), ledger, cast(Any, None))


async def test_what_was_approved_is_never_taken_back_by_a_start_not_even_under_new_rules(tmp_path: Path) -> None:
    await approve(tmp_path)
    memory = Memory()
    reviewing = reviewing_in(tmp_path, memory)

    await reviewing.open()
    await asyncio.wait_for(memory.has_looked.wait(), 60)
    await reviewing.close()

    assert set(memory.rulings) == {ALLOWED}


@pytest.mark.parametrize("trouble", [BackendError("ledger", "the disk is full"), ValueError("a defect")])
async def test_why_facts_are_not_judged_is_said_until_they_are(
    tmp_path: Path, trouble: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hive_mind.agents.judging.reviewing._AGAIN_S", 0.01)
    is_well = asyncio.Event()
    is_well.set()

    async def ailing(*_: object) -> list[Any]:
        if not is_well.is_set():
            raise trouble
        return []

    monkeypatch.setattr(LedgerDesk, "decided", ailing)
    reviewing = reviewing_in(tmp_path, Memory())
    await reviewing.open()
    is_well.clear()
    await until(lambda: reviewing.trouble)
    assert reviewing.trouble == f"its facts can't be judged: {trouble}"
    is_well.set()
    await until(lambda: not reviewing.trouble)
    await reviewing.close()

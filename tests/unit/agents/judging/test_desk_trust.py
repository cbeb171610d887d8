"""Answers to audits: a wrong fact is taken back for all and its agent rated, once, whoever is stopped in between."""

import asyncio
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from hive_mind import backends
from hive_mind.agents.desk import LedgerDesk
from hive_mind.agents.judging.reviewing import DeskEffects
from hive_mind.errors import BackendTimeout
from hive_mind.hive.effects import Now
from hive_mind.hive.trust.trust_book import TrustSettings
from hive_mind.judge.items import Decision, Item, ItemKind
from hive_mind.judge.judgment import JudgmentAction
from hive_mind.ledger import Ledger

RIGHT, WRONG = JudgmentAction.ACCEPT, JudgmentAction.ESCALATE
PATIENCE_S = 60


class Hive:
    """As much of a member as the desk needs: a registry, and who is a moderator."""

    def __init__(self, *, is_moderator: bool = True, failures: int = 0) -> None:
        self.written: dict[str, Any] = {}
        self.calls = 0
        self._failures = failures
        policy = SimpleNamespace(is_moderator=lambda _: is_moderator, at=lambda _: SimpleNamespace(hive_ms=lambda: 1_000))
        settings = SimpleNamespace(standing=SimpleNamespace(trust=TrustSettings()))
        node = SimpleNamespace(registry=self.written, policy=policy, settings=settings)
        self.now = lambda: Now(1_000, 1_000)
        self.member, self.runner = SimpleNamespace(node=node), SimpleNamespace(write=self.write)

    async def write(self, entries: Any, by: str) -> list[str]:
        assert by == "desk"
        self.calls += 1
        if self.calls <= self._failures:
            raise BackendTimeout("hive", "nobody answers")
        self.written |= {key: msgspec.json.decode(value) for key, value in entries}
        return [""] * len(entries)


async def answered(
    ledger: Ledger, agent: str, fact: str, action: JudgmentAction, kind: ItemKind = "audit", judged: str = "", by: str = "olga"
) -> None:
    desk = LedgerDesk(ledger)
    item = Item(id=f"{agent}-{fact}", kind=kind, agent=agent, subject=fact, title=fact, opened_ms=1, judged=judged)
    await desk.ask(item)
    await desk.decide(Decision(item=item.id, action=action, by=by))


async def followed(ledger: Ledger, hive: Hive, audits: int) -> None:
    """Let the desk run until it has noted so many audits."""
    running = asyncio.create_task(DeskEffects("desk", LedgerDesk(ledger), hive).run())  # type: ignore[arg-type]
    async with asyncio.timeout(PATIENCE_S):
        while sum(head.kind == "told" for head in await ledger.heads("audited/")) < audits:  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.002)
    running.cancel()
    await asyncio.wait([running])


def counts(hive: Hive, agent: str) -> tuple[int, int]:
    rating = hive.written[f"rating/desk/{agent}"]
    return round(rating["good"]), round(rating["bad"])


async def test_right_and_wrong_are_rated_and_what_is_wrong_is_taken_back_for_all(ledger: Ledger):
    hive = Hive()
    for fact, action in (("a", RIGHT), ("b", WRONG), ("c", WRONG)):
        await answered(ledger, "ann", fact, action)
    await answered(ledger, "ben", "d", RIGHT)
    await answered(ledger, "ann", "e", WRONG, kind="fact")
    await followed(ledger, hive, 4)

    assert (counts(hive, "ann"), counts(hive, "ben")) == ((1, 2), (1, 0))
    assert {key for key in hive.written if key.startswith("retracted/")} == {"retracted/b", "retracted/c"}


async def test_an_audit_of_a_run_rates_its_agent_and_takes_no_fact_back(ledger: Ledger):
    hive = Hive()
    await answered(ledger, "ann", "r1/whole", WRONG, judged="j1")
    await answered(ledger, "ann", "r2/whole", RIGHT, judged="j2")
    await answered(ledger, "ben", "r3/whole", WRONG, judged="j3", by="its run")
    await answered(ledger, "ann", "b", WRONG)
    await followed(ledger, hive, 3)
    assert set(hive.written) == {"rating/desk/ann", "retracted/b"}
    assert counts(hive, "ann") == (1, 2)


async def test_each_answer_counts_once_over_restarts_also_where_it_was_told_and_not_yet_noted(ledger: Ledger):
    hive = Hive()
    await answered(ledger, "ann", "a", WRONG)
    await followed(ledger, hive, 1)
    await followed(ledger, hive, 1)
    assert (counts(hive, "ann"), hive.calls) == ((0, 1), 1)

    # Stopped between telling and noting that it was told.
    fresh = await backends.load("ledger", "memory").open()
    for stream in ("item/ann-a", "audited/ann-a"):
        for entry in (await ledger.read(stream))[: 1 if stream.startswith("audited") else 2]:
            await fresh.append(stream, entry.seq, [entry])
    await followed(fresh, hive, 1)
    assert (counts(hive, "ann"), hive.calls) == ((0, 1), 2)


async def test_who_is_no_moderator_takes_back_nothing_of_others_and_nobody_rates_itself(ledger: Ledger):
    hive = Hive(is_moderator=False)
    await answered(ledger, "ann", "a", WRONG)
    await answered(ledger, "desk", "b", WRONG)
    await followed(ledger, hive, 2)
    assert set(hive.written) == {"rating/desk/ann"}


async def test_where_the_hive_does_not_answer_it_is_told_again(monkeypatch: pytest.MonkeyPatch, ledger: Ledger) -> None:
    monkeypatch.setattr("hive_mind.agents.judging.reviewing._AGAIN_S", 0.001)
    hive = Hive(failures=3)
    await answered(ledger, "ann", "a", WRONG)
    await followed(ledger, hive, 1)
    assert (counts(hive, "ann"), hive.calls) == ((0, 1), 4)

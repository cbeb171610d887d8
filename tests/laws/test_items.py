"""Whoever decides and reopens an item in whatever order: each time it is open one decision counts, and all read the same."""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from hive_mind import backends
from hive_mind.agents.desk import LedgerDesk
from hive_mind.judge.items import DECIDED, OPENED, REOPENED, Decision, Item, folded, stream_of
from hive_mind.judge.judgment import JudgmentAction
from hive_mind.ledger import Ledger

ITEM = Item(id="i", kind="question", agent="a", subject="s", title="?", opened_ms=1)
decisions = st.builds(Decision, item=st.just("i"), action=st.sampled_from(JudgmentAction), by=st.sampled_from(["x", "y", "z"]))
moves = st.tuples(st.integers(0, 2), decisions | st.none())
"""Which desk moves, and what it decides; None to reopen."""


async def moved(desk: LedgerDesk, decision: Decision | None) -> bool:
    return await (desk.reopen("i", "chief") if decision is None else desk.decide(decision))


async def check(ledger: Ledger, told: list[tuple[Decision | None, bool]]) -> None:
    """`told` is what each move was answered with."""
    entries = await ledger.read(stream_of("i"))
    turns = [entry.kind for entry in entries if entry.kind in (DECIDED, REOPENED)]
    assert turns == [DECIDED, REOPENED] * (len(turns) // 2) + [DECIDED] * (len(turns) % 2), "by turns"
    assert entries[0].kind == OPENED
    assert turns.count(REOPENED) == len([1 for move, was in told if move is None and was])
    view = folded(entries)
    assert view is not None
    everything = {one for one in (view.decision, *view.later, *view.former) if isinstance(one, Decision)}
    assert everything == {move for move, _ in told if move is not None}, "nothing that was said is lost"
    assert turns.count(DECIDED) <= len([1 for move, was in told if move is not None and was])


@given(rounds=st.lists(st.lists(moves, min_size=1, max_size=5), min_size=1, max_size=5))
def test_by_turns_one_decision_counts_and_everything_said_is_kept(rounds: list[list[tuple[int, Decision | None]]]) -> None:
    async def scenario(path: Path) -> None:
        ledgers = [await backends.load("ledger", "sqlite").open(path, is_shared=True) for _ in range(3)]
        desks, told = [LedgerDesk(ledger) for ledger in ledgers], []
        try:
            await desks[0].ask(ITEM)
            for some in rounds:
                answers = await asyncio.gather(*(moved(desks[desk], move) for desk, move in some))
                told += [(move, answer) for (_, move), answer in zip(some, answers, strict=True)]
                await check(ledgers[0], told)
                views = [await desk.open() for desk in desks]
                assert views[0] == views[1] == views[2]
        finally:
            for ledger in ledgers:
                await ledger.close()

    with TemporaryDirectory() as folder:
        asyncio.run(scenario(Path(folder) / "ledger.sqlite"))

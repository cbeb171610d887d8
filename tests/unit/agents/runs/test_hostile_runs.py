"""What a model or a tool gives may be of any size and shape: a run keeps it, says what is wrong with it, or asks a person.

None of it may stop a run: it would be asked for, and paid for, again and again. Nor may a disk that is full for a while.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from hive_mind.agents.runs import run_keeper
from hive_mind.agents.runs.executor import RunExecutor
from hive_mind.agents.runs.run_journal import say_to
from hive_mind.agents.runs.run_keeper import RunKeeper
from hive_mind.agents.runs.shared_values import Values
from hive_mind.errors import BackendError, InvalidInput
from hive_mind.ledger import Ledger
from hive_mind.model.content import Reply
from hive_mind.model.entry import Entry
from hive_mind.runs.spec import Limits
from hive_mind.runs.state import RunState
from hive_mind.tools.functions import tool
from tests.loops import opened
from tests.unit.agents.run_builders import driven, kept, parts_over, said, sets
from tests.unit.runs.flow import worker
from tests.waiting import until

LOOP = worker({"id": "a", "tools": ["shout"], "outputs": ["x"]})
HUGE = "y" * 2_000_000


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"v": [value]}
    return value


@tool
async def shout() -> str:
    """Fail at length."""
    raise RuntimeError(HUGE)


def after(first: Reply, folder: Path, spec: Any = LOOP) -> tuple[RunState, int]:
    """Where a run gets with this first reply of a model that goes on as it should, and how often the model was asked."""
    asked = [0]

    def conversation(_: object) -> Reply:
        asked[0] += 1
        return first if asked[0] == 1 else sets("x", 1)

    async def whole() -> RunState:
        async with opened("ledger", "memory") as ledger:
            found = await driven(parts_over(ledger, shout, conversation=conversation, folder=folder), spec)
            assert await kept(ledger) == found
            return found

    return asyncio.run(whole()), asked[0]


@pytest.mark.parametrize(
    "reply",
    [
        Reply(HUGE, (), 3, 2),
        said("", ("shout", {"q": HUGE})),
        said("", (HUGE, {})),
        said("", ("ask_person", {"question": HUGE})),
        said("", *[("shout", {})] * 3_000),
    ],
    ids=["text", "arguments", "name", "question", "calls"],
)
def test_a_reply_that_no_journal_keeps_is_a_persons_business(reply: Reply, tmp_path: Path) -> None:
    state, asked = after(reply, tmp_path)
    assert (state.outcome, state.is_waiting, asked) == (None, True, 1)


@pytest.mark.parametrize(
    "reply", [sets("x", HUGE[:600_000]), said("", ("shout", {})), sets("x", "half \ud800")], ids=["output", "error", "surrogate"]
)
def test_what_is_wrong_with_a_call_is_told_and_the_run_goes_on(reply: Reply, tmp_path: Path) -> None:
    assert after(reply, tmp_path)[0].outcome == "accepted"


def test_an_output_that_is_nested_without_end_is_cut(tmp_path: Path) -> None:
    state, _ = after(sets("x", nested(400)), tmp_path)
    assert state.outcome == "accepted"
    assert "…" in str(state.buffer["x"])


def test_a_server_that_counts_backwards_gives_no_budget(tmp_path: Path) -> None:
    state, _ = after(Reply("hi", (), -(10**9), 5), tmp_path, LOOP.model_copy(update={"limits": Limits(tokens=1_000)}))
    assert state.tokens > 0


class Shared:
    """What a fleet shares: more than a step has room for."""

    async def read(self, keys: list[str]) -> dict[str, Any]:
        """All that is asked for."""
        return dict.fromkeys(keys, "z" * 600_000)

    async def write(self, written: Values) -> None:
        """Nobody does."""


async def test_more_than_fits_of_what_others_share_is_a_persons_business(ledger: Ledger) -> None:
    spec = worker({"id": "a", "inputs": ["b", "c"], "outputs": ["x"]})
    parts = parts_over(ledger, conversation=lambda _: sets("x", 1), fleet_values=Shared())
    state = await driven(parts, spec.model_copy(update={"scopes": {"b": "fleet", "c": "fleet"}}))
    assert (state.outcome, state.is_waiting) == (None, True)


async def test_a_word_that_no_run_could_hear_is_not_said(ledger: Ledger) -> None:
    with pytest.raises(InvalidInput, match="at most 100,000 bytes"):
        await say_to(ledger, "r", "x" * 100_001)
    parts = parts_over(ledger, conversation=lambda _: Reply("hm", (), 3, 2))
    with pytest.raises(InvalidInput, match="hears nobody"):
        await say_to(ledger, "r", "too early")
    executor = RunExecutor("r", parts)
    await executor.start(worker({"id": "a", "clientFacing": True, "turns": 2}), {})
    with pytest.raises(InvalidInput, match="empty"):
        await say_to(ledger, "r", " \n")
    await say_to(ledger, "r", "\0" * 100_000)
    assert len((await executor.drive()).heard) == 1
    for number in range(100):
        await say_to(ledger, "r", f"and {number}")
    with pytest.raises(InvalidInput, match="has not heard the last 100 messages yet"):
        await say_to(ledger, "r", "one more")
    await executor.journal.cancel()
    with pytest.raises(InvalidInput, match="has ended"):
        await say_to(ledger, "r", "hello?")
    # One who talks with nobody is not talked to.
    await RunExecutor("s", parts).start(worker({"id": "a", "outputs": ["x"]}), {})
    with pytest.raises(InvalidInput, match="clientFacing"):
        await say_to(ledger, "s", "hello?")


async def test_what_is_said_again_with_its_key_is_heard_once(ledger: Ledger) -> None:
    executor = RunExecutor("r", parts_over(ledger, conversation=lambda _: Reply("hm", (), 3, 2)))
    await executor.start(worker({"id": "a", "clientFacing": True}), {})
    for key in ("k1", "k1", "k2", "", ""):
        await say_to(ledger, "r", "half \ud800", key)
    state = await executor.drive()
    assert [message.text for message in state.places["p1"].messages if message.role == "user"] == ["half ?"] * 4


class FullAt:
    """A ledger whose disk is full from some append on, until there is room."""

    def __init__(self, inner: Ledger, appends: int) -> None:
        self._inner, self._left, self.has_room = inner, appends, False

    async def append(self, stream: str, seq: int, entries: Sequence[Entry]) -> bool:
        """As it does, while there is room."""
        if self._left == 0 and not self.has_room:
            raise BackendError("sqlite", "the disk is full")
        self._left -= bool(self._left)
        return await self._inner.append(stream, seq, entries)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


@pytest.mark.parametrize("appends", range(1, 8))
async def test_on_a_full_disk_a_run_stops_and_goes_on_once_there_is_room(
    appends: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ledger: Ledger
) -> None:
    """What must not happen twice does not, and nothing is in trouble any more."""
    monkeypatch.setattr(run_keeper, "AGAIN_S", 0.0)
    paid = []

    @tool(idempotent=False)
    async def pay() -> str:
        """Pay."""
        paid.append("once")
        return "a receipt"

    full = FullAt(ledger, appends)
    parts = parts_over(cast(Ledger, full), pay, folder=tmp_path)
    keeper = RunKeeper(parts, worker({"id": "p", "kind": "tool", "tool": "pay", "outputs": ["x"]}))
    await keeper.open()
    await keeper.start(None, {}, "r")
    await until(lambda: bool(keeper.troubles) or not keeper.under_way)
    full.has_room = True
    await until(lambda: not keeper.under_way and not keeper.troubles)
    was_asked = [view.item.title for view in await parts.desk.open()]
    assert ((await kept(ledger)).outcome, was_asked) in (("accepted", []), (None, ["pay may have run: run it again?"]))
    assert paid == ["once"]
    await keeper.close()

"""Values of the runs of a stream, and of a fleet: the last one counts, each is written once, and scopes do not mix."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.agents.runs.executor import RunExecutor
from hive_mind.agents.runs.shared_values import LedgerValues, SharedValues, Values
from hive_mind.errors import InvalidInput
from hive_mind.ledger import Ledger, memory, sqlite
from hive_mind.model.content import Reply, Turn
from hive_mind.model.entry import Entry
from hive_mind.runs.spec import Scope
from tests.unit.agents.run_builders import parts_over, said, sets
from tests.unit.runs.flow import worker

SPEC = worker({"id": "a", "inputs": ["count", "fleet_count"], "outputs": ["count"], "writes": ["fleet_count"]})
SCOPED = SPEC.model_copy(update={"scopes": {"count": "stream", "fleet_count": "fleet"}})


def counting(turn: Turn) -> Reply:
    """One more than it was shown."""
    lines = [line for line in turn.instructions.splitlines() if line.startswith("count: ")]
    return sets("count", int(lines[-1].removeprefix("count: ")) + 1 if lines else 1)


async def counted(ledger: Ledger, run: str, stream: str) -> Any:
    executor = RunExecutor(run, parts_over(ledger, conversation=counting))
    await executor.start(SCOPED, {}, stream=stream)
    return (await executor.drive()).buffer["count"]


async def test_runs_of_one_stream_go_on_from_each_other_and_others_begin_anew() -> None:
    ledger = await memory.open()
    assert [await counted(ledger, f"r{number}", "desk") for number in range(3)] == [1, 2, 3]
    assert await counted(ledger, "x", "shop") == 1
    assert await counted(ledger, "y", "") == 1
    assert await counted(ledger, "z", "") == 1


class Hive:
    """Of all agents: takes what is short."""

    def __init__(self) -> None:
        self.known: dict[str, Any] = {}
        self.writers: list[str] = []

    async def read(self, keys: list[str]) -> Mapping[str, Any]:
        return {key: self.known[key] for key in keys if key in self.known}

    async def write(self, written: Values) -> None:
        if len(str(written.values)) > 1_000:
            raise InvalidInput("too long for a hive")
        self.known |= written.values
        self.writers.append(written.by)


async def test_what_a_fleet_shares_goes_to_its_hive_and_no_ledger() -> None:
    hive, ledger = Hive(), await memory.open()
    parts = parts_over(ledger, conversation=lambda _: sets("fleet_count", 5), fleet_values=hive)
    executor = RunExecutor("r", parts)
    await executor.start(SCOPED.model_copy(update={"nodes": [SPEC.nodes[0].model_copy(update={"outputs": ["fleet_count"]})]}), {})
    assert (await executor.drive()).outcome == "accepted"
    assert (hive.known, hive.writers) == ({"fleet_count": 5}, ["r/p1"])
    assert not await ledger.heads("buffer/")


async def test_a_value_that_every_node_would_hold_is_refused_in_the_turn_that_sets_it() -> None:
    replies = iter([sets("fleet_count", "x" * 4_000), said("", ("set_output", {"key": "count", "value": 1}))])
    parts = parts_over(await memory.open(), conversation=lambda _: next(replies), fleet_values=Hive())
    executor = RunExecutor("r", parts)
    await executor.start(SCOPED, {})
    state = await executor.drive()
    assert state.outcome == "accepted"
    assert "fleet_count" not in state.buffer


async def test_a_name_of_a_stream_that_no_ledger_takes_is_refused_before_anything_is_kept() -> None:
    ledger = await memory.open()
    with pytest.raises(InvalidInput, match="at most 100"):
        await RunExecutor("r", parts_over(ledger)).start(SCOPED, {}, stream="x" * 101)
    assert not await ledger.heads("")


_WRITES = st.lists(
    st.tuples(
        st.sampled_from(["r1", "r2"]),
        st.integers(1, 4),
        st.sampled_from(["x", "y"]),
        st.sampled_from(["a", "b"]),
        st.sampled_from(["stream", "fleet"]),
    ),
    max_size=12,
)


@given(_WRITES)
def test_each_scope_holds_the_last_that_was_written_there_and_nothing_else(writes: list[tuple[str, int, str, str, Scope]]):
    """Against a model: a dictionary for each stream, and one for the fleet; a place writes once, whatever it says later."""
    asyncio.run(_against_a_model(writes))


async def _against_a_model(writes: list[tuple[str, int, str, str, Scope]]) -> None:
    ledger, model, done = await memory.open(), dict[tuple[str, str], int](), set[tuple[str, int, str]]()
    for number, (run, place, stream, key, scope) in enumerate(writes):
        where = "fleet" if scope == "fleet" else stream
        await SharedValues(run, stream, ledger, lambda: 1).write(f"p{place}", {key: scope}, {key: number})
        if (run, place, where) not in done:
            done.add((run, place, where))
            model[where, key] = number
    scopes: list[tuple[str, Scope]] = [("x", "stream"), ("y", "stream"), ("x", "fleet")]
    for stream, scope in scopes:
        where = "fleet" if scope == "fleet" else stream
        expected = {key: model[where, key] for key in "ab" if (where, key) in model}
        assert await SharedValues("other", stream, ledger, lambda: 1).read(dict.fromkeys("ab", scope)) == expected


async def test_a_stream_is_as_long_as_its_values_and_whose_run_goes_on_writes_once(tmp_path: Path) -> None:
    """By two processes at once, each of which drops what is old."""
    ledgers = [await sqlite.open(tmp_path / "ledger.sqlite", is_shared=True) for _ in range(2)]
    here, there = (LedgerValues(ledger, "desk", lambda: 1) for ledger in ledgers)
    await ledgers[0].append("run/going", 0, [Entry("started", b"", 1)])
    await here.write(Values("going/p1", {"last": 0}))
    await ledgers[0].append("run/ended", 0, [Entry("ended", b"", 1)])
    for number in range(0, 150, 2):
        both = [Values(f"ended/p{one}", {"last": one}) for one in (number, number + 1)]
        await asyncio.gather(*(values.write(one) for values, one in zip((here, there), both, strict=True)))
    assert len(await ledgers[0].read("buffer/desk")) < 100
    await there.write(Values("ended/end", {"last": "end"}))
    await there.write(Values("going/p1", {"last": 0}))
    assert await here.read(["last"]) == {"last": "end"}
    for ledger in ledgers:
        await ledger.close()

"""What is due begins one run, whoever looks; what passed while nobody was there is not made up for."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from hive_mind.agents.runs.performer import RunParts
from hive_mind.agents.runs.run_journal import RunJournal, say_to
from hive_mind.agents.runs.run_keeper import RunKeeper, Triggers
from hive_mind.errors import InvalidInput
from hive_mind.ledger import Ledger, memory
from hive_mind.runs import TriggerConfig, cron_due
from hive_mind.runs.spec import WorkerSpec
from hive_mind.tools import Toolbox
from hive_mind.tools.functions import tool
from tests.unit.agents.run_builders import decide_all
from tests.waiting import until

ASK = WorkerSpec.model_validate(
    {"id": "ask", "inputs": ["about"], "entry": "ask", "nodes": [{"id": "ask", "kind": "person", "outputs": ["word"]}]}
)


def keeper_over(ledger: Ledger) -> RunKeeper:
    return RunKeeper(RunParts("ada", ledger, lambda *_: Toolbox()), ASK)


@asynccontextmanager
async def keeping(ledger: Ledger) -> AsyncIterator[RunKeeper]:
    keeper = keeper_over(ledger)
    await keeper.open()
    yield keeper
    await keeper.close()


async def runs_in(ledger: Ledger) -> list[str]:
    return [head.stream for head in await ledger.heads("run/")]


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def test_an_interval_is_due_at_its_multiples_so_that_two_processes_mean_the_same_time() -> None:
    assert TriggerConfig(every_s=60).next_due(119.0) == 120.0
    assert TriggerConfig(every_s=60).next_due(120.0) == 180.0


def test_a_cron_line_is_in_utc() -> None:
    assert cron_due("0 7 * * *", at("2026-03-01T07:00:00")) == at("2026-03-02T07:00:00")


@pytest.mark.parametrize("line", ["", "0 7 * *", "99 7 * * *", "0 0 31 2 *", "every day"])
def test_a_line_that_is_none_is_refused(line: str) -> None:
    with pytest.raises(InvalidInput, match="is not a cron line"):
        cron_due(line, 0.0)


async def test_a_hook_that_is_called_twice_with_one_key_begins_one_run(ledger: Ledger) -> None:
    async with keeping(ledger) as keeper:
        triggers = Triggers([TriggerConfig(hook="mail", inputs={"about": "pumps"})], keeper)
        one = await triggers.called("mail", {}, "k1")
        assert await triggers.called("mail", {"about": "boats"}, "k1") == one
        assert await triggers.called("mail", {}, "k2") != one
        assert await triggers.called("news", {}, "k1") is None
        assert len(await runs_in(ledger)) == 2


@pytest.mark.parametrize(("manifest", "inputs"), [({}, {"about": "boats"}), ({"about": "pumps"}, {"about": "pumps"})])
async def test_from_outside_come_inputs_that_are_asked_for_and_none_that_the_manifest_sets(
    manifest: dict[str, Any], inputs: dict[str, Any], ledger: Ledger
) -> None:
    async with keeping(ledger) as keeper:
        trigger = TriggerConfig(hook="mail", inputs=manifest)
        run = await Triggers([trigger], keeper).called("mail", {"about": "boats", "word": "yes"}, "k")
    assert dict((await RunJournal(ledger, str(run)).load()).inputs) == inputs


async def test_what_is_due_in_two_processes_begins_once() -> None:
    ledger = await memory.open()
    trigger = TriggerConfig(every_s=60, inputs={"about": "x"})
    times = [iter([0.0, 60.0]) for _ in range(2)]
    keepers = [keeper_over(ledger) for _ in range(2)]
    both = [Triggers([trigger], one, lambda now=now: next(now, 61.0)) for one, now in zip(keepers, times, strict=True)]
    for one in both:
        one.begin()
    for _ in range(100):
        await asyncio.sleep(0)
    assert len(await runs_in(ledger)) == 1
    assert [one.trouble for one in both] == ["", ""]
    for one, keeper in zip(both, keepers, strict=True):
        await one.close()
        await keeper.close()


async def test_a_trigger_without_the_inputs_of_its_worker_says_so_and_goes_on() -> None:
    keeper = keeper_over(await memory.open())
    times = iter([0.0, 61.0, 61.0])
    triggers = Triggers([TriggerConfig(every_s=60)], keeper, lambda: next(times, 61.0))
    triggers.begin()
    for _ in range(50):
        await asyncio.sleep(0)
    assert "needs about" in triggers.trouble
    await triggers.close()
    await keeper.close()


async def test_a_run_is_taken_up_after_a_restart_and_goes_on_when_somebody_decides(ledger: Any) -> None:
    async with keeping(ledger) as first:
        run = await first.start(None, {"about": "x"}, "r")
    async with keeping(ledger) as second:
        await until(lambda: not second.under_way)
        (view,) = await decide_all(second.parts, edit="yes")
        assert view.item.subject.startswith(f"{run}/")
        await until(lambda: ledger._streams["run/r"][-1].kind == "ended")


async def test_a_run_that_is_cancelled_while_it_waits_is_over_and_its_question_with_it_and_nobody_talks_to_it(
    ledger: Any,
) -> None:
    async with keeping(ledger) as keeper:
        await keeper.start(None, {"about": "x"}, "r")
        await until(lambda: not keeper.under_way)
        with pytest.raises(InvalidInput, match="hears nobody"):
            await say_to(ledger, "r", "hello")
        assert [view.item.subject.partition("/")[0] for view in await keeper.parts.desk.open()] == ["r"]
        await keeper.cancelled("r", "ines")
        await until(lambda: not keeper.under_way)
        assert await keeper.parts.desk.open() == []
        assert ledger._streams["run/r"][-1].kind == "ended"


async def test_a_run_that_is_cancelled_at_work_is_over_when_that_is_said_and_what_is_under_way_stops() -> None:
    ledger, begun, stopped = await memory.open(), asyncio.Event(), asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait for ever."""
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return ""

    spec = WorkerSpec.model_validate({"id": "w", "entry": "w", "nodes": [{"id": "w", "kind": "tool", "tool": "wait"}]})
    keeper = RunKeeper(RunParts("ada", ledger, lambda *_: Toolbox((wait,))), spec)
    await keeper.open()
    await keeper.start(None, {}, "r")
    await begun.wait()
    await keeper.cancelled("r", "ines")
    state = await RunJournal(ledger, "r").load()
    assert (state.outcome, state.reason) == ("cancelled", "cancelled by ines")
    assert stopped.is_set()
    await keeper.cancelled("r", "ruth")
    assert (await RunJournal(ledger, "r").load()).reason == "cancelled by ines"
    await keeper.close()

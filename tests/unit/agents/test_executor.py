"""Runs driven for real over a ledger in memory: sub-agents, two processes at one run, newer definitions, and stops in between."""

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from hive_mind.agents.desk import LedgerDesk
from hive_mind.agents.executor import RunExecutor
from hive_mind.agents.run_journal import RunTaken, run_ids
from hive_mind.agents.run_parts import RunParts
from hive_mind.agents.words import say_to
from hive_mind.errors import BackendUnavailable, InvalidInput
from hive_mind.judge.items import Decision
from hive_mind.judge.judgment import JudgmentAction
from hive_mind.ledger import memory
from hive_mind.ledger.base import Ledger
from hive_mind.llm.scripted import ScriptedModel
from hive_mind.model.dialogue import Reply, Turn
from hive_mind.retry import RetrySettings
from hive_mind.runs.spec import WorkerSpec
from hive_mind.tools.base import Tool, Toolbox
from hive_mind.tools.functions import tool
from tests.laws.run_stories import said
from tests.unit.runs.playing import loop, worker


def parts(
    ledger: Ledger, model: Callable[[Turn], Any] | None = None, tools: Sequence[Tool] = (), folder: Path | None = None
) -> RunParts:
    scripted = ScriptedModel(conversation=model) if model else None
    return RunParts("ada", ledger, lambda *_: Toolbox(tools), model=scripted, folder=folder, retry=RetrySettings(attempts_max=1))


async def driven(one: RunParts, spec: WorkerSpec, inputs: dict[str, Any] | None = None, run: str = "r") -> Any:
    executor = RunExecutor(run, one)
    await executor.start(spec, inputs or {})
    return await executor.drive()


def spec_of(*nodes: dict[str, Any], **fields: Any) -> WorkerSpec:
    return WorkerSpec.model_validate(worker(*nodes, **fields))


SUB = {"subagents": [{"id": "look", "inputs": ["town"], "outputs": ["found"], "tools": ["peek"], "turns": 4}]}


@tool
async def peek() -> str:
    """Peek."""
    return "a gate"


def sub_worker() -> WorkerSpec:
    return spec_of(loop("lead", inputs=["town"], subagents=["look"]), inputs=["town"], **SUB)


def delegating(child: Callable[[Turn], Reply]) -> Callable[[Turn], Reply]:
    def model(turn: Turn) -> Reply:
        if "Your task: look" in turn.instructions:
            return child(turn)
        if not any(message.role == "tool" for message in turn.messages):
            return said("", delegate_to_sub_agent={"name": "look", "task": "look around"})
        return said("", set_output={"key": "lead", "value": turn.messages[-1].text})

    return model


def result_in(state: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(str(state.buffer["lead"]).partition("\n[Saved to")[0])
    return found


def test_a_sub_agent_works_on_a_copy_and_writes_nothing_of_its_parents() -> None:
    seen: list[Turn] = []

    def child(turn: Turn) -> Reply:
        seen.append(turn)
        if len(seen) == 1:
            return said("", set_output={"key": "lead", "value": "mine"}, report_to_parent={"message": "half", "data": {"n": 1}})
        return said("", set_output={"key": "found", "value": "a gate"})

    async def story() -> None:
        ledger = await memory.open()
        state = await driven(parts(ledger, delegating(child), [peek]), sub_worker(), {"town": "Corrin"})
        assert state.outcome == "accepted"
        found = result_in(state)
        assert sorted(found) == ["data", "message", "metadata", "reports"]
        assert (found["data"], found["message"]) == ({"found": "a gate"}, "half")
        assert found["reports"] == [{"message": "half", "data": {"n": 1}}]
        assert found["metadata"]["outcome"] == "accepted"
        assert await run_ids(ledger) == ["r"]

    asyncio.run(story())
    assert "town: Corrin" in seen[0].instructions
    assert [one.name for one in seen[0].tools if one.name == "delegate_to_sub_agent"] == []
    assert "may not set 'lead'" in seen[1].messages[1].text


def test_a_sub_agent_is_told_what_is_missing_and_how_many_turns_are_left() -> None:
    told: list[str] = []

    def child(turn: Turn) -> Reply:
        told.append(turn.messages[-1].text if turn.messages else "")
        return said("I am thinking.")

    async def story() -> None:
        state = await driven(parts(await memory.open(), delegating(child), [peek]), sub_worker(), {"town": "x"})
        found = result_in(state)
        assert found["metadata"]["outcome"] == "exhausted"

    asyncio.run(story())
    assert len(told) == 4
    assert "Still missing: found. Only 3 turns left" in told[1]
    assert "Your task: look around" in told[1]


def test_mark_complete_ends_a_sub_agent_at_once() -> None:
    turns: list[Turn] = []

    def child(turn: Turn) -> Reply:
        turns.append(turn)
        return said("", mark_complete={"message": "nothing there"}, peek={})

    async def story() -> None:
        state = await driven(parts(await memory.open(), delegating(child), [peek]), sub_worker(), {"town": "x"})
        assert result_in(state)["metadata"]["outcome"] == "accepted"

    asyncio.run(story())
    assert len(turns) == 1


def test_of_two_processes_at_one_run_the_second_takes_it_and_the_first_is_told() -> None:
    gate = asyncio.Event

    async def story() -> None:
        ledger, opened = await memory.open(), gate()

        @tool
        async def wait() -> str:
            """Wait."""
            await opened.wait()
            return "done"

        one = parts(ledger, None, [wait])
        spec = spec_of({"id": "a", "kind": "tool", "tool": "wait", "outputs": ["a"]})
        first, second = RunExecutor("r", one), RunExecutor("r", one)
        await first.start(spec, {})
        driving = asyncio.create_task(first.drive())
        await asyncio.sleep(0.01)
        await second.resume()
        going_on = asyncio.create_task(second.drive())
        await asyncio.sleep(0.01)
        opened.set()
        assert (await going_on).outcome == "accepted"
        with pytest.raises(RunTaken):
            await driving

    asyncio.run(story())


def test_a_newer_definition_takes_a_run_over_and_memory_stays() -> None:
    ask = {"id": "ask", "kind": "person", "outputs": ["word"]}

    async def story() -> None:
        ledger = await memory.open()
        one = parts(ledger)
        state = await driven(
            one, spec_of({"id": "look", "kind": "tool", "tool": "peek", "outputs": ["seen"]}, ask, edges=[("look", "ask")])
        )
        assert state.places["p1"].phase == "parked"
        await LedgerDesk(ledger).decide(_yes(next(iter(state.waiting)), edit={"seen": "gate"}))
        executor = RunExecutor("r", one)
        await executor.resume()
        state = await executor.drive()
        assert (dict(state.buffer), list(state.places)) == ({"seen": "gate"}, ["p2"])
        newer = spec_of(ask, {"id": "more", "kind": "person", "outputs": ["more"]}, edges=[("ask", "more")], version="2")
        with pytest.raises(InvalidInput, match="no node ask"):
            await RunExecutor("r", one).resume(spec_of({"id": "other"}))
        again = RunExecutor("r", one)
        await again.resume(newer)
        await LedgerDesk(ledger).decide(_yes(next(iter(again.state.waiting)), edit="yes"))
        state = await again.drive()
        assert (state.spec.version, [place.node for place in state.places.values()]) == ("2", ["more"])
        assert dict(state.buffer) == {"seen": "gate", "word": "yes"}

    asyncio.run(story())


def _yes(item: str, edit: Any = None) -> Decision:
    return Decision(item=item, action=JudgmentAction.ACCEPT, by="ines", edit=edit)


def test_who_is_stopped_in_the_middle_leaves_a_run_that_goes_on() -> None:
    async def story() -> None:
        ledger = await memory.open()
        calls: list[int] = []

        @tool
        async def slow() -> str:
            """Take long the first time."""
            calls.append(1)
            if len(calls) == 1:
                await asyncio.sleep(60)
            return "done"

        one = parts(ledger, None, [slow])
        spec = spec_of({"id": "a", "kind": "tool", "tool": "slow", "outputs": ["a"]})
        task = asyncio.create_task(driven(one, spec))
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        executor = RunExecutor("r", one)
        await executor.resume()
        assert (await executor.drive()).outcome == "accepted"

    asyncio.run(story())


def test_whoever_waits_goes_on_with_a_decision_and_a_word() -> None:
    def model(turn: Turn) -> Reply:
        return said("Hello.") if len(turn.messages) < 2 else said("", set_output={"key": "a", "value": turn.messages[-1].text})

    async def story() -> None:
        ledger = await memory.open()
        executor = RunExecutor("r", parts(ledger, model), is_waiting=True)
        await executor.start(spec_of(loop("a", clientFacing=True, requiresApproval=True)), {})
        driving = asyncio.create_task(executor.drive())
        await asyncio.sleep(0.02)
        await say_to(ledger, "r", "look at gate 2")
        executor.listen()
        await asyncio.sleep(0.05)
        (view,) = await LedgerDesk(ledger).open()
        await LedgerDesk(ledger).decide(_yes(view.item.id))
        state = await asyncio.wait_for(driving, 10)
        assert (state.outcome, dict(state.buffer)) == ("accepted", {"a": "look at gate 2"})

    asyncio.run(story())


@pytest.mark.parametrize("with_model", [True, False])
def test_a_model_that_fails_or_is_not_there_leaves_it_to_a_person(with_model: bool) -> None:
    async def story() -> None:
        model = (lambda _: BackendUnavailable("m", "it is away")) if with_model else None
        ledger = await memory.open()
        state = await driven(parts(ledger, model), spec_of(loop("a")))
        (view,) = await LedgerDesk(ledger).open()
        assert state.is_waiting
        assert ("it is away" if with_model else "there is no language model") in dict(view.item.context)["why"]

    asyncio.run(story())


def test_a_run_needs_its_inputs_and_a_name_of_its_own() -> None:
    async def story() -> None:
        one = parts(await memory.open())
        spec = spec_of({"id": "ask", "kind": "person", "outputs": ["word"]}, inputs=["about"])
        with pytest.raises(InvalidInput, match="needs about"):
            await RunExecutor("r", one).start(spec, {})
        await RunExecutor("r", one).start(spec, {"about": "x"})
        with pytest.raises(InvalidInput, match="there is a run r already"):
            await RunExecutor("r", one).start(spec, {"about": "x"})
        with pytest.raises(InvalidInput, match="there is no run q"):
            await RunExecutor("q", one).resume()

    asyncio.run(story())

"""Sub-agents in runs that are driven for real, over a ledger in memory."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hive_mind.agents.runs.executor import RunExecutor
from hive_mind.agents.runs.run_journal import run_ids
from hive_mind.agents.runs.run_parts import RunParts
from hive_mind.ledger import memory
from hive_mind.ledger.base import Ledger
from hive_mind.llm.scripted import ScriptedModel
from hive_mind.model.dialogue import Reply, Turn
from hive_mind.retry import RetrySettings
from hive_mind.runs.graphs.spec import WorkerSpec
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


async def test_a_sub_agent_works_on_a_copy_and_writes_nothing_of_its_parents() -> None:
    seen: list[Turn] = []

    def child(turn: Turn) -> Reply:
        seen.append(turn)
        if len(seen) == 1:
            return said("", set_output={"key": "lead", "value": "mine"}, report_to_parent={"message": "half", "data": {"n": 1}})
        return said("", set_output={"key": "found", "value": "a gate"})

    ledger = await memory.open()
    state = await driven(parts(ledger, delegating(child), [peek]), sub_worker(), {"town": "Corrin", "private": "hush"})
    assert state.outcome == "accepted"
    found = result_in(state)
    assert sorted(found) == ["data", "message", "metadata", "reports"]
    assert (found["data"], found["message"]) == ({"found": "a gate"}, "half")
    assert found["reports"] == [{"message": "half", "data": {"n": 1}}]
    assert found["metadata"]["outcome"] == "accepted"
    assert await run_ids(ledger) == ["r"]
    assert "town: Corrin" in seen[0].instructions
    assert "hush" not in str(seen)
    assert [one.name for one in seen[0].tools if one.name == "delegate_to_sub_agent"] == []
    assert "may not set 'lead'" in seen[1].messages[1].text


async def test_a_sub_agent_is_told_what_is_missing_and_how_many_turns_are_left() -> None:
    told: list[str] = []

    def child(turn: Turn) -> Reply:
        told.append(turn.messages[-1].text if turn.messages else "")
        return said("I am thinking.")

    state = await driven(parts(await memory.open(), delegating(child), [peek]), sub_worker(), {"town": "x"})
    found = result_in(state)
    assert found["metadata"]["outcome"] == "exhausted"
    assert len(told) == 4
    assert "Still missing: found. Only 3 turns left" in told[1]
    assert "Your task: look around" in told[1]


async def test_mark_complete_ends_a_sub_agent_at_once() -> None:
    turns: list[Turn] = []

    def child(turn: Turn) -> Reply:
        turns.append(turn)
        return said("", mark_complete={"message": "nothing there"}, peek={})

    state = await driven(parts(await memory.open(), delegating(child), [peek]), sub_worker(), {"town": "x"})
    assert result_in(state)["metadata"]["outcome"] == "accepted"
    assert len(turns) == 1

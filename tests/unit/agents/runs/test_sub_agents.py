"""Sub-agents in runs that are driven for real, over a ledger in memory."""

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from hive_mind.agents.desk import LedgerDesk
from hive_mind.agents.runs.executor import RunExecutor
from hive_mind.agents.runs.fleet_tools import FleetDirectory, fleet_tools
from hive_mind.agents.runs.performer import RunParts
from hive_mind.agents.runs.run_journal import RunJournal, document_of, health_of, run_ids
from hive_mind.judge.items import Decision
from hive_mind.judge.judgment import JudgmentAction
from hive_mind.ledger import Ledger, memory
from hive_mind.llm.scripted import ScriptedModel
from hive_mind.model.content import Reply, Turn
from hive_mind.retry import RetrySettings
from hive_mind.runs.spec import WorkerSpec
from hive_mind.tools import Tool, Toolbox, ToolContext
from hive_mind.tools.functions import tool
from tests.laws.run_stories import said
from tests.unit.agents.run_builders import Open, resumed
from tests.unit.runs.flow import loop, worker
from tests.waiting import until


def parts(
    ledger: Ledger, model: Callable[[Turn], Any] | None = None, tools: Sequence[Tool] = (), folder: Path | None = None
) -> RunParts:
    scripted = ScriptedModel(conversation=model) if model else None
    return RunParts("ada", ledger, lambda *_: Toolbox(tools), model=scripted, folder=folder, retry=RetrySettings(attempts_max=1))


async def driven(one: RunParts, spec: WorkerSpec, inputs: dict[str, Any] | None = None, run: str = "r") -> Any:
    executor = RunExecutor(run, one)
    await executor.start(spec, inputs or {})
    return await executor.drive()


SUB = {"subagents": [{"id": "look", "inputs": ["town"], "outputs": ["found"], "tools": ["peek"], "turns": 4}]}


@tool
async def peek() -> str:
    """Peek."""
    return "a gate"


def sub_worker() -> WorkerSpec:
    return worker(loop("lead", inputs=["town"], subagents=["look"]), inputs=["town"], **SUB)


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
    assert result_in(state)["metadata"]["outcome"] == "exhausted"
    assert len(told) == 4
    assert "Still missing: found. Only 3 turns left" in told[1]
    assert "Your task: look around" in told[1]


def asking(turn: Turn) -> Reply:
    if not any(message.role == "tool" for message in turn.messages):
        return said("", wait_for_response={"message": "may I?"})
    return said("", set_output={"key": "found", "value": turn.messages[-1].text})


async def waiting_run(ledger: Ledger) -> dict[str, Any]:
    return await document_of("r", await RunJournal(ledger, "r").load(), LedgerDesk(ledger))


async def answer(ledger: Ledger, item: str, action: JudgmentAction = JudgmentAction.ACCEPT) -> None:
    assert await LedgerDesk(ledger).decide(Decision(item=item, action=action, by="ines", edit="yes"))


async def test_a_run_whose_sub_agent_asks_a_person_waits_itself_for_that_item() -> None:
    ledger = await memory.open()
    state = await driven(parts(ledger, delegating(asking)), sub_worker(), {"town": "x"})
    assert state.is_waiting
    document = await waiting_run(ledger)
    (item,) = document["waiting"]
    assert (document["status"], item["title"], item["asks"]) == ("parked", "may I?", "lead → look")
    assert (await health_of(ledger, "r", "ada", state.at_ms + 10**9)).is_idle
    await answer(ledger, item["id"])
    assert result_in(await resumed(parts(ledger, delegating(asking))))["data"] == {"found": "[Person]: yes"}


async def test_a_process_that_waits_for_the_answer_shows_everybody_that_it_does() -> None:
    ledger = await memory.open()
    executor = RunExecutor("r", parts(ledger, delegating(asking)), is_waiting=True)
    await executor.start(sub_worker(), {"town": "x"})
    driving = asyncio.create_task(executor.drive())
    await answer(ledger, (await until(lambda: shown_waiting(ledger)))["waiting"][0]["id"])
    assert (await driving).outcome == "accepted"


async def shown_waiting(ledger: Ledger) -> dict[str, Any] | None:
    document = await waiting_run(ledger)
    return document if document["status"] == "parked" else None


@pytest.mark.parametrize("is_restarted", [False, True], ids=["held up", "begun anew"])
async def test_an_answer_lets_a_run_go_on_whatever_a_queen_did_meanwhile(is_restarted: bool) -> None:
    ledger = await memory.open()
    await driven(parts(ledger, delegating(asking)), sub_worker(), {"town": "x"})
    (item,) = (await waiting_run(ledger))["waiting"]

    async def opened(_: str) -> Any:
        return Open(ledger)

    box = Toolbox(fleet_tools(FleetDirectory("queen", LedgerDesk(ledger), opened, {})))
    tool_of_queen = box.get("restart" if is_restarted else "pause")
    assert tool_of_queen is not None
    done = await tool_of_queen.call(ToolContext(), {"agent": "ada", "run": "r"})
    if is_restarted:
        view = await LedgerDesk(ledger).view(item["id"])
        assert view is not None
        assert view.decision is not None
        assert view.decision.because == "run r needs no answer any more"
        await resumed(parts(ledger, delegating(asking)), done["run"])
        (again,) = await LedgerDesk(ledger).open()
        await answer(ledger, again.item.id)
    else:
        assert (done["status"], [one["id"] for one in done["waiting"]]) == ("paused", [item["id"]])
        await answer(ledger, item["id"])
    assert (await resumed(parts(ledger, delegating(asking)), done["run"])).outcome == "accepted"


async def test_of_two_that_ask_the_one_that_is_answered_goes_on_at_once() -> None:
    asked: list[str] = []

    def child(turn: Turn) -> Reply:
        which = turn.instructions.split("Your task: look ")[1][:1]
        answers = [message.text for message in turn.messages if message.role == "tool"]
        if not answers:
            return said("", wait_for_response=[{"message": f"{which}, first?"}, {"message": f"{which}, second?"}])
        asked.append(which)
        return said("", set_output={"key": "found", "value": answers})

    def model(turn: Turn) -> Reply:
        if "Your task: look" in turn.instructions:
            return child(turn)
        if not any(message.role == "tool" for message in turn.messages):
            return said("", delegate_to_sub_agent=[{"name": "look", "task": f"look {which}"} for which in "12"])
        return said("", set_output={"key": "lead", "value": "both"})

    ledger = await memory.open()
    one = parts(ledger, model)
    state = await driven(one, sub_worker(), {"town": "x"})
    titles = {item["title"]: item["id"] for item in (await waiting_run(ledger))["waiting"]}
    assert sorted(titles) == ["1, first?", "1, second?", "2, first?", "2, second?"]
    for number, title in enumerate(("1, first?", "1, second?", "2, second?", "2, first?"), start=1):
        await answer(ledger, titles[title])
        state = await resumed(one)
        assert (state.is_waiting, len((await waiting_run(ledger))["waiting"])) == (number < 4, 4 - number)
        assert asked == {1: [], 2: ["1"], 3: ["1"], 4: ["1", "2"]}[number]
    assert state.outcome == "accepted"


async def test_mark_complete_ends_a_sub_agent_at_once() -> None:
    turns: list[Turn] = []

    def child(turn: Turn) -> Reply:
        turns.append(turn)
        return said("", mark_complete={"message": "nothing there"}, peek={})

    state = await driven(parts(await memory.open(), delegating(child), [peek]), sub_worker(), {"town": "x"})
    assert result_in(state)["metadata"]["outcome"] == "accepted"
    assert len(turns) == 1

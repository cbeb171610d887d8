"""A queen sees where a run is, and of its outputs only those that were accepted."""

from typing import Any

import pytest

from hive_mind.agents.desk import LedgerDesk
from hive_mind.agents.queen_talk import HeardEvents
from hive_mind.agents.runs.fleet_tools import FleetDirectory, fleet_tools
from hive_mind.judge.judgment import JudgmentAction
from hive_mind.ledger import memory
from hive_mind.runs.spec import WorkerSpec
from hive_mind.tools import ToolContext
from tests.unit.agents.run_builders import Open, decide_all, driven, parts_over, resumed, said, sets

CARD = "4111 1111 1111 1111"
GOAL = {"id": "g", "constraints": [{"id": "no-card", "check": "'4111' not in str(result)"}]}
WORKER = WorkerSpec.model_validate({"id": "w", "entry": "a", "nodes": [{"id": "a", "outputs": ["x"]}], "goal": GOAL})


@pytest.mark.parametrize(("action", "outputs"), [(JudgmentAction.ESCALATE, {}), (JudgmentAction.ACCEPT, {"x": CARD})])
async def test_what_a_run_set_is_shown_to_a_queen_once_it_is_accepted(action: JudgmentAction, outputs: dict[str, str]) -> None:
    ledger = await memory.open()
    parts = parts_over(ledger, conversation=lambda _: sets("x", CARD))

    async def opened(_: str) -> Any:
        return Open(ledger)

    tools = {tool.name: tool for tool in fleet_tools(FleetDirectory("queen", LedgerDesk(ledger), opened, {}))}
    context = ToolContext("q", "n", "q.1", "queen", lambda _: None)

    async def seen(tool: str) -> Any:
        return await tools[tool].call(context, {"agent": "ada", "run": "r"})

    assert (await driven(parts, WORKER)).outcome is None
    for tool in ("look_at_run", "pause", "resume"):
        assert "4111" not in str(await seen(tool))
    await decide_all(parts, action)
    await resumed(parts)
    assert (await seen("look_at_run"))["outputs"] == outputs


async def test_a_queen_hears_that_a_node_speaks_and_not_its_words() -> None:
    ledger = await memory.open()
    replies = iter([said(f"It is {CARD}."), sets("x", "well")])
    await driven(parts_over(ledger, conversation=lambda _: next(replies)), WORKER)
    heard = HeardEvents()
    for entry in await ledger.read("run/r"):
        heard.hear("ada", entry)
    lines = "\n".join(heard.last)
    assert "a: it says something" in lines
    assert "a: set_output" in lines
    assert "4111" not in lines

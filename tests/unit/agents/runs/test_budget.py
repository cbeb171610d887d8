"""What may be taken at once: turns and sub-agents reserve it before they begin, so that together they do not overrun a limit."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from hive_mind.agents.runs.performer import Budget
from hive_mind.llm.scripted import ScriptedModel
from hive_mind.model.content import Reply, ToolCall, Turn
from hive_mind.runs.spec import WorkerSpec
from hive_mind.runs.state import RunState
from tests.unit.agents.run_builders import driven, parts_over, said
from tests.unit.agents.runs.test_sub_agents import peek

BRANCHES = 5
PROMPT_MAX = 2_000


def state(tokens: int, used: int = 0, usd: float | None = None) -> RunState:
    spec = WorkerSpec.model_validate(
        {"id": "w", "entry": "a", "nodes": [{"id": "a", "outputs": ["a"]}], "limits": {"tokens": tokens, "usd": usd}}
    )
    return RunState(seq=1, worker=spec, tokens=used)


def free(_: int) -> float:
    return 0.0


def budget_of(now: RunState) -> Budget:
    return Budget(lambda: now)


@pytest.mark.parametrize(
    ("tokens", "usd", "asked", "cost"), [(1_000, None, 800, 0.0), (100_000, 1, 100, 0.6)], ids=["tokens", "money"]
)
async def test_who_finds_too_little_left_waits_until_another_has_ended(
    tokens: int, usd: float | None, asked: int, cost: float
) -> None:
    budget = budget_of(state(tokens, usd=usd))
    assert await budget.turn("a", 100, asked, lambda _: cost) == asked
    second = asyncio.create_task(budget.turn("b", 100, asked, lambda _: cost))
    await asyncio.sleep(0)
    assert not second.done()
    budget.release("a")
    assert await second == asked


async def test_who_is_alone_gets_what_is_left_and_at_least_one_turn() -> None:
    budget = budget_of(state(1000))
    assert await budget.turn("a", 900, 4_096, free) == 100
    budget.release("a")
    assert await budget.turn("b", 5_000, 4_096, free) == 1


async def test_sub_agents_share_equally_what_nobody_has_reserved() -> None:
    budget = budget_of(state(1000))
    await budget.turn("a", 100, 300, free)
    assert [budget.part("b", 2).tokens, budget.part("c", 1).tokens] == [300, 300]
    budget.release("b")
    assert budget.part("d", 1).tokens == 300


def taking_all(turn: Turn) -> Reply:
    """Takes as many tokens as it may, and does nothing with them."""
    return Reply("hm", (ToolCall("0", "peek", {"at": str(len(turn.messages))}),), 200, turn.max_output_tokens)


def wide(**limits: Any) -> WorkerSpec:
    names = [f"b{number}" for number in range(BRANCHES)]
    nodes: list[Mapping[str, Any]] = [{"id": "first", "kind": "tool", "tool": "peek", "outputs": ["first"]}]
    nodes += [{"id": name, "outputs": [name], "tools": ["peek"], "turns": 50} for name in names]
    edges = [{"source": "first", "target": name} for name in names]
    return WorkerSpec.model_validate({"id": "wide", "entry": "first", "nodes": nodes, "edges": edges, "limits": limits})


@pytest.mark.parametrize("tokens", [1_000, 5_000, 9_000])
async def test_branches_that_think_at_once_do_not_overrun_a_limit_together(tokens: int, ledger: Any) -> None:
    ended = await driven(parts_over(ledger, peek, conversation=taking_all), wide(tokens=tokens))
    assert ended.outcome == "exhausted"
    assert ended.tokens <= tokens + PROMPT_MAX


async def test_sub_agents_and_a_branch_beside_them_do_not_overrun_a_limit_together(ledger: Any) -> None:
    tokens = 30_000
    asked: list[Turn] = []

    def model(turn: Turn) -> Reply:
        asked.append(turn)
        if "Your task: look" in turn.instructions or any(message.role == "tool" for message in turn.messages):
            return taking_all(turn)
        return said("", *[("delegate_to_sub_agent", {"name": "look", "task": "look"})] * 3)

    spec = WorkerSpec.model_validate(
        {
            "id": "lead",
            "entry": "lead",
            "nodes": [{"id": "lead", "outputs": ["lead"], "subagents": ["look"], "tools": ["peek"]}],
            "subagents": [{"id": "look", "outputs": ["found"], "tools": ["peek"], "turns": 40}],
            "limits": {"tokens": tokens},
        }
    )

    parts = parts_over(ledger, peek, conversation=model)
    assert isinstance(parts.model, ScriptedModel)
    await driven(parts, spec)
    assert sum(200 + turn.max_output_tokens for turn in asked) <= tokens + 4 * PROMPT_MAX
    assert len(asked) > 4

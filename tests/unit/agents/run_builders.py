"""Short ways to drive runs over a ledger in memory: a model with a script, tools of one's own, and a person who decides."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hive_mind.agents.runs.executor import RunExecutor
from hive_mind.agents.runs.performer import RunParts
from hive_mind.judge.items import Decision, ItemView
from hive_mind.judge.judgment import JudgmentAction
from hive_mind.ledger import Ledger
from hive_mind.llm.scripted import Conversation, ScriptedModel
from hive_mind.model.content import Reply, ToolCall
from hive_mind.retry import RetrySettings
from hive_mind.runs.fold import folded
from hive_mind.runs.state import RunState
from hive_mind.tools import Tool, Toolbox


class Open:
    """A ledger that others may close."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def close(self) -> None:
        """Somebody looked, and is through."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)


def said(text: str = "", *calls: tuple[str, dict[str, Any]]) -> Reply:
    """A reply: what it says, and (tool, arguments) of each call."""
    return Reply(text, tuple(ToolCall(str(number), name, given) for number, (name, given) in enumerate(calls)), 3, 2)


def sets(key: str, value: Any) -> Reply:
    """A reply that sets one output."""
    return said("", ("set_output", {"key": key, "value": value}))


def parts_over(
    ledger: Ledger, *tools: Tool, conversation: Conversation | None = None, folder: Path | None = None, **fields: Any
) -> RunParts:
    """What a run stands on; time goes by a second with each look."""
    ticks = iter(range(1, 10**9))
    return RunParts(
        "ada",
        ledger,
        lambda *_: Toolbox(tools),
        model=None if conversation is None else ScriptedModel(conversation=conversation),
        folder=folder,
        retry=RetrySettings(attempts_max=1),
        clock_ms=lambda: next(ticks),
        **fields,
    )


async def driven(parts: RunParts, spec: Any, inputs: dict[str, Any] | None = None, run: str = "r") -> RunState:
    """A run from its beginning, as far as it comes."""
    executor = RunExecutor(run, parts)
    await executor.start(spec, inputs or {})
    return await executor.drive()


async def resumed(parts: RunParts, run: str = "r") -> RunState:
    """It goes on, as in another process."""
    executor = RunExecutor(run, parts)
    await executor.resume()
    return await executor.drive()


async def kept(ledger: Ledger, run: str = "r") -> RunState:
    """What the ledger has of a run."""
    return folded(await ledger.read(f"run/{run}"))


async def decide_all(parts: RunParts, action: JudgmentAction = JudgmentAction.ACCEPT, edit: Any = None) -> Sequence[ItemView]:
    """A person decides whatever waits."""
    views = await parts.desk.open()
    for view in views:
        await parts.desk.decide(Decision(item=view.item.id, action=action, by="ines", edit=edit))
    return views


async def until(holds: Callable[[], bool]) -> None:
    """Let others go on until this holds."""
    for _ in range(10_000):
        if holds():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never came")

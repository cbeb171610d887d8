"""Putting together what runs stand on: an agent with its memory, its ledger, its tools, its judge and its model."""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from hive_mind import backends
from hive_mind.agents.agent import LearningAgent
from hive_mind.agents.goal_seeking import GoalSeekingAgent
from hive_mind.agents.judging.decision_log import LedgerLog
from hive_mind.agents.judging.hybrid_judge import RunJudge
from hive_mind.agents.judging.model_judge import ModelJudge
from hive_mind.agents.judging.rules_at_work import HiveRules
from hive_mind.agents.runs import bundled, text_of
from hive_mind.agents.runs.fleet_tools import FleetDirectory, fleet_tools
from hive_mind.agents.runs.memory_tools import file_tools, incident_tools, memory_tools
from hive_mind.agents.runs.performer import RunParts
from hive_mind.agents.runs.run_tools import RunFiles
from hive_mind.awaiting import opening
from hive_mind.cognition import Reader
from hive_mind.errors import InvalidInput, WorkerFileError
from hive_mind.forms.reading import text_of as text_of_file
from hive_mind.judge.judgment import JudgeSettings
from hive_mind.judge.rules import EvaluationRule
from hive_mind.ledger import Ledger
from hive_mind.llm.base import LanguageModel
from hive_mind.memory.base import Memory
from hive_mind.model.content import ToolSpec
from hive_mind.runs.spec import WorkerSpec
from hive_mind.runs.worker_file import WORKER, worker_of
from hive_mind.runtime.secrets import credentials_of
from hive_mind.runtime.settings import Settings, database_path
from hive_mind.runtime.texts import Unreadable
from hive_mind.runtime.texts.text_files import read_text
from hive_mind.runtime.wiring import open_agent, open_ledger, open_model
from hive_mind.tools import McpServer, Tool, Toolbox


@opening
async def open_goal_seeking(
    settings: Settings,
    agent: str,
    tools: Sequence[Tool] = (),
    *,
    model: LanguageModel | None = None,
    mcp: Iterable[McpServer] = (),
    rules: Iterable[EvaluationRule] = (),
    judge: JudgeSettings | None = None,
    functions: Mapping[str, Callable[..., Any]] = MappingProxyType({}),
) -> GoalSeekingAgent:
    """An agent that can run workers, with `tools` beside those there are. Raises like `open_agent` and `open_ledger`.

    `model` stays its owner's; without one, that of the settings is used, if they name one. `mcp`: servers whose tools it may use.
    `rules` are asked about all that its runs give, `judge` says how sure a judge has to be, and `functions` are judges and checks
    of one's own, by the names that workers give.
    """
    async with AsyncExitStack() as stack:
        learner = await stack.enter_async_context(await open_agent(settings, agent))
        ledger = await open_ledger(settings, agent, is_shared=True)
        stack.push_async_callback(ledger.close)
        # A missing key is reported when a run needs the model, as by the reader.
        if model is None and settings.llm:
            model = await open_model(settings)
            stack.push_async_callback(model.close)
        judging = RunJudge(
            HiveRules(rules),
            ModelJudge(model, retry=settings.llm_retry) if model else None,
            judge or JudgeSettings(),
            functions,
            LedgerLog(ledger),
        )
        parts = await open_parts(settings, learner, ledger, judging, stack, model=model, tools=tools, mcp=mcp)
        return GoalSeekingAgent(agent, learner.memory, learner.reader, runs=parts, release=stack.pop_all().aclose)


async def open_parts(
    settings: Settings,
    agent: LearningAgent,
    ledger: Ledger,
    judge: RunJudge,
    stack: AsyncExitStack,
    *,
    model: LanguageModel | None,
    tools: Sequence[Tool],
    mcp: Iterable[McpServer],
) -> RunParts:
    """The parts that the runs of an agent share; servers of their tools end with `stack`.

    Raises `BackendNotInstalled` and `BackendUnavailable`.
    """
    served: list[Tool] = []
    for server in mcp:
        opened = await backends.load("tools", "mcp").open(server)
        stack.push_async_callback(opened.close)
        served += opened.tools

    def toolbox_of(run: str, files: RunFiles) -> Toolbox:
        return Toolbox((*_own_tools(agent.memory, agent.reader, run, files), *tools, *served))

    return RunParts(
        agent.name,
        ledger,
        toolbox_of,
        judge,
        model,
        folder=database_path(settings, agent.name).parent,
        credential=lambda name: credentials_of(settings.home).get(name),
        rng=random.Random(),  # noqa: S311 - spreads retries in time, guards nothing
        retry=settings.llm_retry,
    )


def allowed(parts: RunParts, names: Sequence[str]) -> RunParts:
    """The same with these tools alone; with all of them where no name is given."""
    if not names:
        return parts
    return replace(parts, toolbox_of=lambda run, files: Toolbox(parts.toolbox_of(run, files).chosen(names)))


def tools_without_agent() -> dict[str, ToolSpec]:
    """The tools that come with the program, those of a queen too; nothing is opened, and none may be called."""
    memory, reader, files, fleet = cast(Memory, None), cast(Reader, None), RunFiles(None), cast(FleetDirectory, None)
    tools = (*_own_tools(memory, reader, "", files), *fleet_tools(fleet))
    return {tool.name: tool.spec for tool in tools}


def _own_tools(memory: Memory, reader: Reader, run: str, files: RunFiles) -> Sequence[Tool]:
    return (*memory_tools(memory, reader, run, files), *file_tools(files), *incident_tools(memory, reader, run, _text))


def worker_named(name_or_path: str, parts: RunParts | None = None) -> WorkerSpec:
    """The worker of a file, or one that comes with the program. Raises `WorkerFileError`, and `InvalidInput` for neither."""
    tools = {tool.name: tool.spec for tool in parts.toolbox_of("", RunFiles(None))} if parts else None
    functions = parts.judge.functions if parts else None
    path = Path(name_or_path)
    if name_or_path in bundled() and not path.exists():
        return worker_of(text_of(name_or_path), name_or_path, tools, functions)
    if not path.is_file():
        raise InvalidInput(f"there is no worker {name_or_path!r}: give a file, or one of {', '.join(bundled())}")
    text, problems = text_of_file(path, WORKER)
    if problems:
        raise WorkerFileError(problems, name_or_path)
    return worker_of(text, name_or_path, tools, functions)


def _text(path: Path) -> str | None:
    document = read_text(path)
    return None if isinstance(document, Unreadable) or not document.strip() else document

"""`hive-mind runs`: which runs there are, where each is and why, and to go on with one or give it up."""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hive_mind.cli import options
from hive_mind.cli.asking.asked import fleet_agent
from hive_mind.cli.fleet import agent_names
from hive_mind.cli.options import DEFAULT_AGENT, Format, Group, examples, settings_for
from hive_mind.cli.output import say, say_cut, show, show_document, show_json, show_result
from hive_mind.cli.review import ledger_of, person
from hive_mind.cli.runs import (
    Functions,
    Mcp,
    Notify,
    Wait,
    again,
    check_notify,
    driven,
    functions_of,
    notifying,
    printer_for,
    refuse_notify,
    servers_of,
)
from hive_mind.cli.runs.run_shown import show_in_fleet
from hive_mind.counted import counted
from hive_mind.errors import HiveError

if TYPE_CHECKING:
    from hive_mind.ledger import Ledger


@dataclass(frozen=True, slots=True)
class OfAgents:
    """One agent or all, and in which form the result is printed."""

    agent: Annotated[
        str,
        typer.Option(
            "--agent", "-a", help="Only runs of this agent.", show_default="all of the home folder", autocompletion=agent_names
        ),
    ] = ""
    home: options.Home = None
    output: options.Output = Format.TEXT


RunId = Annotated[str, typer.Argument(metavar="RUN", help="A run's id, or its first characters.")]

group = Group(
    name="runs",
    help="List, inspect, resume and cancel the runs of an agent.",
    no_args_is_help=True,
    epilog=examples("hive-mind runs list", "hive-mind runs why 4f1a2b3c", "hive-mind runs resume 4f1a2b3c"),
)


@group.called_as("hive-mind runs list", "hive-mind runs list -n 100 -o json", name="list")
async def list_runs(limit: options.OfAList = 20, *, at: OfAgents) -> None:
    """List runs, the most recently changed first."""
    from hive_mind.cli.runs.run_shown import show_table_of

    changed: list[tuple[int, dict[str, Any]]] = []
    total = 0
    for agent in [at.agent] if at.agent else _with_ledgers(at.home):
        async with _ledger(at.home, agent) as ledger:
            documents_of_agent, count = await _documents(ledger, limit)
        changed += [(at_ms, {"agent": agent, **document}) for at_ms, document in documents_of_agent]
        total += count
    documents = [document for _, document in sorted(changed, key=lambda pair: -pair[0])[: limit or None]]
    if at.output is Format.JSON:
        show_json(documents)
    elif not documents:
        whose = f"Agent {at.agent!r} has" if at.agent else "There are"
        show(f"{whose} no runs: hive-mind run incident-review --input notes=FOLDER")
    else:
        show_table_of(documents)
    if total > limit > 0:
        say_cut(limit, "run", total)


async def _documents(ledger: "Ledger", limit: int) -> tuple[list[tuple[int, dict[str, Any]]], int]:
    """Of the last runs of an agent, with when each changed, and how many it has. A damaged one hides no other."""
    from hive_mind.agents.desk import LedgerDesk
    from hive_mind.agents.runs.run_journal import RunJournal, document_of, run_ids

    ids = await run_ids(ledger)
    documents: list[tuple[int, dict[str, Any]]] = []
    for run in ids[: limit or None]:
        try:
            state = await RunJournal(ledger, run).load()
            documents.append((state.at_ms, await document_of(run, state, LedgerDesk(ledger))))
        except HiveError as error:
            say(f"run {run} can't be read: {error}", style="red")
    return documents, len(ids)


def _with_ledgers(home: Path | None) -> list[str]:
    """Agents of the home folder that may have runs."""
    folder = settings_for(home, embed="none").home / "agents"
    return sorted(path.parent.name for path in folder.glob("*/ledger.sqlite"))


@group.called_as("hive-mind runs show 4f1a2b3c", name="show")
async def show_one(run: RunId, at: options.OwnAgent) -> None:
    """Show a run: where it stands, the values it set, the people it waits for."""
    from hive_mind.agents.runs.executor import RunExecutor
    from hive_mind.agents.runs.performer import RunParts
    from hive_mind.agents.runs.run_journal import run_called
    from hive_mind.cli.runs.run_shown import show_run
    from hive_mind.runtime.settings import database_path
    from hive_mind.tools import Toolbox

    async with _ledger(at.home, at.agent) as ledger:
        folder = database_path(at.settings(), at.agent).parent
        executor = RunExecutor(await run_called(ledger, run), RunParts(at.agent, ledger, lambda *_: Toolbox(), folder=folder))
        await executor.journal.load()
        await show_run(executor, at.agent, at.output)


@group.called_as("hive-mind runs why 4f1a2b3c", "hive-mind runs why 4f1a2b3c -o json")
async def why(run: RunId, at: options.OwnAgent) -> None:
    """Explain the outcome of a run: its judgements and people's decisions, in order."""
    from hive_mind.agents.runs.run_journal import run_called
    from hive_mind.cli.runs.run_shown import reasons_of
    from hive_mind.runs.steps import PREFIX, step_of

    async with _ledger(at.home, at.agent) as ledger:
        steps = [step_of(entry) for entry in await ledger.read(PREFIX + await run_called(ledger, run))]
    lines = list(reasons_of(steps))
    show_result(at.output, lines, lines or ["Nothing was judged yet."])


@group.called_as("hive-mind runs watch 4f1a2b3c", "hive-mind runs watch 4f1a2b3c -o json | jq .step")
async def watch(run: RunId, at: options.OwnAgent) -> None:
    """Show each step of a run, from the first on, as it comes, until it ends. Ctrl-C stops watching, not the run."""
    from hive_mind.agents.runs.run_journal import run_called
    from hive_mind.runs.reports import step_text
    from hive_mind.runs.steps import PREFIX, Ended, step_of

    nodes: dict[str, str] = {}
    async with _ledger(at.home, at.agent) as ledger:
        stream = PREFIX + await run_called(ledger, run)
        async for entry in ledger.follow(0, stream):
            if entry.stream == stream:
                step = step_of(entry)
                if at.output is Format.JSON:
                    show_document(entry.body.decode())
                elif line := step_text(step, nodes):
                    show(line)
                if isinstance(step, Ended):
                    break


@group.called_as("hive-mind runs resume 4f1a2b3c", "hive-mind runs resume 4f1a2b3c --wait --worker review.yaml")
async def resume(
    run: RunId,
    wait: Wait = False,
    mcp: Mcp = None,
    function: Functions = None,
    worker: Annotated[str, typer.Option("--worker", metavar="WORKER", help="Continue with a newer definition.")] = "",
    notify: Notify = "",
    *,
    at: options.EmbeddingAgent,
) -> None:
    """Resume a run that was stopped or killed, or that waited for a person who has decided.

    Finished steps are not done again; before a call that may have happened, and must not happen twice, a person is asked.
    """
    from hive_mind.agents.runs.executor import RunExecutor
    from hive_mind.agents.runs.run_journal import run_called
    from hive_mind.cli.runs.run_shown import look_on
    from hive_mind.runtime.workers.runs import open_goal_seeking, worker_named

    check_notify(notify)
    async with _ledger(at.home, at.agent) as ledger:
        run = await run_called(ledger, run)
    async with fleet_agent(settings_for(at.home).home, "", at.agent) as running:
        if running is not None and running.name == at.agent:
            refuse_notify(notify)
            await running.call("run_resumed", run=run)
            await look_on(running, run, at.output, is_waiting=wait)
            return
    functions = functions_of(function or ())
    async with open_goal_seeking(at.settings(), at.agent, mcp=servers_of(mcp or ()), functions=functions) as opened:
        printer = printer_for(at.output)
        executor = RunExecutor(run, opened.parts, is_waiting=wait, on_step=printer.show_step, listen=printer.listen)
        await executor.resume(worker_named(worker, opened.parts) if worker else None)
        async with notifying(notify, opened.parts):
            await driven(executor, at.agent, at.output, again(mcp, function, notify))


@group.called_as('hive-mind runs say 4f1a2b3c "to Corrin, at nine"', "hive-mind chat --run 4f1a2b3c", name="say")
async def say_to_run(
    run: RunId,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What is said.")],
    key: Annotated[str, typer.Option("--key", help="A name for this: said again with the same one, it is heard once.")] = "",
    *,
    at: options.OwnAgent,
) -> None:
    """Say something to a run of which a node talks with people (clientFacing). It is kept until that node waits for it.

    Where a fleet runs the agent, the reply is shown; else `hive-mind runs resume`, or `hive-mind chat --run`, goes on with it.
    """
    from hive_mind.agents.runs.run_journal import run_called, say_to
    from hive_mind.cli.runs.run_shown import RunOfFleet

    async with _ledger(at.home, at.agent) as ledger:
        run = await run_called(ledger, run)
        async with fleet_agent(settings_for(at.home).home, "", at.agent) as running:
            if running is not None and running.name == at.agent:
                document = await RunOfFleet(running, run).say(text, key)
                show_in_fleet(running, document, at.output)
                return
        await say_to(ledger, run, text, key)
    which = f" --agent {at.agent}" if at.agent != DEFAULT_AGENT else ""
    show_result(at.output, {"run": run}, f"run {run} hears it as soon as it goes on: hive-mind runs resume {run}{which}")


@group.called_as("hive-mind runs cancel 4f1a2b3c")
async def cancel(
    run: RunId,
    name: Annotated[str, typer.Option("--as", metavar="NAME", help="The name to cancel under.", show_default="your login")] = "",
    agent: options.Agent = DEFAULT_AGENT,
    home: options.Home = None,
) -> None:
    """Cancel a run. The process that works on it stops; what was done stays done."""
    from hive_mind.agents.runs.run_journal import RunJournal, run_called

    async with _ledger(home, agent) as ledger:
        journal = RunJournal(ledger, await run_called(ledger, run))
        state = await journal.cancel(person(name))
        show(f"run {journal.run}: {state.outcome} — {state.reason}")


@group.called_as("hive-mind runs prune --dry-run", "hive-mind runs prune --days 90 --keep 20 --agent keeper")
async def prune(
    days: Annotated[float, typer.Option("--days", min=0, help="Only runs that ended more than this many days ago.")] = 30,
    keep: Annotated[int, typer.Option("--keep", min=0, help="Keep this many of the most recently ended runs, however old.")] = 0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would go, and remove nothing.")] = False,
    *,
    at: options.OwnAgent,
) -> None:
    """Remove old runs that have ended, with their files. Judgements stay, and a note that each run existed.

    A run that waits or is under way is never removed. A process that has the agent open may keep running.
    """
    from hive_mind.agents.runs.run_journal import old_runs
    from hive_mind.agents.runs.run_journal import prune as pruned
    from hive_mind.clocks import wall_clock_ms
    from hive_mind.model.aggregation import DAY_MS
    from hive_mind.runtime.settings import database_path

    async with _ledger(at.home, at.agent) as ledger:
        runs = await old_runs(ledger, wall_clock_ms() - round(days * DAY_MS), keep)
        if not dry_run:
            folder = database_path(at.settings(), at.agent).parent / "runs"
            runs = await pruned(ledger, folder, runs, wall_clock_ms)
    if at.output is Format.JSON:
        show_json([{"run": run.run, "outcome": run.outcome, "ended_ms": run.ended_ms, "steps": run.steps} for run in runs])
        return
    for run in runs:
        show(f"{run.run}: {run.outcome}, {counted(run.steps, 'step')}")
    show(f"{counted(len(runs), 'run')} {'would go' if dry_run else 'removed'}.")


def _ledger(home: Path | None, agent: str) -> AbstractAsyncContextManager["Ledger"]:
    return ledger_of(settings_for(home, embed="none"), agent)

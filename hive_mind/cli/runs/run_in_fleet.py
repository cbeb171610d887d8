"""Runs of an agent of a fleet: begun where it runs, and looked at from here until they have ended or wait for a person."""

import asyncio
from collections.abc import Mapping
from typing import Any

import typer

from hive_mind.cli.fleet.agents import FleetAgent
from hive_mind.cli.options import Format
from hive_mind.cli.output import show_json
from hive_mind.cli.running import FAILED, Stopped
from hive_mind.cli.runs.run_shown import Heard, StepPrinter, show_document
from hive_mind.runs.graphs.spec import WorkerSpec

_LOOK_S = 0.2


async def run_in_fleet(
    agent: FleetAgent,
    worker: WorkerSpec | None,
    inputs: Mapping[str, Any],
    name: str,
    output: Format,
    *,
    stream: str,
    is_waiting: bool,
) -> None:
    """Begin one there, and look on. Raises `BackendError`, and `InvalidInput` for what the agent refuses."""
    form = worker.model_dump(mode="json", by_alias=True, exclude_defaults=True) if worker else {}
    await agent.call("run", worker=form, inputs=dict(inputs), run=name, stream=stream)
    await look_on(agent, name, output, is_waiting=is_waiting)


async def look_on(agent: FleetAgent, run: str, output: Format, *, is_waiting: bool) -> None:
    """Until it has ended or, unless we wait for that too, a person is asked."""
    steps_seen: tuple[str, ...] = ()
    printer = StepPrinter(is_silent=output is not Format.TEXT)
    saying_heard = Heard(printer)
    try:
        while True:
            document = await agent.call("run_shown", run=run)
            saying_heard.show_new(document.get("saying", ()))
            if (at := tuple(document["at"])) != steps_seen:
                printer.line(f"at {', '.join(at)}" if at else "at its end")
                steps_seen = at
            if document["status"] != "unfinished" and not (document["status"] == "parked" and is_waiting):
                break
            await asyncio.sleep(_LOOK_S)
    except (asyncio.CancelledError, KeyboardInterrupt):
        raise Stopped(f"the run goes on without you; look at it with: hive-mind runs show {run} --agent {agent.name}") from None
    printer.end_line()
    show_in_fleet(agent, document, output)
    if document["status"] != "accepted":
        raise typer.Exit(FAILED)


def show_in_fleet(agent: FleetAgent, document: Mapping[str, Any], output: Format) -> None:
    if output is Format.JSON:
        show_json({"fleet": agent.fleet, "agent": agent.name, **document})
    else:
        show_document(document, agent.name, goes_on=True)

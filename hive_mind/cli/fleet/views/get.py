"""`hive-mind get`: what there is, a line each: fleets, their agents, what they know, what happened."""

import asyncio
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hive_mind.cli import options
from hive_mind.cli.fleet import fleets
from hive_mind.cli.fleet.fleets import FleetFormat, agent_names, fleet_names, show_as
from hive_mind.cli.fleet.shown.log_lines import latest_lines
from hive_mind.cli.fleet.shown.status import phase_cell, show_agents
from hive_mind.cli.fleet.views.logs import processes_of
from hive_mind.cli.options import examples
from hive_mind.cli.output import say, short_id, show, show_table
from hive_mind.cli.running import CommandError, command
from hive_mind.cli.styled import Cell
from hive_mind.counted import counted
from hive_mind.errors import InvalidInput
from hive_mind.hive.topology.spec import is_shared
from hive_mind.model.bounds import COUNT_MAX
from hive_mind.regex import regex

if TYPE_CHECKING:
    from hive_mind.control.controller import HiveController
    from hive_mind.control.status.fleet_status import AgentView, FleetStatus


HIVE_TITLES = ("hive", "phase", "topology", "agents", "ready", "facts", "pending", "lag", "restarts", "revision", "last error")

group = typer.Typer(
    name="get",
    cls=fleets.EitherNumber,
    no_args_is_help=True,
    epilog=examples("hive-mind get agents", "hive-mind get facts ada -n 20"),
)

Name = Annotated[str, typer.Argument(metavar="NAME", show_default="all", autocompletion=fleet_names)]
AgentName = Annotated[str, typer.Argument(metavar="NAME", show_default="all", autocompletion=agent_names)]


FIELDS = ("group", "domain", "phase", "process")
Selector = Annotated[
    str,
    typer.Option(
        "--selector", "-l", metavar="FIELD=VALUE,…", help=f"Only agents with this value; fields: {', '.join(FIELDS)}; != for not."
    ),
]


@group.callback()
def get() -> None:
    """List fleets, agents, facts or events, a line each."""


@group.command(epilog=examples("hive-mind get hives", "hive-mind get hives -o name"))
@command
async def hives(name: Name = "", home: options.Home = None, output: fleets.Output = FleetFormat.TABLE) -> None:
    """List the fleets of the home folder, also those that are stopped."""
    folder = fleets.home_of(home)
    names = [fleets.chosen_fleet(folder, name)] if name else fleets.fleets_in(folder)
    statuses = [await _status(folder, one) for one in names]
    show_as(output, statuses, [f"hive/{status.name}" for status in statuses], lambda: show_hives(statuses, folder))


@group.command(
    epilog=examples(
        "hive-mind get agents",
        "hive-mind get agents -l group=north,phase!=ready",
        "hive-mind get agents -w",
        "hive-mind get agents -o wide",
    )
)
@command
async def agents(
    name: AgentName = "", selector: Selector = "", watch: fleets.Watch = False, every: fleets.Every = 1.0, *, at: fleets.OneFleet
) -> None:
    """List the agents of a fleet: how each is, where it runs, and what it knows."""
    async with at.opened() as controller:
        _show_agents_of(await controller.status(), name, selector, at.output)
        while watch:
            sys.stdout.flush()
            await asyncio.sleep(every)
            _show_agents_of(await controller.status(), name, selector, at.output)


def _show_agents_of(status: "FleetStatus", name: str, selector: str, output: FleetFormat) -> None:
    agent_views = selected([agent_called(status, name)] if name else status.agents, selector)

    def show_found() -> None:
        show_agents(agent_views, is_wide=output is FleetFormat.WIDE)
        if not agent_views:
            show(f"no agent is so: {selector}" if selector else f"fleet {status.name} has no agents now: {status.phase}")

    show_as(output, agent_views, [f"agent/{agent.name}" for agent in agent_views], show_found)


@group.command(epilog=examples("hive-mind get facts", "hive-mind get facts ada -n 20"))
@command
async def facts(name: AgentName = "", limit: options.OfAList = 20, *, at: fleets.OneFleet) -> None:
    """List facts, the newest first: of the whole hive, or with a name those that this agent learned itself."""
    async with at.opened() as controller:
        # One more than wanted, to see whether there are more.
        held = await _facts(controller, await controller.status(), name, min(limit + 1, COUNT_MAX) if limit else 0)
    found = held[: limit or None]
    rows = [(short_id(fact["fact_id"]), fact["sharing"], fact["content"], fact["held_back"]) for fact in found]
    titles = ["id", "sharing", "fact", "held back"]
    shown = len(titles) if any(fact["held_back"] for fact in found) else len(titles) - 1
    show_as(
        at.output,
        found,
        [fact["fact_id"] for fact in found],
        lambda: show_table(titles[:shown], [row[:shown] for row in rows]),
    )
    if len(held) > len(found) and at.output.is_table:
        # Beside the list, so that a program that counts lines counts facts.
        say(f"there are more than {counted(limit, 'fact')}: see them with --limit")


@group.command(epilog=examples("hive-mind get events", "hive-mind get events ada -n 100"))
@command
async def events(name: AgentName = "", limit: options.Limit = 20, *, at: fleets.OneFleet) -> None:
    """List what processes of a fleet logged last, the oldest first. hive-mind events tail shows messages on a bus."""
    folder = fleets.folder_of(at.home, at.fleet)
    lines = await latest_lines(folder.path, processes_of(folder, name), limit)
    rows = [(line.process, line.text) for line in lines]
    value = [asdict(line) for line in lines]
    show_as(at.output, value, [line.process for line in lines], lambda: show_table(["process", "event"], rows))


def agent_called(status: "FleetStatus", name: str) -> "AgentView":
    """One agent. Raises `InvalidInput` where there is none of this name."""
    agent_view = next((agent for agent in status.agents if agent.name == name), None)
    if agent_view is None:
        raise InvalidInput(f"fleet {status.name!r} has no agent {name!r}; hive-mind get agents lists them")
    return agent_view


async def _status(home: Path, fleet: str) -> "FleetStatus":
    async with fleets.opened(home, fleet) as controller:
        return await controller.status()


async def _facts(controller: "HiveController", status: "FleetStatus", name: str, limit: int) -> list[dict[str, Any]]:
    """Facts of one agent's own, or of the hive as any agent sees it, or of all agents where nobody shares."""
    if name:
        return await _facts_of(controller, agent_called(status, name).name, limit, is_local=True)
    ready = [agent.name for agent in status.agents if agent.is_ready]
    if not ready:
        raise CommandError(f"no agent of fleet {status.name!r} is ready ({status.phase}); hive-mind status says why")
    if is_shared(status.topology):
        return await _facts_of(controller, ready[0], limit, is_local=False)
    several = [await _facts_of(controller, one, limit, is_local=True) for one in ready]
    return [fact for found in several for fact in found][: limit or None]


async def _facts_of(controller: "HiveController", agent: str, limit: int, *, is_local: bool) -> list[dict[str, Any]]:
    reply = await controller.call(agent, "facts", limit=limit, local=is_local)
    if reply["completeness"] < 1:
        say(f"note: only {reply['completeness']:.0%} of the hive was reached", style="yellow")
    return list(reply["facts"])


def show_hives(statuses: Sequence["FleetStatus"], home: Path) -> None:
    if not statuses:
        show(f"there is no fleet in {home}: hive-mind apply -f MANIFEST")
        return
    rows: list[tuple[Cell, ...]] = [
        (
            status.name,
            phase_cell(status.phase),
            status.topology,
            str(len(status.agents)),
            str(sum(agent.is_ready for agent in status.agents)),
            *map(str, (status.facts, status.pending, status.lag, status.restarts, status.revision)),
            status.last_error,
        )
        for status in statuses
    ]
    show_table(HIVE_TITLES, rows, right=range(3, 10))


_PART = regex(r"\s*(?P<field>\w+)\s*(?P<sign>!=|==|=)(?P<value>[^,]*)")


def selected(agents: Iterable["AgentView"], selector: str) -> "list[AgentView]":
    """Those of which every part of the selector holds. Raises `InvalidInput`."""
    parts = [_part(part) for part in selector.split(",")] if selector.strip() else []
    return [agent for agent in agents if all((getattr(agent, field) == value) is is_equal for field, is_equal, value in parts)]


def _part(text: str) -> tuple[str, bool, str]:
    match = _PART.fullmatch(text)
    if match is None or match["field"] not in FIELDS:
        raise InvalidInput(f"{text.strip()!r} selects nothing: write FIELD=VALUE or FIELD!=VALUE, with {', '.join(FIELDS)}")
    return match["field"], match["sign"] != "!=", match["value"].strip()

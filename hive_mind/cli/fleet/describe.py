"""`hive-mind describe` and `wait`: everything about one fleet or one agent, and a pause until a condition of it is met."""

import asyncio
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from hive_mind.cli import fleet as fleets
from hive_mind.cli import options
from hive_mind.cli.fleet import agent_names, ago, fleet_line, megabytes, phase_cell, show_agents, show_as, show_conditions
from hive_mind.cli.fleet.get import agent_called
from hive_mind.cli.options import Group, refuse_ineffective
from hive_mind.cli.output import Cell, say, show, show_table
from hive_mind.cli.running import CommandError
from hive_mind.errors import InvalidInput

if TYPE_CHECKING:
    from hive_mind.control.status import AgentView, Condition, FleetStatus, ProcessView
    from hive_mind.runtime.workers import NodeStatus


NODE_TITLES = ("node", "group", "ready", "members", "silent", "facts", "to send", "lag", "messages", "error")


class Kind(StrEnum):
    """The things that are described."""

    HIVE = "hive"
    AGENT = "agent"


group = Group()

KindName = Annotated[Kind, typer.Argument(metavar="KIND", help="hive or agent.", parser=fleets.noun_of(Kind))]
Name = Annotated[
    str,
    typer.Argument(metavar="NAME", help="A fleet, or an agent.", show_default="the one there is", autocompletion=agent_names),
]


@group.called_as("hive-mind describe hive", "hive-mind describe hive research -o yaml", "hive-mind describe agent ada")
async def describe(kind: KindName, name: Name = "", *, at: fleets.OneFleet) -> None:
    """Describe one fleet, or one agent with its process and its node."""
    if kind is Kind.HIVE:
        refuse_ineffective("a hive, which is named after the word", fleet=at.fleet)
    elif not name:
        raise InvalidInput("which agent? hive-mind get agents lists them")
    fleet, named_by = (name, "") if kind is Kind.HIVE else (at.fleet, "--fleet and ")
    async with fleets.chosen(at.home, fleet, named_by=named_by) as controller:
        status = await controller.status()
    if kind is Kind.HIVE:
        show_as(at.output, status, [f"hive/{status.name}"], lambda: show_hive(status))
        return
    agent = agent_called(status, name)
    process = next((process for process in status.processes if process.name == agent.process), None)
    show_as(at.output, {"agent": agent, "process": process}, [f"agent/{name}"], lambda: show_agent(agent, process))


def show_hive(status: "FleetStatus") -> None:
    """Show a fleet as a whole, and then its parts."""
    rows: list[tuple[str, Cell]] = [
        ("hive", status.name),
        ("phase", phase_cell(status.phase)),
        ("topology", status.topology),
        ("generation", f"{status.generation}: one more with each move of facts to another topology"),
        ("revision", f"{status.revision} of the manifest"),
        ("facts", f"{status.facts} learned by agents themselves, {status.pending} of them not yet confirmed by the hive"),
        ("lag", f"{status.lag} writes that other nodes lacked when they last compared"),
        ("last error", status.last_error or "none"),
    ]
    show_table(["", ""], rows)
    show()
    show_conditions(status.conditions)
    _show_nodes([node for process in status.processes for node in process.nodes])
    if status.agents:
        show()
    show_agents(status.agents)


def show_agent(agent: "AgentView", process: "ProcessView | None") -> None:
    """Show an agent, and the process it runs in."""
    rows: list[tuple[str, Cell]] = [
        ("agent", agent.name),
        ("phase", phase_cell(agent.phase)),
        ("domain", agent.domain),
        ("group", agent.group),
        ("facts", f"{agent.facts} learned, {agent.pending} of them not yet confirmed by the hive"),
        ("lag", str(agent.lag)),
        ("last error", agent.last_error or "none"),
        ("process", agent.process),
    ]
    if process is not None:
        used = f"{megabytes(process.memory_bytes)}, {process.cpu_s:.1f} s of CPU since it began, {ago(process.since_ms)} ago"
        rows += [("pid", str(process.pid or "none")), ("uses", used if process.pid else "")]
        rows += [("restarts", f"{process.restarts} after crashes")]
    show_table(["", ""], [row for row in rows if row[1]])
    show()
    show_conditions(agent.conditions)
    _show_nodes(process.nodes if process else ())


def _show_nodes(nodes: "list[NodeStatus] | tuple[NodeStatus, ...]") -> None:
    if not nodes:
        return
    rows = [
        (
            node.name,
            node.group,
            "yes" if node.is_ready else "no",
            str(len(node.members)),
            ", ".join(node.silent),
            *map(str, (node.facts, node.outbox, node.lag, node.messages)),
            node.error or "; ".join(node.findings),
        )
        for node in nodes
    ]
    show()
    show_table(NODE_TITLES, rows, right=(3, 5, 6, 7, 8))


# A look costs every process a request.
_POLL_S = 0.3

For = Annotated[
    str,
    typer.Option("--for", metavar="WHAT", help="condition=NAME, condition=NAME=False, or delete: nothing of it runs any more."),
]


@dataclass(frozen=True, slots=True)
class Wish:
    """The condition that is waited for. `condition` "": that nothing runs any more."""

    condition: str
    value: str = "true"


@group.called_as(
    "hive-mind wait --for=condition=Ready",
    "hive-mind wait --for=condition=Ready agent/ada --timeout 30",
    "hive-mind wait --for=delete",
)
async def wait(
    subject: Annotated[str, typer.Argument(metavar="agent/NAME", help="One agent.", show_default="the whole fleet")] = "",
    for_: For = "condition=Ready",
    timeout_s: fleets.Timeout = 60.0,
    fleet: fleets.Fleet = "",
    home: options.Home = None,
) -> None:
    """Wait until a condition is met. Exit code 1 means that it was not met in time.

    Meanwhile each change of the fleet is shown on standard error.
    """
    wish, agent, folder = wish_of(for_), agent_of(subject), fleets.home_of(home)
    async with fleets.opened(folder, name := fleets.chosen_fleet(folder, fleet)) as controller:
        status = await controller.status()
        until_s, last_line = asyncio.get_running_loop().time() + timeout_s, ""
        while not is_met(wish, status, agent):
            if asyncio.get_running_loop().time() > until_s:
                raise CommandError(f"{subject or name}: not within {timeout_s:g} s: {for_} ({how_it_is(wish, status, agent)})")
            if (line := fleet_line(status)) != last_line:
                say(last_line := line, style="dim")
            await asyncio.sleep(_POLL_S)
            status = await controller.status()
    show(f"{subject or f'hive/{name}'}: {for_} is met")


def wish_of(text: str) -> Wish:
    """The condition that `--for` names. Raises `InvalidInput`."""
    if text == "delete":
        return Wish("")
    match = re.fullmatch(r"condition=([A-Za-z]+)(?:=(true|false|unknown))?", text, re.IGNORECASE)
    if match is None:
        raise InvalidInput(f"--for is condition=Ready, condition=Ready=False (or Unknown) or delete, not {text!r}")
    return Wish(match[1].lower(), (match[2] or "true").lower())


def agent_of(subject: str) -> str:
    """The agent's name, or "" for the whole fleet. Raises `InvalidInput`."""
    kind, slash, name = subject.rpartition("/")
    if kind not in ("", "agent") or (slash and not name):
        raise InvalidInput(f"wait for the whole fleet, or for agent/NAME, not for {subject!r}")
    return name


def is_met(wish: Wish, status: "FleetStatus", agent: str) -> bool:
    """Whether it is so. Raises `InvalidInput` where there is no such agent or no such condition."""
    if not wish.condition:
        return not _there(status, agent)
    return _condition(wish, status, agent).status.lower() == wish.value


def _there(status: "FleetStatus", agent: str) -> list[str]:
    """Processes that run: all of them, or that of the agent. One that leaves, or is being stopped, is no agent any more."""
    is_any = not agent or not status.agents
    hosts = {agent, *(agent_view.process for agent_view in status.agents if agent_view.name == agent)}
    return [process.name for process in status.processes if process.pid and (is_any or process.name in hosts)]


def _condition(wish: Wish, status: "FleetStatus", agent: str) -> "Condition":
    conditions = agent_called(status, agent).conditions if agent else status.conditions
    found_condition = next((condition for condition in conditions if condition.type.lower() == wish.condition), None)
    if found_condition is None:
        whose = "an agent" if agent else "a fleet"
        types = ", ".join(condition.type for condition in conditions)
        raise InvalidInput(f"--for: {whose} has no condition {wish.condition!r}; it has {types}")
    return found_condition


def how_it_is(wish: Wish, status: "FleetStatus", agent: str) -> str:
    """Why it is not met, as a clause."""
    if not wish.condition:
        return f"process {', '.join(_there(status, agent))} still runs; hive-mind delete stops a fleet"
    condition = _condition(wish, status, agent)
    return f"{condition.type} is {condition.status}" + (f": {condition.message}" if condition.message else "")

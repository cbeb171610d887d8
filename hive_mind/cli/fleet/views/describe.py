"""`hive-mind describe`: everything about one fleet or one agent, to be read by a person."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from hive_mind.cli.fleet import fleets
from hive_mind.cli.fleet.fleets import agent_names, show_as
from hive_mind.cli.fleet.shown.sizes import ago, megabytes
from hive_mind.cli.fleet.shown.status import phase_cell, show_agents, show_conditions
from hive_mind.cli.fleet.views.get import agent_called
from hive_mind.cli.options import Group, refuse_ineffective
from hive_mind.cli.output import Cell, show, show_table
from hive_mind.errors import InvalidInput

if TYPE_CHECKING:
    from hive_mind.control.status.fleet_status import AgentView, FleetStatus, ProcessView
    from hive_mind.runtime.workers.status import NodeStatus

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

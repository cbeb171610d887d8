"""`hive-mind wait`: until a fleet or an agent is as a script needs it."""

import asyncio
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from hive_mind.cli import options
from hive_mind.cli.fleet import fleets
from hive_mind.cli.fleet.shown.status import fleet_line
from hive_mind.cli.fleet.views.get import agent_called
from hive_mind.cli.options import Group
from hive_mind.cli.output import say, show
from hive_mind.cli.running import CommandError
from hive_mind.errors import InvalidInput

if TYPE_CHECKING:
    from hive_mind.control.status.fleet_status import Condition, FleetStatus

# A look costs every process a request.
_POLL_S = 0.3

For = Annotated[
    str,
    typer.Option("--for", metavar="WHAT", help="condition=NAME, condition=NAME=False, or delete: nothing of it runs any more."),
]
Subject = Annotated[str, typer.Argument(metavar="agent/NAME", help="One agent.", show_default="the whole fleet")]


@dataclass(frozen=True, slots=True)
class Wish:
    """The condition that is waited for. `condition` "": that nothing runs any more."""

    condition: str
    value: str = "true"


group = Group()


@group.called_as(
    "hive-mind wait --for=condition=Ready",
    "hive-mind wait --for=condition=Ready agent/ada --timeout 30",
    "hive-mind wait --for=delete",
)
async def wait(
    subject: Subject = "",
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

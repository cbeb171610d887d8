"""The desk that commands of `inbox` mean: opened shared, so that several people may decide; and its items by id."""

import getpass
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hive_mind import backends
from hive_mind.cli import options
from hive_mind.cli.fleet import agent_names, fleets_in
from hive_mind.cli.options import DEFAULT_AGENT, Format, settings_for
from hive_mind.cli.running import CommandError
from hive_mind.errors import DatabaseLocked, InvalidInput
from hive_mind.memory.fact_called import IDS_SHOWN
from hive_mind.model.ids import PREFIX_CHARACTERS_MIN
from hive_mind.runtime.settings import Settings, ledger_path

if TYPE_CHECKING:
    from hive_mind.agents.desk import LedgerDesk
    from hive_mind.judge.items import ItemView
    from hive_mind.ledger import Ledger


@dataclass(frozen=True, slots=True)
class AtDesk:
    """The owner of the desk, and the form in which the result is printed."""

    agent: Annotated[
        str,
        typer.Option(
            "--agent",
            "-a",
            help="Only items of this agent.",
            show_default="all that is asked, where a fleet is judged here; else default",
            autocompletion=agent_names,
        ),
    ] = ""
    home: options.Home = None
    output: options.Output = Format.TEXT


@asynccontextmanager
async def desk_of(home: Path | None, agent: str) -> AsyncIterator["LedgerDesk"]:
    """Where people decide for an agent, or for the fleet of the home folder; what nobody decided in time is decided first.

    Looking at an agent that asked nothing makes no file.
    """
    from hive_mind.agents.desk import LedgerDesk

    settings = settings_for(home, embed="none")
    async with ledger_of(settings, _whose(settings.home, agent)) as ledger:
        desk = LedgerDesk(ledger)
        await desk.expire()
        yield desk


async def silences_at(desk: "LedgerDesk", at: AtDesk) -> list[tuple[str, int]]:
    """Agents of the fleet that this desk waits to hear from, or the one that is meant, and since when."""
    from hive_mind.agents.judging.desk_pages import peers_of

    desks = desks_in(settings_for(at.home, embed="none").home)
    peers = sorted((await peers_of(desk.ledger)).items())
    return [
        (agent, peer.silent_since_ms)
        for agent, peer in peers
        if peer.silent_since_ms and at.agent in ("", agent) and agent in desks and agent != desks[agent]
    ]


def _whose(home: Path, agent: str) -> str:
    desks = desks_in(home)
    if agent:
        return desks.get(agent, agent)
    several = sorted(set(desks.values()))
    if len(several) > 1:
        raise InvalidInput(f"several fleets ask people here: say which with --agent ({', '.join(several)})")
    return several[0] if several else DEFAULT_AGENT


async def item_called(desk: "LedgerDesk", given: str) -> "ItemView":
    """The one item whose id begins like this. Raises `InvalidInput` for none and for several."""
    prefix = given.strip().lower()
    ids = [id for id in await desk.ids() if id.startswith(prefix)] if len(prefix) >= PREFIX_CHARACTERS_MIN else []
    if len(ids) > 1:
        raise InvalidInput(f"id {given!r} is ambiguous: {', '.join(ids[:IDS_SHOWN])}; give more characters")
    view = await desk.view(ids[0]) if ids else None
    if view is None:
        least = f"the first {PREFIX_CHARACTERS_MIN} characters of an id, or more"
        raise InvalidInput(f"there is no item {given!r}: give {least}; `hive-mind inbox list --all` shows them")
    return view


def person(name: str) -> str:
    """The person that decides: the name that is given, or that of the login. Raises `InvalidInput` where there is none."""
    try:
        name_given = name.strip() or getpass.getuser()
    except (KeyError, OSError):
        name_given = ""
    if not name_given:
        raise InvalidInput("can't find out the user's name: use --as NAME")
    return name_given


@asynccontextmanager
async def ledger_of(settings: Settings, agent: str) -> AsyncIterator["Ledger"]:
    """An agent's ledger, shared; an empty one in memory where there is none, so that looking makes no file.

    Raises `CommandError` and what a ledger raises.
    """
    from hive_mind.runtime.wiring import open_ledger

    ledger: Ledger
    try:
        is_there = ledger_path(settings, agent).exists()
        ledger = await (open_ledger(settings, agent, is_shared=True) if is_there else backends.load("ledger", "memory").open())
    except DatabaseLocked as error:
        holder = f"process {error.holder_pid}" if error.holder_pid else "another process"
        message = f"{holder} keeps the inbox of agent {agent!r} to itself while it runs; decide when it has ended"
        raise CommandError(message) from error
    try:
        yield ledger
    finally:
        await ledger.close()


def desks_in(home: Path) -> dict[str, str]:
    """The agent at whose desk people decide, by agent: one for all of a fleet whose facts are judged; of others, nothing.

    Raises `InvalidInput` for a damaged file.
    """
    if not (names := fleets_in(home)):
        return {}
    # It brings libraries that take long to load.
    from hive_mind.control.state import FleetFolder

    configs = [config for fleet in names for config in FleetFolder(home, fleet).configs()]
    return {agent.name: config.review.desk.agent for config in configs if config.review.desk.agent for agent in config.agents}

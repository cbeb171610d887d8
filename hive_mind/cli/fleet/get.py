"""`hive-mind get`: what there is, a line each: fleets, agents, members, what they know, what happened and was applied."""

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hive_mind.cli import fleet as fleets
from hive_mind.cli.fleet import FleetFormat, agent_names, phase_cell, show_agents, show_as
from hive_mind.cli.fleet.live import latest_lines, processes_of
from hive_mind.cli.options import Group, refuse_ineffective
from hive_mind.cli.output import Cell, plain, say, say_cut, short_id, show, show_table
from hive_mind.cli.running import FAILED, CommandError
from hive_mind.clocks import wall_clock_ms
from hive_mind.errors import InvalidInput
from hive_mind.hive.topology.spec import is_shared
from hive_mind.model.bounds import BOUNDS, COUNT_MAX, OF_A_LIST

if TYPE_CHECKING:
    from hive_mind.control.controller import HiveController
    from hive_mind.control.state import FleetFolder
    from hive_mind.control.status import AgentView, FleetStatus


_REVISION_TITLES = ("revision", "applied", "topology", "agents")
HIVE_TITLES = ("hive", "phase", "topology", "agents", "ready", "facts", "pending", "lag", "restarts", "revision", "last error")


class Kind(StrEnum):
    """The things of which there is a list."""

    HIVES = "hives"
    AGENTS = "agents"
    FACTS = "facts"
    EVENTS = "events"
    MEMBERS = "members"
    REVISIONS = "revisions"


_LIMIT = 20

group = Group()

KindName = Annotated[
    Kind, typer.Argument(metavar="KIND", help=f"{', '.join(Kind)}; singular or plural.", parser=fleets.noun_of(Kind))
]
Name = Annotated[
    str,
    typer.Argument(metavar="NAME", help="A fleet (of hives), an agent.", show_default="all", autocompletion=agent_names),
]
Limit = Annotated[
    int | None,
    typer.Option(
        "--limit",
        "-n",
        min=OF_A_LIST.least,
        max=OF_A_LIST.most,
        help="facts, events: at most this many; 0: all facts.",
        show_default=str(_LIMIT),
    ),
]
Watch = Annotated[bool, typer.Option("--watch", "-w", help="agents: keep showing them until Ctrl-C.")]


@group.called_as(
    "hive-mind get hives -o name",
    "hive-mind get agents -l group=north,phase!=ready",
    "hive-mind get agents -w -o wide",
    "hive-mind get facts ada -n 20",
    "hive-mind get events",
    "hive-mind get members -o json | jq '.[] | select(.state != \"alive\")'",
    "hive-mind get revisions -o yaml",
)
async def get(
    kind: KindName,
    name: Name = "",
    limit: Limit = None,
    watch: Watch = False,
    every: fleets.Every = 1.0,
    *,
    at: fleets.OneFleet,
) -> None:
    """List fleets, agents, facts, events, members or manifests, a line each.

    hives: the fleets of the home folder, also those that are stopped. agents: how each is, where it runs, and what it knows.
    facts: of the whole hive, or with a name those that this agent learned itself, the newest first. events: what processes logged
    last, the oldest first. revisions: the manifests that were applied and are kept, the last ten.

    members: everybody in the hive or near it, with state, certificate, when it was last heard, and the epoch it knows. suspected:
    it is silent. stranger: it sends heartbeats but is not a member. "only holder of" counts the partitions that no other member
    that answers has: with this member they would be lost. Exit code 1: nobody answers.
    """
    if kind is not Kind.AGENTS:
        refuse_ineffective(kind, watch=watch)
    if kind not in (Kind.FACTS, Kind.EVENTS):
        refuse_ineffective(kind, limit=limit)
    if kind in (Kind.MEMBERS, Kind.REVISIONS) and name:
        raise InvalidInput(f"{kind} are listed all: leave {name!r} out")
    match kind:
        case Kind.HIVES:
            refuse_ineffective(kind, fleet=at.fleet)
            folder = fleets.home_of(at.home)
            names = [fleets.chosen_fleet(folder, name)] if name else fleets.fleets_in(folder)
            statuses = [await _status(folder, name) for name in names]
            show_as(at.output, statuses, [f"hive/{status.name}" for status in statuses], lambda: show_hives(statuses, folder))
        case Kind.AGENTS:
            await _agents(name, every if watch else None, at)
        case Kind.FACTS:
            await _facts(name, _LIMIT if limit is None else limit, at)
        case Kind.EVENTS:
            await _events(name, _LIMIT if limit is None else limit, at)
        case Kind.MEMBERS:
            await _members(at)
        case Kind.REVISIONS:
            _revisions(at)


async def _agents(name: str, every_s: float | None, at: fleets.OneFleet) -> None:
    async with at.opened() as controller:
        _show_agents_of(await controller.status(), name, at.output)
        while every_s is not None:
            sys.stdout.flush()
            await asyncio.sleep(every_s)
            _show_agents_of(await controller.status(), name, at.output)


def _show_agents_of(status: "FleetStatus", name: str, output: FleetFormat) -> None:
    agent_views = [agent_called(status, name)] if name else status.agents

    def show_table() -> None:
        show_agents(agent_views, is_wide=output is FleetFormat.WIDE)
        if not agent_views:
            show(f"fleet {status.name} has no agents now: {status.phase}")

    show_as(output, agent_views, [f"agent/{agent.name}" for agent in agent_views], show_table)


async def _facts(name: str, limit: int, at: fleets.OneFleet) -> None:
    async with at.opened() as controller:
        # One more than wanted, to see whether there are more.
        listed = await _facts_in(controller, await controller.status(), name, min(limit + 1, COUNT_MAX) if limit else 0)
    facts = listed[: limit or None]
    rows = [(short_id(fact["fact_id"]), fact["sharing"], fact["content"], fact["held_back"]) for fact in facts]
    titles = ["id", "sharing", "fact", "held back"]
    columns = len(titles) if any(fact["held_back"] for fact in facts) else len(titles) - 1
    show_as(
        at.output,
        facts,
        [fact["fact_id"] for fact in facts],
        lambda: show_table(titles[:columns], [row[:columns] for row in rows]),
    )
    if len(listed) > len(facts):
        say_cut(limit, "fact")


async def _events(name: str, limit: int, at: fleets.OneFleet) -> None:
    BOUNDS["limit"].refuse("--limit", limit)
    folder = fleets.folder_of(at.home, at.fleet)
    lines = await latest_lines(folder.path, processes_of(folder, name), limit)
    rows = [(line.process, line.text) for line in lines]
    documents = [asdict(line) for line in lines]
    show_as(at.output, documents, [line.process for line in lines], lambda: show_table(["process", "event"], rows))


async def _members(at: fleets.OneFleet) -> None:
    async with at.opened() as controller:
        hive_members = await controller.members()
    certificates = _certificates(fleets.folder_of(at.home, at.fleet).path / "keys")
    nothing = {"certificate": "none" if certificates else "", "key": "", "process": ""}
    rows = [{**plain(member), **(certificates.get(member.name) or nothing)} for member in hive_members]
    if not hive_members and at.output.is_table:
        say("no process of this fleet answers: hive-mind status", style="red")
    titles = ("member", "state", "certificate", "last heard", "epoch", "partitions", "only holder of")
    names = [member.name for member in hive_members]
    show_as(at.output, rows, names, lambda: show_table(titles, map(_line, rows), right=(4, 5, 6)))
    if not hive_members:
        raise typer.Exit(FAILED)


def _certificates(path: Path) -> dict[str, dict[str, str]]:
    """By each name that may be spoken under: whether the certificate is good, whose it is, and its key. The best one counts."""
    from hive_mind.runtime.keys import KeyFolder

    folder = KeyFolder(path, path.parent.name)
    if not folder.is_founded:
        return {}
    rows: dict[str, dict[str, str]] = {}
    now_ms, revoked = wall_clock_ms(), folder.revoked
    for _, certificate in folder.certificates():
        state = "revoked" if certificate.key_id in revoked else "expired" if certificate.not_after_ms < now_ms else "good"
        for name in certificate.names:
            if state == "good" or name not in rows:
                rows[name] = {"certificate": state, "key": certificate.key_id.hex(), "process": certificate.names[0]}
    return rows


def _line(row: dict[str, Any]) -> tuple[str, ...]:
    alone = len(row["only_holder_of"])
    state = row["state"] if row["is_member"] or row["state"] in ("joining", "stranger") else f"{row['state']}, no member"
    last_heard = "never" if row["last_heard_s"] is None else f"{row['last_heard_s']:.0f} s ago"
    certificate = row["certificate"] or "not asked for"
    return row["name"], state, certificate, last_heard, str(row["epoch"] or ""), str(row["partitions"]), str(alone or "")


def _revisions(at: fleets.OneFleet) -> None:
    folder = fleets.folder_of(at.home, at.fleet)
    revisions = [_revision(folder, number) for number in folder.kept_revisions()]
    rows = [tuple(str(revision[title]) for title in _REVISION_TITLES) for revision in revisions]
    names = [str(revision["revision"]) for revision in revisions]
    show_as(at.output, revisions, names, lambda: show_table(_REVISION_TITLES, rows, right=(0, 3)))
    if not revisions and at.output.is_table:
        show("nothing was applied yet")


def _revision(folder: "FleetFolder", number: int) -> dict[str, Any]:
    from hive_mind.control.manifests.expansion import expanded
    from hive_mind.control.manifests.reading import read_text

    text = folder.manifest_text(number)
    manifest = read_text(text, folder.path, f"revision {number}").manifest
    changed = (folder.revisions / f"{number:04d}.yaml").stat().st_mtime
    applied = datetime.fromtimestamp(changed, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return {
        "revision": number,
        "applied": applied,
        "topology": manifest.spec.topology.kind,
        "agents": len(expanded(manifest)),
        "manifest": text,
    }


def agent_called(status: "FleetStatus", name: str) -> "AgentView":
    """One agent. Raises `InvalidInput` where there is none of this name."""
    agent_view = next((agent for agent in status.agents if agent.name == name), None)
    if agent_view is None:
        raise InvalidInput(f"fleet {status.name!r} has no agent {name!r}; hive-mind get agents lists them")
    return agent_view


async def _status(home: Path, fleet: str) -> "FleetStatus":
    async with fleets.opened(home, fleet) as controller:
        return await controller.status()


async def _facts_in(controller: "HiveController", status: "FleetStatus", name: str, limit: int) -> list[dict[str, Any]]:
    """Facts of one agent's own, or of the hive as any agent sees it, or of all agents where nobody shares."""
    if name:
        return await _facts_of(controller, agent_called(status, name).name, limit, is_local=True)
    ready = [agent.name for agent in status.agents if agent.is_ready]
    if not ready:
        raise CommandError(f"no agent of fleet {status.name!r} is ready ({status.phase}); hive-mind status says why")
    if is_shared(status.topology):
        return await _facts_of(controller, ready[0], limit, is_local=False)
    several = [await _facts_of(controller, agent, limit, is_local=True) for agent in ready]
    return [fact for facts in several for fact in facts][: limit or None]


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

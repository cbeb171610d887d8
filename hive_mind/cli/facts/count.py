"""`hive-mind facts count`: how many facts there are about something, and which is the latest, over the whole hive."""

from typing import Annotated, Any

import typer

from hive_mind.cli.asking.asked import asked_agent
from hive_mind.cli.fleet.agents import AnyAgent
from hive_mind.cli.options import Format, examples
from hive_mind.cli.output import printable, short_id, show, show_json, show_table
from hive_mind.cli.running import command
from hive_mind.counted import counted
from hive_mind.errors import InvalidInput
from hive_mind.model.aggregation import Kind

About = Annotated[str, typer.Argument(metavar="ABOUT", help="A word of their concept, or a name they mention; all without it.")]


def register(group: typer.Typer) -> None:
    """Add the command."""
    group.command("count", epilog=examples("hive-mind facts count", "hive-mind facts count D4 --latest"))(count)


@command
async def count(
    about: About = "",
    latest: Annotated[bool, typer.Option("--latest", help="Show the latest of them, by when they were said.")] = False,
    earliest: Annotated[bool, typer.Option("--earliest", help="Show the earliest of them.")] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=100, help="How many to show.")] = 1,
    *,
    at: AnyAgent,
) -> None:
    """Count facts, each once.

    Where a fleet runs in the home folder, those of the whole hive are counted, and what did not answer is named.
    """
    if latest and earliest:
        raise InvalidInput("--latest and --earliest are mutually exclusive")
    kind: Kind = "latest" if latest else "earliest" if earliest else "count"
    about = printable(about)
    async with asked_agent(at.settings(), at.fleet, at.agent) as asked:
        found = await asked.call("aggregate", kind=kind, concept=about, limit=limit)
    if at.output is Format.JSON:
        show_json({"about": about, "kind": kind, **found})
    else:
        _show(about, found)


def _show(about: str, found: dict[str, Any]) -> None:
    show(counted(found["count"], "fact") + (f" about {about}" if about else ""))
    if found["facts"]:
        rows = [(short_id(one["fact_id"]), one["said_at"].replace("T", " "), one["content"]) for one in found["facts"]]
        show_table(["id", "said", "fact"], rows)
    if found["completeness"] < 1:
        silent = ", ".join(found["silent"]) or "it"
        show(f"Only {found['completeness']:.0%} of the hive was counted: {silent} did not answer.", "yellow")
